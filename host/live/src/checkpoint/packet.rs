//! What nodes send to each other.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::channel::Channel;

/// A packet: a message of the protocol, or one of the managers among themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    /// What each packet carries.
    pub header: Header,
    /// The rest.
    pub body: Body,
}

/// What each packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// The number of the sender when it was sent.
    pub number: u64,
    /// The incarnation of the sender.
    pub incarnation: u64,
    /// The latest incarnation of the destination that the sender has heard of; 0 for none.
    pub addressee: u64,
    /// Messages of that incarnation that the sender has received, or does not take any more: some that follow each other, from and to. Of
    /// several such ranges each packet has another one.
    ///
    /// A node forgets what is acknowledged. No snapshot misses it: this packet forces checkpoints like any other, so where its receipt
    /// is inside of the cut, so is that of the messages that it acknowledges.
    pub acknowledged: Option<(u64, u64)>,
}

/// The rest of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// A message of the protocol.
    Message {
        /// Which one to this destination, counted from 1.
        sequence: u64,
        /// The content.
        payload: Vec<u8>,
    },
    /// Asks for the checkpoint with the lowest number from this one on.
    Request {
        /// The number.
        number: u64,
    },
    /// The checkpoint that was asked for.
    Answer {
        /// The number that was asked for.
        request: u64,
        /// The checkpoint.
        checkpoint: Box<Checkpoint>,
    },
    /// That checkpoint may have been discarded.
    Refusal {
        /// The number that was asked for.
        request: u64,
    },
    /// The sender has that checkpoint, and does not send it: it has sent so much that others should wait.
    Capped {
        /// The number that was asked for.
        request: u64,
    },
}

/// A node at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number.
    pub number: u64,
    /// The incarnation of the node.
    pub incarnation: u64,
    /// The state of the node, as its driver encodes it.
    pub content: Vec<u8>,
    /// What it knows of the messages to and from its peers; a peer that is absent exchanged none with it.
    pub channels: BTreeMap<NodeId, Channel>,
}
