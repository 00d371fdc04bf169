//! The collection of snapshots: the requested nodes, and the nodes whose states the immediate check reads.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::Outcome;
use crate::gate::{Gate, Views};
use crate::neighbourhood::Neighbourhood;
use crate::node::moment::exported;
use crate::node::outbox::Output;
use crate::node::refusal::Failure;
use crate::node::runtime::Node;
use crate::time::Time;

impl<G: Gate> Node<'_, G> {
    /// Begins to collect a snapshot of the node and its neighbours, or of all nodes if the protocol names none, except those in `left_out`.
    pub fn gather(&mut self, now: Time, left_out: &BTreeSet<NodeId>) {
        self.tick(now);
        let result = self.gather_neighbours(left_out);
        self.end(result);
    }

    /// Like [`gather`](Self::gather), with a timeout.
    pub fn gather_within(&mut self, time: Duration, now: Time, left_out: &BTreeSet<NodeId>) {
        self.manager.set_timeout(time);
        self.gather(now, left_out);
    }

    /// Notes the end of a snapshot. If it timed out, the nodes that have not answered are kept.
    pub(super) fn gathered(&mut self, outcome: &Outcome) {
        self.asked.end(outcome);
    }

    /// Notes the answer of a node to a request for a checkpoint.
    pub(super) fn answered(&mut self, from: NodeId, request: u64) {
        if let Some(time) = self.asked.late(from, request, self.now) {
            self.outbox.add(Output::Late { time });
        }
    }

    fn gather_neighbours(&mut self, left_out: &BTreeSet<NodeId>) -> Result<(), Failure> {
        if self.settings.neighbours {
            self.find_neighbours()?;
        }
        let is_asked = |node: &NodeId| self.neighbourhood.has(*node) && !left_out.contains(node);
        let peers = (0..self.identity.nodes).filter(is_asked).collect();
        let content = exported(&mut *self.machine, &self.moment.snapshot, &self.identity)?;
        let mut outputs = Vec::new();
        self.manager.gather(peers, self.now, content, &mut outputs);
        self.asked.begin(self.manager.number(), self.now);
        self.forward(outputs);
        Ok(())
    }

    fn find_neighbours(&mut self) -> Result<(), Failure> {
        self.machine.restore(Some(&self.moment.snapshot))?;
        let said = self.machine.neighbours();
        if said.is_err() {
            self.machine.confirm_fault()?;
        }
        self.neighbourhood = Neighbourhood::of(said, self.identity.node, self.identity.nodes);
        self.counts.neighbours_unusable += u64::from(matches!(self.neighbourhood, Neighbourhood::Unusable(_)));
        Ok(())
    }

    /// The neighbourhood of the last snapshot that was begun; all nodes before the first one.
    pub fn neighbourhood(&self) -> &Neighbourhood {
        &self.neighbourhood
    }
}

/// The views of the nodes in a neighbourhood. Those of other nodes are from an earlier snapshot and out of date.
pub(super) fn within<'v>(neighbourhood: &Neighbourhood, nodes: &'v [Option<Views>]) -> Vec<Option<&'v Views>> {
    (0..).zip(nodes).map(|(node, views)| views.as_ref().filter(|_| neighbourhood.has(node))).collect()
}
