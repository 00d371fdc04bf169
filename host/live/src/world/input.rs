//! What is going to happen in a world.

use std::time::Duration;

use host_model::contract::NodeId;

use crate::world::plan::Trouble;

/// Something that happens in a world.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A frame arrives.
    Frame {
        to: NodeId,
        bytes: Vec<u8>,
    },
    /// Something is due at a node.
    Wake(NodeId),
    /// The disk has written what a start of a node has asked for.
    Written {
        node: NodeId,
        start: u64,
    },
    /// A process is started.
    Up(NodeId),
    Kill(Trouble),
    Cut(Trouble),
    Pause(Trouble),
    Resume(NodeId),
    Jump(Trouble),
    /// Some node asks for a snapshot, again after so long.
    Gather(Duration),
    /// A client asks some node, again after so long.
    Ask(Duration),
    /// Nothing goes wrong any more.
    Calm,
}
