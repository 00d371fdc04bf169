//! The scheduled inputs of a run.

use host_model::contract::NodeId;
use host_model::lts::{LocalEventId, MessageId};

/// A scheduled input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A message or a notice arrives.
    Arrival(MessageId),
    /// The sender and the destination of an ordered link can reach each other again.
    Departure((NodeId, NodeId)),
    /// A local event happens, unless it was cancelled or armed again since: then it has another number.
    Local { node: NodeId, event: LocalEventId, armed: u64 },
    /// A random node restarts.
    Reset,
    /// A partition begins.
    Partition,
    /// A phase of the script begins.
    Phase(usize),
}
