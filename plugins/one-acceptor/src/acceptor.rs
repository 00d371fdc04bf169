//! The acceptor: the only one that counts, while it is active. A reset loses all its state.

use std::collections::BTreeMap;

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

use crate::{Index, Message, Number, Value};

/// The state of an acceptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acceptor {
    /// The highest proposal number that it has promised to a leader (`hpn`); none as long as it is fresh, which means that it
    /// has adopted no leader since it began (`IamFresh`).
    pub promised: Option<Number>,
    /// The value accepted for each index, once and for all (`ap`).
    pub accepted: BTreeMap<Index, Value>,
    /// For the specification: the first request of the leader that it had adopted for another value than it had accepted.
    pub contradicted: Option<(Index, Value)>,
}

impl Acceptor {
    pub(crate) fn prepare(&mut self, ctx: &mut Context<Message>, from: NodeId, number: Number, must_be_fresh: bool) {
        let is_fresh = self.promised.is_none();
        if self.promised < Some(number) && is_fresh == must_be_fresh {
            self.promised = Some(number);
            ctx.send(from, Message::PrepareResponse { number, accepted: self.accepted.clone() });
        }
    }

    pub(crate) fn accept(&mut self, ctx: &mut Context<Message>, number: Number, index: Index, value: Value) {
        if self.promised != Some(number) {
            return;
        }
        let accepted = *self.accepted.entry(index).or_insert(value);
        if accepted != value && self.contradicted.is_none() {
            self.contradicted = Some((index, value));
        }
        ctx.broadcast(Message::Learn { index, value: accepted });
    }
}
