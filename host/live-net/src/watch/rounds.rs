//! The rounds of a checker beside a node, one after the other, and what it hands over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use host_live::checker::{self, CheckError, Checker, Round, Steering};
use host_live::filter::Pattern;
use host_live::simulator::Share;
use host_model::contract::{MachineError, NodeId};
use host_model::trace::Beginning;

use super::{Tally, Watch};
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

/// The checker: one round after the other, until the node ends.
pub(super) fn check(watch: Watch, me: NodeId, (slot, inbox): (&Slot, &Inbox), tally: &Tally) {
    let Watch { factory, scenario, limits, round_time, mut report, steer, every, share } = watch;
    let (deadline, mut pace) = (Deadline::new(), Pace::new(&limits, round_time));
    let Ok(checker) = Checker::new(&*factory, scenario, limits) else { return };
    let mut checker = checker.stopped_by(&deadline);
    let mut last: Option<(Question, Option<BTreeSet<Pattern>>, Duration)> = None;
    while let Some(snapshot) = slot.take(share == Share::ALL) {
        let begun = Instant::now();
        // What may be in flight, or not, counts as lost. It could be what a promise needs.
        let (beginning, is_partial) = checker::beginning(&snapshot);
        let question = Question { beginning: Arc::new(beginning), is_partial, reach: pace.reach() };
        if let Some((_, patterns, interval)) = last.as_ref().filter(|(last, ..)| *last == question) {
            tally.unchanged.fetch_add(1, Ordering::Relaxed);
            patterns.iter().for_each(|patterns| inbox.put_filters(patterns.clone(), *interval));
            slot.rest(Duration::ZERO, every);
            continue;
        }
        last = None;
        checker.set_reach(question.reach);
        let beginning = &question.beginning;
        let result = if steer.is_some() {
            round_and_steer(&mut checker, me, beginning, (inbox, &deadline, round_time / 2))
        } else {
            deadline.set(round_time);
            checker.round(beginning).map(|round| (round, None))
        };
        let result = result.and_then(|(mut round, steering)| {
            if !is_partial {
                checker.find_dead_ahead(&mut round)?;
            }
            Ok((round, steering))
        });
        let taken = begun.elapsed();
        let rest = rest_after(taken, share);
        tally.took(taken);
        match result {
            Ok((round, steering)) => {
                let is_cut = round.is_cut || steering.as_ref().is_some_and(|steering| steering.is_cut);
                pace.took(taken, is_cut);
                tally.rounds.fetch_add(1, Ordering::Relaxed);
                tally.cut.fetch_add(is_cut.into(), Ordering::Relaxed);
                tally.predictions.fetch_add(round.predictions.len() as u64, Ordering::Relaxed);
                tally.dead.fetch_add(round.dead.len() as u64, Ordering::Relaxed);
                tally.violated.fetch_add(round.is_violated.into(), Ordering::Relaxed);
                let interval = every.max(taken + rest);
                if let Some(Steering { patterns, is_unhelpful, .. }) = &steering {
                    tally.unhelpful.fetch_add((*is_unhelpful).into(), Ordering::Relaxed);
                    inbox.put_filters(patterns.clone(), interval);
                }
                report(&round, checker.lts().scenario(), steering.as_ref());
                if !is_cut {
                    last = Some((question, steering.map(|steering| steering.patterns), interval));
                }
            }
            Err(CheckError::Refused(_)) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(CheckError::Machine(_)) => return,
        }
        if steer.is_none() || rest.is_zero() {
            slot.rest(rest, every);
        } else if rest_and_tell(&mut checker, (slot, inbox), (rest, share, every), tally).is_err() {
            return;
        }
    }
}

/// How long a checker that rests waits for what it tells of the others: each snapshot is work for all nodes.
const RENEWAL: Duration = Duration::from_secs(1);

