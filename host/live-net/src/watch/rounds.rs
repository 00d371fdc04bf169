//! The rounds of a checker beside a node, one after the other, and what it hands over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use host_live::checker::{self, CheckError, Checker, Round, Steering};
use host_live::checkpoint::{Snapshot, beginning};
use host_live::filter::Pattern;
use host_live::node::Backoff;
use host_live::time::Share;
use host_model::contract::{MachineError, NodeId};
use host_model::trace::Beginning;

use super::{Report, Tally, Watch};
use crate::pace::{Deadline, Pace};
use crate::slot::Slot;
use crate::steer::Inbox;

/// What a round is asked. The answer to the same question is the same, if it was not cut short.
#[derive(PartialEq, Eq)]
struct Question {
    beginning: Arc<Beginning>,
    is_partial: bool,
    reach: (u64, u64),
}

/// A question, and what its round has found.
struct Answered {
    question: Question,
    /// The filters of the node, if it is steered.
    patterns: Option<BTreeSet<Pattern>>,
    /// How long it took, with the rest after it.
    took: Duration,
}

/// The checker: one round after the other, until the node ends or the host cannot go on.
pub(super) fn check(mut watch: Watch, me: NodeId, (slot, inbox): (&Slot, &Inbox), tally: &Tally) {
    let deadline = Deadline::new();
    let rounds = Rounds::new(&mut watch, me, (inbox, tally), &deadline);
    // The tally says that it has ended; why is of no use to the node.
    let _ = rounds.and_then(|mut rounds| rounds.go_on(slot));
}

/// How long a checker that rests waits for what it tells of the others: each snapshot is work for all nodes.
const RENEWAL: Duration = Duration::from_secs(1);

struct Rounds<'c> {
    checker: Checker<'c>,
    me: NodeId,
    inbox: &'c Inbox,
    tally: &'c Tally,
    deadline: &'c Deadline,
    pace: Pace,
    round_time: Duration,
    every: Duration,
    share: Share,
    is_steering: bool,
    begun: Instant,
    /// Until when filters are in force that the node began with, as long as no snapshot has all nodes.
    armed: Option<(BTreeSet<Pattern>, Instant)>,
    report: &'c mut Report,
    /// The last round, unless it was cut short.
    last: Option<Answered>,
    /// What the node has heard of the others last.
    told: Option<Arc<Beginning>>,
    /// When the last snapshot was looked at.
    looked: Option<Instant>,
    /// How far apart snapshots have lately come.
    apart: Duration,
}

impl<'c> Rounds<'c> {
    fn new(
        watch: &'c mut Watch,
        me: NodeId,
        (inbox, tally): (&'c Inbox, &'c Tally),
        deadline: &'c Deadline,
    ) -> Result<Self, MachineError> {
        let Watch { factory, scenario, limits, round_time, every, share, report, steer, kept, missing: _ } = watch;
        let mut checker = Checker::new(&**factory, scenario.clone(), *limits)?.stopped_by(deadline);
        kept.iter().for_each(|path| checker.remember(path));
        let may_break = steer.as_ref().map(|steer| steer.breaks);
        let armed = may_break.map(|may_break| checker::armed(kept, me, may_break, scenario, checker.kinds()));
        let begun = Instant::now();
        let end = begun + *every * 2;
        Ok(Self {
            checker,
            me,
            inbox,
            tally,
            deadline,
            pace: Pace::new(limits, *round_time),
            round_time: *round_time,
            every: *every,
            share: *share,
            is_steering: steer.is_some(),
            begun,
            armed: armed.filter(|patterns| !patterns.is_empty()).map(|patterns| (patterns, end)),
            report: &mut **report,
            last: None,
            told: None,
            looked: None,
            apart: Duration::ZERO,
        })
    }

    fn go_on(&mut self, slot: &Slot) -> Result<(), MachineError> {
        while let Some(snapshot) = slot.take(self.share == Share::ALL, None) {
            let rest = self.look(&snapshot, Instant::now())?;
            self.rest(slot, rest)?;
        }
        Ok(())
    }

