//! A portfolio of strategies.
//!
//! | module | what it holds |
//! |---|---|
//! | `pace` | the unit of work of a search in the race, and the kind of search |
//! | `promises` | the results of several searches for promises of progress, combined |
//! | `race` | searches in turns, by the work that they have done |
//! | `levels` | the sizes of the levels of a search, and whether the next ones grow by a multiple |
//! | `apart` | a search in a local transition system of its own, and its answer in the common one |

use std::sync::{Mutex, PoisonError};

use host_model::scenario::{Network, Scenario};

use crate::kernel::goals::Goals;
use crate::kernel::schedule::Schedule;
use crate::kernel::{
    Counts, Decider, EndCondition, Progress, PromiseReport, Report, Search, SearchBounds, SearchError, stopped_end,
};
use crate::liveness;
use crate::strategy::auto::pace::Pace;
use crate::strategy::auto::promises::{is_decided, leaves_promises_open, meet, sample, samples};
use crate::strategy::auto::race::{Race, Turn, WEIGHT_UNIT, WORK_PER_CALL, threads};
use crate::strategy::random_walk::{BATCH, WALKS_DEFAULT};
use crate::strategy::{bdfs, find, guided, lmc, random_walk, unfold};

mod apart;
mod levels;
mod pace;
mod promises;
mod race;

/// The work after which a search waits for the others, by default: a fraction of a second. Most small systems are done
/// before.
const SHORTEST_TURN: u64 = 1 << 18;

/// The work on a better answer once there is one: half the work of the answer, but between these limits.
const BETTER_MIN: u64 = 400_000;
const BETTER_MAX: u64 = 4_000_000;

/// Units of `bdfs` on a shorter broken promise once there is one: this part of the units of the answer, but at least this number. It has to
/// explore the whole graph, and a walk often has a broken promise long before, whose path is shortened anyway.
const SHORTER_PROMISE_PART: u64 = 4;
const SHORTER_PROMISE_MIN: u64 = 50_000;

/// Minimum number of walks if only walks are left: as many as `walk` makes have then ended.
const WALKS_ALONE: u64 = WALKS_DEFAULT.next_multiple_of(BATCH) + 1;

/// Small steps that take as long as a unit of work.
const STEPS_PER_UNIT: u64 = 16;

/// A member of the portfolio, in the order of their first turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// `bdfs`.
    Bdfs,
    /// `unfold`.
    Unfold,
    /// `bdfs --reduce`.
    Reduced,
    /// `walk`, without end.
    Walk,
    /// `lmc-opt`.
    Lmc,
    /// `guided`, without end. It begins later than the others: for violations that walks find soon, it takes as long as they do.
    Guided,
}

/// The schedule of the turns: when they end, and which members have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Minimum units of work of a turn.
    pub shortest: u64,
    /// The only member to run, if it can answer the request: for tests of each member's answers. Walks by themselves end only at a finding
    /// or a stop.
    pub only: Option<Member>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { shortest: SHORTEST_TURN, only: None }
    }
}

/// Portfolio.
///
/// Guarantee: every reported violation is reachable; it is the shortest one if the report says so.
/// Complete: within the bounds, as soon as one of its members is.
/// Explores: the states of `bdfs`, `unfold`, `bdfs --reduce`, `lmc-opt`, random walks and guided ones, in turns of equal work, until the
/// first one has the answer; guided walks begin after the first turns of all others. Work is counted and not timed, so the winner does not
/// depend on the machine. A violation that may not be the shortest is kept while `unfold` and `bdfs` look for a shorter one, for some time;
/// so is an answer that leaves promises open, which only `bdfs` decides; walks can prove that one is broken. Memory: that of all members.
/// Honours: depth, local-event and state bounds, the number of violations, the wish to find deadlocks, each by the members that
/// do; the seed and the schedule of the walks, [`Schedule::Mix`] by default, and the goals of guided ones; the monitor, which bounds all
/// members together.
/// Source: Xu, Hutter, Hoos, Leyton-Brown, "SATzilla: portfolio-based algorithm selection for SAT", JAIR 2008, for the idea of a
/// portfolio; differs in: nothing is predicted, and turns are shared evenly.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    run_with(search, Turns::default())
}

