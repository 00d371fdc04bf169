//! The rounds of the checker of a node, one after the other, and their results.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{MachineError, NodeId};
use host_model::scenario::{FaultState, Scenario};
use host_model::trace::{Beginning, TraceStep};

use crate::checker::{self, CheckError, Checker, Explorer, Limits, Reach, Round, Steering};
use crate::checkpoint::{Snapshot, beginning};
use crate::filter::Pattern;
use crate::gate::Views;
use crate::node::Backoff;
use crate::time::{Share, Time};
use crate::watcher::pace::Pace;

/// The environment of a checker: its clock, and the recipient of its findings.
pub trait Desk {
    /// The current time.
    fn now(&mut self) -> Time;

    /// Limits the total time of the next searches; those that take longer are cut short.
    fn allow(&mut self, time: Duration);

    /// Units of work are done. Where time passes by itself, this has no effect.
    fn worked(&mut self, units: u64);

    /// The views of the nodes in a snapshot; none of the other nodes. For a node that is steered.
    fn views(&mut self, views: Vec<Option<Views>>);

    /// These filters replace all earlier ones. The next ones are due after about this interval. For a node that is steered.
    fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration);

    /// A round in this scenario has ended; with the filters that the node can use, if it is steered.
    fn report(&mut self, round: &Arc<Round>, scenario: &Scenario, steering: Option<&Steering>);
}

/// The settings of a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The node of the checker.
    pub me: NodeId,
    /// The limits of a round; the round after one that was cut short has lower limits.
    pub limits: Limits,
    /// The maximum time of a round: where it steers, half of that is for predictions, and the rest for filters.
    pub round_time: Duration,
    /// The minimum time between two snapshots.
    pub every: Duration,
    /// The maximum share of the time that the checker works; after a round it rests accordingly. At most all of it.
    pub share: Share,
    /// Whether the node is steered; if so, whether connections may be broken instead of messages that have an order.
    pub steers: Option<bool>,
}

/// The counts of a checker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rounds.
    pub rounds: u64,
    /// Snapshots equal to the last one, so that the findings of its round stand.
    pub unchanged: u64,
    /// Rounds that were cut short, as they took too long.
    pub cut: u64,
    /// Snapshots that the checker refused: their states are not of this cluster.
    pub refused: u64,
    /// Violations that rounds predicted; one that several rounds predict counts in each.
    pub predictions: u64,
    /// Promises of progress that cannot be kept any more in a state ahead, counted in the same way.
    pub dead: u64,
    /// Rounds that began where a property was violated already.
    pub violated: u64,
    /// Rounds that predicted something that the node cannot prevent.
    pub unhelpful: u64,
    /// Time that the checker took.
    pub taken: Duration,
}

/// The input of a round. Equal questions have equal answers, unless a round was cut short.
#[derive(PartialEq, Eq)]
struct Question {
    beginning: Arc<Beginning>,
    is_partial: bool,
    reach: Reach,
}

/// The findings of a round.
struct Found {
    round: Arc<Round>,
    /// If the node is steered.
    steering: Option<Steering>,
}

/// A question, and the results of its round.
struct Answered {
    question: Question,
    /// The filters of the node, if it is steered.
    patterns: Option<BTreeSet<Pattern>>,
    /// The time of the round, with the rest after it.
    took: Duration,
}

/// The rounds of a checker.
pub struct Rounds<'c> {
    explorer: Box<dyn Explorer + 'c>,
    /// The fault state of a node before its first event.
    fresh: FaultState,
    manner: Manner,
    pace: Pace,
    begun: Time,
    /// The initial filters of the node, and the time until which they are in force as long as no snapshot has all nodes.
    armed: Option<(BTreeSet<Pattern>, Time)>,
    /// The last round, unless it was cut short.
    last: Option<Answered>,
    /// The last views of the others that the node received.
    told: Option<Arc<Beginning>>,
    /// The time of the last snapshot.
    looked: Option<Time>,
    /// The recent time between snapshots.
    apart: Duration,
    counts: Counts,
}

impl<'c> Rounds<'c> {
    /// The rounds of a checker that begins now, and knows these paths to violations from earlier processes, the latest last.
    pub fn new(mut checker: Checker<'c>, manner: Manner, kept: &[Vec<TraceStep>], now: Time) -> Self {
        kept.iter().for_each(|path| checker.remember(path));
        let patterns =
            |may_break| checker::armed(kept, manner.me, may_break, checker.lts().scenario(), checker.kinds());
        let armed = manner.steers.map(patterns).filter(|patterns| !patterns.is_empty());
        let end = now.after(manner.every * 2);
        Self { armed: armed.map(|patterns| (patterns, end)), ..Self::exploring(Box::new(checker), manner, now) }
    }

