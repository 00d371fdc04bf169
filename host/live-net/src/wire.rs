//! Arrivals from other nodes and from clients.

use std::net::TcpStream;
use std::sync::mpsc::SyncSender;

use host_live::node::Refusal;
use host_model::contract::{NodeId, Request, Response};

use crate::budget::{Account, Share};
use crate::connections::Place;
use crate::tls::PeerRejection;

/// An event of the network, from the thread that serves it to the node.
pub(crate) enum Arrival {
    /// This node has made a stream to a peer, for frames of this connection.
    Connected { stream: u64, peer: NodeId, place: Place, handle: TcpStream },
    /// A peer has opened a stream with this number; `proven` if the peer is authenticated.
    Accepted { stream: u64, proven: Option<NodeId>, number: u64, handle: TcpStream },
    /// A frame from a stream or a datagram, with its share of the budget.
    Frame { stream: Option<u64>, bytes: Vec<u8>, share: Share },
    /// A frame was refused and discarded.
    Refused(Refusal),
    /// A stream is gone, with the refusal that ended it, if any.
    Gone { stream: u64, refusal: Option<Refusal> },
    /// A connection failed because one end did not authenticate.
    Distrusted(PeerRejection),
    /// A request.
    Asked(Asked),
}

/// A request, and the channel for its answer; the channel is dropped without an answer.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) reply: SyncSender<Response>,
}

/// The purpose of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Requests to the protocol.
    Clients,
    /// Requests for metrics.
    Metrics,
}

impl Port {
    /// The account of its bytes.
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

/// The length of the queue of arrivals; when it is full, the threads of the network wait.
pub(crate) const ARRIVALS_MAX: usize = 4_096;
