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
    /// The partition ends.
    Reunion,
    /// A phase of the script begins.
    Phase(usize),
    /// The checker of a node begins a round.
    Check(NodeId),
    /// The checker of a node ends a round.
    Checked(NodeId),
}

impl Input {
    /// Whether it is for a checker, and not for the cluster.
    pub(super) fn is_of_checker(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Checked(_))
    }
}
