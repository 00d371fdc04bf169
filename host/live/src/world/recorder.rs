//! The gate that takes notes.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, Envelope, Input, LocalEvent, NodeId};

use crate::carried::Fork;
use crate::gate::{Event, Gate, Happened, Judge, Substitute, Verdict};
use crate::time::Time;
use crate::world::memo::Model;

/// What has happened at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A start: `init`.
    Start,
    /// A message was delivered.
    Message {
        /// The sender.
        from: NodeId,
        /// The content.
        payload: Vec<u8>,
    },
    /// A local event was due, or a client has asked for it.
    Local(LocalEvent),
    /// A connection was broken.
    Error {
        /// The other end.
        peer: NodeId,
    },
    /// A connection was broken, and the protocol does not hear of it: no event of the node.
    Unheard {
        /// The other end.
        peer: NodeId,
    },
}

/// What a node has noted of an event that has happened.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) what: What,
    pub(super) choices: Vec<Choice>,
    pub(super) sent: Vec<Envelope>,
    pub(super) state: Fingerprint,
    pub(super) ticket: u64,
}

/// A gate that notes what has happened, around another one.
pub struct Recorder<'w, G> {
    node: NodeId,
    /// The other one.
    pub gate: G,
    /// Follows what happens, if handlers are looked up.
    model: Option<&'w dyn Model>,
    forgets: bool,
    /// Whether the application calls the node.
    is_called: bool,
    /// Calls that have waited since it does not.
    pub(super) uncalled: u64,
    noted: Vec<Noted>,
}

impl<'w, G> Recorder<'w, G> {
    pub(super) fn new(node: NodeId, gate: G, model: Option<&'w dyn Model>) -> Self {
        Self { node, gate, model, forgets: false, is_called: true, uncalled: 0, noted: Vec::new() }
    }

    /// The same where the application calls the node, or not.
    pub(super) fn called(self, is_called: bool) -> Self {
        Self { is_called, ..self }
    }

    /// The application calls the node from now on, or not: what it would call waits.
    pub(super) fn set_called(&mut self, is_called: bool) {
        self.is_called = is_called;
    }

    /// The same that takes no notes.
    pub(super) fn forgetting(self, forgets: bool) -> Self {
        Self { forgets, ..self }
    }

    /// What was noted since this was asked last.
    pub(super) fn take(&mut self) -> Vec<Noted> {
        std::mem::take(&mut self.noted)
    }
}

impl<G: Gate> Gate for Recorder<'_, G> {
    fn judges(&self) -> bool {
        self.gate.judges()
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        if !self.is_called && event.substitute() == Some(Substitute::Delay) {
            self.uncalled += 1;
            return Verdict::Instead(Substitute::Delay);
        }
        self.gate.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.gate.after(now, event, judge)
    }

    fn looks_ahead(&self) -> bool {
        self.gate.looks_ahead()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        self.gate.ahead(now, event, fork)
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        self.gate.happened(happened);
        if let Some(model) = self.model {
            model.follow(self.node, happened);
        }
        if self.forgets {
            return;
        }
        let Happened { input, choices, sent, state, ticket } = *happened;
        let what = match input {
            Input::Init { .. } => What::Start,
            Input::Message { src, payload } => What::Message { from: src, payload: payload.to_vec() },
            Input::Local(event) => What::Local(event.clone()),
            Input::TransportError { peer } => What::Error { peer },
            // A node that takes messages together does not start.
            Input::Quorum { .. } => return,
        };
        self.noted.push(Noted { what, choices: choices.to_vec(), sent: sent.to_vec(), state, ticket });
    }
}
