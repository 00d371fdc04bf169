//! What comes from other nodes and from clients.

use std::net::TcpStream;
use std::sync::mpsc::SyncSender;

use host_live::node::Refusal;
use host_model::contract::{NodeId, Request, Response};

use crate::budget::{Account, Share};
use crate::connections::Place;
use crate::tls::PeerRejection;

/// What a thread that serves the network has to say.
pub(crate) enum Arrival {
    /// This node has made a stream to a peer, for what belongs at a place.
    Connected { stream: u64, peer: NodeId, place: Place, handle: TcpStream },
    /// A peer has opened a stream that begins with this number, and may have proven to be a node.
    Accepted { stream: u64, proven: Option<NodeId>, number: u64, handle: TcpStream },
    /// A frame, over a stream or by itself, and the room for it.
    Frame { stream: Option<u64>, bytes: Vec<u8>, share: Share },
    /// A frame was refused, and not kept.
    Refused(Refusal),
    /// A stream is gone, because of what came over it or not.
    Gone { stream: u64, refusal: Option<Refusal> },
    /// There is no stream with a peer that does not prove its identity.
    Distrusted(PeerRejection),
    /// A request.
    Asked(Asked),
}

/// A request, and where the answer goes. Without one, that is dropped.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) reply: SyncSender<Response>,
}

/// What a port is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Requests to the protocol.
    Clients,
    /// Questions about the node.
    Metrics,
}

impl Port {
    /// For whom it holds bytes.
    pub(crate) fn account(self) -> Account {
        match self {
            Self::Clients => Account::Clients,
            Self::Metrics => Account::Metrics,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Clients => "application/octet-stream",
            Self::Metrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What arrives waits in a queue of this length: beyond, the network has to.
pub(crate) const ARRIVALS_MAX: usize = 4_096;
