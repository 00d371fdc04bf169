//! Random walks.
//!
//! | module | what it holds |
//! |---|---|
//! | `abstraction` | the key of a state in an archive |
//! | `archive` | states from which walks continue |
//! | `described` | reads the fields of a state that a protocol describes |
//! | `ground` | a walk, and how it draws and takes its steps |
//! | `growth` | local states that grow again and again on a walk |
//! | `distinct` | a count of distinct items in bounded memory |
//! | `plan` | the scheduler of a walk, and the facts that it needs about each event |
//! | `scheduler` | the choice of the next event of a walk, one algorithm per file |
//! | `script` | events that a walk repeats before it draws its own |
//! | `shorten` | shortens the path to a state where a promise is dead |
//! | `suspects` | walks that end where a promise of progress is not kept |
//! | `way` | the path of a walk, without the steps |

mod abstraction;
mod archive;
mod described;
mod distinct;
pub(super) mod ground;
mod growth;
mod plan;
mod scheduler;
mod script;
mod shorten;
mod suspects;
mod way;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use host_model::contract::fingerprint;
use host_model::contract::{Judgement, NodeId};
use host_model::lts::{LocalStateId, Lts, Mover, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHasher;

use crate::global::judge::judge_start;
use crate::kernel::{
    CheckSchedule, Counts, CurvePoint, EndCondition, Progress, Report, Search, SearchBounds, SearchError, or_end,
    unless_stopped,
};
use crate::strategy::random_walk::archive::{Archive, STRETCH};
use crate::strategy::random_walk::distinct::Distinct;
use crate::strategy::random_walk::ground::{Drawn, Ground, Walk};
use crate::strategy::random_walk::suspects::{Ended, Suspects};

/// The default number of walks, see [`SearchBounds::walks`](crate::kernel::SearchBounds::walks).
pub const WALKS_DEFAULT: u64 = 1_000;

/// The default maximum number of events of a walk, see [`SearchBounds::depth`](crate::kernel::SearchBounds::depth).
pub const LENGTH_DEFAULT: u32 = 1_000;

/// Walks that take their steps in turns. Their handlers are executed together, so this also limits
/// the work for several workers; the findings do not depend on them.
pub const BATCH: u64 = 256;

/// Steps until the first point of the curve of progress.
const CURVE_FIRST: u64 = 1_024;

/// The size at which walks leave a local transition system for a new one, in bytes, whatever memory there is: few walks meet older
/// entries again.
const MEMO_MAX: u64 = 256 << 20;

/// Steps of paths walked again that take as long as a description of a local state.
const WALKED_AGAIN: u64 = 2;

/// The part of the available memory at which walks leave a local transition system: the first one stays next to the
/// current one, and the counters of distinct items may grow as large as one of them.
const MEMO_SHARE: u64 = 8;

/// Seeded random walks.
///
/// Guarantee: every reported violation is reachable.
/// Complete: no, and it never claims to be.
/// Explores: paths from a random start state, along events drawn with the weights of their kinds among all that are
/// possible, and outcomes drawn with the weights of their choices, until no event can be drawn or the walk is long enough. Reports how many
/// walks ended where no event is possible, and the local states and outcomes of handlers that they went through. Walks
/// take their steps in batches, so the violation reported is one of the shortest of its batch's walks. Memory: bounded. A
/// walk keeps its global state and no path; if it ends in a violation, it is walked again. The memoised outcomes of handlers
/// are forgotten whenever they take too much, and counts of distinct items then become lower bounds.
/// Honours: depth (the length of a walk) and local-event bounds, seed, number of walks, weights, the schedule, the wish to find
/// deadlocks, the monitor. Walk number `i` depends only on the seed and on `i`,
/// and is the same on every machine.
/// Source: Killian, Anderson, Jhala, Vahdat, "Life, death, and the critical transition: finding liveness bugs in
/// systems code" (MaceMC), NSDI 2007; differs in: walks look for violations of safety, and begin at the start.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    run_numbers(search, 0..search.bounds.walks.unwrap_or(WALKS_DEFAULT))
}

