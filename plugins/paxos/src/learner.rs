//! The learner: counts votes until a majority accepted the same proposal.

use std::collections::BTreeSet;

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

use crate::role_assignment::RoleAssignment;
use crate::{Proposal, Value};

/// An acceptor accepted a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Vote {
    /// The accepted proposal.
    pub proposal: Proposal,
    /// The acceptor; if votes are counted, the number of earlier votes for the proposal.
    pub acceptor: NodeId,
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
    pub(crate) fn learn(&mut self, assignment: &RoleAssignment, from: NodeId, proposal: Proposal) {
        let voters = self.votes.iter().filter(|vote| vote.proposal == proposal).map(|vote| vote.acceptor);
        let mut voters: BTreeSet<NodeId> = voters.collect();
        let acceptor = assignment.note(&voters, from);
        voters.insert(acceptor);
        self.votes.insert(Vote { proposal, acceptor });
        if voters.len() >= assignment.majority() {
            self.chosen.insert(proposal.value);
        }
    }
}
