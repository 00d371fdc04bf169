//! The proposer: finds a value that no earlier choice can contradict.

use std::collections::BTreeSet;

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::role_assignment::RoleAssignment;
use crate::{Ballot, Message, Promise, Proposal, Value};

/// The phase of a proposer's last attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Proposer {
    /// The application may propose.
    Ready,
    /// Waits for a majority of promises.
    Collecting {
        /// The nodes that promised so far; if promises are counted, their numbers from 0 on.
        responders: BTreeSet<NodeId>,
        /// The proposal of the highest ballot among those that they accepted.
        highest: Option<Proposal>,
    },
    /// Asked for acceptance, or has nothing to propose: ignores responses.
    Done,
}

impl Proposer {
    /// Begins an attempt; gives up the one before.
    pub(crate) fn propose(&mut self, ctx: &mut Context<Message>, assignment: &RoleAssignment, ballot: Ballot) {
        *self = Self::Collecting { responders: BTreeSet::new(), highest: None };
        assignment.to_acceptors(ctx, &Message::Prepare { ballot });
    }

    pub(crate) fn prepare_response(
        &mut self,
        ctx: &mut Context<Message>,
        assignment: &RoleAssignment,
        from: NodeId,
        Promise { ballot, accepted }: Promise,
        trust_last: bool,
    ) {
        let Self::Collecting { responders, highest } = self else { return };
        responders.insert(assignment.note(responders, from));
        *highest = accepted.max(*highest);
        if responders.len() >= assignment.majority() {
            let binding = if trust_last { accepted } else { *highest };
            let value = binding.map_or(own_value(ctx.me()), |proposal| proposal.value);
            *self = Self::Done;
            assignment.to_acceptors(ctx, &Message::Accept(Proposal { ballot, value }));
        }
    }
}

fn own_value(me: NodeId) -> Value {
    100 + me
}
