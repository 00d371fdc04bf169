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
                let durable = durable.map(|bytes| Arc::new(bytes.to_vec()));
                let params = (node, nodes, Arc::clone(&self.text), durable);
                let live = self.live();
                live.nodes = nodes;
                let (result,) = live.call("init", |f| &f.init, params)?;
                result.map_err(|reason| {
                    let why = explanation(reason, self.limits());
                    Fault::new(FaultKind::Refused, format!("`init` refuses its configuration: {why}"))
                })
            }
            Input::Message { src, payload } => {
                fill(&mut self.bytes, payload);
                let params = (src, Arc::clone(&self.bytes));
                Ok(self.live().call("handle-message", |f| &f.handle_message, params)?.0)
            }
            Input::Quorum { .. } => unreachable!("a quorum may be declined, so it is run apart"),
            Input::Local(event) => {
                let event = self.local(event);
                Ok(self.live().call("handle-local", |f| &f.handle_local, (event,))?.0)
            }
            Input::TransportError { peer } => {
                if self.plugin.interfaces.transport.is_none() {
                    return Ok(Vec::new());
                }
                let live = self.live();
                let function = "handle-transport-error";
                let (sent,) = live.call(
                    function,
                    |f| f.handle_transport_error.as_ref().expect("the interface is there"),
                    (peer,),
                )?;
                Ok(sent)
            }
        }
    }

    /// Delivers a quorum; none if the node does not take it.
    pub(super) fn run_quorum(
        &mut self,
        name: &str,
        messages: &[(NodeId, Vec<u8>)],
    ) -> Result<Option<Vec<EnvelopeOut>>, Fault> {
        if self.plugin.interfaces.quorum.is_none() {
            return Ok(None);
        }
        fill_text(&mut self.text, name);
        let received = messages.iter().map(|(src, payload)| ReceivedIn { src: *src, message: payload.clone() });
        let params = (Arc::clone(&self.text), Arc::new(received.collect()));
        let live = self.live();
        let function = "handle-quorum";
        let (sent,) = live.call(function, |f| f.handle_quorum.as_ref().expect("the interface is there"), params)?;
        Ok(sent)
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
