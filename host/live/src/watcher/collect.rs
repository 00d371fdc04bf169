//! When a node requests snapshots, and how they end.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::{Outcome, Snapshot};
use crate::node::Backoff;
use crate::time::Time;
use crate::watcher::patience::{Missing, Patience};

/// Counts of snapshots, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Consistent snapshots.
    pub complete: u64,
    /// Inconsistent snapshots.
    pub inconsistent: u64,
    /// Snapshots that a node refused, because it had discarded its checkpoint.
    pub refused: u64,
    /// Snapshots for which a node had no bandwidth left.
    pub capped: u64,
    /// Snapshots for which a node did not answer in time.
    pub timed_out: u64,
    /// Bytes of the states in consistent snapshots.
    pub bytes: u64,
}

/// Schedules the snapshots of a node, one at a time.
#[derive(Debug)]
pub struct Collector {
    me: NodeId,
    /// The number of other nodes.
    peers: usize,
    patience: Patience,
    /// The time of the latest request for a snapshot; none before the first one.
    asked: Option<Time>,
    /// Upper bound of the nodes asked for it.
    asked_of: usize,
    /// Whether it is in progress.
    is_collecting: bool,
    backoff: Backoff,
    /// Nodes that did not answer in time. The next snapshot leaves them out, so that it completes.
    silent: BTreeSet<NodeId>,
    collected: Collected,
}

impl Collector {
    /// A collector for a node of a cluster of `nodes` nodes, with at least `every` between two snapshots.
    pub fn new(me: NodeId, nodes: u32, every: Duration) -> Self {
        Self {
            me,
            peers: nodes.saturating_sub(1) as usize,
            patience: Patience::new(every),
            asked: None,
            asked_of: 0,
            is_collecting: false,
            backoff: Backoff::default(),
            silent: BTreeSet::new(),
            collected: Collected::default(),
        }
    }

    /// The time of the next snapshot; none while one is in progress.
    pub fn deadline(&self) -> Option<Time> {
        let next = || self.asked.map_or(Time(0), |asked| asked.after(self.backoff.wait(self.patience.every())));
        (!self.is_collecting).then(next)
    }

    /// If a snapshot is due, the nodes to leave out of it, and its timeout. It is then in progress.
    pub fn due(&mut self, now: Time) -> Option<(BTreeSet<NodeId>, Duration)> {
        if now < self.deadline()? {
            return None;
        }
        let left_out = std::mem::take(&mut self.silent);
        (self.asked, self.asked_of, self.is_collecting) = (Some(now), self.peers - left_out.len(), true);
        Some((left_out, self.patience.longest()))
    }

    /// Notes a late answer for a snapshot that had ended, with the time since its request.
    pub fn late(&mut self, time: Duration) {
        self.patience.late(time);
    }

    /// Handles the end of a snapshot. Returns the nodes that have been missing for a while, and the snapshot if it is consistent.
    pub fn gathered(&mut self, now: Time, outcome: Outcome) -> (Vec<Missing>, Option<Snapshot>) {
        self.is_collecting = false;
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

    /// The counts so far.
    pub fn collected(&self) -> Collected {
        self.collected
    }
}
