//! Handlers that hit a limit of the plugin.
//!
//! A client or a peer can make a handler exceed its limits, so a limit must not end the node. The handler is undone: the node returns to
//! the state before, and no message, record or answer of the handler leaves. To the protocol that looks like an ordinary fault: a message
//! on an unordered link is lost, the connection of an ordered link breaks before the message, a timer takes longer, a request is refused,
//! or the error of a broken connection is lost.

use host_model::contract::{LocalEvent, LocalKind, NodeId};
use host_model::scenario::Network;

use crate::gate::Gate;
use crate::node::outbox::Output;
use crate::node::refusal::{Cause, Failure, Undone};
use crate::node::runtime::Node;

impl<G: Gate> Node<'_, G> {
    /// Takes the result of a handler. If it has hit a limit, returns the undone handler; on any other failure, the node has failed.
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

    /// Takes the result of the handler of a message.
    pub(super) fn settle_message(&mut self, from: NodeId, result: Result<(), Failure>) {
        let undone = self.settle(Cause::Message, result);
        // An ordered link loses messages only with its connection.
        if undone.is_some() && self.settings.network == Network::Ordered {
            self.outbox.add(Output::Disconnect { peer: from });
        }
    }

    /// Takes the result of the handler of a local event. An undone event is scheduled again, after the default time of a timer, so that one
    /// that is undone each time does not block others.
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
