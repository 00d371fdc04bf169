//! The packets between nodes.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::channel::Channel;

/// A packet: a message of the protocol, or one between managers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    /// The header, which each packet carries.
    pub header: Header,
    /// The body.
    pub body: Body,
}

/// The header of each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// The number of the sender when it was sent.
    pub number: u64,
    /// The incarnation of the sender.
    pub incarnation: u64,
    /// The latest incarnation of the destination that the sender knows; 0 for none.
    pub addressee: u64,
    /// The bounds of one range of messages of that incarnation that the sender has received, or no longer accepts. Of several ranges,
    /// each packet has a different one.
    ///
    /// A node forgets acknowledged messages. Snapshots still include them: this packet forces checkpoints like any other, so if its
    /// receipt is inside the cut, so is that of the messages that it acknowledges.
    pub acknowledged: Option<(u64, u64)>,
}

/// The body of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// A message of the protocol.
    Message {
        /// Its number among the messages to this destination, counted from 1.
        sequence: u64,
        /// The content.
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
    },
    /// Requests the first checkpoint with at least this number.
    Request {
        /// The number.
        number: u64,
    },
    /// The requested checkpoint.
    Answer {
        /// The number requested.
        request: u64,
        /// The checkpoint.
        checkpoint: Box<Checkpoint>,
    },
    /// The requested checkpoint may have been discarded.
    Refusal {
        /// The number requested.
        request: u64,
    },
    /// The sender has the requested checkpoint, and does not send it, because its bandwidth is used up.
    Capped {
        /// The number requested.
        request: u64,
    },
}

/// A checkpoint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number.
    pub number: u64,
    /// The incarnation of the node.
    pub incarnation: u64,
    /// The state of the node, as its driver encodes it.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Its records of the messages to and from its peers; none for a peer with which it has exchanged no messages.
    pub channels: BTreeMap<NodeId, Channel>,
}
