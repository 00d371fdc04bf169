//! The rounds of the checker of a node, one after the other, and what it hands over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{MachineError, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::{Beginning, TraceStep};

use crate::checker::{self, CheckError, Checker, Explorer, Limits, Reach, Round, Steering};
use crate::checkpoint::{Snapshot, beginning};
use crate::filter::Pattern;
use crate::gate::Views;
use crate::node::Backoff;
use crate::time::{Share, Time};
use crate::watcher::pace::Pace;

/// What a checker works at: its clock, and the recipient of what it has found.
pub trait Desk {
    /// The time by now.
    fn now(&mut self) -> Time;

    /// The next searches have this much time together; those that take longer are cut short.
    fn allow(&mut self, time: Duration);

    /// Units of work are done. Where time passes by itself, that is nothing new.
    fn worked(&mut self, units: u64);

    /// A snapshot says this of the nodes; nothing of those that are not in it. For a node that is steered.
    fn views(&mut self, views: Vec<Option<Views>>);

    /// These filters are in force and replace all before. The next ones come in about that time. For a node that is steered.
    fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration);

    /// A round has ended, in this scenario; with what the node can filter, if it is steered.
    fn report(&mut self, round: &Arc<Round>, scenario: &Scenario, steering: Option<&Steering>);
}

/// How a checker works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The node that it belongs to.
    pub me: NodeId,
    /// How far a round looks at most; less far after one that was cut short.
    pub limits: Limits,
    /// How long it may look: where it steers, half of that for what is about to go wrong, and the rest for filters.
    pub round_time: Duration,
    /// The time between two snapshots at least.
    pub every: Duration,
    /// How much of the time the checker may work; after a round it rests accordingly. At most all of it.
    pub share: Share,
    /// Whether the node is steered; if so, whether connections may be broken instead of messages that have an order.
    pub steers: Option<bool>,
}

/// What a checker has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rounds.
    pub rounds: u64,
    /// Snapshots that say what the last one did, so that what its round has found stands.
    pub unchanged: u64,
    /// Rounds that were cut short, as they took too long.
    pub cut: u64,
    /// Snapshots that the checker refused: states that are none of this cluster.
    pub refused: u64,
    /// Violations that rounds predicted; one that several rounds predict counts in each.
    pub predictions: u64,
    /// Promises of progress that cannot be kept any more in a state ahead, counted in the same way.
    pub dead: u64,
    /// Rounds that began where a property was violated already.
    pub violated: u64,
    /// Rounds that predicted what the node cannot keep from happening.
    pub unhelpful: u64,
    /// Time that the checker took.
    pub taken: Duration,
}

/// What a round is asked. The answer to the same question is the same, if it was not cut short.
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

/// A question, and what its round has found.
struct Answered {
    question: Question,
    /// The filters of the node, if it is steered.
    patterns: Option<BTreeSet<Pattern>>,
    /// How long it took, with the rest after it.
    took: Duration,
}

/// The rounds of a checker.
pub struct Rounds<'c> {
    explorer: Box<dyn Explorer + 'c>,
    manner: Manner,
    pace: Pace,
    begun: Time,
    /// Until when filters are in force that the node began with, as long as no snapshot has all nodes.
    armed: Option<(BTreeSet<Pattern>, Time)>,
    /// The last round, unless it was cut short.
    last: Option<Answered>,
    /// What the node has heard of the others last.
    told: Option<Arc<Beginning>>,
    /// When the last snapshot was looked at.
    looked: Option<Time>,
    /// How far apart snapshots have lately come.
    apart: Duration,
    counts: Counts,
}

impl<'c> Rounds<'c> {
    /// Those of a checker that begins now, and knows these paths to violations of earlier processes, the latest last.
    pub fn new(mut checker: Checker<'c>, manner: Manner, kept: &[Vec<TraceStep>], now: Time) -> Self {
        kept.iter().for_each(|path| checker.remember(path));
        let patterns =
            |may_break| checker::armed(kept, manner.me, may_break, checker.lts().scenario(), checker.kinds());
        let armed = manner.steers.map(patterns).filter(|patterns| !patterns.is_empty());
        let end = now.after(manner.every * 2);
        Self { armed: armed.map(|patterns| (patterns, end)), ..Self::exploring(Box::new(checker), manner, now) }
    }