    /// A round for a snapshot that is there now, unless that says what the last one did; how long to rest then.
    fn look(&mut self, snapshot: &Snapshot, begun: Instant) -> Result<Duration, MachineError> {
        self.looks(begun);
        // What may be in flight, or not, counts as lost. It could be what a promise needs.
        let (beginning, is_partial) = beginning(snapshot);
        let question = Question { beginning: Arc::new(beginning), is_partial, reach: self.pace.reach() };
        if let Some(last) = self.last.as_ref().filter(|last| last.question == question) {
            self.tally.unchanged.fetch_add(1, Ordering::Relaxed);
            if let Some(patterns) = last.patterns.clone() {
                let interval = self.interval(last.took);
                let patterns = self.with_armed(&question.beginning, patterns);
                self.inbox.put_filters(patterns, interval);
            }
            // While it rested, the node may have heard of something else, which is over.
            let told = self.tell(&question.beginning);
            self.worked(begun, told)?;
            return Ok(Duration::ZERO);
        }
        self.last = None;
        let result = self.round(&question);
        let (found, taken) = self.worked(begun, result)?;
        // At a start, a snapshot in which no other node has answered yet must not keep the next one waiting.
        let is_early = question.beginning.states.len() < 2 && begun < self.begun + self.every * 2;
        let rest = if is_early { Duration::ZERO } else { rest_after(taken, self.share) };
        if let Some(found) = found {
            self.hand_over(question, found, (taken, rest));
        }
        Ok(rest)
    }

    /// A round, and the filters of the node against what it predicts if that is steered, in half of the time for each. What the snapshot
    /// says of the others the node hears at once, and in a quarter of the time it looks a little way ahead first.
    fn round(&mut self, question: &Question) -> Result<(Round, Option<Steering>), CheckError> {
        let Question { beginning, is_partial, reach } = question;
        self.tell(beginning)?;
        if self.is_steering {
            self.look_near(beginning)?;
        }
        let time = if self.is_steering { self.round_time * 3 / 8 } else { self.round_time };
        self.checker.set_reach(*reach);
        self.deadline.set(time);
        let mut round = self.checker.round(beginning)?;
        let mut steering = None;
        if self.is_steering {
            self.deadline.set(time);
            steering = Some(match self.checker.steer(self.me, &round) {
                Err(CheckError::Refused(_)) => Steering { is_unhelpful: true, ..Steering::default() },
                result => result?,
            });
        }
        if !is_partial {
            self.checker.find_dead_ahead(&mut round)?;
        }
        Ok((round, steering))
    }

    /// Looks a little way ahead, and puts filters into force against what is about to go wrong there: it may come before a round ends.
    fn look_near(&mut self, beginning: &Arc<Beginning>) -> Result<(), CheckError> {
        self.checker.set_reach(self.pace.least());
        self.deadline.set(self.round_time / 8);
        let round = self.checker.round(beginning)?;
        if round.predictions.is_empty() {
            return Ok(());
        }
        self.deadline.set(self.round_time / 8);
        let Steering { patterns, .. } = self.checker.steer(self.me, &round)?;
        if !patterns.is_empty() {
            self.inbox.put_filters(patterns, self.interval(self.round_time));
        }
        Ok(())
    }

    /// Filters that come out of a round, with those that the node began with as long as it has not seen all nodes.
    fn with_armed(&mut self, beginning: &Beginning, mut patterns: BTreeSet<Pattern>) -> BTreeSet<Pattern> {
        let is_whole = beginning.states.len() == self.checker.lts().scenario().nodes as usize;
        self.armed = self.armed.take().filter(|(_, end)| !is_whole && *end > Instant::now());
        patterns.extend(self.armed.iter().flat_map(|(armed, _)| armed.iter().cloned()));
        patterns
    }

