//! The identity of a node, and its settings.

use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::Network;

use crate::checkpoint::Limits;
use crate::time::Range;

/// The identity of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub node: NodeId,
    /// The size of the cluster.
    pub nodes: u32,
    /// Its parameters, one `key=value` per line, sorted by key.
    pub config: String,
    /// The name of its cluster; empty if that has none.
    pub name: String,
    /// A hash of everything that all nodes of a cluster share, such as the component and the parameters; frames with another one
    /// are refused. Addresses are not part of it: they may differ from node to node.
    pub cluster: [u8; 16],
    /// A random number of this process: it distinguishes two processes with the identity of one node.
    pub session: u64,
}

/// The settings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The links between the nodes.
    pub network: Network,
    /// The delays of local events.
    pub delays: Delays,
    /// The seed of all random numbers: delays, and answers to `choose`.
    pub seed: u64,
    /// Outputs that may wait for the disk; with more, messages and calls are refused.
    pub held_max: usize,
    /// Bytes of such outputs; the output of one handler may exceed it.
    pub held_bytes_max: usize,
    /// The limits of its checkpoints.
    pub checkpoints: Limits,
    /// Whether its snapshots consist only of the neighbours that the protocol names, if it names any.
    pub neighbours: bool,
    /// Whether it reports the lines that handlers log, see [`Output::Said`](crate::node::Output::Said).
    pub keeps_log: bool,
    /// Bytes per second that it sends in checkpoints on average; none for no limit. Other traffic does not count.
    pub bandwidth: Option<u64>,
}

/// The delay from when a local event becomes possible until it happens, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Timers.
    pub timer: Range,
    /// Calls of the application; none if clients make them, see [`Node::call`](crate::node::Node::call).
    pub application: Option<Range>,
    /// Internal events.
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
    /// The limits of its checkpoints, adapted to its links.
    pub(crate) fn limits(&self) -> Limits {
        let late_max = match self.network {
            Network::Ordered => 0,
            Network::Unordered | Network::UnorderedDuplicating => self.checkpoints.late_max,
        };
        Limits { late_max, ..self.checkpoints }
    }
}

impl Delays {
    /// The delays of a kind of event.
    pub(super) fn of(&self, kind: LocalKind) -> Option<Range> {
        match kind {
            LocalKind::Timer => Some(self.timer),
            LocalKind::Application => self.application,
            LocalKind::Internal => Some(self.internal),
        }
    }
}
