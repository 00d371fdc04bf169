//! The inputs and results of a machine: inputs and effects of handlers, properties, snapshots.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::draws::Draws;
use crate::contract::durable_map::{DurableMap, DurableState};
use crate::contract::event::{Envelope, LocalEvent, NodeId};
use crate::contract::live::Aside;
use crate::contract::synced::Synced;
use crate::contract::written_keys::WrittenKeys;

/// The claim of a property about the reachable states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Always,
    /// Holds in at least one reachable state.
    Sometimes,
    /// Holds again and again in every fair execution.
    Eventually,
}

/// The part of a global state that a property reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyScope {
    /// The view of one node; checked for each node by itself.
    Node,
    /// The views of all nodes together.
    System,
}

/// A claim about the reachable states, named by the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Property {
    /// Its name for people, such as `agreement`.
    pub name: String,
    /// Its claim.
    pub kind: PropertyKind,
    /// The part of a global state that it reads.
    pub scope: PropertyScope,
}

/// One answer of the host to a handler: to `choose` or `choose-weighted`, or to the question whether the transport takes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The answer; smaller than `alternatives`.
    pub picked: u32,
    /// The number of answers; at least 1.
    pub alternatives: u32,
    /// The destination if the question was about a message. There are two answers then: 0, it is taken; 1, it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<NodeId>,
}

impl Choice {
    /// An answer to `choose`.
    pub fn among(alternatives: u32, picked: u32) -> Self {
        Self { picked, alternatives, to: None }
    }

    /// Whether the transport takes a message to a node; 1 for no.
    pub fn sending(to: NodeId, picked: u32) -> Self {
        Self { picked, alternatives: 2, to: Some(to) }
    }

    /// Whether a message was refused.
    pub fn is_refusal(&self) -> bool {
        self.to.is_some() && self.picked > 0
    }
}

/// The weight of an outcome in a random walk: the product over the handler's choices of the share that the answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Likelihood(u64);

impl Likelihood {
    /// That of a handler that makes no choice. Shares are rounded down, but not to nothing: 64 choices of little weight would
    /// leave none.
    pub const CERTAIN: Self = Self(1 << 48);

    /// That of an outcome after one more answer, which has so much of the sum of all weights.
    ///
    /// # Panics
    ///
    /// The sum is 0.
    #[must_use]
    pub fn and(self, weight: u64, sum: u64) -> Self {
        let share = u128::from(self.0) * u128::from(weight) / u128::from(sum);
        // At most what it was, since a weight is at most the sum.
        Self(u64::try_from(share).unwrap_or(self.0).max(u64::from(self.0 > 0 && weight > 0)))
    }

    /// In parts of [`CERTAIN`](Self::CERTAIN); 0 if no walk draws it.
    pub fn parts(self) -> u64 {
        self.0
    }
}

impl Default for Likelihood {
    fn default() -> Self {
        Self::CERTAIN
    }
}

/// Messages that a node takes together: as many as `size`, each from another sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quorum {
    /// Its name, for people.
    pub name: String,
    /// The number of messages; at least 1.
    pub size: u32,
}

/// The way in which a node takes a message in some local state; `Q` says which quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role<Q> {
    /// By itself.
    Alone,
    /// Not now: it stays in flight.
    Held,
    /// Only together with others.
    Member(Q),
}

/// The input of a handler.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The first event of a node, or the first one after a reset.
    Init {
        /// Which node this machine becomes.
        node: NodeId,
        /// Number of nodes in the cluster.
        nodes: u32,
        /// One `key=value` a line, sorted by key.
        config: &'a str,
        /// The durable state after a reset; none at the first start.
        durable: Option<&'a DurableState>,
    },
    /// Delivery of a message.
    Message {
        /// The sender.
        src: NodeId,
        /// The content.
        payload: &'a [u8],
    },
    /// Delivery of a quorum, which every message of it is a [member](Role::Member) of in this state.
    Quorum {
        /// The name of the quorum.
        name: &'a str,
        /// Sender and content of each message, in the order of the senders.
        messages: &'a [(NodeId, Vec<u8>)],
    },
    /// A local event that `local_events` listed in this state.
    Local(&'a LocalEvent),
    /// A connection is broken; only for a protocol that [hears of it](crate::contract::MachineFactory::hears_errors).
    TransportError {
        /// The node at the other end.
        peer: NodeId,
    },
}