/// [`run`] with a choice of turns.
#[doc(hidden)]
pub fn run_with(search: &Search<'_>, turns: Turns) -> Result<Report, SearchError> {
    let mut members = Member::of(&search.bounds, search.lts.scenario());
    if let Some(only) = turns.only.filter(|only| members.contains(only)) {
        members = vec![only];
    }
    let decides = liveness::decides(search.lts, search.bounds.promises).is_some();
    let is_by_levels = decides || search.lts.scenario().has_network(Network::Ordered);
    let leveled = Member::leveled(&members, is_by_levels);
    let race = Race::new(search.monitor, search.lts, turns.shortest);
    for member in &members {
        race.add(member.name(), member.pace(&members, leveled), member.is_apart(&search.bounds));
    }
    let portfolio = Portfolio { search, members: &members, race, answers: Mutex::new(Answers::new(members.len())) };
    // Each member has a thread to wait in; the work runs on threads of its own.
    let waiting = threads(members.len(), "waits")?;
    let workers = rayon::current_num_threads();
    waiting.scope(|scope| {
        for index in 0..members.len() {
            let portfolio = &portfolio;
            scope.spawn(move |_| portfolio.take_part(index, workers));
        }
        portfolio.race.begin();
    });
    let Portfolio { answers, race, .. } = portfolio;
    answers.into_inner().expect("a panic ends the search").settle(search, &members, race.stopped())
}

impl Member {
    /// The members that can answer the request: each honours its bounds, and leaves out only states that can matter to no property.
    pub fn of(bounds: &SearchBounds, scenario: &Scenario) -> Vec<Self> {
        let is_one = bounds.violations.unwrap_or(1) <= 1;
        let mut members = vec![Self::Bdfs, Self::Unfold];
        let reduces = bounds.depth.is_none() && !bounds.deadlock && !scenario.has_network(Network::Ordered) && is_one;
        members.extend(reduces.then_some(Self::Reduced));
        members.extend(Self::walks(bounds).then_some(Self::Walk));
        let is_local = bounds.depth.is_none() && bounds.states.is_none() && !bounds.deadlock;
        members.extend(is_local.then_some(Self::Lmc));
        members.extend(Self::walks(bounds).then_some(Self::Guided));
        let can_lose = scenario.faults.losses > 0;
        members.retain(|member| !can_lose || member.loses_messages());
        members
    }

    /// Whether walks are a member: they keep no states to count, and each ends with its first violation.
    pub fn walks(bounds: &SearchBounds) -> bool {
        bounds.states.is_none() && bounds.violations.unwrap_or(1) <= 1
    }

    /// The bounds that it gets.
    pub fn bounds(self, bounds: &SearchBounds) -> SearchBounds {
        let without_goals = SearchBounds { goals: Goals::default(), ..*bounds };
        let unseeded = SearchBounds { seed: None, schedule: None, ..without_goals };
        match self {
            Self::Bdfs => unseeded,
            Self::Reduced => SearchBounds { reduce: true, promises: None, ..unseeded },
            Self::Walk => {
                let schedule = bounds.schedule.or(Some(Schedule::Mix));
                SearchBounds { walks: Some(u64::MAX), schedule, violations: None, ..without_goals }
            }
            // The member `walk` examines the promises.
            Self::Guided => SearchBounds { walks: Some(u64::MAX), violations: None, promises: None, ..*bounds },
            Self::Unfold | Self::Lmc => SearchBounds { promises: None, ..unseeded },
        }
    }

    /// The name of its strategy, and whether it reduces.
    pub fn decider(self) -> Decider {
        let strategy = match self {
            Self::Bdfs | Self::Reduced => "bdfs",
            Self::Unfold => "unfold",
            Self::Walk => "walk",
            Self::Lmc => "lmc-opt",
            Self::Guided => "guided",
        };
        Decider { strategy, is_reduced: self == Self::Reduced }
    }

