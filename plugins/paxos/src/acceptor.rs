//! The acceptor: votes, and keeps its promises.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::role_assignment::RoleAssignment;
use crate::{Ballot, Message, Proposal};

/// The durable memory of an acceptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acceptor {
    /// Lower ballots are ignored.
    pub promised: Ballot,
    /// The proposal accepted last.
    pub accepted: Option<Proposal>,
}

impl Acceptor {
    pub(crate) fn prepare(
        &mut self,
        ctx: &mut Context<Message>,
        assignment: &RoleAssignment,
        proposer: NodeId,
        ballot: Ballot,
    ) {
        if assignment.promises(self.promised, ballot) {
            self.promised = ballot;
            ctx.send(proposer, Message::PrepareResponse { ballot, accepted: self.accepted });
        }
    }

    pub(crate) fn accept(&mut self, ctx: &mut Context<Message>, assignment: &RoleAssignment, proposal: Proposal) {
        if proposal.ballot >= self.promised {
            self.promised = proposal.ballot;
            self.accepted = Some(proposal);
            assignment.to_learners(ctx, &Message::Learn(proposal));
        }
    }
}