/// [`run`], but only the walks of these numbers.
#[doc(hidden)]
pub fn run_numbers(search: &Search<'_>, numbers: Range<u64>) -> Result<Report, SearchError> {
    WalkSearch::new(search, numbers).run()
}

/// Walks that begin in states of an archive of earlier walks.
pub(super) fn run_with_archive(search: &Search<'_>) -> Result<Report, SearchError> {
    let SearchBounds { seed, depth, walks, .. } = search.bounds;
    let archive = Archive::new(seed.unwrap_or(0), depth.unwrap_or(LENGTH_DEFAULT));
    let mut run = WalkSearch::new(search, 0..walks.unwrap_or(WALKS_DEFAULT));
    run.archive = Some(archive);
    run.run()
}

struct WalkSearch<'s> {
    search: &'s Search<'s>,
    report: Report,
    /// The walks that have not begun.
    numbers: Range<u64>,
    /// The walks of the current batch that continue.
    walks: Vec<Walk>,
    begun: u64,
    /// Walks that ended where no event is possible.
    ended: u64,
    /// Whether as many deadlocks were found as wanted.
    has_enough: bool,
    transitions: u64,
    local_states: Distinct,
    /// The views of nodes for the properties of system scope.
    views: Distinct,
    outcomes: Distinct,
    /// Messages of local transition systems that were dropped.
    messages: Distinct,
    /// The size at which walks leave a local transition system, in bytes.
    memo_max: u64,
    schedule: CheckSchedule,
    /// The states where walks continue; none if all begin in start states.
    archive: Option<Archive>,
    /// Steps of paths that were walked again.
    walked_again: u64,
    /// None if no promise is to be examined.
    suspects: Option<Suspects<'s>>,
}

impl<'s> WalkSearch<'s> {
    /// Walks of these numbers from start states.
    fn new(search: &'s Search<'s>, numbers: Range<u64>) -> Self {
        let memo_max = search.monitor.memory_max().map_or(MEMO_MAX, |max| MEMO_MAX.min(max / MEMO_SHARE));
        let distinct = || Distinct::new(memo_max / 3);
        Self {
            search,
            report: Report::new(search.lts).collecting(&search.bounds),
            numbers,
            walks: Vec::new(),
            begun: 0,
            ended: 0,
            has_enough: false,
            transitions: 0,
            local_states: distinct(),
            views: distinct(),
            outcomes: distinct(),
            messages: distinct(),
            memo_max,
            schedule: CheckSchedule::default(),
            archive: None,
            walked_again: 0,
            suspects: Suspects::new(search, memo_max),
        }
    }

    fn run(mut self) -> Result<Report, SearchError> {
        let end = or_end(self.search().map(Some))?;
        // The findings stand, whatever stopped the search meanwhile.
        let end = if self.has_enough { Some(EndCondition::Violation) } else { end };
        Ok(self.finish(end.expect("a search has an end")))
    }

    /// Walks in one local transition system after another. Findings are paths in the first one, so that one stays.
    fn search(&mut self) -> Result<EndCondition, SearchError> {
        let search = self.search;
        let mut ground = Ground::new(search.lts, search.starts, search.bounds)?;
        let mut end = match judge_starts(search, &mut ground.stepper, &mut self.report)? {
            Some(end) => Some(end),
            None => or_end(self.walk_on(&mut ground))?,
        };
        drop(ground);
        let mut memo: Option<Lts<'_>> = None;
        while end.is_none() {
            let next = search.lts.sibling();
            let starts = self.move_over(memo.as_ref().unwrap_or(search.lts), &next);
            let lts = &*memo.insert(next);
            let mut ground = Ground::new(lts, &starts, search.bounds)?;
            end = or_end(self.walk_on(&mut ground))?;
        }
        memo.iter().for_each(|lts| self.count_messages(lts));
        Ok(end.expect("the loop ends with an end"))
    }

