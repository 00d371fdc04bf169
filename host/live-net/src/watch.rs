//! The checker of a node: a thread of its own, for which the node never waits.
//!
//! The node collects a snapshot where the checker wants one, and puts it into a [`Slot`], in place of one that the checker has not begun.
//! So a checker that rests, hangs or has ended costs the node nothing; one that never rests wants a new one all the time. Where it steers
//! the node, it leaves what it has found in an [`Inbox`].
//!
//! | module | what it holds |
//! |---|---|
//! | `rounds` | the rounds of the checker, one after the other |
//! | `patience` | how long a node waits for a snapshot, and who is in none |

mod patience;
mod rounds;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{io, thread};

use host_live::checker::{Limits, Round, Steering};
use host_live::checkpoint::Outcome;
use host_live::node::Backoff;
use host_live::time::Share;
use host_live::time::Time;
use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::TraceStep;
use rayon::ThreadPoolBuilder;

use crate::slot::Slot;
use crate::steer::{Inbox, Steer};
use crate::watch::patience::Patience;

pub use crate::watch::patience::Missing;

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
    /// The time between two snapshots at least.
    pub every: Duration,
    /// How much of the time the checker may work; after a round it rests accordingly. At most all of it.
    pub share: Share,
    /// Hears of each round, in the thread of the checker.
    pub report: Box<Report>,
    /// Hears of each node that has been in no snapshot for a while, in a thread of its own.
    pub missing: Arc<dyn Fn(Missing) + Send + Sync>,
    /// Paths to violations that earlier processes have predicted, the latest last: tried first in each round, and what a node that is
    /// steered does not do before it has looked ahead.
    pub kept: Vec<Vec<TraceStep>>,
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

/// The results of snapshots and rounds.
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
    /// Whether the checker has ended, by a panic or since the host cannot continue.
    pub is_ended: bool,
}

/// The node's side of it.
pub(crate) struct Beside {
    me: NodeId,
    /// All others.
    peers: usize,
    patience: Patience,
    /// When a snapshot was asked for last; none before the first one.
    asked: Option<Time>,
    /// Nodes that it was asked of at most.
    asked_of: usize,
    /// Whether that is being collected.
    is_going_on: bool,
    missing: Arc<dyn Fn(Missing) + Send + Sync>,
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
        let (slot, tally) = (Arc::<Slot>::default(), Arc::<Tally>::default());
        let (patience, missing) = (Patience::new(watch.every), Arc::clone(&watch.missing));
        let peers = watch.scenario.nodes.saturating_sub(1) as usize;
        let (taken, counted) = (Arc::clone(&slot), Arc::clone(&tally));
        // Its end is not awaited: a round may be running when the process ends.
        thread::Builder::new().name("checker".to_owned()).spawn(move || {
            let _ending = Ending(&counted);
            // Searches spread over the threads of the pool that they are in. The node and others need the rest of the machine.
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            if alone.is_ok() {
                rounds::check(watch, me, (&taken, &inbox), &counted);
            }
        })?;
        Ok(Self {
            me,
            peers,
            patience,
            asked: None,
            asked_of: 0,
            is_going_on: false,
            missing,
            backoff: Backoff::default(),
            silent: BTreeSet::new(),
            slot,
            tally,
            watched: Watched::default(),
        })
    }

    /// When the next snapshot is due; none as long as the checker wants none, or one is being collected.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let is_wanted = self.slot.is_wanted() && !self.is_going_on;
        is_wanted.then(|| self.asked.map_or(Time(0), |asked| asked.after(self.backoff.wait(self.patience.every()))))
    }

    /// Whether a snapshot is due now: who is to be left out of it, and how long it may take.
    pub(crate) fn due(&mut self, now: Time) -> Option<(BTreeSet<NodeId>, Duration)> {
        if now < self.deadline()? {
            return None;
        }
        let left_out = std::mem::take(&mut self.silent);
        (self.asked, self.asked_of, self.is_going_on) = (Some(now), self.peers - left_out.len(), true);
        Some((left_out, self.patience.longest()))
    }

    /// An answer has arrived for a snapshot that was given up, so long after it was asked for.
    pub(crate) fn late(&mut self, time: Duration) {
        self.patience.late(time);
    }

    /// The collection of a snapshot has ended now.
    pub(crate) fn gathered(&mut self, now: Time, outcome: Outcome) {
        self.is_going_on = false;
        let time = self.asked.map_or(Duration::ZERO, |asked| Duration::from_nanos(now.0.saturating_sub(asked.0)));
        for missing in self.patience.ended(now, time, self.me, &outcome) {
            let report = Arc::clone(&self.missing);
            // A reader may take its time, and the node does not wait for it.
            let _ = thread::Builder::new().name("missing".to_owned()).spawn(move || report(missing));
        }
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
                // Before the first answer it is unknown which nodes are down: the request, or the answer, may be lost.
                self.silent =
                    if self.patience.has_begun() || silent.len() < self.asked_of { silent } else { BTreeSet::new() };
            }
        }
    }

    /// Rounds that predicted what the node cannot keep from happening.
    pub(crate) fn unhelpful(&self) -> u64 {
        self.tally.unhelpful.load(Ordering::Relaxed)
    }

    /// The result of it so far.
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
            missing: Arc::new(|_| {}),
            kept: Vec::new(),
            steer: None,
        };
        let _beside = Beside::start(watch, 0, Arc::default()).expect("a thread");
        assert_eq!(told.recv().expect("it begins"), 1);
    }
}
