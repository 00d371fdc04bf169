//! A checker beside a node: a thread of its own, for which the node never waits.
//!
//! The node collects a snapshot where the checker wants one, and puts it into a [`Slot`], in place of one that the checker has not begun.
//! So a checker that rests, hangs or has ended costs the node nothing; one that never rests wants a new one all the time. Where it steers
//! the node, it leaves what it has found in an [`Inbox`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use host_live::checker::{self, CheckError, Checker, Limits, Round, Steering};
use host_live::checkpoint::{Outcome, Snapshot};
use host_live::node::Backoff;
use host_live::simulator::Share;
use host_live::time::Time;
use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::Beginning;

use crate::pace::{Deadline, Pace};
use crate::steer::{Inbox, Steer};

/// Hears of a round, of the scenario in which what is predicted replays, and of the filters that the node has against it, if it is steered.
pub type Report = dyn FnMut(&Round, &Scenario, Option<&Steering>) + Send;

/// What watches a node.
pub struct Watch {
    /// Makes the machines of the checker, which shares none with the node.
    pub factory: Arc<dyn MachineFactory>,
    /// The cluster as one look ahead has it.
    pub scenario: Scenario,
    /// How far a round looks at most; less far after one that was cut short.
    pub limits: Limits,
    /// How long it may look: where it steers, half of that for what is about to go wrong, and the rest for filters.
    pub round_time: Duration,
    /// The time between two snapshots at least, which is also the longest that one may take.
    pub every: Duration,
    /// How much of the time the checker may work; after a round it rests accordingly. At most all of it.
    pub share: Share,
    /// Hears of each round, in the thread of the checker.
    pub report: Box<Report>,
    /// How the node is steered, if it is.
    pub steer: Option<Steer>,
}

/// What a checker has counted.
#[derive(Default)]
struct Tally {
    rounds: AtomicU64,
    cut: AtomicU64,
    refused: AtomicU64,
    predictions: AtomicU64,
    dead: AtomicU64,
    violated: AtomicU64,
    unhelpful: AtomicU64,
    nanoseconds: AtomicU64,
    /// 1 once the checker has ended.
    ended: AtomicU64,
}

/// What has come of snapshots and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Snapshots that are consistent.
    pub complete: u64,
    /// Those that are not.
    pub inconsistent: u64,
    /// Those that some node refused, having discarded its checkpoint.
    pub refused: u64,
    /// Those for which some node had no bandwidth left.
    pub capped: u64,
    /// Those for which some node did not answer in time.
    pub timed_out: u64,
    /// Bytes of the states in the consistent ones.
    pub bytes: u64,
    /// Rounds of the checker.
    pub rounds: u64,
    /// Those that were cut short, as they took too long.
    pub cut: u64,
    /// Snapshots that the checker refused: states that are none of this cluster.
    pub rejected: u64,
    /// Violations that rounds predicted; one that several rounds predict counts in each.
    pub predictions: u64,
    /// Promises of progress that cannot be kept any more in a state ahead, counted in the same way.
    pub dead: u64,
    /// Rounds that began where a property was violated already.
    pub violated: u64,
    /// Time that the checker took.
    pub checked: Duration,
    /// Whether the checker has ended, by a panic or since the host cannot go on.
    pub is_ended: bool,
}

/// The node's side of it.
pub(crate) struct Beside {
    every: Duration,
    asked: Time,
    backoff: Backoff,
    /// Who did not answer in time and is left out once, so that there is a snapshot of the others.
    silent: BTreeSet<NodeId>,
    slot: Arc<Slot>,
    tally: Arc<Tally>,
    watched: Watched,
}

impl Beside {
    /// Starts the checker of a node, which leaves filters and views in the inbox if it steers.
    pub(crate) fn start(watch: Watch, me: NodeId, inbox: Arc<Inbox>) -> io::Result<Self> {
        let (slot, tally, every) = (Arc::<Slot>::default(), Arc::<Tally>::default(), watch.every);
        let (taken, counted) = (Arc::clone(&slot), Arc::clone(&tally));
        // Nobody waits for its end: a round may be going on when the process ends.
        thread::Builder::new().name("checker".to_owned()).spawn(move || {
            let _ending = Ending(&counted);
            check(watch, me, (&taken, &inbox), &counted);
        })?;
        let (asked, backoff, silent, watched) = (Time(0), Backoff::default(), BTreeSet::new(), Watched::default());
        Ok(Self { every, asked, backoff, silent, slot, tally, watched })
    }

