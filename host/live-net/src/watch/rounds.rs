//! The thread of a checker: its rounds, one after the other, and the rests between them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use host_live::checker::{Checker, Round, Steering};
use host_live::filter::Pattern;
use host_live::gate::Views;
use host_live::time::{Share, Time};
use host_live::watcher::{Desk, Manner, Rounds};
use host_model::contract::{MachineError, NodeId};
use host_model::scenario::Scenario;

use super::{Report, Tally, Watch};
use crate::deadline::Deadline;
use crate::slot::Slot;
use crate::steer::Inbox;

/// The checker: one round after the other, until the node ends or the host cannot continue.
pub(super) fn check(mut watch: Watch, me: NodeId, slot: &Slot, inbox: &Inbox, tally: &Tally) {
    let deadline = Deadline::new();
    // The tally records the end of the checker; the node has no use for the reason.
    let _ = rounds(&mut watch, me, inbox, tally, &deadline).and_then(|mut thread| thread.run(slot));
}

/// The interval at which a resting checker renews the views of the other nodes: each snapshot is work for all nodes.
const RENEWAL: Duration = Duration::from_secs(1);

/// The desk of a checker in its thread, on the clock of the machine.
struct Thread<'c> {
    inbox: &'c Inbox,
    deadline: &'c Deadline,
    report: &'c mut Report,
}

impl Desk for Thread<'_> {
    fn now(&mut self) -> Time {
        self.deadline.now()
    }

    fn allow(&mut self, time: Duration) {
        self.deadline.set(time);
    }

    fn worked(&mut self, _units: u64) {}

    fn views(&mut self, views: Vec<Option<Views>>) {
        self.inbox.put_views(views);
    }

    fn filters(&mut self, patterns: BTreeSet<Pattern>, interval: Duration) {
        self.inbox.put_filters(patterns, interval);
    }

    fn report(&mut self, round: &Arc<Round>, scenario: &Scenario, steering: Option<&Steering>) {
        (self.report)(round, scenario, steering);
    }
}

/// The rounds in their thread.
struct Running<'c> {
    rounds: Rounds<'c>,
    desk: Thread<'c>,
    tally: &'c Tally,
    every: Duration,
    share: Share,
    is_steering: bool,
}

/// The rounds of a checker that begins now.
fn rounds<'c>(
    watch: &'c mut Watch,
    me: NodeId,
    inbox: &'c Inbox,
    tally: &'c Tally,
    deadline: &'c Deadline,
) -> Result<Running<'c>, MachineError> {
    let Watch { factory, scenario, limits, round_time, every, share, report, steer, kept, missing: _ } = watch;
    let checker = Checker::new(&**factory, scenario.clone(), *limits)?.stopped_by(deadline);
    let steers = steer.as_ref().map(|steer| steer.breaks);
    let (limits, round_time, every, share) = (*limits, *round_time, *every, *share);
    let manner = Manner { me, limits, round_time, every, share, steers };
    Ok(Running {
        rounds: Rounds::new(checker, manner, kept, deadline.now()),
        desk: Thread { inbox, deadline, report: &mut **report },
        tally,
        every,
        share,
        is_steering: steers.is_some(),
    })
}

