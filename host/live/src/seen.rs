//! A step of the model as a gate sees it.

use std::sync::Arc;

use host_model::contract::LocalEvent;
use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{LocalStateId, Message, Stepper, Trigger};
use host_model::scenario::Network;

use crate::gate::{Cause, Event};

/// A step that is about to happen at a node.
pub(crate) struct Seen {
    state: Fingerprint,
    what: What,
}

enum What {
    Message(Arc<Message>, Network),
    Local(Arc<LocalEvent>),
    /// A fault, or a notice of one: it cannot be refused.
    Other,
}

impl Seen {
    /// A trigger in a local state.
    pub(crate) fn of(stepper: &Stepper<'_>, local: LocalStateId, trigger: Trigger) -> Self {
        let what = match (trigger.message(), trigger.local_event()) {
            (Some(message), _) if !stepper.message(message).is_notice => {
                let message = Arc::clone(stepper.message(message));
                let network = stepper.lts().scenario().network_of(message.from, message.to);
                What::Message(message, network)
            }
            (_, Some(event)) => What::Local(stepper.lts().local_event(event)),
            _ => What::Other,
        };
        Self { state: stepper.state(local).protocol.fingerprint, what }
    }

    /// The event, if it can be filtered; `may_break` allows breaking a connection in place of a message.
    pub(crate) fn event(&self, may_break: bool) -> Option<Event<'_>> {
        let (cause, may_break) = match &self.what {
            What::Message(message, network) => {
                let cause = Cause::Message { from: message.from, network: *network, payload: &message.payload };
                // No node breaks a connection to itself.
                (cause, may_break && message.from != message.to)
            }
            What::Local(event) => (Cause::Local(event), false),
            What::Other => return None,
        };
        Some(Event { state: self.state, cause, may_break })
    }
}