    /// Walks until the search ends, and returns why; none if it is to continue in another local transition system.
    fn walk_on(&mut self, ground: &mut Ground<'_>) -> Result<Option<EndCondition>, SearchError> {
        // The states of walks in progress are not counted: the monitor decides when they take too much.
        let bytes_max = self.memo_max + memo_bytes(&ground.stepper);
        loop {
            if self.walks.is_empty() {
                if self.numbers.is_empty() {
                    return Ok(Some(EndCondition::WalksDone));
                }
                // Walks without a step take time as well.
                if self.begin_batch(ground)?
                    && let Some(end) = self.search.monitor.check(&self.progress(&ground.stepper))
                {
                    return Ok(Some(end));
                }
            }
            if let Some(end) = self.step_together(ground)? {
                return Ok(Some(end));
            }
            if !self.walks.is_empty() && memo_bytes(&ground.stepper) >= bytes_max {
                return Ok(None);
            }
        }
    }

    /// Begins the next walks; returns whether the monitor is due.
    fn begin_batch(&mut self, ground: &mut Ground<'_>) -> Result<bool, SearchError> {
        let mut is_due = false;
        let last = self.numbers.end.min(self.numbers.start.saturating_add(BATCH));
        for number in self.numbers.start..last {
            let walk = self.begin(ground, number)?;
            for local in walk.cursor.locals() {
                self.see(&ground.stepper, *local);
            }
            self.begun += 1;
            self.walks.push(walk);
            is_due |= self.schedule.is_check_due(&ground.stepper);
        }
        self.numbers.start = last;
        Ok(is_due)
    }

    /// Begins a walk.
    fn begin(&mut self, ground: &mut Ground<'_>, number: u64) -> Result<Walk, SearchError> {
        let Some(archive) = &mut self.archive else { return Ok(ground.begin(number)) };
        let Some(origin) = archive.choose(number) else {
            return Ok(ground.begin_stretch(number, STRETCH));
        };
        if let Some(change) = origin.change {
            self.walked_again += u64::from(origin.way.depth());
            return Ok(ground.repeat(&origin.way, change, number, STRETCH)?);
        }
        let state = match origin.state {
            Some(state) => state,
            None => {
                self.walked_again += u64::from(origin.way.depth());
                ground.end_of(&origin.way)?
            }
        };
        Ok(ground.continue_from(&origin.way, state, number, STRETCH))
    }

    /// Lets each walk of the batch take a step; returns why the search ended, if it did.
    fn step_together(&mut self, ground: &mut Ground<'_>) -> Result<Option<EndCondition>, SearchError> {
        let mut walks = std::mem::take(&mut self.walks);
        let mut pairs = Vec::with_capacity(walks.len());
        for walk in &mut walks {
            self.draw(ground, walk)?;
            pairs.extend(walk.drawn.map(|(node, trigger)| (walk.local(node), trigger)));
            if let Some(end) = self.ask_after(ground, walk) {
                return Ok(Some(end));
            }
        }
        if self.has_enough {
            return Ok(Some(EndCondition::Violation));
        }
        ground.stepper.prepare(&pairs)?;
        walks.retain(|walk| walk.drawn.is_some());
        for walk in &mut walks {
            if self.advance(ground, walk)? {
                return Ok(Some(EndCondition::Violation));
            }
            if let Some(end) = self.ask_after(ground, walk) {
                return Ok(Some(end));
            }
        }
        self.walks = walks;
        Ok(None)
    }

    /// The reason to end the search, if the monitor is due after all messages in flight on a walk were examined, and has one.
    fn ask_after(&mut self, ground: &Ground<'_>, walk: &Walk) -> Option<EndCondition> {
        let is_due = self.schedule.is_check_due_after(&ground.stepper, 1 + walk.cursor.in_flight());
        is_due.then(|| self.search.monitor.check(&self.progress(&ground.stepper))).flatten()
    }