    /// Counts what a round has found, puts its filters into force, and reports it.
    fn hand_over(
        &mut self,
        question: Question,
        (round, steering): (Round, Option<Steering>),
        (taken, rest): (Duration, Duration),
    ) {
        let is_cut = round.is_cut || steering.as_ref().is_some_and(|steering| steering.is_cut);
        self.pace.took(taken, is_cut);
        let Tally { rounds, cut, predictions, dead, violated, unhelpful, .. } = self.tally;
        rounds.fetch_add(1, Ordering::Relaxed);
        cut.fetch_add(is_cut.into(), Ordering::Relaxed);
        predictions.fetch_add(round.predictions.len() as u64, Ordering::Relaxed);
        dead.fetch_add(round.dead.len() as u64, Ordering::Relaxed);
        violated.fetch_add((!round.violated.is_empty()).into(), Ordering::Relaxed);
        let took = taken + rest;
        if let Some(Steering { patterns, is_unhelpful, .. }) = &steering {
            unhelpful.fetch_add((*is_unhelpful).into(), Ordering::Relaxed);
            let patterns = self.with_armed(&question.beginning, patterns.clone());
            self.inbox.put_filters(patterns, self.interval(took));
        }
        (self.report)(&round, self.checker.lts().scenario(), steering.as_ref());
        if !is_cut {
            let patterns = steering.map(|steering| steering.patterns);
            self.last = Some(Answered { question, patterns, took });
        }
    }

    /// A snapshot is looked at. Where a node is down, or no bandwidth is left, they come late, some of them later than others: what was long
    /// is forgotten slowly. What a process has waited for that was stopped says nothing about the next one.
    fn looks(&mut self, now: Instant) {
        let since = self.looked.replace(now).map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.apart = since.min(Backoff::longest(self.every)).max(self.apart * 3 / 4);
    }

    /// The time until the next round ends, after one that took so long.
    fn interval(&self, took: Duration) -> Duration {
        self.every.max(took).max(self.apart)
    }

    /// Rests. Where it steers, it has the node hear of the others meanwhile: what that knows of them must not become as old as a rest is
    /// long. That is work, too.
    fn rest(&mut self, slot: &Slot, rest: Duration) -> Result<(), MachineError> {
        if !self.is_steering || rest.is_zero() {
            slot.rest(rest, self.every);
            return Ok(());
        }
        let mut end = Instant::now() + rest;
        loop {
            slot.rest(RENEWAL.min(end.saturating_duration_since(Instant::now())), self.every);
            let Some(snapshot) = slot.take(false, Some(end)) else { return Ok(()) };
            let begun = Instant::now();
            let told = self.tell(&Arc::new(beginning(&snapshot).0));
            let (_, taken) = self.worked(begun, told)?;
            end += taken + rest_after(taken, self.share);
        }
    }

    /// A node that is steered hears what a snapshot says of the others, unless that is what it has heard last.
    fn tell(&mut self, beginning: &Arc<Beginning>) -> Result<(), CheckError> {
        if self.is_steering && self.told.as_ref() != Some(beginning) {
            self.inbox.put_views(self.checker.views(beginning)?);
            self.told = Some(Arc::clone(beginning));
        }
        Ok(())
    }

    /// Counts work, and what was refused; what has come of it, if it was not, and how long it took.
    fn worked<T>(&self, begun: Instant, result: Result<T, CheckError>) -> Result<(Option<T>, Duration), MachineError> {
        let taken = begun.elapsed();
        self.tally.took(taken);
        match result {
            Ok(done) => Ok((Some(done), taken)),
            Err(CheckError::Refused(_)) => {
                self.tally.refused.fetch_add(1, Ordering::Relaxed);
                Ok((None, taken))
            }
            Err(CheckError::Machine(error)) => Err(error),
        }
    }
}