impl Running<'_> {
    fn run(&mut self, slot: &Slot) -> Result<(), MachineError> {
        while let Some(snapshot) = slot.take(self.share == Share::ALL, None) {
            let rest = self.rounds.look(&snapshot, &mut self.desk);
            *self.tally.counts() = self.rounds.counts();
            self.rest(slot, rest?)?;
        }
        Ok(())
    }

    /// Rests. Meanwhile a checker that steers renews the views of the other nodes, which must not become as old as a rest is long. This
    /// work prolongs the rest.
    fn rest(&mut self, slot: &Slot, rest: Duration) -> Result<(), MachineError> {
        if !self.is_steering || rest.is_zero() {
            slot.rest(rest, self.every);
            return Ok(());
        }
        let mut end = Instant::now() + rest;
        loop {
            slot.rest(RENEWAL.min(end.saturating_duration_since(Instant::now())), self.every);
            let Some(snapshot) = slot.take(false, Some(end)) else { return Ok(()) };
            let longer = self.rounds.look_only(&snapshot, &mut self.desk);
            *self.tally.counts() = self.rounds.counts();
            end += longer?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use host_live::checker::Limits;
    use host_live::checkpoint::{Checkpoint, Snapshot};
    use host_live::filter::Quota;
    use host_model::contract::LocalKind;
    use host_model::scenario::Scenario;
    use host_model::toys::{Toy, ToyTrigger};

    use super::*;
    use crate::steer::Steer;

    /// The states of two nodes; node 0 can go from 0 to 1 by a timer, which is a violation.
    fn states(states: [u8; 2]) -> Snapshot {
        let checkpoint = |(node, state)| {
            let checkpoint =
                Checkpoint { number: 1, incarnation: 1, content: vec![node, state], channels: BTreeMap::new() };
            (node.into(), checkpoint)
        };
        Snapshot { number: 1, checkpoints: (0..).zip(states).map(checkpoint).collect(), absent: BTreeSet::new() }
    }

    /// Ends a checker, also if the test fails.
    struct Closing<'s>(&'s Slot);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    /// A checker that steers node 0, with the maximum time of its rounds and its share.
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

    /// Calls a function while such a checker runs in its own thread.
    fn with_checker<R>((round_time, share): (Duration, Share), then: impl FnOnce(&Slot, &Inbox, &Tally) -> R) -> R {
        let watch = watch(round_time, share);
        let (slot, inbox, tally) = (&Slot::default(), &Inbox::default(), &Tally::default());
        thread::scope(|scope| {
            scope.spawn(move || check(watch, 0, slot, inbox, tally));
            let _closing = Closing(slot);
            then(slot, inbox, tally)
        })
    }

    /// Rounds and unchanged snapshots.
    fn counts(tally: &Tally) -> (u64, u64) {
        let counts = tally.counts();
        (counts.rounds, counts.unchanged)
    }

    /// Puts a snapshot, after this many others, and waits until the checker has handled it.
    fn look_at(snapshot: [u8; 2], others: u64, (slot, tally): (&Slot, &Tally)) {
        slot.put(states(snapshot));
        while counts(tally).0 + counts(tally).1 <= others || !slot.is_wanted() {
            thread::yield_now();
        }
    }

    /// An unchanged snapshot needs no round: the filters of the last one are put again, so that they stay in force. A round without
    /// enough time has no filters, and the next one has lower bounds.
    #[test]
    fn what_is_unchanged_is_not_explored_again() {
        // A checker with a share below 100 % wants a snapshot only after it has handled the last one.
        let share = Share(Share::ALL.0 - 1);
        let looked_at = |round_time| {
            with_checker((round_time, share), |slot, inbox, tally| {
                let (before, after) = ([0, 0], [0, 1]);
                let all = (0..).zip([before, before, after, before, before]);
                let looked_at = all.map(|(others, snapshot)| {
                    look_at(snapshot, others, (slot, tally));
                    let (filters, _) = inbox.news().filters.expect("each round puts filters, or none");
                    (counts(tally), filters.len())
                });
                looked_at.collect::<Vec<_>>()
            })
        };
        let expected = [((1, 0), 1), ((1, 1), 1), ((2, 1), 1), ((3, 1), 1), ((3, 2), 1)];
        assert_eq!(looked_at(Duration::from_secs(3_600)), expected);
        assert_eq!(looked_at(Duration::ZERO), (1..=5).map(|round| ((round, 0), 0)).collect::<Vec<_>>());
    }

    /// A round of a tenth of a millisecond requires a rest of a hundred seconds.
    #[test]
    fn what_is_known_of_the_others_is_renewed_while_a_checker_rests() {
        with_checker((Duration::from_secs(3_600), Share(1)), |slot, inbox, tally| {
            look_at([0, 0], 0, (slot, tally));
            let before = inbox.news().views;
            slot.put(states([1, 0]));
            let later = || {
                thread::sleep(Duration::from_millis(1));
                inbox.news().views
            };
            let after = std::iter::repeat_with(later).take(60_000).find(|views| !views.is_empty()).unwrap_or_default();
            assert!(!after.is_empty(), "no views in a minute");
            assert!(before[0] != after[0] && before[1] == after[1], "{before:?}, {after:?}");
            assert_eq!(counts(tally), (1, 0));
        });
    }
}
