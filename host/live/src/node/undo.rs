//! Handlers that hit a limit of the plugin.
//!
//! A client or a peer can make a handler need more than it may use, so a limit must not end the node. The handler is undone: the node is
//! in the state before, and what the handler has sent, made durable or answered never leaves. To the protocol that is one of the things
//! that happen anyway: a message over a link without an order is lost, a connection breaks before a message over a link with one comes,
//! a timer takes longer, a request is refused, and the news of a broken connection is lost.

use host_model::contract::{LocalEvent, LocalKind, NodeId};
use host_model::scenario::Network;

use crate::gate::Gate;
use crate::node::outbox::Output;
use crate::node::refusal::{Cause, Failure, Undone};
use crate::node::runtime::Node;

impl<G: Gate> Node<'_, G> {
    /// Takes in the result of a handler: what was undone, if it has hit a limit; the node has failed, if that is why it did not run.
    pub(super) fn settle(&mut self, cause: Cause, result: Result<(), Failure>) -> Option<Undone> {
        let Err(Failure::Fault(fault)) = result else {
            self.end(result);
            return None;
        };
        let Some(limit) = fault.limit() else {
            self.end(Err(fault.into()));
            return None;
        };
        *self.counts.undone.entry((cause, limit)).or_default() += 1;
        let undone = Undone { cause, limit, fault };
        self.outbox.add(Output::Undone(undone.clone()));
        Some(undone)
    }

    /// A message has arrived, and its handler has run or was undone.
    pub(super) fn settle_message(&mut self, from: NodeId, result: Result<(), Failure>) {
        let undone = self.settle(Cause::Message, result);
        // A link with an order loses nothing by itself.
        if undone.is_some() && self.settings.network == Network::Ordered {
            self.outbox.add(Output::Disconnect { peer: from });
        }
    }

    /// A local event was due, and its handler has run or was undone: then the event takes longer, as long as a timer by default, so that
    /// one that is undone each time leaves the node time for others.
    pub(super) fn settle_local(&mut self, event: &LocalEvent, result: Result<(), Failure>) {
        let Some(_undone) = self.settle(Cause::Local, result) else { return };
        let range = match event.kind {
            LocalKind::Timer | LocalKind::Internal => Some(self.settings.delays.timer),
            LocalKind::Application => self.settings.delays.application,
        };
        if let Some(range) = range {
            let at = self.now.after(range.draw(&mut self.dice));
            self.timers.set(event.clone(), at, true);
        }
    }
}