/// The effects of a handler other than the new state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Messages in the order of sending.
    pub sent: Vec<Envelope>,
    /// The calls of `choose`, `choose-weighted` and `can-send` in order.
    pub choices: Vec<Choice>,
    /// The weight of these answers in a random walk.
    pub likelihood: Likelihood,
    /// Which of them were drawn by weights.
    pub draws: Draws,
    /// The lines given to `log` in order; empty unless the machine was asked to keep them.
    pub log: Vec<String>,
    /// The keys of the durable map that the handler has written.
    pub written: WrittenKeys,
    /// The writes that are durable once its messages leave.
    pub synced: Synced,
    /// Facts that matter only where the protocol runs.
    pub aside: Aside,
    /// Whether the node does not take this quorum: nothing has happened, and the state that the machine is in means nothing.
    pub is_declined: bool,
}

/// A local state that a handler has led to.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The node.
    pub node: NodeId,
    /// The canonical encoding.
    pub encoding: &'a [u8],
    /// Made of both, see [`fingerprint`](crate::contract::fingerprint).
    pub fingerprint: u128,
    /// Where the handler began; none before `init`.
    pub from: Option<&'a Snapshot>,
    /// The input that it ran with.
    pub input: Input<'a>,
    /// The answers to `choose` that it was given.
    pub script: &'a [u32],
}

/// Whose state leaves a machine or enters one: what `init` tells a node of itself.
#[derive(Clone, Copy, Debug)]
pub struct StateOwner<'c> {
    /// The node.
    pub node: NodeId,
    /// Number of nodes of its cluster.
    pub nodes: u32,
    /// Its parameters, one `key=value` a line.
    pub config: &'c str,
}

/// A captured local state, shared and immutable. The machine that made it defines the meaning of the words; it and its
/// siblings from the same factory can restore it.
#[derive(Clone)]
pub struct Snapshot {
    words: Arc<[u64]>,
    /// The durable map of the node, if it has one.
    map: Option<Arc<CapturedMap>>,
}

/// A durable map in a snapshot.
struct CapturedMap {
    map: DurableMap,
    /// Bytes that it does not share with the map that the node had before.
    own_bytes: usize,
}

impl Snapshot {
    /// Keeps what a machine wants back.
    pub fn new(words: &[u64]) -> Self {
        Self { words: words.into(), map: None }
    }

    /// The same with a durable map; `before` is the one that the node had when it was restored last, whose entries are counted elsewhere.
    #[must_use]
    pub fn with_map(self, map: &DurableMap, before: &DurableMap) -> Self {
        // Writes of one key again and again allocate more than the map has in the end.
        let written = map.allocated_bytes().saturating_sub(before.allocated_bytes());
        let own_bytes = written.min(map.whole_bytes()) as usize;
        let captured = CapturedMap { map: map.clone(), own_bytes: own_bytes + size_of::<CapturedMap>() };
        Self { map: Some(Arc::new(captured)), ..self }
    }

    /// These words in place of its own, with its durable map.
    #[must_use]
    pub fn with_words(&self, words: &[u64]) -> Self {
        Self { words: words.into(), map: self.map.clone() }
    }

    /// The content, in words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The durable map, if the node has one.
    pub fn map(&self) -> Option<&DurableMap> {
        self.map.as_ref().map(|captured| &captured.map)
    }

    /// Whether this is the same snapshot, and not only an equal one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.words, &other.words)
    }

    /// Whether there is a second handle to it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.words) > 1
    }

    /// Bytes of its words: the memory of the node, without its durable map.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Bytes kept for this snapshot alone, what it shares with others apart.
    pub fn bytes(&self) -> usize {
        self.memory_bytes() + self.map.as_ref().map_or(0, |captured| captured.own_bytes)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} bytes)", self.bytes())
    }
}
