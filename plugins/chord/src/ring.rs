//! The ring of identifiers, and the list of successors.

use guest_sdk::NodeId;

use crate::State;

/// The ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub(crate) nodes: u32,
    pub(crate) identifiers: u32,
    /// Successors that a node keeps.
    pub(crate) length: usize,
}

impl Ring {
    /// The identifier of a node.
    fn identifier(&self, node: NodeId) -> u32 {
        node * self.identifiers / self.nodes
    }

    /// The distance from one node to another, in identifiers; once around from a node to itself.
    fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        let (from, to) = (self.identifier(from), self.identifier(to));
        match (to + self.identifiers - from) % self.identifiers {
            0 => self.identifiers,
            distance => distance,
        }
    }

    /// Whether a node lies strictly between one and another on the ring.
    pub(crate) fn is_between(&self, from: NodeId, node: NodeId, to: NodeId) -> bool {
        self.distance(from, node) < self.distance(from, to)
    }

    /// Adds nodes to the successors; the nearest stay.
    pub(crate) fn learn(&self, state: &mut State, nodes: impl IntoIterator<Item = NodeId>) {
        let before = state.successor();
        for node in nodes {
            if node != state.me && !state.successors.contains(&node) {
                state.successors.push(node);
            }
        }
        state.successors.sort_by_key(|node| self.distance(state.me, *node));
        state.successors.truncate(self.length);
        if state.successor() != before {
            // The answer of the old successor does not count any more.
            state.is_asking = false;
        }
    }
}