/// How long to rest after so much work, so that the work is that share of the time.
fn rest_after(taken: Duration, share: Share) -> Duration {
    taken.mul_f64(f64::from(Share::ALL.0.saturating_sub(share.0)) / f64::from(share.0.max(1)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use host_live::checker::Limits;
    use host_live::checkpoint::Checkpoint;
    use host_live::filter::Quota;
    use host_model::contract::LocalKind;
    use host_model::scenario::Scenario;
    use host_model::toys::{Toy, ToyTrigger};

    use super::*;
    use crate::steer::Steer;

    #[test]
    fn who_has_worked_rests_so_that_its_share_comes_out() {
        let taken = Duration::from_millis(30);
        let rests = [100, 50, 25, 10, 1].map(|percent| rest_after(taken, Share(percent * 10_000)).as_millis());
        assert_eq!(rests, [0, 30, 90, 270, 2_970]);
    }

    /// The state of two nodes; node 0 may go from 0 to 1 by a timer, and must not.
    fn states(states: [u8; 2]) -> Snapshot {
        let checkpoint = |(node, state)| {
            let checkpoint =
                Checkpoint { number: 1, incarnation: 1, content: vec![node, state], channels: BTreeMap::new() };
            (node.into(), checkpoint)
        };
        Snapshot { number: 1, checkpoints: (0..).zip(states).map(checkpoint).collect(), absent: BTreeSet::new() }
    }

    /// Ends a checker, also if what is done with it fails.
    struct Closing<'s>(&'s Slot);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    /// A checker that steers node 0: how long its rounds may take, and its share.
    fn watch(round_time: Duration, share: Share) -> Watch {
        let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
        let toy = Arc::new(toy.forbid(&[Some(1), None]));
        Watch {
            factory: Arc::new(toy),
            scenario: Scenario::new(2),
            limits: Limits::default(),
            round_time,
            every: Duration::ZERO,
            share,
            report: Box::new(|_, _, _| {}),
            missing: Arc::new(|_| {}),
            kept: Vec::new(),
            steer: Some(Steer { quota: Quota::default(), switch: Default::default(), hold: None, breaks: false }),
        }
    }

    /// Does something with such a checker in a thread of its own.
    fn beside<R>((round_time, share): (Duration, Share), then: impl FnOnce(&Slot, &Inbox, &Tally) -> R) -> R {
        let watch = watch(round_time, share);
        let (slot, inbox, tally) = (&Slot::default(), &Inbox::default(), &Tally::default());
        thread::scope(|scope| {
            scope.spawn(move || check(watch, 0, (slot, inbox), tally));
            let _closing = Closing(slot);
            then(slot, inbox, tally)
        })
    }

    /// Does something with the rounds of such a checker for a node, which have all the time.
    fn rounds(me: NodeId, then: impl FnOnce(&mut Rounds<'_>)) {
        let (mut watch, deadline) = (watch(Duration::from_secs(3_600), Share::ALL), Deadline::new());
        let (inbox, tally) = (Inbox::default(), Tally::default());
        then(&mut Rounds::new(&mut watch, me, (&inbox, &tally), &deadline).expect("it is native"));
    }

    /// Rounds and unchanged snapshots.
    fn counts(tally: &Tally) -> (u64, u64) {
        (tally.rounds.load(Ordering::Relaxed), tally.unchanged.load(Ordering::Relaxed))
    }

    /// The checker looks at a snapshot, after so many others.
    fn look_at(snapshot: [u8; 2], others: u64, (slot, tally): (&Slot, &Tally)) {
        slot.put(states(snapshot));
        while counts(tally).0 + counts(tally).1 <= others || !slot.is_wanted() {
            thread::yield_now();
        }
    }

    /// A round is for what is new. What it has found is handed over again, so that it stays in force; after one without enough time there
    /// is nothing to hand over, and the next one goes less far.
    #[test]
    fn what_is_unchanged_is_not_explored_again() {
        // A checker that does not work all the time wants a snapshot once it is through with the last one.
        let share = Share(Share::ALL.0 - 1);
        let looked_at = |round_time| {
            beside((round_time, share), |slot, inbox, tally| {
                let (before, after) = ([0, 0], [0, 1]);
                let all = (0..).zip([before, before, after, before, before]);
                let looked_at = all.map(|(others, snapshot)| {
                    look_at(snapshot, others, (slot, tally));
                    let (filters, _) = inbox.news().filters.expect("there are some, or it is said that there are none");
                    (counts(tally), filters.len())
                });
                looked_at.collect::<Vec<_>>()
            })
        };
        let expected = [((1, 0), 1), ((1, 1), 1), ((2, 1), 1), ((3, 1), 1), ((3, 2), 1)];
        assert_eq!(looked_at(Duration::from_secs(3_600)), expected);
        assert_eq!(looked_at(Duration::ZERO), (1..=5).map(|round| ((round, 0), 0)).collect::<Vec<_>>());
    }

    /// While the checker of node 1 rests, node 0 goes on and comes back: what node 1 was told meanwhile is not so any more.
    #[test]
    fn what_was_told_in_a_rest_is_taken_back_where_nothing_has_changed() {
        rounds(1, |rounds| {
            let mut told = Vec::new();
            let mut hear = |rounds: &Rounds<'_>| told.push(rounds.inbox.news().views);
            rounds.look(&states([0, 0]), Instant::now()).expect("it is native");
            hear(rounds);
            rounds.tell(&Arc::new(beginning(&states([1, 0])).0)).expect("it is a state of the toy");
            hear(rounds);
            for _ in 0..2 {
                rounds.look(&states([0, 0]), Instant::now()).expect("it is native");
                hear(rounds);
            }
            assert_eq!(counts(rounds.tally), (1, 2));
            assert!(told[0] != told[1] && told[0] == told[2], "{told:?}");
            assert!(told[3].is_empty(), "the gate has it already: {told:?}");
        });
    }

    /// Where a node is down, or others have no bandwidth left, snapshots that are wanted each second come after three or sixty-four, some of
    /// them sooner, new or not: filters are in force until the next one. What an hour without a snapshot leaves is not hours of that.
    #[test]
    fn filters_are_in_force_until_the_next_snapshot_where_snapshots_come_late() {
        rounds(0, |rounds| {
            rounds.every = Duration::from_secs(1);
            // No time passes until then, and so none in a round.
            let begun = Instant::now() + Duration::from_secs(3_600);
            let looks = [(0, 0), (3, 0), (4, 0), (7, 1), (71, 1), (3_671, 0)];
            let intervals = looks.map(|(second, state)| {
                rounds.look(&states([0, state]), begun + Duration::from_secs(second)).expect("it is native");
                let (filters, interval) = rounds.inbox.news().filters.expect("there is one");
                (filters.len(), interval.as_millis())
            });
            // They last twice as long as that: 4.5 s, where it is 3 s to the next one.
            assert_eq!(intervals, [1_000, 3_000, 2_250, 3_000, 64_000, 64_000].map(|interval| (1, interval)));
            assert_eq!(counts(rounds.tally), (3, 3));
        });
    }

    /// A round of a tenth of a millisecond has a rest of a hundred seconds.
    #[test]
    fn what_is_known_of_the_others_is_renewed_while_a_checker_rests() {
        beside((Duration::from_secs(3_600), Share(1)), |slot, inbox, tally| {
            look_at([0, 0], 0, (slot, tally));
            let before = inbox.news().views;
            slot.put(states([1, 0]));
            let later = || {
                thread::sleep(Duration::from_millis(1));
                inbox.news().views
            };
            let after = std::iter::repeat_with(later).take(60_000).find(|views| !views.is_empty()).unwrap_or_default();
            assert!(!after.is_empty(), "nothing is told in a minute");
            assert!(before[0] != after[0] && before[1] == after[1], "{before:?}, {after:?}");
            assert_eq!(counts(tally), (1, 0));
        });
    }
}