    /// Those of a checker that begins now, explores with this and knows nothing of earlier processes.
    pub fn exploring(explorer: Box<dyn Explorer + 'c>, manner: Manner, now: Time) -> Self {
        Self {
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

    /// What it has counted so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn is_steering(&self) -> bool {
        self.manner.steers.is_some()
    }

    /// A round for a snapshot that is there now, unless that says what the last one did; how long to rest then.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn look(&mut self, snapshot: &Snapshot, desk: &mut dyn Desk) -> Result<Duration, MachineError> {
        let begun = desk.now();
        self.looks(begun);
        // What may be in flight, or not, counts as lost. It could be what a promise needs.
        let (beginning, is_partial) = beginning(snapshot);
        let question = Question { beginning: Arc::new(beginning), is_partial, reach: self.pace.reach() };
        if let Some(last) = self.last.as_ref().filter(|last| last.question == question) {
            self.counts.unchanged += 1;
            if let Some(patterns) = last.patterns.clone() {
                let interval = self.interval(last.took);
                let patterns = self.with_armed(&question.beginning, patterns, begun);
                desk.filters(patterns, interval);
            }
            // While it rested, the node may have heard of something else, which is over.
            let told = self.tell(&question.beginning, desk);
            self.worked(begun, told, desk)?;
            return Ok(Duration::ZERO);
        }
        self.last = None;
        let result = self.round(&question, desk);
        let (found, taken) = self.worked(begun, result, desk)?;
        // At a start, a snapshot in which no other node has answered yet must not keep the next one waiting.
        let is_early = question.beginning.states.len() < 2 && begun < self.begun.after(self.manner.every * 2);
        let rest = if is_early { Duration::ZERO } else { rest_after(taken, self.manner.share) };
        if let Some(found) = found {
            self.hand_over(question, found, taken, rest, desk);
        }
        Ok(rest)
    }

    /// While it rests, the node hears what a snapshot says of the others; how much longer to rest for that.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn look_only(&mut self, snapshot: &Snapshot, desk: &mut dyn Desk) -> Result<Duration, MachineError> {
        let begun = desk.now();
        let told = self.tell(&Arc::new(beginning(snapshot).0), desk);
        let (_, taken) = self.worked(begun, told, desk)?;
        Ok(taken + rest_after(taken, self.manner.share))
    }

    /// A round, and the filters of the node against what it predicts if that is steered, in half of the time for each. What the snapshot
    /// says of the others the node hears at once, and in a quarter of the time it looks a little way ahead first.
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

    /// Looks a little way ahead, and puts filters into force against what is about to go wrong there: it may come before a round ends.
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

    /// The filters of a round, and those that the node began with until a snapshot has all nodes.
    fn with_armed(&mut self, beginning: &Beginning, mut patterns: BTreeSet<Pattern>, now: Time) -> BTreeSet<Pattern> {
        let is_partial = |explorer: &dyn Explorer| !explorer.scenario_of(beginning).absent.is_empty();
        self.armed = self.armed.take().filter(|(_, end)| *end > now && is_partial(&*self.explorer));
        patterns.extend(self.armed.iter().flat_map(|(armed, _)| armed.iter().cloned()));
        patterns
    }

    /// Counts what a round has found, puts its filters into force, and reports it.
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

    /// A snapshot is looked at. Where a node is down, or no bandwidth is left, they come late, some of them later than others: what was
    /// long is forgotten slowly. What a process has waited for that was stopped says nothing about the next one.
    fn looks(&mut self, now: Time) {
        let since = self.looked.replace(now).map_or(0, |last| now.0.saturating_sub(last.0));
        let since = Duration::from_nanos(since);
        self.apart = since.min(Backoff::longest(self.manner.every)).max(self.apart * 3 / 4);
    }

    /// The time until the next round ends, after one that took so long.
    fn interval(&self, took: Duration) -> Duration {
        self.manner.every.max(took).max(self.apart)
    }

    /// A node that is steered hears what a snapshot says of the others, unless that is what it has heard last.
    fn tell(&mut self, beginning: &Arc<Beginning>, desk: &mut dyn Desk) -> Result<(), CheckError> {
        if self.is_steering() && self.told.as_ref() != Some(beginning) {
            desk.views(self.explorer.views(beginning)?);
            self.told = Some(Arc::clone(beginning));
        }
        Ok(())
    }

    /// Counts work, and what was refused; its result, if it was not, and how long it took.
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

/// How long to rest after so much work, so that the work is that share of the time.
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

    /// Notes what is handed over; no time passes by itself, and a unit of work takes `each`.
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