    /// When the next snapshot is due; none as long as the checker wants none.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.slot.is_wanted().then(|| self.asked.after(self.backoff.wait(self.every)))
    }

    /// Whether a snapshot is due now: who is to be left out of it.
    pub(crate) fn due(&mut self, now: Time) -> Option<BTreeSet<NodeId>> {
        if now < self.deadline()? {
            return None;
        }
        self.asked = now;
        Some(std::mem::take(&mut self.silent))
    }

    /// The collection of a snapshot has ended.
    pub(crate) fn gathered(&mut self, outcome: Outcome) {
        let watched = &mut self.watched;
        match outcome {
            Outcome::Complete(snapshot) => {
                watched.complete += 1;
                self.backoff.complete();
                watched.bytes += snapshot.checkpoints.values().map(|at| at.content.len() as u64).sum::<u64>();
                self.slot.put(snapshot);
            }
            Outcome::Inconsistent(..) => watched.inconsistent += 1,
            Outcome::Refused => watched.refused += 1,
            Outcome::Capped(_) => {
                watched.capped += 1;
                self.backoff.capped();
            }
            Outcome::TimedOut(silent) => {
                watched.timed_out += 1;
                self.silent = silent;
            }
        }
    }

    /// Rounds that predicted what the node cannot keep from happening.
    pub(crate) fn unhelpful(&self) -> u64 {
        self.tally.unhelpful.load(Ordering::Relaxed)
    }

    /// What has come of it so far.
    pub(crate) fn watched(&self) -> Watched {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Watched {
            rounds: of(&self.tally.rounds),
            cut: of(&self.tally.cut),
            rejected: of(&self.tally.refused),
            predictions: of(&self.tally.predictions),
            dead: of(&self.tally.dead),
            violated: of(&self.tally.violated),
            checked: Duration::from_nanos(of(&self.tally.nanoseconds)),
            is_ended: of(&self.tally.ended) > 0,
            ..self.watched
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.slot.close();
    }
}

/// Says that the checker has ended, however it does.
struct Ending<'t>(&'t Tally);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(1, Ordering::Relaxed);
    }
}