    /// The rounds of a checker that begins now, explores with this and knows nothing of earlier processes.
    pub fn exploring(explorer: Box<dyn Explorer + 'c>, manner: Manner, now: Time) -> Self {
        Self {
            fresh: explorer.fresh(),
            explorer,
            manner,
            pace: Pace::new(&manner.limits, manner.round_time),
            begun: now,
            armed: None,
            last: None,
            told: None,
            looked: None,
            apart: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn is_steering(&self) -> bool {
        self.manner.steers.is_some()
    }

    /// Runs a round for a snapshot, unless it equals the last one. Returns the time to rest then.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn look(&mut self, snapshot: &Snapshot, desk: &mut dyn Desk) -> Result<Duration, MachineError> {
        let begun = desk.now();
        self.looks(begun);
        // A message that may be in flight or not counts as lost. A promise may need it.
        let (beginning, is_partial) = beginning(snapshot, &self.fresh);
        let question = Question { beginning: Arc::new(beginning), is_partial, reach: self.pace.reach() };
        if let Some(last) = self.last.as_ref().filter(|last| last.question == question) {
            self.counts.unchanged += 1;
            if let Some(patterns) = last.patterns.clone() {
                let interval = self.interval(last.took);
                let patterns = self.with_armed(&question.beginning, patterns, begun);
                desk.filters(patterns, interval);
            }
            // During the rest, the node may have received other views, which are out of date.
            let told = self.tell(&question.beginning, desk);
            self.worked(begun, told, desk)?;
            return Ok(Duration::ZERO);
        }
        self.last = None;
        let result = self.round(&question, desk);
        let (found, taken) = self.worked(begun, result, desk)?;
        // At a start, a snapshot that no other node has answered yet must not delay the next one.
        let is_early = question.beginning.states.len() < 2 && begun < self.begun.after(self.manner.every * 2);
        let rest = if is_early { Duration::ZERO } else { rest_after(taken, self.manner.share) };
        if let Some(found) = found {
            self.hand_over(question, found, taken, rest, desk);
        }
        Ok(rest)
    }

    /// During a rest, passes the node the views of a snapshot. Returns the additional time to rest.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn look_only(&mut self, snapshot: &Snapshot, desk: &mut dyn Desk) -> Result<Duration, MachineError> {
        let begun = desk.now();
        let told = self.tell(&Arc::new(beginning(snapshot, &self.fresh).0), desk);
        let (_, taken) = self.worked(begun, told, desk)?;
        Ok(taken + rest_after(taken, self.manner.share))
    }

    /// Runs a round and, if the node is steered, finds filters against its predictions, in three eighths of the time each. Before that,
    /// a steered node receives the views of the snapshot, and the checker looks a little way ahead, in a quarter of the time.
    fn round(&mut self, question: &Question, desk: &mut dyn Desk) -> Result<Found, CheckError> {
        let Question { beginning, is_partial, reach } = question;
        let round_time = self.manner.round_time;
        self.tell(beginning, desk)?;
        if self.is_steering() {
            self.look_near(beginning, desk)?;
        }
        let time = if self.is_steering() { round_time * 3 / 8 } else { round_time };
        self.explorer.set_reach(*reach);
        desk.allow(time);
        let mut round = self.explorer.round(beginning)?;
        let mut steering = None;
        if self.is_steering() {
            desk.allow(time);
            steering = Some(match self.explorer.steer(self.manner.me, &round) {
                Err(CheckError::Refused(_)) => Steering { is_unhelpful: true, ..Steering::default() },
                result => result?,
            });
        }
        if !is_partial {
            round = self.explorer.find_dead_ahead(round)?;
        }
        desk.worked(round.work + steering.as_ref().map_or(0, |steering| steering.work));
        Ok(Found { round, steering })
    }

    /// Looks a little way ahead, and puts filters into force against violations there: they may happen before a round ends.
    fn look_near(&mut self, beginning: &Arc<Beginning>, desk: &mut dyn Desk) -> Result<(), CheckError> {
        let round_time = self.manner.round_time;
        self.explorer.set_reach(self.pace.least());
        desk.allow(round_time / 8);
        let round = self.explorer.round(beginning)?;
        desk.worked(round.work);
        if round.predictions.is_empty() {
            return Ok(());
        }
        desk.allow(round_time / 8);
        let Steering { patterns, work, .. } = self.explorer.steer(self.manner.me, &round)?;
        desk.worked(work);
        if !patterns.is_empty() {
            desk.filters(patterns, self.interval(round_time));
        }
        Ok(())
    }