    /// Whether it loses messages.
    fn loses_messages(self) -> bool {
        self != Self::Reduced && find(self.decider().strategy).is_some_and(|strategy| strategy.loses_messages)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Reduced => "bdfs --reduce",
            other => other.decider().strategy,
        }
    }

    /// A unit of work takes about as long as a global state of `bdfs`, half a microsecond; calls into the plugin are added to it.
    /// Members that usually have the answer first have more turns. `leveled`: the member whose levels tell how far the end is.
    fn pace(self, members: &[Self], leveled: Self) -> Pace {
        let work: fn(&Progress) -> u64 = match self {
            Self::Bdfs => |it| it.counts.global_states.unwrap_or_default(),
            Self::Unfold => |it| it.counts.events.unwrap_or_default() * 2 + it.steps / STEPS_PER_UNIT,
            Self::Reduced => |it| it.counts.global_states.unwrap_or_default() * 10 + it.steps / STEPS_PER_UNIT,
            Self::Walk => |it| it.counts.transitions.unwrap_or_default() * 2,
            Self::Lmc => |it| it.counts.transitions.unwrap_or_default() * 6 + it.counts.events.unwrap_or_default() * 2,
            // Its steps are descriptions, each a call into the plugin.
            Self::Guided => |it| it.counts.transitions.unwrap_or_default() * 4 + it.steps * WORK_PER_CALL,
        };
        let weight = match self {
            Self::Reduced => 1,
            Self::Bdfs if !members.contains(&Self::Reduced) => 1,
            Self::Unfold => 2,
            Self::Bdfs | Self::Walk | Self::Lmc => 4,
            Self::Guided => 8,
        };
        Pace {
            work,
            keeps_messages: matches!(self, Self::Bdfs | Self::Reduced),
            // Walks that examine an end poll every few steps, the other searches far less often.
            idle: if self.is_exhaustive() { 1_024 } else { 64 },
            weight,
            forgets: !self.is_exhaustive(),
            has_levels: self == leveled,
            delay: u64::from(self == Self::Guided),
        }
    }

    /// The member whose levels tell how far the end is: the first one in this order that goes level by level. `is_by_levels`: `bdfs`
    /// does.
    fn leveled(members: &[Self], is_by_levels: bool) -> Self {
        match is_by_levels {
            true => Self::Bdfs,
            false if members.contains(&Self::Reduced) => Self::Reduced,
            false => Self::Unfold,
        }
    }

    fn run(self, search: &Search<'_>) -> Result<Report, SearchError> {
        let strategy = match self {
            Self::Bdfs | Self::Reduced => bdfs::run,
            Self::Unfold => unfold::run,
            Self::Walk => random_walk::run,
            Self::Lmc => lmc::run_optimised,
            Self::Guided => guided::run,
        };
        match self.is_apart(&search.bounds) {
            true => apart::run(search, strategy),
            false => strategy(search),
        }
    }

    /// Whether it has its own local transition system, because it takes local steps that are in no execution. Walks do so to prove that
    /// a promise cannot be kept any more.
    fn is_apart(self, bounds: &SearchBounds) -> bool {
        match self {
            Self::Reduced | Self::Lmc => true,
            Self::Walk => bounds.promises.is_some(),
            Self::Bdfs | Self::Unfold | Self::Guided => false,
        }
    }

    /// Whether it ends once it has explored everything.
    fn is_exhaustive(self) -> bool {
        !matches!(self, Self::Walk | Self::Guided)
    }

    /// Whether it can show that a violation is the shortest.
    fn shows_shortest(self) -> bool {
        matches!(self, Self::Bdfs | Self::Unfold)
    }
}

/// A running portfolio.
struct Portfolio<'p, 's> {
    search: &'p Search<'s>,
    members: &'p [Member],
    race: Race<'p>,
    answers: Mutex<Answers>,
}

impl Portfolio<'_, '_> {
    /// Runs one member, from its first turn to its end.
    fn take_part(&self, index: usize, workers: usize) {
        let Some(turn) = self.race.turn(index) else { return };
        let answer = |turn: &Turn<'_, '_>, answer| {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.take(index, answer, turn, self.search, self.members);
            turn.answered();
        };
        match threads(workers, self.members[index].name()) {
            Err(error) => answer(&turn, Err(error)),
            // The turn ends inside the pool: the thread that waits here may meanwhile have begun to wait for another member's turn.
            Ok(pool) => pool.install(move || answer(&turn, self.explore(index, &turn))),
        }
    }

    fn explore(&self, index: usize, turn: &Turn<'_, '_>) -> Result<Report, SearchError> {
        let member = self.members[index];
        let bounds = member.bounds(&self.search.bounds);
        member.run(&Search { bounds, monitor: turn, ..*self.search })
    }
}

