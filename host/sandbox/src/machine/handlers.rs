//! The calls of handlers.

use std::sync::Arc;

use host_model::contract::{Effects, Envelope, Fault, FaultKind, Input, LocalEvent, NodeId};

use crate::contract::abi::{EnvelopeOut, LocalEventIn, ReceivedIn};
use crate::machine::GuestMachine;
use crate::run::buffers::{fill, fill_text};
use crate::store::context::explanation;

impl GuestMachine {
    pub(super) fn run(&mut self, input: Input<'_>) -> Result<Vec<EnvelopeOut>, Fault> {
        match input {
            Input::Init { node, nodes, config, durable } => {
                fill_text(&mut self.text, config);
                let durable = durable.and_then(|durable| durable.persisted.clone()).map(Arc::new);
                let params = (node, nodes, Arc::clone(&self.text), durable);
                let live = self.live();
                live.nodes = nodes;
                live.call(live.functions.node.init, params)?.map_err(|reason| {
                    let why = explanation(reason, self.limits());
                    Fault::new(FaultKind::Refused, format!("`init` refuses its configuration: {why}"))
                })
            }
            Input::Message { src, payload } => {
                fill(&mut self.bytes, payload);
                let params = (src, Arc::clone(&self.bytes));
                let live = self.live();
                live.call(live.functions.node.handle_message, params)
            }
            Input::Quorum { .. } => unreachable!("a quorum may be declined, so it is run apart"),
            Input::Local(event) => {
                let event = self.local(event);
                let live = self.live();
                live.call(live.functions.node.handle_local, (event,))
            }
            Input::TransportError { peer } => {
                let live = self.live();
                let handler = live.functions.transport.as_ref().map(|transport| transport.handle_transport_error);
                handler.map_or(Ok(Vec::new()), |handler| live.call(handler, (peer,)))
            }
        }
    }

    /// Delivers a quorum; none if the node does not take it.
    pub(super) fn run_quorum(
        &mut self,
        name: &str,
        messages: &[(NodeId, Vec<u8>)],
    ) -> Result<Option<Vec<EnvelopeOut>>, Fault> {
        let quorum = self.live().functions.quorum.as_ref().map(|quorum| quorum.handle_quorum);
        let Some(handler) = quorum else { return Ok(None) };
        fill_text(&mut self.text, name);
        let received = messages.iter().map(|(src, payload)| ReceivedIn { src: *src, message: payload.clone() });
        let params = (Arc::clone(&self.text), Arc::new(received.collect()));
        self.live().call(handler, params)
    }

    /// Moves the messages into `effects` and checks them.
    pub(super) fn deliver(&mut self, sent: Vec<EnvelopeOut>, effects: &mut Effects) -> Result<(), Fault> {
        self.limits().check_count(sent.len(), "messages")?;
        let nodes = self.live().nodes;
        if let Some(to) = effects.choices.iter().filter_map(|choice| choice.to).find(|to| *to >= nodes) {
            return Err(Fault::new(
                FaultKind::Malformed,
                format!("calls `can-send` for node {to} of a cluster of {nodes}, numbered from 0"),
            ));
        }
        let mut asked = effects.aside.answers.iter().filter_map(|(_, answer)| answer.ask);
        asked.try_for_each(|node| self.check_asked(node))?;
        for EnvelopeOut { message, .. } in &sent {
            self.limits().check_message(message, "a message")?;
        }
        for EnvelopeOut { to, message } in sent {
            if to >= nodes {
                return Err(Fault::new(
                    FaultKind::Malformed,
                    format!("sends a message to node {to} of a cluster of {nodes}, numbered from 0"),
                ));
            }
            effects.sent.push(Envelope { to, payload: message });
        }
        Ok(())
    }

    /// A local event as an argument.
    pub(super) fn local(&mut self, event: &LocalEvent) -> LocalEventIn {
        fill(&mut self.bytes, &event.payload);
        fill_text(&mut self.text, &event.name);
        LocalEventIn { name: Arc::clone(&self.text), kind: event.kind.into(), payload: Arc::clone(&self.bytes) }
    }
}
