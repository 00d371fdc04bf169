//! Rules of a toy node: their triggers and their effects.

use crate::contract::NodeId;

/// The local state of a toy node.
pub type ToyState = u8;

/// The trigger of a toy node's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToyTrigger {
    /// A message with this content from this node.
    Message(NodeId, u8),
    /// A local event with this name.
    Local(u8),
    /// The connection to this node is broken.
    Error(NodeId),
}

/// An outcome of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToyOutcome {
    /// Goes to a state and sends messages: destination and content.
    Go(ToyState, Vec<(NodeId, u8)>),
    /// Traps, after it has sent these: destination and content. As the execution ends there, they are never delivered.
    Trap(Vec<(NodeId, u8)>),
}