/// The checker: one round after the other, until the node ends.
fn check(watch: Watch, me: NodeId, (slot, inbox): (&Slot, &Inbox), tally: &Tally) {
    let Watch { factory, scenario, limits, round_time, mut report, steer, every, share } = watch;
    let (deadline, mut pace) = (Deadline::new(), Pace::new(&limits, round_time));
    let Ok(checker) = Checker::new(&*factory, scenario, limits) else { return };
    let mut checker = checker.stopped_by(&deadline);
    while let Some(snapshot) = slot.take(share == Share::ALL) {
        let begun = Instant::now();
        // What may be in flight, or not, counts as lost. It could be what a promise needs.
        let (beginning, is_partial) = checker::beginning(&snapshot);
        let beginning = Arc::new(beginning);
        checker.set_reach(pace.reach());
        let result = if steer.is_some() {
            round_and_steer(&mut checker, me, &beginning, (inbox, &deadline, round_time / 2))
        } else {
            deadline.set(round_time);
            checker.round(&beginning).map(|round| (round, None))
        };
        let result = result.and_then(|(mut round, steering)| {
            if !is_partial {
                checker.find_dead_ahead(&mut round)?;
            }
            Ok((round, steering))
        });
        let taken = begun.elapsed();
        let rest = rest_after(taken, share);
        tally.nanoseconds.fetch_add(u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        match result {
            Ok((round, steering)) => {
                let is_cut = round.is_cut || steering.as_ref().is_some_and(|steering| steering.is_cut);
                pace.took(taken, is_cut);
                tally.rounds.fetch_add(1, Ordering::Relaxed);
                tally.cut.fetch_add(is_cut.into(), Ordering::Relaxed);
                tally.predictions.fetch_add(round.predictions.len() as u64, Ordering::Relaxed);
                tally.dead.fetch_add(round.dead.len() as u64, Ordering::Relaxed);
                tally.violated.fetch_add(round.is_violated.into(), Ordering::Relaxed);
                if let Some(Steering { patterns, is_unhelpful, .. }) = &steering {
                    tally.unhelpful.fetch_add((*is_unhelpful).into(), Ordering::Relaxed);
                    inbox.put_filters(patterns.clone(), every.max(taken + rest));
                }
                report(&round, checker.lts().scenario(), steering.as_ref());
            }
            Err(CheckError::Refused(_)) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(CheckError::Machine(_)) => return,
        }
        slot.rest(rest, every);
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

/// Room for one snapshot, the latest.
#[derive(Default)]
struct Slot {
    content: Mutex<Content>,
    changed: Condvar,
}

#[derive(Default)]
struct Content {
    latest: Option<Snapshot>,
    /// Whether the checker wants one.
    is_wanted: bool,
    is_closed: bool,
}

impl Slot {
    /// Held for as long as it takes to move a value.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        self.lock().is_wanted
    }

    /// Puts a snapshot there, in place of one that is.
    fn put(&self, snapshot: Snapshot) {
        self.lock().latest = Some(snapshot);
        self.changed.notify_one();
    }

    /// Waits for a snapshot, and may want the next one at once; none once the node has ended.
    fn take(&self, wants_more: bool) -> Option<Snapshot> {
        let mut content = self.lock();
        content.is_wanted = true;
        let is_idle = |content: &mut Content| content.latest.is_none() && !content.is_closed;
        let content = self.changed.wait_while(content, is_idle);
        let mut content = content.unwrap_or_else(PoisonError::into_inner);
        content.is_wanted = wants_more;
        if content.is_closed { None } else { content.latest.take() }
    }

    /// The node has ended.
    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits so long, or until the node has ended. A snapshot that takes so long to collect is there by then.
    fn rest(&self, time: Duration, collecting: Duration) {
        self.wait(self.lock(), time.saturating_sub(collecting)).is_wanted = true;
        drop(self.wait(self.lock(), time.min(collecting)));
    }

    /// Waits so long, or until the node has ended; which of them, the next snapshot says.
    fn wait<'s>(&'s self, content: MutexGuard<'s, Content>, time: Duration) -> MutexGuard<'s, Content> {
        let waited = self.changed.wait_timeout_while(content, time, |content| !content.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn who_has_worked_rests_so_that_its_share_comes_out() {
        let taken = Duration::from_millis(30);
        let rests = [100, 50, 25, 10, 1].map(|percent| rest_after(taken, Share(percent * 10_000)).as_millis());
        assert_eq!(rests, [0, 30, 90, 270, 2_970]);
    }

    /// A node collects nothing while its checker works or rests, but for the end of the rest, and a checker that rests ends with the node.
    #[test]
    fn a_snapshot_is_wanted_only_where_it_will_be_begun() {
        let slot = &Slot::default();
        assert!(!slot.is_wanted());
        let snapshot = || Snapshot { number: 1, checkpoints: BTreeMap::new(), absent: BTreeSet::new() };
        let until = |is_wanted| {
            while slot.is_wanted() != is_wanted {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            for wants_more in [true, false] {
                let taken = scope.spawn(move || slot.take(wants_more));
                until(true);
                slot.put(snapshot());
                assert!(taken.join().expect("it does not panic").is_some());
                assert_eq!(slot.is_wanted(), wants_more);
            }
            slot.rest(Duration::from_millis(2), Duration::from_millis(1));
            assert!(slot.is_wanted());
            slot.put(snapshot());
            assert!(slot.take(false).is_some() && !slot.is_wanted());
            let rested = scope.spawn(|| {
                slot.rest(Duration::from_secs(3_600), Duration::from_secs(1));
                slot.take(false)
            });
            assert!(!slot.is_wanted());
            slot.close();
            assert!(rested.join().expect("it does not panic").is_none());
        });
    }
}