    /// Draws the next event of a walk. Judges its state, if that can be an end.
    fn draw(&mut self, ground: &mut Ground<'_>, walk: &mut Walk) -> Result<(), SearchError> {
        // The start state was judged before.
        if !walk.is_over
            && self.search.bounds.deadlock
            && walk.depth > 0
            && let Some(deadlock) = walk.cursor.judge_end(&mut ground.stepper)?
        {
            // After a crash of some nodes the others could still continue.
            walk.is_over = walk.cursor.is_end(&ground.stepper);
            self.ended += u64::from(walk.is_over);
            self.has_enough |= self.note(ground, walk, vec![(None, deadlock)])?;
        }
        let was_over = walk.is_over;
        let is_final = ground.draw(walk)? == Drawn::Ended;
        self.ended += u64::from(is_final);
        // A walk of an archive that is long enough has not ended: others continue from its last state.
        let is_whole = self.archive.is_none() || is_final || walk.depth >= ground.length_max();
        if walk.drawn.is_none() && !was_over && is_whole {
            self.examine(ground, Ended { walk, is_final })?;
        }
        Ok(())
    }

    /// Examines the promises at the end of a walk.
    fn examine(&mut self, ground: &mut Ground<'_>, ended: Ended<'_>) -> Result<(), SearchError> {
        if self.suspects.is_none() {
            return Ok(());
        }
        let progress = self.progress(&ground.stepper);
        let Some(suspects) = &mut self.suspects else { return Ok(()) };
        let mut found = Vec::new();
        let ended = suspects.ended(&mut ground.stepper, ended, &progress, &mut found);
        for found in found {
            if self.report.wants_more(&found.kind) {
                self.report.violations.push(found);
            }
        }
        self.search.announce(&mut self.report);
        self.has_enough |= self.report.is_full();
        ended
    }

    /// Takes the drawn step; returns whether it ends in a violation.
    fn advance(&mut self, ground: &mut Ground<'_>, walk: &mut Walk) -> Result<bool, SearchError> {
        let child = ground.draw_child(walk)?;
        let trigger = ground.fingerprint(child.step.trigger);
        let fingerprint = |id| ground.stepper.known().brief(id).fingerprint;
        let before = fingerprint(walk.local(child.step.node));
        self.outcomes.insert(fingerprint::of_outcome(before, trigger, child.step.outcome));
        self.see(&ground.stepper, child.next);
        let judged = walk.cursor.judge_child(&mut ground.stepper, &child);
        ground.take(walk, &child);
        self.transitions += 1;
        if self.transitions >= CURVE_FIRST && self.transitions.is_power_of_two() {
            let (transitions, walks) = (self.transitions, self.begun);
            let [local_states, views, outcomes] = [&self.local_states, &self.views, &self.outcomes].map(Distinct::len);
            self.report.curve.push(CurvePoint { transitions, walks, local_states, views, outcomes });
        }
        if self.report.growth.is_none() {
            self.report.growth = walk.lengths.look(&ground.stepper, walk.cursor.locals(), walk.depth);
        }
        self.report.depth = self.report.depth.max(walk.depth);
        let SearchBounds { goals, avoided, .. } = self.search.bounds;
        walk.reached = goals.reached(walk.reached, &judged.judgements);
        // A walk is over with its first violation: the states after it show the same one again.
        walk.is_over = judged.is_bad() || avoided.any_holds(&judged.judgements);
        if let Some(archive) = &mut self.archive
            && !walk.is_over
        {
            archive.note(&mut ground.stepper, walk)?;
        }
        let is_full = self.note(ground, walk, judged.judgements)?;
        Ok(unless_stopped(is_full, judged.stopped)?)
    }

    /// Counts a local state, and its views if it was not seen before.
    fn see(&mut self, stepper: &Stepper<'_>, local: LocalStateId) {
        if !self.local_states.insert(stepper.known().brief(local).fingerprint) {
            return;
        }
        let mut views = FxHasher::default();
        stepper.views(local).hash(&mut views);
        self.views.insert(views.finish().into());
    }

