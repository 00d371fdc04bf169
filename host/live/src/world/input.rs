//! What is going to happen in a world.

use std::time::Duration;

use host_model::contract::NodeId;

use crate::world::advisor::Found;
use crate::world::guided::News;
use crate::world::history::MessageId;
use crate::world::plan::Trouble;

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) bytes: Vec<u8>,
    /// The message in it; none if it is a packet of the managers.
    pub(super) message: Option<MessageId>,
}

/// The connection that a frame comes over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    pub(super) from: NodeId,
    /// How often it had broken before.
    pub(super) number: u64,
}

/// Something that happens in a world.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A frame arrives.
    Frame {
        to: NodeId,
        parcel: Parcel,
        /// Where links have an order.
        over: Option<Over>,
    },
    /// A node hears that its connection with a peer is broken.
    Broken {
        node: NodeId,
        peer: NodeId,
        /// How often it has broken by that.
        number: u64,
    },
    /// A connection breaks, and another one after about this time.
    Break(Duration),
    /// Something is due at a node.
    Wake(NodeId),
    /// The disk has written what a start of a node has asked for.
    Written {
        node: NodeId,
        start: u64,
    },
    /// The checker of a start of a node asks for a snapshot, if it is time.
    Collect {
        node: NodeId,
        start: u64,
    },
    /// The checker of a start of a node hands something over.
    News {
        node: NodeId,
        start: u64,
        news: News,
    },
    /// The checker of a start of a node is through with its round, and has found this.
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
    /// Some node asks for a snapshot, again after about this time.
    Gather(Duration),
    /// A client asks some node, again after about this time.
    Ask(Duration),
    /// Nodes may reach each other again.
    Reached,
    /// Nothing goes wrong any more.
    Calm,
}

impl Input {
    /// Whether another node may be in a snapshot from then on.
    pub(super) fn changes_reach(&self) -> bool {
        matches!(self, Self::Reached | Self::Up(_) | Self::Phase(_) | Self::Resume(_))
    }

    /// Whether it is nothing that happens to the cluster, but to checkers and their snapshots.
    pub(super) fn is_of_checker(&self) -> bool {
        match self {
            Self::Collect { .. } | Self::News { .. } | Self::Free { .. } | Self::Reached => true,
            Self::Frame { parcel, .. } => parcel.message.is_none(),
            _ => false,
        }
    }
}