/// The answers of the members.
struct Answers {
    reports: Vec<Option<Report>>,
    /// The member with the answer so far.
    best: Option<usize>,
    error: Option<SearchError>,
}

impl Answers {
    fn new(members: usize) -> Self {
        Self { reports: (0..members).map(|_| None).collect(), best: None, error: None }
    }

    /// Takes the answer of a member at its end, and limits the work of the others.
    fn take(
        &mut self,
        index: usize,
        answer: Result<Report, SearchError>,
        turn: &Turn<'_, '_>,
        search: &Search<'_>,
        members: &[Member],
    ) {
        // A member that was stopped before it had an answer does not weaken the answers of others.
        let stopped = |end| Report { end, ..Report::new(search.lts) };
        let report = match answer.or_else(|error| stopped_end(error).map(stopped)) {
            Ok(report) => report,
            Err(error) => {
                self.error.get_or_insert(error);
                turn.stop_all();
                return;
            }
        };
        if self.is_better(&report, &search.bounds) {
            self.best = Some(index);
        }
        self.reports[index] = Some(report);
        let Some(best) = self.best else { return self.wait_for_answer(turn, members) };
        let report = self.reports[best].as_ref().expect("the best one has an answer");
        let is_open = leaves_promises_open(report, search);
        let as_all: Vec<Option<u64>> = (0..members.len()).map(|member| turn.as_all(member)).collect();
        // Only the whole graph shows which breach of a promise is shortest.
        let is_breach = report.violations.iter().all(|found| found.breach.is_some());
        let could_shorten = |member: usize| match members[member] {
            Member::Bdfs => !is_breach || as_all[member].is_some(),
            member => member.shows_shortest() && !is_breach,
        };
        let helps = |member: usize| match report.end {
            _ if is_open && matches!(members[member], Member::Bdfs | Member::Walk) => true,
            EndCondition::Violation => could_shorten(member) && !is_shortest(report, &search.bounds),
            // The local states can be complete although a bound on local events left out repetitions of them.
            EndCondition::LocalEventBound => members[member] == Member::Lmc,
            _ => false,
        };
        if best == index {
            let work = turn.work();
            let more = work.saturating_add((work / 2).clamp(BETTER_MIN * WEIGHT_UNIT, BETTER_MAX * WEIGHT_UNIT));
            // Promises are worth as much work as all other properties together.
            let as_all = |member: usize| as_all[member].filter(|_| is_open && members[member] == Member::Bdfs);
            let shorter = (turn.units() / SHORTER_PROMISE_PART).clamp(SHORTER_PROMISE_MIN, BETTER_MAX);
            // The work of the others is read before the race is locked.
            let shorter: Vec<u64> = (0..members.len()).map(|member| turn.work_after(member, shorter)).collect();
            let is_broken_promise = is_breach && report.end == EndCondition::Violation;
            let more = |member: usize| match as_all(member) {
                Some(all) => all.max(more),
                None if is_broken_promise => shorter[member],
                None => more,
            };
            let walks = if is_open { WALKS_ALONE } else { 0 };
            turn.limit(|member| if helps(member) { (more(member), walks) } else { (0, 0) });
        }
        if !turn.is_awaited(helps) {
            turn.stop_all();
        }
    }

    /// Ends all if the remaining members give no answer. Walks alone would never end; if the others ran out of memory,
    /// the rest of the work is left to the walks.
    fn wait_for_answer(&self, turn: &Turn<'_, '_>, members: &[Member]) {
        let is_for_memory = self.reports.iter().flatten().any(|report| report.end == EndCondition::MemoryBound);
        match turn.is_awaited(|member: usize| members[member].is_exhaustive()) {
            true => {}
            false if is_for_memory => turn.leave_to_others(WALKS_ALONE),
            false => turn.stop_all(),
        }
    }

