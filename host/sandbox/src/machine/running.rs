//! The aspects of a running node: durations of local events, responses to requests, and neighbours.

use host_model::contract::aspects::{Clients, Neighbourhood, Timing};
use host_model::contract::{Fault, FaultKind, LocalEvent, NodeId, Request, Response, Span};

use crate::contract::abi::RequestIn;
use crate::machine::GuestMachine;

impl Timing for GuestMachine {
    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        let params = (self.local(event),);
        let span = self.ask(|f| f.timing.as_ref(), |timing| timing.duration, params)?;
        let checked = match span.map(Span::from) {
            Some((shortest, longest)) if shortest > longest => {
                let name = &event.name;
                let message = format!("says that `{name}` takes at least {shortest:?} and at most {longest:?}");
                Err(Fault::new(FaultKind::Malformed, message))
            }
            span => Ok(span),
        };
        self.settle(checked)
    }
}

impl Clients for GuestMachine {
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        let params = (number, RequestIn::from(request));
        let accepted = self.ask(|f| f.clients.as_ref(), |clients| clients.accept, params)?;
        let checked = match accepted {
            Ok(event) => self.limits().check_local(&event).map(|()| Ok(event.into())),
            Err(answer) => {
                let answer = Response::from(answer);
                let checked = self.limits().check_answer(&answer);
                let asked = checked.and_then(|()| answer.ask.map_or(Ok(()), |node| self.check_asked(node)));
                asked.map(|()| Err(answer))
            }
        };
        self.settle(checked)
    }
}

impl Neighbourhood for GuestMachine {
    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        let nodes = self.ask(|f| f.neighbourhood.as_ref(), |neighbourhood| neighbourhood.neighbours, ())?;
        let checked = self.limits().check_count(nodes.as_ref().map_or(0, Vec::len), "neighbours");
        self.settle(checked.map(|()| nodes))
    }
}

impl GuestMachine {
    /// Checks that the node to which a client is redirected is in the cluster.
    pub(super) fn check_asked(&mut self, node: NodeId) -> Result<(), Fault> {
        let nodes = self.live().nodes;
        if node < nodes {
            return Ok(());
        }
        let message = format!("sends a client to node {node} of a cluster of {nodes}, numbered from 0");
        Err(Fault::new(FaultKind::Malformed, message))
    }
}
