//! What comes from other nodes.

use std::net::TcpStream;

use host_live::node::Refusal;
use host_model::contract::NodeId;

/// What a thread that serves the network has to say.
pub(crate) enum Arrival {
    /// A connection: made by this node to a peer, or by somebody.
    Opened { connection: u64, peer: Option<NodeId>, stream: TcpStream },
    /// A frame, over a connection or by itself.
    Frame { connection: Option<u64>, bytes: Vec<u8> },
    /// The connection is gone, because of what came over it or not.
    Closed { connection: u64, refusal: Option<Refusal> },
}

/// What arrives waits in a queue of this length: beyond, the network has to.
pub(crate) const ARRIVALS_MAX: usize = 4_096;
