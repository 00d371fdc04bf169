//! The scheduled inputs of a world.

use std::time::Duration;

use host_model::contract::NodeId;

use crate::world::advisor::Found;
use crate::world::guided::News;
use crate::world::history::MessageId;
use crate::world::plan::Trouble;

/// A frame in flight.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) bytes: Vec<u8>,
    /// The message in it; none if it is a packet of the managers.
    pub(super) message: Option<MessageId>,
}

/// The connection of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    pub(super) from: NodeId,
    /// The number of its earlier breaks.
    pub(super) number: u64,
}

/// A scheduled input of a world.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A frame arrives.
    Frame {
        to: NodeId,
        parcel: Parcel,
        /// The connection, on ordered links.
        over: Option<Over>,
    },
    /// A node is notified of the break of a connection.
    Broken {
        node: NodeId,
        peer: NodeId,
        /// The number of its breaks, this one included.
        number: u64,
    },
    /// A node breaks its connection with a peer, which refuses what comes over it.
    Sever {
        node: NodeId,
        peer: NodeId,
        /// The number of its earlier breaks.
        number: u64,
    },
    /// Inputs leave that have waited on an ordered link between nodes that did not reach each other.
    Leave {
        from: NodeId,
        to: NodeId,
    },
    /// A packet of the managers that has waited on such a link leaves.
    LeavePacket {
        to: NodeId,
        parcel: Parcel,
        over: Over,
    },
    /// A random connection breaks, and the next one after about this time.
    Break(Duration),
    /// The deadline of a node.
    Wake(NodeId),
    /// The disk has written the record of a start of a node.
    Written {
        node: NodeId,
        start: u64,
    },
    /// The checker of a start of a node requests a snapshot, if one is due.
    Collect {
        node: NodeId,
        start: u64,
    },
    /// The checker of a start of a node passes news to its gate.
    News {
        node: NodeId,
        start: u64,
        news: News,
    },
    /// The checker of a start of a node has finished its round, with these findings.
    Free {
        node: NodeId,
        start: u64,
        found: Option<Found>,
    },
    /// A process is started.
    Up(NodeId),
    Kill(Trouble),
    Lose(Trouble),
    Cut(Trouble),
    Divide(Trouble),
    /// A phase of the script begins.
    Phase(usize),
    Pause(Trouble),
    Resume(NodeId),
    Jump(Trouble),
    /// A random node begins a snapshot, and the next one after about this time.
    Gather(Duration),
    /// A client sends a request to a random node, and the next one after about this time.
    Ask(Duration),
    /// Nodes may reach each other again.
    Reached,
    /// All faults end.
    Calm,
}

impl Input {
    /// Whether it can change which nodes complete a snapshot.
    pub(super) fn changes_reach(&self) -> bool {
        matches!(self, Self::Reached | Self::Up(_) | Self::Phase(_) | Self::Resume(_))
    }

    /// Whether it concerns only checkers and their snapshots.
    pub(super) fn is_of_checker(&self) -> bool {
        match self {
            Self::Collect { .. } | Self::News { .. } | Self::Free { .. } | Self::Reached | Self::LeavePacket { .. } => {
                true
            }
            Self::Frame { parcel, .. } => parcel.message.is_none(),
            _ => false,
        }
    }
}
