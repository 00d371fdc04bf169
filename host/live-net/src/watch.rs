//! The checker of a node: a separate thread, for which the node never waits.
//!
//! When the checker wants a snapshot, the node collects one and puts it into a [`Slot`], where it replaces one that the checker has not
//! begun. So a checker that rests, hangs or has ended costs the node nothing; a checker that never rests wants a new snapshot at any time.
//! A checker that steers the node leaves filters and views in an [`Inbox`].
//!
//! | module | what it holds |
//! |---|---|
//! | `rounds` | the thread of the checker: its rounds, and its rests |

mod rounds;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use host_live::checker::{Limits, Round, Steering};
use host_live::checkpoint::Outcome;
use host_live::time::{Share, Time};
use host_live::watcher::{Collected, Collector, Counts};
use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::TraceStep;
use rayon::ThreadPoolBuilder;

use crate::slot::Slot;
use crate::steer::{Inbox, Steer};

pub use host_live::watcher::Missing;

/// Receives a round, the scenario in which its predictions replay, and, if the node is steered, the filters against them.
pub type Report = dyn FnMut(&Round, &Scenario, Option<&Steering>) + Send;

/// The configuration of the checker of a node.
pub struct Watch {
    /// Makes the machines of the checker, which shares none with the node.
    pub factory: Arc<dyn MachineFactory>,
    /// The cluster as the checker explores it.
    pub scenario: Scenario,
    /// The bounds of a round; they are lower after a truncated round.
    pub limits: Limits,
    /// The maximum time of a round. A checker that steers uses half of it for predictions, and the rest for filters.
    pub round_time: Duration,
    /// The minimum time between two snapshots.
    pub every: Duration,
    /// The share of the time in which the checker may work; it rests after each round accordingly.
    pub share: Share,
    /// Called for each round, in the thread of the checker.
    pub report: Box<Report>,
    /// Called for each node that has been in no snapshot for a while, in a separate thread.
    pub missing: Arc<dyn Fn(Missing) + Send + Sync>,
    /// Paths to violations that earlier processes predicted, the latest last. Each round tries them first, and a steered node is armed
    /// with them at its start.
    pub kept: Vec<Vec<TraceStep>>,
    /// The configuration of steering, if the node is steered.
    pub steer: Option<Steer>,
}

/// The progress of the thread of a checker.
#[derive(Default)]
struct Tally {
    counts: Mutex<Counts>,
    /// Whether the checker has ended.
    ended: AtomicBool,
}

impl Tally {
    /// The lock is held only while the counts are copied, so no node waits for its checker.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results of snapshots and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// The outcomes of snapshots.
    pub snapshots: Collected,
    /// The counts of the checker.
    pub checker: Counts,
    /// Whether the checker has ended, by a panic or because the host cannot continue.
    pub is_ended: bool,
}

/// The checker's thread, as its node sees it: requests for snapshots in, counts out.
pub(crate) struct CheckerThread {
    collector: Collector,
    missing: Arc<dyn Fn(Missing) + Send + Sync>,
    slot: Arc<Slot>,
    tally: Arc<Tally>,
}

impl CheckerThread {
    /// Starts the checker of a node, which leaves filters and views in the inbox if it steers.
    pub(crate) fn start(watch: Watch, me: NodeId, inbox: Arc<Inbox>) -> io::Result<Self> {
        let (slot, tally) = (Arc::<Slot>::default(), Arc::<Tally>::default());
        let missing = Arc::clone(&watch.missing);
        let collector = Collector::new(me, watch.scenario.nodes, watch.every);
        let (taken, counted) = (Arc::clone(&slot), Arc::clone(&tally));
        // The thread is not joined: a round may be running when the process ends.
        thread::Builder::new().name("checker".to_owned()).spawn(move || {
            let _ending = Ending(&counted);
            // Searches use all threads of their pool. The node and others need the rest of the machine.
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            if alone.is_ok() {
                rounds::check(watch, me, &taken, &inbox, &counted);
            }
        })?;
        Ok(Self { collector, missing, slot, tally })
    }

    /// The time of the next snapshot; none while the checker wants none, or one is being collected.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.slot.is_wanted().then(|| self.collector.deadline()).flatten()
    }

    /// If a snapshot is due now: the nodes to leave out, and the maximum time.
    pub(crate) fn due(&mut self, now: Time) -> Option<(BTreeSet<NodeId>, Duration)> {
        if self.slot.is_wanted() { self.collector.due(now) } else { None }
    }

    /// Records an answer that arrived after its snapshot was given up, this long after the request.
    pub(crate) fn late(&mut self, time: Duration) {
        self.collector.late(time);
    }

    /// Ends the collection of a snapshot, and leaves the snapshot for the checker if it is complete.
    pub(crate) fn gathered(&mut self, now: Time, outcome: Outcome) {
        let (missing, snapshot) = self.collector.gathered(now, outcome);
        for missing in missing {
            let report = Arc::clone(&self.missing);
            // The report may block, and the node does not wait for it.
            let _ = thread::Builder::new().name("missing".to_owned()).spawn(move || report(missing));
        }
        snapshot.into_iter().for_each(|snapshot| self.slot.put(snapshot));
    }

    /// The results so far.
    pub(crate) fn watched(&self) -> Watched {
        Watched {
            snapshots: self.collector.collected(),
            checker: *self.tally.counts(),
            is_ended: self.tally.ended.load(Ordering::Relaxed),
        }
    }
}

impl Drop for CheckerThread {
    fn drop(&mut self) {
        self.slot.close();
    }
}

/// Marks the checker as ended when its thread ends, also by a panic.
struct Ending<'t>(&'t Tally);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use host_model::contract::{Machine, MachineError};

    use super::*;

    /// Searches of a checker use only the thread of the checker.
    #[test]
    fn a_checker_takes_no_other_thread() {
        struct Tells(Mutex<Sender<usize>>);

        impl MachineFactory for Tells {
            fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
                let _ = self.0.lock().expect("no holder panics").send(rayon::current_num_threads());
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
            missing: Arc::new(|_| {}),
            kept: Vec::new(),
            steer: None,
        };
        let _checker = CheckerThread::start(watch, 0, Arc::default()).expect("a thread");
        assert_eq!(told.recv().expect("it begins"), 1);
    }
}
