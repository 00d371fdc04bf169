//! Roles: the ways in which a node takes a message.

use crate::NodeId;

/// This node, and its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// This node.
    pub me: NodeId,
    /// Number of nodes in the cluster, this one included.
    pub nodes: u32,
}

impl Place {
    /// The smallest number of nodes that is more than half of them.
    pub fn majority(self) -> u32 {
        self.nodes / 2 + 1
    }
}

/// The role of a message in some state of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// By itself, by [`Protocol::handle_message`](crate::Protocol::handle_message).
    Alone,
    /// Not in this state: it stays in flight.
    Held,
    /// Only together with others, by [`Protocol::handle_quorum`](crate::Protocol::handle_quorum).
    Member {
        /// The name of the quorum, for people.
        name: &'static str,
        /// The number of messages in the quorum, each from another node; at least 1.
        size: u32,
    },
}
