//! Requests of clients, and neighbours.

use std::collections::BTreeSet;

use crate::test::Cluster;
use crate::{NodeId, Protocol, Request, Response};

impl<P: Protocol> Cluster<P> {
    /// The neighbours that a node names in its present state, each once, in their order; none if it names none.
    pub fn neighbours(&self, node: NodeId) -> Option<Vec<NodeId>> {
        let named = self.at(node, || self.configured_nodes[node as usize].neighbours(self.state(node)))?;
        Some(named.into_iter().collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Sends a client's request to a node, which executes the resulting event or answers at once. Returns the number of the
    /// request.
    pub fn request(&mut self, node: NodeId, request: Request) -> u64 {
        self.requests += 1;
        let number = self.requests;
        let asked = || self.configured_nodes[node as usize].request(self.state(node), number, request);
        match self.at(node, asked) {
            Ok(event) => self.happen_event(node, &event.event),
            Err(response) => self.script.responses.push((number, response)),
        }
        number
    }

    /// The first response to the request with this number so far, if any.
    pub fn response(&self, number: u64) -> Option<&Response> {
        self.script.responses.iter().find(|(of, _)| *of == number).map(|(_, response)| response)
    }

    /// The names given to [`Context::restart`](crate::Context::restart) so far, in the order of the calls.
    pub fn restarted(&self) -> &[String] {
        &self.script.restarted
    }
}