    /// Whether a report is an answer, and contains more than the best one so far.
    fn is_better(&self, report: &Report, bounds: &SearchBounds) -> bool {
        let is_answer = match report.end {
            EndCondition::SpaceExhausted | EndCondition::Violation => true,
            EndCondition::DepthBound => bounds.depth.is_some(),
            EndCondition::LocalEventBound => bounds.local_events.is_some(),
            _ => false,
        };
        let Some(best) = self.best.and_then(|best| self.reports[best].as_ref()) else { return is_answer };
        let lengths = |report: &Report| report.violations.first().map(|found| (found.path.len(), !found.shortest));
        let decides = best.promises.is_empty() && !report.promises.is_empty();
        let forgets = !best.promises.is_empty() && report.promises.is_empty();
        match (best.end, report.end) {
            // The samples of walks are weaker than a decision about promises.
            _ if samples(best) && is_decided(report) => true,
            _ if is_decided(best) && samples(report) => false,
            (EndCondition::Violation, EndCondition::Violation) => lengths(report) < lengths(best),
            // A decision within a bound does not hold without the bound, so the two cannot be combined.
            _ if forgets => false,
            (end, _) if decides && is_answer && end != EndCondition::Violation => true,
            (EndCondition::LocalEventBound, EndCondition::SpaceExhausted | EndCondition::Violation) => true,
            _ => false,
        }
    }

    /// The answer of the portfolio, or the reason why it ended without one.
    fn settle(
        mut self,
        search: &Search<'_>,
        members: &[Member],
        stopped: Option<EndCondition>,
    ) -> Result<Report, SearchError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let all = self.reports.iter().flatten().flat_map(|report| report.witnessed.iter().enumerate());
        let witnessed: Vec<u32> =
            all.filter(|(_, reached)| **reached == Some(true)).map(|(property, _)| property as u32).collect();
        let walked = members.iter().position(|member| *member == Member::Walk);
        let walked = walked.and_then(|walk| self.reports[walk].as_ref());
        let sampled = walked.map(|report| report.promises.clone()).unwrap_or_default();
        let curve = walked.map(|report| report.curve.clone()).unwrap_or_default();
        let mut report = match self.best {
            Some(best) => {
                let mut report = self.reports[best].take().expect("the best one has an answer");
                // A violation that another member found beyond the bounds of the answer is reachable as well.
                if report.violations.is_empty() {
                    let found = self.reports.iter().flatten().find(|other| !other.violations.is_empty());
                    report.violations = found.map(|other| other.violations.clone()).unwrap_or_default();
                }
                Report { decided_by: Some(members[best].decider()), ..report }
            }
            None => self.merged(search, members, stopped),
        };
        sample(&mut report, &sampled);
        report.curve = curve;
        let is_open = report.end == EndCondition::SpaceExhausted && !is_decided(&report);
        if is_open && liveness::decides(search.lts, search.bounds.promises).is_some() {
            report.promises_end = report.promises_end.or(stopped);
        }
        // A state that any member has reached is reachable, whichever member decides.
        witnessed.into_iter().for_each(|property| report.witness(property));
        Ok(report)
    }

    /// The report without a decision: the counts of the first member, completed by those of the others, and all violations.
    fn merged(self, search: &Search<'_>, members: &[Member], stopped: Option<EndCondition>) -> Report {
        let exhaustive = members.iter().zip(&self.reports).filter(|(member, _)| member.is_exhaustive());
        let end = stopped.or(exhaustive.filter_map(|(_, report)| Some(report.as_ref()?.end)).max());
        let met: Vec<PromiseReport> = self.reports.iter().flatten().flat_map(|it| it.promises.clone()).collect();
        let mut reports = self.reports.into_iter().flatten();
        let mut all = reports.next().unwrap_or_else(|| Report::new(search.lts));
        for report in reports {
            let Counts { events, walks, walks_ended, .. } = report.counts;
            all.counts.events = all.counts.events.or(events.filter(|_| report.counts.transitions.is_none()));
            all.counts.walks = all.counts.walks.or(walks);
            all.counts.walks_ended = all.counts.walks_ended.or(walks_ended);
            all.depth = all.depth.max(report.depth);
            all.renewals = all.renewals.max(report.renewals);
            all.growth = all.growth.or(report.growth);
            if all.levels.is_empty() {
                all.levels = report.levels;
            }
            for found in report.violations {
                if all.is_news(found.node, &found.judgement) {
                    all.violations.push(found);
                }
            }
        }
        meet(&mut all, &met);
        all.end = end.unwrap_or(all.end);
        all.count_local(search.lts);
        all
    }
}

/// Whether no shorter violation can be found, within the bounds.
fn is_shortest(report: &Report, bounds: &SearchBounds) -> bool {
    bounds.violations.unwrap_or(1) > 1 || report.violations.iter().all(|found| found.shortest)
}
