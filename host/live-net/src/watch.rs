//! A checker beside a node: a thread of its own, for which the node never waits.
//!
//! The node collects a snapshot where the checker wants one, and puts it into a [`Slot`], in place of one that the checker has not begun.
//! So a checker that rests, hangs or has ended costs the node nothing; one that never rests wants a new one all the time. Where it steers
//! the node, it leaves what it has found in an [`Inbox`].
//!
//! | module | what it holds |
//! |---|---|
//! | `rounds` | the rounds of the checker, one after the other |

mod rounds;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{io, thread};

use host_live::checker::{Limits, Round, Steering};
use host_live::checkpoint::Outcome;
use host_live::node::Backoff;
use host_live::simulator::Share;
use host_live::time::Time;
use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;
use rayon::ThreadPoolBuilder;

use crate::slot::Slot;
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
    unchanged: AtomicU64,
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

impl Tally {
    fn took(&self, time: Duration) {
        self.nanoseconds.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
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
    /// Snapshots that say what the last one did, so that what its round has found stands.
    pub unchanged: u64,
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
            // Searches spread over the threads of the pool that they are in. The node and others need the rest of the machine.
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            if alone.is_ok() {
                rounds::check(watch, me, (&taken, &inbox), &counted);
            }
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
            unchanged: of(&self.tally.unchanged),
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use host_model::contract::{Machine, MachineError};

    use super::*;

    /// Searches of a checker use one thread, its own.
    #[test]
    fn a_checker_takes_no_other_thread() {
        struct Tells(Mutex<Sender<usize>>);

        impl MachineFactory for Tells {
            fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
                let _ = self.0.lock().expect("nobody panics with it in hand").send(rayon::current_num_threads());
                Err(MachineError::Host("there are none".to_owned()))
            }
        }

        let (sender, told) = channel();
        let watch = Watch {
            factory: Arc::new(Tells(Mutex::new(sender))),
            scenario: Scenario::new(2),
            limits: Limits::default(),
            round_time: Duration::ZERO,
            every: Duration::ZERO,
            share: Share::ALL,
            report: Box::new(|_, _, _| {}),
            steer: None,
        };
        let _beside = Beside::start(watch, 0, Arc::default()).expect("a thread");
        assert_eq!(told.recv().expect("it begins"), 1);
    }
}
