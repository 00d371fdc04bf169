//! The memory that a packet takes when decoded, computed without decoding it.
//!
//! A packet is a list of lists, and an element of one byte on the wire takes up to a hundred in memory. So a packet is read twice: first as
//! its [shape](Shape), which borrows and counts, and then decoded, if the count is within the budget.

use std::marker::PhantomData;

use host_model::contract::NodeId;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::checkpoint::channel::{Channel, Kept};
use crate::checkpoint::packet::{Checkpoint, Header};

/// Bytes that the allocator and the reference counts of a shared payload take.
const SHARED: usize = 48;

/// A value that takes memory when decoded.
pub(super) trait Cost {
    /// Upper bound of the memory that it takes, in bytes.
    fn cost(&self) -> usize;
}

/// The parts of a packet that determine its cost. The fields are those of [`Packet`](crate::checkpoint::Packet), in their order.
#[derive(Deserialize)]
pub(super) struct Shape<'b> {
    #[serde(rename = "header")]
    _header: Header,
    #[serde(borrow)]
    pub(super) body: BodyShape<'b>,
}

/// The parts of a packet's body that determine its cost.
#[derive(Deserialize)]
pub(super) enum BodyShape<'b> {
    Message {
        #[serde(rename = "sequence")]
        _sequence: u64,
        payload: &'b [u8],
    },
    Request {
        #[serde(rename = "number")]
        _number: u64,
    },
    Answer {
        #[serde(rename = "request")]
        _request: u64,
        #[serde(borrow)]
        checkpoint: CheckpointShape<'b>,
    },
    Refusal {
        #[serde(rename = "request")]
        _request: u64,
    },
    Capped {
        #[serde(rename = "request")]
        _request: u64,
    },
}

#[derive(Deserialize)]
pub(super) struct CheckpointShape<'b> {
    #[serde(rename = "number")]
    _number: u64,
    #[serde(rename = "incarnation")]
    _incarnation: u64,
    content: &'b [u8],
    channels: Total<(NodeId, ChannelShape)>,
}

#[derive(Deserialize)]
struct ChannelShape {
    #[serde(rename = "incarnation")]
    _incarnation: u64,
    #[serde(rename = "sent")]
    _sent: u64,
    received: Total<(u64, u64)>,
    kept: Total<KeptShape>,
    #[serde(rename = "forgotten")]
    _forgotten: u64,
    #[serde(rename = "unaddressed")]
    _unaddressed: u64,
    #[serde(rename = "is_open")]
    _is_open: bool,
}

#[derive(Deserialize)]
struct KeptShape {
    #[serde(rename = "sequence")]
    _sequence: u64,
    #[serde(rename = "addressee")]
    _addressee: u64,
    #[serde(deserialize_with = "length")]
    payload: usize,
}

fn length<'d, D: Deserializer<'d>>(deserializer: D) -> Result<usize, D::Error> {
    <&[u8]>::deserialize(deserializer).map(<[u8]>::len)
}

impl Cost for BodyShape<'_> {
    fn cost(&self) -> usize {
        match self {
            Self::Message { payload, .. } => payload.len(),
            Self::Answer { checkpoint: CheckpointShape { content, channels, .. }, .. } => {
                size_of::<Checkpoint>() + content.len() + channels.cost
            }
            Self::Request { .. } | Self::Refusal { .. } | Self::Capped { .. } => 0,
        }
    }
}

impl Cost for (NodeId, ChannelShape) {
    fn cost(&self) -> usize {
        // A node of a tree is at least half full, and so is a queue that grows.
        2 * (size_of::<(NodeId, Channel)>() + self.1.received.cost + self.1.kept.cost)
    }
}

impl Cost for (u64, u64) {
    fn cost(&self) -> usize {
        size_of::<Self>()
    }
}

impl Cost for KeptShape {
    fn cost(&self) -> usize {
        size_of::<Kept>() + SHARED + self.payload
    }
}

/// A list, as the total cost of its elements; a map is a list of pairs.
struct Total<T> {
    cost: usize,
    elements: PhantomData<T>,
}

impl<'d, T: Cost + Deserialize<'d>> Deserialize<'d> for Total<T> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self { cost: 0, elements: PhantomData })
    }
}

impl<'d, T: Cost + Deserialize<'d>> Visitor<'d> for Total<T> {
    type Value = Self;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'d>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(element) = list.next_element::<T>()? {
            self.cost = self.cost.saturating_add(element.cost());
        }
        Ok(self)
    }
}
