//! A gate that logs the events of a node.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, DurableMap, Envelope, Input, LocalEvent, NodeId};

use crate::carried::Fork;
use crate::gate::{Cause, Event, Failed, Gate, Happened, Judge, Substitute, Verdict};
use crate::time::Time;
use crate::world::memo::Model;

/// An event at a node.
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
    /// A local event was due, or was the call of a client.
    Local(LocalEvent),
    /// A connection was broken.
    Error {
        /// The other end.
        peer: NodeId,
    },
    /// A connection was broken, without an error for the protocol, so it is no event of the node.
    Unheard {
        /// The other end.
        peer: NodeId,
    },
}

/// The log entry of an event.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) what: What,
    pub(super) choices: Vec<Choice>,
    pub(super) sent: Vec<Envelope>,
    pub(super) state: Fingerprint,
    pub(super) ticket: u64,
    /// The durable map that a start has found.
    pub(super) found: Option<DurableMap>,
}

/// A gate that logs events, around another gate.
pub struct Recorder<'w, G> {
    node: NodeId,
    /// The inner gate.
    pub gate: G,
    /// Follows the events, if handlers are looked up.
    model: Option<&'w dyn Model>,
    forgets: bool,
    /// Whether the application calls the node.
    is_called: bool,
    /// Calls that have waited while it does not.
    pub(super) uncalled: u64,
    noted: Vec<Noted>,
}

impl<'w, G> Recorder<'w, G> {
    pub(super) fn new(node: NodeId, gate: G, model: Option<&'w dyn Model>) -> Self {
        Self { node, gate, model, forgets: false, is_called: true, uncalled: 0, noted: Vec::new() }
    }

    /// Sets whether the application calls the node.
    pub(super) fn called(self, is_called: bool) -> Self {
        Self { is_called, ..self }
    }

    /// Changes whether the application calls the node; otherwise calls wait.
    pub(super) fn set_called(&mut self, is_called: bool) {
        self.is_called = is_called;
    }

    /// Sets whether it logs nothing.
    pub(super) fn forgetting(self, forgets: bool) -> Self {
        Self { forgets, ..self }
    }

    /// The event as the gate sees it: no connection breaks that the model cannot break.
    fn possible<'e>(&self, event: &Event<'e>) -> Event<'e> {
        let can_break = match (self.model, event.cause) {
            (Some(model), Cause::Message { from, .. }) if event.may_break => model.breaking(self.node, from).is_some(),
            _ => true,
        };
        Event { may_break: event.may_break && can_break, ..*event }
    }

    /// Takes the log since the last call.
    pub(super) fn take(&mut self) -> Vec<Noted> {
        std::mem::take(&mut self.noted)
    }
}

impl<G: Gate> Gate for Recorder<'_, G> {
    fn judges(&self) -> bool {
        self.gate.judges()
    }

    fn breaks(&self) -> bool {
        self.gate.breaks()
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        if !self.is_called && event.substitute() == Some(Substitute::Delay) {
            self.uncalled += 1;
            return Verdict::Instead(Substitute::Delay);
        }
        self.gate.before(now, &self.possible(event))
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.gate.after(now, &self.possible(event), judge)
    }

    fn looks_ahead(&self) -> bool {
        self.gate.looks_ahead()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        self.gate.ahead(now, &self.possible(event), fork)
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        self.gate.happened(happened);
        if let Some(model) = self.model {
            model.follow(self.node, happened);
        }
        if self.forgets {
            return;
        }
        let Happened { input, choices, sent, state, ticket, .. } = *happened;
        let what = match input {
            Input::Init { .. } => What::Start,
            Input::Message { src, payload } => What::Message { from: src, payload: payload.to_vec() },
            Input::Local(event) => What::Local(event.clone()),
            Input::TransportError { peer } => What::Error { peer },
            // A node that takes quorums does not start.
            Input::Quorum { .. } => return,
        };
        let found = match input {
            Input::Init { durable, .. } => Some(durable.map(|durable| durable.map.clone()).unwrap_or_default()),
            _ => None,
        };
        let (choices, sent) = (choices.to_vec(), sent.to_vec());
        self.noted.push(Noted { what, choices, sent, state, ticket, found });
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        self.gate.failed(failed);
    }

    fn persisted(&mut self, ticket: u64) {
        self.gate.persisted(ticket);
    }
}
