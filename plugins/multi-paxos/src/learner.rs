//! The learner: counts votes until a majority accepted the same proposal for an index.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

use crate::{Index, Proposal, Value};

/// An acceptor accepted a proposal for an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Vote {
    /// The place in the log.
    pub index: Index,
    /// The accepted proposal.
    pub proposal: Proposal,
    /// The acceptor that accepted it.
    pub acceptor: NodeId,
}

/// The part of the agreed log that a node knows. Lost by a reset, and learned again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Learner {
    /// The votes for indices without a known choice.
    pub votes: BTreeSet<Vote>,
    /// The value that is known to be chosen for an index; the first one if Multi-Paxos is wrong.
    pub chosen: BTreeMap<Index, Value>,
}

impl Learner {
    pub(crate) fn learn(&mut self, vote: Vote, majority: usize) {
        if self.chosen.contains_key(&vote.index) {
            return;
        }
        self.votes.insert(vote);
        let is_alike = |other: &&Vote| (other.index, other.proposal) == (vote.index, vote.proposal);
        if self.votes.iter().filter(is_alike).count() >= majority {
            self.votes.retain(|other| other.index != vote.index);
            self.chosen.insert(vote.index, vote.proposal.value);
        }
    }

    /// Whether all that it has heard of for an index is the proposal of this vote.
    pub(crate) fn fits(&self, vote: &Vote) -> bool {
        self.votes.iter().all(|other| other.index != vote.index || other.proposal == vote.proposal)
    }

    /// The first index without a known choice.
    pub(crate) fn first_open(&self) -> Index {
        (0..).find(|index| !self.chosen.contains_key(index)).expect("a log has an end")
    }
}
