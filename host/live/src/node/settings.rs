//! Who a node is, and how it behaves in time.

use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::Network;

use crate::checkpoint::Limits;
use crate::time::Range;

/// Who a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub node: NodeId,
    /// The size of the cluster.
    pub nodes: u32,
    /// Its parameters, one `key=value` a line, sorted by key.
    pub config: String,
    /// The name of its cluster; empty if that has none.
    pub name: String,
    /// What all nodes of a cluster have in common, such as a hash of the component and the parameters: frames of others are refused. No
    /// addresses: how a node is found may differ from node to node.
    pub cluster: [u8; 16],
    /// A random number of this process: two processes with the identity of one node are told apart by it.
    pub session: u64,
}

/// How a node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The links between the nodes.
    pub network: Network,
    /// How long local events take.
    pub delays: Delays,
    /// The seed of all that is drawn: delays, and answers to `choose`.
    pub seed: u64,
    /// Outputs that wait for the disk; beyond, messages and calls are refused.
    pub held_max: usize,
    /// Bytes of such outputs; what one handler sends is not cut in two.
    pub held_bytes_max: usize,
    /// The limits of its checkpoints.
    pub checkpoints: Limits,
    /// Whether its snapshots are of the neighbours alone that the protocol names, if it names some.
    pub neighbours: bool,
    /// Whether it says what handlers log, see [`Output::Said`](crate::node::Output::Said).
    pub keeps_log: bool,
    /// Bytes per second that it sends in checkpoints on average; none for as many as others want. What it sends else does not count.
    pub bandwidth: Option<u64>,
}

/// How long local events take to happen once they can, by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Timers.
    pub timer: Range,
    /// Calls of the application; none if clients make them, see [`Node::call`](crate::node::Node::call).
    pub application: Option<Range>,
    /// Steps that the protocol takes by itself.
    pub internal: Range,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            network: Network::Ordered,
            delays: Delays {
                timer: Range::milliseconds(100, 1_000),
                application: None,
                internal: Range::milliseconds(0, 10),
            },
            seed: 0,
            held_max: 10_000,
            held_bytes_max: 32 << 20,
            checkpoints: Limits::default(),
            neighbours: true,
            keeps_log: false,
            bandwidth: None,
        }
    }
}

impl Settings {
    /// How many outputs may wait for the disk, and how many bytes of them.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.held_max, self.held_bytes_max)
    }

    /// The limits of its checkpoints, on its links.
    pub(crate) fn limits(&self) -> Limits {
        let late_max = match self.network {
            Network::Ordered => 0,
            Network::Unordered | Network::UnorderedDuplicating => self.checkpoints.late_max,
        };
        Limits { late_max, ..self.checkpoints }
    }
}

impl Delays {
    /// Those of a kind.
    pub(super) fn of(&self, kind: LocalKind) -> Option<Range> {
        match kind {
            LocalKind::Timer => Some(self.timer),
            LocalKind::Application => self.application,
            LocalKind::Internal => Some(self.internal),
        }
    }
}
