//! The acceptor: votes, and keeps its promises.

use std::collections::BTreeMap;

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Ballot, Index, Message, Proposal};

/// The durable memory of an acceptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acceptor {
    /// Lower ballots are ignored, for every index.
    pub promised: Ballot,
    /// The proposal accepted last for each index.
    pub accepted: BTreeMap<Index, Proposal>,
}

impl Acceptor {
    /// A promise counts for all indices, so that a leader asks for it once.
    pub(crate) fn prepare(&mut self, ctx: &mut Context<Message>, proposer: NodeId, ballot: Ballot, first: Index) {
        if ballot >= self.promised {
            self.promised = ballot;
            let accepted = self.accepted.range(first..).map(|(index, proposal)| (*index, *proposal)).collect();
            ctx.send(proposer, Message::PrepareResponse { ballot, accepted });
        }
    }

    pub(crate) fn accept(&mut self, ctx: &mut Context<Message>, index: Index, proposal: Proposal) {
        if proposal.ballot >= self.promised {
            self.promised = proposal.ballot;
            self.accepted.insert(index, proposal);
            ctx.broadcast(Message::Learn { index, proposal });
        }
    }
}
