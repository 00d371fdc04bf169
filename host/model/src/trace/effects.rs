//! The effects of a step of a replay.

use crate::contract::{Effects, Fault, NodeId};

/// The effects of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Messages, choices and log lines.
    pub effects: Effects,
    /// The fault in which the step ended.
    pub fault: Option<Fault>,
    /// The canonical encoding of the node's state afterwards; none after a fault.
    pub state: Option<Vec<u8>>,
    /// The node's state as JSON, if the plugin describes itself.
    pub description: Option<String>,
    /// Messages that are lost with a broken connection: those in flight to the node, and those that it sends over it.
    pub lost: Vec<LostMessage>,
}

/// A message that is lost with a broken connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostMessage {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The content.
    pub payload: Vec<u8>,
    /// Whether it was sent in the same step, over a connection that is broken already.
    pub is_sent: bool,
}
