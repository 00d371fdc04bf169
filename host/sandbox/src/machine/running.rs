//! What only a running node asks: how long local events take, and what becomes of requests, and who matters to them.

use host_model::contract::{Fault, FaultKind, LocalEvent, NodeId, Request, Response, Span};

use crate::contract::abi::RequestIn;
use crate::machine::GuestMachine;

impl GuestMachine {
    pub(super) fn ask_duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        if self.plugin.interfaces.timing.is_none() {
            return Ok(None);
        }
        let params = (self.local(event),);
        let live = self.read("timing.duration");
        let (span,) = live.call("timing.duration", |f| f.duration.as_ref().expect("the interface is there"), params)?;
        match span.map(Span::from) {
            Some((shortest, longest)) if shortest > longest => {
                let name = &event.name;
                let message = format!("says that `{name}` takes at least {shortest:?} and at most {longest:?}");
                Err(Fault::new(FaultKind::Malformed, message))
            }
            span => Ok(span),
        }
    }

    pub(super) fn ask_request(
        &mut self,
        number: u64,
        request: &Request,
    ) -> Result<Result<LocalEvent, Response>, Fault> {
        if self.plugin.interfaces.clients.is_none() {
            return Ok(Err(Response::words(501, "this protocol takes no requests\n")));
        }
        let params = (number, RequestIn::from(request));
        let live = self.read("clients.accept");
        let (result,) = live.call("clients.accept", |f| f.request.as_ref().expect("the interface is there"), params)?;
        match result {
            Ok(event) => {
                self.limits().check_local(&event)?;
                Ok(Ok(event.into()))
            }
            Err(answer) => {
                let answer = Response::from(answer);
                self.limits().check_answer(&answer)?;
                answer.ask.map_or(Ok(()), |node| self.check_asked(node))?;
                Ok(Err(answer))
            }
        }
    }

    pub(super) fn ask_neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        if self.plugin.interfaces.neighbourhood.is_none() {
            return Ok(None);
        }
        let function = "neighbourhood.neighbours";
        let live = self.read(function);
        let (nodes,) = live.call(function, |f| f.neighbours.as_ref().expect("the interface is there"), ())?;
        self.limits().check_count(nodes.as_ref().map_or(0, Vec::len), "neighbours")?;
        Ok(nodes)
    }

    /// A node that a client is sent to is one of the cluster.
    pub(super) fn check_asked(&mut self, node: NodeId) -> Result<(), Fault> {
        let nodes = self.live().nodes;
        if node < nodes {
            return Ok(());
        }
        let message = format!("sends a client to node {node} of a cluster of {nodes}, numbered from 0");
        Err(Fault::new(FaultKind::Malformed, message))
    }
}
