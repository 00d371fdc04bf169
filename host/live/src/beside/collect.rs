//! When a node asks for snapshots, and how they end.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::beside::patience::{Missing, Patience};
use crate::checkpoint::{Outcome, Snapshot};
use crate::node::Backoff;
use crate::time::Time;

/// How snapshots have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
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
}

/// The snapshots of a node, one at a time.
#[derive(Debug)]
pub struct Collector {
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
    backoff: Backoff,
    /// Who did not answer in time and is left out once, so that there is a snapshot of the others.
    silent: BTreeSet<NodeId>,
    collected: Collected,
}

impl Collector {
    /// For a node of a cluster of this size, with so much time between two snapshots at least.
    pub fn new(me: NodeId, nodes: u32, every: Duration) -> Self {
        Self {
            me,
            peers: nodes.saturating_sub(1) as usize,
            patience: Patience::new(every),
            asked: None,
            asked_of: 0,
            is_going_on: false,
            backoff: Backoff::default(),
            silent: BTreeSet::new(),
            collected: Collected::default(),
        }
    }

    /// When the next snapshot is due; none while one is being collected.
    pub fn deadline(&self) -> Option<Time> {
        let next = || self.asked.map_or(Time(0), |asked| asked.after(self.backoff.wait(self.patience.every())));
        (!self.is_going_on).then(next)
    }

    /// Whether a snapshot is due now: who is to be left out of it, and how long it may take.
    pub fn due(&mut self, now: Time) -> Option<(BTreeSet<NodeId>, Duration)> {
        if now < self.deadline()? {
            return None;
        }
        let left_out = std::mem::take(&mut self.silent);
        (self.asked, self.asked_of, self.is_going_on) = (Some(now), self.peers - left_out.len(), true);
        Some((left_out, self.patience.longest()))
    }

    /// An answer has arrived for a snapshot that was given up, so long after it was asked for.
    pub fn late(&mut self, time: Duration) {
        self.patience.late(time);
    }

    /// The collection of a snapshot has ended now: who has been missing for a while by then, and the snapshot if it is consistent.
    pub fn gathered(&mut self, now: Time, outcome: Outcome) -> (Vec<Missing>, Option<Snapshot>) {
        self.is_going_on = false;
        let time = self.asked.map_or(Duration::ZERO, |asked| Duration::from_nanos(now.0.saturating_sub(asked.0)));
        let missing = self.patience.ended(now, time, self.me, &outcome);
        let collected = &mut self.collected;
        match outcome {
            Outcome::Complete(snapshot) => {
                collected.complete += 1;
                self.backoff.complete();
                collected.bytes += snapshot.checkpoints.values().map(|at| at.content.len() as u64).sum::<u64>();
                return (missing, Some(snapshot));
            }
            Outcome::Inconsistent(..) => collected.inconsistent += 1,
            Outcome::Refused => collected.refused += 1,
            Outcome::Capped(_) => {
                collected.capped += 1;
                self.backoff.capped();
            }
            Outcome::TimedOut(silent) => {
                collected.timed_out += 1;
                // Before the first answer it is unknown which nodes are down: the request, or the answer, may be lost.
                self.silent =
                    if self.patience.has_begun() || silent.len() < self.asked_of { silent } else { BTreeSet::new() };
            }
        }
        (missing, None)
    }

    /// How they have ended so far.
    pub fn collected(&self) -> Collected {
        self.collected
    }
}
