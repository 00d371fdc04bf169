//! The collection of a snapshot by the node that requests it.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::packet::Checkpoint;
use crate::checkpoint::snapshot::{Inconsistency, Snapshot};
use crate::time::Time;

/// The result of the collection of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// A consistent snapshot.
    Complete(Snapshot),
    /// An inconsistent snapshot, which is unusable.
    Inconsistent(Snapshot, Inconsistency),
    /// In every attempt, some node had discarded its checkpoint.
    Refused,
    /// This node sends no more checkpoints for now.
    Capped(NodeId),
    /// These nodes did not answer in time.
    TimedOut(BTreeSet<NodeId>),
}

/// A collection in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Gather {
    pub(super) number: u64,
    /// Attempts so far.
    pub(super) attempts: u32,
    pub(super) deadline: Time,
    /// The nodes that have yet to answer and are reachable.
    pub(super) waiting: BTreeSet<NodeId>,
    checkpoints: BTreeMap<NodeId, Checkpoint>,
    absent: BTreeSet<NodeId>,
}

impl Gather {
    /// The first attempt.
    pub(super) fn new(peers: BTreeSet<NodeId>, deadline: Time) -> Self {
        Self { number: 0, attempts: 0, deadline, waiting: peers, checkpoints: BTreeMap::new(), absent: BTreeSet::new() }
    }

    /// Begins an attempt with the number of the node's own checkpoint. Returns the nodes to ask.
    pub(super) fn begin(&mut self, me: NodeId, own: Checkpoint) -> BTreeSet<NodeId> {
        self.attempts += 1;
        self.number = own.number;
        self.waiting.extend(self.checkpoints.keys().copied().filter(|node| *node != me));
        self.checkpoints = BTreeMap::from([(me, own)]);
        self.waiting.clone()
    }

    /// Takes an answer; an unexpected one is ignored.
    pub(super) fn answer(&mut self, node: NodeId, request: u64, checkpoint: Checkpoint) {
        if request == self.number && checkpoint.answers(request) && self.waiting.remove(&node) {
            self.checkpoints.insert(node, checkpoint);
        }
    }

    /// Leaves an unreachable node out of the snapshot.
    pub(super) fn lose(&mut self, node: NodeId) {
        if self.waiting.remove(&node) {
            self.absent.insert(node);
        }
    }

    /// The outcome, if no answer is missing.
    pub(super) fn end(self) -> Result<Outcome, Self> {
        if !self.waiting.is_empty() {
            return Err(self);
        }
        let snapshot = Snapshot { number: self.number, checkpoints: self.checkpoints, absent: self.absent };
        Ok(match snapshot.verify() {
            Ok(()) => Outcome::Complete(snapshot),
            Err(inconsistency) => Outcome::Inconsistent(snapshot, inconsistency),
        })
    }
}
