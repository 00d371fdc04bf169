//! The packets between two ends of the transport, and the upcalls of an end to the application above it.

use guest_sdk::{Context, NodeId};
use serde::{Deserialize, Serialize};

/// The number of a connection of one sender: larger than those of all its earlier connections, also before a reset. In
/// Mace it is a time.
pub type Syn = u16;

/// The number of a segment: one more than that of the segment before it, from a first one that depends on the connection.
pub type Seq = u16;

/// A packet of the unordered network below.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wire<M> {
    /// Sender to receiver: a message, or a fragment of one.
    Data(Data<M>),
    /// Receiver to sender.
    Ack {
        /// The last segment up to which all have arrived.
        seq: Seq,
        /// The segment that this answers. In Mace timers know that, by their length.
        answered: Seq,
    },
    /// Receiver to sender: there is no such connection.
    Reset {
        /// The last connection of the destination that the receiver has heard of.
        heard: Option<Syn>,
        /// The segment that this answers.
        answered: Seq,
    },
    /// Receiver to sender: this segment was lost on the way. In Mace timers know that.
    Lost(Seq),
    /// From a node to itself, which needs no connection.
    Local(M),
}

/// A segment in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Data<M> {
    /// Its number.
    pub seq: Seq,
    /// In the first segment of a connection the number of the connection.
    pub syn: Option<Syn>,
    /// The open connection in the other direction, if the sender knows one.
    pub echo: Option<Syn>,
    /// The index of this fragment in the message, from 0.
    pub part: u8,
    /// The number of fragments of the message.
    pub parts: u8,
    /// The message, in its first fragment.
    pub payload: Option<M>,
}

/// An upcall of the transport to the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upcall<M> {
    /// A message.
    Deliver {
        /// Its sender.
        from: NodeId,
        /// The message.
        payload: M,
    },
    /// A connection to or from a node was closed.
    Error {
        /// The node.
        peer: NodeId,
        /// The unacknowledged messages to it, which may have arrived all the same.
        unsent: Vec<M>,
    },
    /// The node that asked may send.
    ClearToSend {
        /// To this node.
        peer: NodeId,
    },
}

/// The effects of a call of the transport: packets, and upcalls in order.
pub struct Effects<'a, 'c, M> {
    pub(crate) ctx: &'a mut Context<'c, Wire<M>>,
    pub(crate) upcalls: Vec<Upcall<M>>,
}

impl<'a, 'c, M> Effects<'a, 'c, M> {
    /// None yet.
    pub fn new(ctx: &'a mut Context<'c, Wire<M>>) -> Self {
        Self { ctx, upcalls: Vec::new() }
    }

    /// The upcalls so far, which are not in it any more.
    pub fn take_upcalls(&mut self) -> Vec<Upcall<M>> {
        std::mem::take(&mut self.upcalls)
    }
}