    /// The filters of a round, and the initial ones until a snapshot has all nodes.
    fn with_armed(&mut self, beginning: &Beginning, mut patterns: BTreeSet<Pattern>, now: Time) -> BTreeSet<Pattern> {
        let is_partial = |explorer: &dyn Explorer| !explorer.scenario_of(beginning).absent.is_empty();
        self.armed = self.armed.take().filter(|(_, end)| *end > now && is_partial(&*self.explorer));
        patterns.extend(self.armed.iter().flat_map(|(armed, _)| armed.iter().cloned()));
        patterns
    }

    /// Counts the findings of a round, puts its filters into force, and reports it.
    fn hand_over(&mut self, question: Question, found: Found, taken: Duration, rest: Duration, desk: &mut dyn Desk) {
        let Found { round, steering } = found;
        let is_cut = round.is_cut || steering.as_ref().is_some_and(|steering| steering.is_cut);
        self.pace.took(taken, is_cut);
        let counts = &mut self.counts;
        counts.rounds += 1;
        counts.cut += u64::from(is_cut);
        counts.predictions += round.predictions.len() as u64;
        counts.dead += round.dead.len() as u64;
        counts.violated += u64::from(!round.violated.is_empty());
        let took = taken + rest;
        if let Some(Steering { patterns, is_unhelpful, .. }) = &steering {
            counts.unhelpful += u64::from(*is_unhelpful);
            let now = desk.now();
            let patterns = self.with_armed(&question.beginning, patterns.clone(), now);
            desk.filters(patterns, self.interval(took));
        }
        desk.report(&round, &self.explorer.scenario_of(&round.beginning), steering.as_ref());
        if !is_cut {
            let patterns = steering.map(|steering| steering.patterns);
            self.last = Some(Answered { question, patterns, took });
        }
    }

    /// Notes a snapshot. If a node is down or its bandwidth is used up, snapshots are late by different times, so long
    /// intervals are forgotten slowly. An interval of an earlier process says nothing about the next one.
    fn looks(&mut self, now: Time) {
        let since = self.looked.replace(now).map_or(0, |last| now.0.saturating_sub(last.0));
        let since = Duration::from_nanos(since);
        self.apart = since.min(Backoff::longest(self.manner.every)).max(self.apart * 3 / 4);
    }

    /// The time until the next round ends, after one that took this long.
    fn interval(&self, took: Duration) -> Duration {
        self.manner.every.max(took).max(self.apart)
    }

    /// Passes a steered node the views of a snapshot, unless it received the same ones last.
    fn tell(&mut self, beginning: &Arc<Beginning>, desk: &mut dyn Desk) -> Result<(), CheckError> {
        if self.is_steering() && self.told.as_ref() != Some(beginning) {
            desk.views(self.explorer.views(beginning)?);
            self.told = Some(Arc::clone(beginning));
        }
        Ok(())
    }

    /// Counts work and refusals. Returns the result, unless it was refused, and the time of the work.
    fn worked<T>(
        &mut self,
        begun: Time,
        result: Result<T, CheckError>,
        desk: &mut dyn Desk,
    ) -> Result<(Option<T>, Duration), MachineError> {
        let taken = Duration::from_nanos(desk.now().0.saturating_sub(begun.0));
        self.counts.taken += taken;
        match result {
            Ok(done) => Ok((Some(done), taken)),
            Err(CheckError::Refused(_)) => {
                self.counts.refused += 1;
                Ok((None, taken))
            }
            Err(CheckError::Machine(error)) => Err(error),
        }
    }
}