/// Rests, and has the node hear of the others meanwhile: what it knows of them must not become as old as a rest is long. That is work, too.
fn rest_and_tell(
    checker: &mut Checker<'_>,
    (slot, inbox): (&Slot, &Inbox),
    (rest, share, every): (Duration, Share, Duration),
    tally: &Tally,
) -> Result<(), MachineError> {
    let mut end = Instant::now() + rest;
    loop {
        slot.rest(RENEWAL.min(end.saturating_duration_since(Instant::now())), every);
        let Some(snapshot) = slot.take_until(end) else { return Ok(()) };
        let begun = Instant::now();
        match checker.views(&Arc::new(checker::beginning(&snapshot).0)) {
            Ok(views) => inbox.put_views(views),
            Err(CheckError::Refused(_)) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(CheckError::Machine(error)) => return Err(error),
        }
        let taken = begun.elapsed();
        tally.took(taken);
        end += taken + rest_after(taken, share);
    }
}

/// How long to rest after so much work, so that the work is that share of the time.
fn rest_after(taken: Duration, share: Share) -> Duration {
    taken.mul_f64(f64::from(Share::ALL.0.saturating_sub(share.0)) / f64::from(share.0.max(1)))
}

/// A round, and the filters of the node against what it predicts, in so much time for each. What the snapshot says of the others the node
/// hears at once.
fn round_and_steer(
    checker: &mut Checker<'_>,
    me: NodeId,
    beginning: &Arc<Beginning>,
    (inbox, deadline, time): (&Inbox, &Deadline, Duration),
) -> Result<(Round, Option<Steering>), CheckError> {
    inbox.put_views(checker.views(beginning)?);
    deadline.set(time);
    let round = checker.round(beginning)?;
    deadline.set(time);
    let steering = match checker.steer(me, &round) {
        Ok(steering) => steering,
        Err(CheckError::Refused(_)) => Steering { is_unhelpful: true, ..Steering::default() },
        Err(error) => return Err(error),
    };
    Ok((round, Some(steering)))
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

    /// Does something with a checker that steers node 0: how long its rounds may take, and its share.
    fn beside<R>((round_time, share): (Duration, Share), then: impl FnOnce(&Slot, &Inbox, &Tally) -> R) -> R {
        let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
        let toy = Arc::new(toy.forbid(&[Some(1), None]));
        let watch = Watch {
            factory: Arc::new(toy),
            scenario: Scenario::new(2),
            limits: Limits::default(),
            round_time,
            every: Duration::ZERO,
            share,
            report: Box::new(|_, _, _| {}),
            steer: Some(Steer { quota: Quota::default(), switch: Default::default(), hold: None }),
        };
        let (slot, inbox, tally) = (&Slot::default(), &Inbox::default(), &Tally::default());
        thread::scope(|scope| {
            scope.spawn(move || check(watch, 0, (slot, inbox), tally));
            let _closing = Closing(slot);
            then(slot, inbox, tally)
        })
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
                    let filters = inbox.news().1.expect("there are some, or it is said that there are none");
                    (counts(tally), filters.len())
                });
                looked_at.collect::<Vec<_>>()
            })
        };
        let expected = [((1, 0), 1), ((1, 1), 1), ((2, 1), 1), ((3, 1), 1), ((3, 2), 1)];
        assert_eq!(looked_at(Duration::from_secs(3_600)), expected);
        assert_eq!(looked_at(Duration::ZERO), (1..=5).map(|round| ((round, 0), 0)).collect::<Vec<_>>());
    }

    /// A round of a tenth of a millisecond has a rest of a hundred seconds.
    #[test]
    fn what_is_known_of_the_others_is_renewed_while_a_checker_rests() {
        beside((Duration::from_secs(3_600), Share(1)), |slot, inbox, tally| {
            look_at([0, 0], 0, (slot, tally));
            let (before, _) = inbox.news();
            slot.put(states([1, 0]));
            let later = || {
                thread::sleep(Duration::from_millis(1));
                inbox.news().0
            };
            let after = std::iter::repeat_with(later).take(60_000).find(|views| !views.is_empty()).unwrap_or_default();
            assert!(!after.is_empty(), "nothing is told in a minute");
            assert!(before[0] != after[0] && before[1] == after[1], "{before:?}, {after:?}");
            assert_eq!(counts(tally), (1, 0));
        });
    }
}
