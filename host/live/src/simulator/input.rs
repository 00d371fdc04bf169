//! What is going to happen in a run.

use host_model::contract::NodeId;
use host_model::lts::{LocalEventId, MessageId};

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A message or a notice arrives.
    Arrival(MessageId),
    /// What separates a sender from a destination between which messages have an order is over.
    Departure((NodeId, NodeId)),
    /// A local event happens, unless it was called off or armed again since: then it has another number.
    Local { node: NodeId, event: LocalEventId, armed: u64 },
    /// Some node restarts.
    Reset,
    /// A partition comes.
    Partition,
    /// It ends.
    Reunion,
    /// A phase of the script begins.
    Phase(usize),
    /// The checker of a node begins a round.
    Check(NodeId),
    /// It ends one.
    Checked(NodeId),
}

impl Input {
    /// Whether it is nothing that happens to the cluster.
    pub(super) fn is_of_checker(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Checked(_))
    }
}