/// The rest after this much work, so that the work is that share of the time.
pub fn rest_after(taken: Duration, share: Share) -> Duration {
    taken.mul_f64(f64::from(Share::ALL.0.saturating_sub(share.0)) / f64::from(share.0.max(1)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use host_model::contract::LocalKind;
    use host_model::toys::{Toy, ToyTrigger};

    use super::*;
    use crate::checkpoint::Checkpoint;

    /// Notes the calls of a checker; no time passes by itself, and a unit of work takes `each`.
    #[derive(Default)]
    struct Noting {
        now: Time,
        each: Duration,
        views: Vec<Option<Views>>,
        filters: Option<(BTreeSet<Pattern>, Duration)>,
        reported: usize,
    }

    impl Desk for Noting {
        fn now(&mut self) -> Time {
            self.now
        }

        fn allow(&mut self, _time: Duration) {}

        fn worked(&mut self, units: u64) {
            self.now = self.now.after(self.each * units as u32);
        }

        fn views(&mut self, views: Vec<Option<Views>>) {
            self.views = views;
        }

        fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration) {
            self.filters = Some((patterns, interval));
        }

        fn report(&mut self, _round: &Arc<Round>, _scenario: &Scenario, _steering: Option<&Steering>) {
            self.reported += 1;
        }
    }

    #[test]
    fn rests_keep_the_share_of_work() {
        let taken = Duration::from_millis(30);
        let rests = [100, 50, 25, 10, 1].map(|percent| rest_after(taken, Share(percent * 10_000)).as_millis());
        assert_eq!(rests, [0, 30, 90, 270, 2_970]);
    }

    /// A snapshot of two nodes; node 0 can go from state 0 to 1 by a timer, which violates the property.
    fn states(states: [u8; 2]) -> Snapshot {
        let checkpoint = |(node, state)| {
            let checkpoint =
                Checkpoint { number: 1, incarnation: 1, content: vec![node, state], channels: BTreeMap::new() };
            (node.into(), checkpoint)
        };
        Snapshot { number: 1, checkpoints: (0..).zip(states).map(checkpoint).collect(), absent: BTreeSet::new() }
    }

    /// Runs a test with the rounds of a checker that steers a node.
    fn rounds(me: NodeId, every: Duration, then: impl FnOnce(&mut Rounds<'_>, &mut Noting)) {
        let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
        let toy = Arc::new(toy.forbid(&[Some(1), None]));
        let limits = Limits::default();
        let checker = Checker::new(&toy, Scenario::new(2), limits).expect("it is native");
        let round_time = Duration::from_secs(3_600);
        let manner = Manner { me, limits, round_time, every, share: Share::ALL, steers: Some(false) };
        let mut desk = Noting::default();
        then(&mut Rounds::new(checker, manner, &[], Time(0)), &mut desk);
    }

    /// While the checker of node 1 rests, node 0 takes a step and returns: the views that node 1 received meanwhile are replaced.
    #[test]
    fn views_received_in_a_rest_are_replaced_after_it() {
        rounds(1, Duration::ZERO, |rounds, desk| {
            let mut told = Vec::new();
            let mut hear = |desk: &mut Noting| told.push(std::mem::take(&mut desk.views));
            rounds.look(&states([0, 0]), desk).expect("it is native");
            hear(desk);
            rounds.look_only(&states([1, 0]), desk).expect("it is a state of the toy");
            hear(desk);
            for _ in 0..2 {
                rounds.look(&states([0, 0]), desk).expect("it is native");
                hear(desk);
            }
            assert_eq!((rounds.counts().rounds, rounds.counts().unchanged), (1, 2));
            assert!(told[0] != told[1] && told[0] == told[2], "{told:?}");
            assert!(told[3].is_empty(), "the gate has it already: {told:?}");
        });
    }

    /// If a node is down, or others have no bandwidth left, snapshots due every second arrive after three seconds or sixty-four, some of
    /// them sooner, changed or not: filters stay in force until the next one. An hour without a snapshot does not extend them to hours.
    #[test]
    fn filters_are_in_force_until_the_next_snapshot_if_snapshots_are_late() {
        rounds(0, Duration::from_secs(1), |rounds, desk| {
            let looks = [(0, 0), (3, 0), (4, 0), (7, 1), (71, 1), (3_671, 0)];
            let intervals = looks.map(|(second, state)| {
                desk.now = Time(0).after(Duration::from_secs(3_600 + second));
                rounds.look(&states([0, state]), desk).expect("it is native");
                let (filters, interval) = desk.filters.take().expect("there is one");
                (filters.len(), interval.as_millis())
            });
            // Filters last twice the interval: 4.5 s, and the next snapshot is due in 3 s.
            assert_eq!(intervals, [1_000, 3_000, 2_250, 3_000, 64_000, 64_000].map(|interval| (1, interval)));
            assert_eq!((rounds.counts().rounds, rounds.counts().unchanged), (3, 3));
        });
    }

    /// In virtual time a round takes as long as its work, and so does the short round before it.
    #[test]
    fn work_takes_time() {
        rounds(0, Duration::ZERO, |rounds, desk| {
            desk.each = Duration::from_millis(1);
            rounds.look(&states([0, 0]), desk).expect("it is native");
            let first = desk.now;
            assert!(first > Time(0) && desk.reported == 1);
            assert_eq!(rounds.counts().taken, first.since_start());
            rounds.look(&states([0, 0]), desk).expect("it is native");
            assert_eq!((desk.now, desk.reported), (first, 1), "nothing is explored again");
        });
    }
}
