//! The learner: counts votes until a majority accepted the same proposal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Proposal, Value};

/// An acceptor accepted a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Vote {
    /// What was accepted.
    pub proposal: Proposal,
    /// By whom.
    pub acceptor: guest_sdk::NodeId,
}

/// The votes that arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Learner {
    /// All votes, also those for a proposal that is chosen already.
    pub votes: BTreeSet<Vote>,
    /// The values that some proposal with a majority of votes has; at most one if Paxos is right.
    pub chosen: BTreeSet<Value>,
}

impl Learner {
    pub(crate) fn learn(&mut self, vote: Vote, majority: usize) {
        self.votes.insert(vote);
        if self.votes.iter().filter(|other| other.proposal == vote.proposal).count() >= majority {
            self.chosen.insert(vote.proposal.value);
        }
    }
}