    /// Notes the judgements of the current state of a walk; returns whether the search is to end now.
    fn note(
        &mut self,
        ground: &mut Ground<'_>,
        walk: &Walk,
        judgements: Vec<(Option<NodeId>, Judgement)>,
    ) -> Result<bool, SearchError> {
        let is_news = |(node, judgement): &(Option<NodeId>, Judgement)| {
            judgement.is_bad() && self.report.is_news(*node, judgement)
        };
        let search = self.search;
        let path = match judgements.iter().any(is_news) {
            // All handlers are known there, so no stop comes before the path.
            true if std::ptr::eq(ground.stepper.lts(), search.lts) => ground.path(&walk.way())?,
            true => Ground::new(search.lts, search.starts, search.bounds)?.path(&walk.way())?,
            false => Vec::new(),
        };
        let start = &search.starts[walk.start];
        Ok(!judgements.is_empty() && search.note(&mut self.report, start, &path, judgements))
    }

    /// Takes the walks in progress from one local transition system to another one; returns the start states there.
    fn move_over(&mut self, from: &Lts<'_>, to: &Lts<'_>) -> Vec<Start> {
        self.report.renewals += 1;
        self.count_messages(from);
        let mut mover = Mover::new(from, to);
        for walk in &mut self.walks {
            walk.cursor.move_over(&mut mover);
        }
        drop(mover);
        self.archive.iter_mut().for_each(Archive::move_over);
        let mut mover = Mover::new(self.search.lts, to);
        let starts = self.search.starts.iter().map(|start| Start {
            locals: start.locals.iter().map(|local| mover.local_state(*local)).collect(),
            in_flight: mover.in_flight(&start.in_flight),
            // A finding is a path from the common start state.
            ..Start::default()
        });
        starts.collect()
    }

    fn count_messages(&mut self, lts: &Lts<'_>) {
        for message in lts.message_fingerprints() {
            self.messages.insert(message);
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            transitions: Some(self.transitions),
            walks: Some(self.begun),
            walks_ended: Some(self.ended),
            outcomes: Some(self.outcomes.len()),
            ..Counts::default()
        }
    }

    fn progress(&self, stepper: &Stepper<'_>) -> Progress {
        let first = if self.report.renewals > 0 { self.search.lts.counts().bytes } else { 0 };
        let seen = [&self.local_states, &self.views, &self.outcomes, &self.messages].map(Distinct::bytes);
        let walks = self.walks.iter().map(Walk::bytes).sum::<u64>();
        let suspects = self.suspects.as_ref().map_or(0, Suspects::bytes);
        let archive = self.archive.as_ref().map_or(0, Archive::bytes);
        let bytes = archive + first + memo_bytes(stepper) + seen.into_iter().sum::<u64>() + walks + suspects;
        let steps = self.archive.as_ref().map_or(0, Archive::looked_at) + self.walked_again / WALKED_AGAIN;
        Progress { counts: self.counts(), steps, depth: self.report.depth, queue: 0, bytes }
    }

    fn finish(mut self, end: EndCondition) -> Report {
        self.report.end = end;
        self.report.promises = self.suspects.as_ref().map(Suspects::reports).unwrap_or_default();
        self.report.counts = self.counts();
        self.report.count_local(self.search.lts);
        // Executing a handler shows all of its outcomes; only those that the walks took count.
        self.report.counts.local_states = Some(self.local_states.len());
        if self.report.renewals > 0 {
            self.report.counts.messages = Some(self.messages.len());
        }
        let seen = [&self.local_states, &self.views, &self.outcomes, &self.messages];
        self.report.are_lower_bounds = seen.into_iter().any(Distinct::is_lower_bound);
        self.report
    }
}

/// Judges the start states, since a walk judges only the states that it reaches. Returns why the search ends with them, if it does.
pub(super) fn judge_starts(
    search: &Search<'_>,
    stepper: &mut Stepper<'_>,
    report: &mut Report,
) -> Result<Option<EndCondition>, SearchError> {
    for start in search.starts {
        let judged = judge_start(search, stepper, start);
        if search.note_judged(report, start, &[], judged)? {
            return Ok(Some(EndCondition::Violation));
        }
    }
    Ok(None)
}

/// Bytes of the memoised outcomes of handlers.
pub(super) fn memo_bytes(stepper: &Stepper<'_>) -> u64 {
    stepper.lts().counts().bytes + stepper.known().own_bytes()
}
