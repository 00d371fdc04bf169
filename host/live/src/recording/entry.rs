//! The entries of a segment.

use std::collections::BTreeMap;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{
    Choice, DurableMap, DurableState, Envelope, Fault, FaultKind, Input, LocalEvent, LocalKind, NodeId,
};
use serde::{Deserialize, Serialize};

use crate::disk::Owner;

/// The length of the hash in a frame, in bytes.
pub(super) const HASH: usize = 16;

/// The hash of a segment up to some frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain(pub(super) [u8; HASH]);

/// The head of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The node, its cluster and its component.
    pub owner: Owner,
    /// The limits of the plugin that were given, by name.
    pub limits: BTreeMap<String, u64>,
    /// The start of the process by the clock of its machine, in nanoseconds since 1970. It orders lines for people alone.
    pub begun: u64,
    /// The beginning of the segment.
    pub begins: Begins,
}

/// The beginning of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Begins {
    /// The node starts.
    Start,
    /// The node has run before.
    Within {
        /// The end of the segment before.
        behind: Chain,
        /// The state of the node, as its machine exports it.
        #[serde(with = "serde_bytes")]
        state: Vec<u8>,
    },
}

/// An entry of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The node has handled an event.
    Event(Occurrence),
    /// A handler has failed. The node has ended, or is in the state before the event if the handler has hit a limit.
    Failed(Failure),
    /// The record with this number is on the disk of the node.
    Persisted(u64),
}

/// An event that a node has handled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The time since the start of the process, in nanoseconds.
    pub at: u64,
    /// The input of the handler.
    pub input: Handled,
    /// The answers to `choose` and to `can-send`.
    pub answers: Vec<Answer>,
    /// The messages sent.
    pub sent: Vec<Envelope>,
    /// The state after it.
    pub state: Fingerprint,
    /// The record that its effects wait for.
    pub ticket: u64,
}

/// A handler that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The input of the handler.
    pub input: Handled,
    /// The answers that it had by then.
    pub answers: Vec<Answer>,
    /// The kind of its fault.
    pub kind: FaultKind,
    /// The fault in words.
    pub message: String,
}

/// The input of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handled {
    /// `init`.
    Start {
        /// The durable state that it found; none if there was nothing.
        durable: Option<Kept>,
    },
    /// A message.
    Message {
        /// The sender.
        from: NodeId,
        /// The content.
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
    },
    /// A local event.
    Local {
        /// Its name.
        name: String,
        /// The reason why it can happen.
        kind: LocalKind,
        /// Its argument.
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
    },
    /// A connection that is broken.
    Error {
        /// The other end.
        peer: NodeId,
    },
}

/// A durable state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The result of `persist`.
    #[serde(with = "serde_bytes")]
    pub persisted: Option<Vec<u8>>,
    /// The durable map, as bytes.
    #[serde(with = "serde_bytes")]
    pub map: Vec<u8>,
}

/// An answer to a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The answer.
    pub picked: u32,
    /// The number of answers.
    pub alternatives: u32,
    /// The destination if the question was about a message.
    pub to: Option<NodeId>,
}

impl From<&Choice> for Answer {
    fn from(Choice { picked, alternatives, to }: &Choice) -> Self {
        Self { picked: *picked, alternatives: *alternatives, to: *to }
    }
}

impl Handled {
    /// The input of a handler; none for a quorum, which no running node takes.
    pub(super) fn of(input: &Input<'_>) -> Option<Self> {
        Some(match *input {
            Input::Init { durable, .. } => Self::Start { durable: durable.map(Kept::of) },
            Input::Message { src, payload } => Self::Message { from: src, payload: payload.to_vec() },
            Input::Local(LocalEvent { name, kind, payload }) => {
                Self::Local { name: name.clone(), kind: *kind, payload: payload.clone() }
            }
            Input::TransportError { peer } => Self::Error { peer },
            Input::Quorum { .. } => return None,
        })
    }
}

impl Kept {
    fn of(durable: &DurableState) -> Self {
        Self { persisted: durable.persisted.clone(), map: durable.map.to_bytes() }
    }

    /// The durable state; none if the bytes are those of no map.
    pub fn durable(&self) -> Option<DurableState> {
        Some(DurableState { persisted: self.persisted.clone(), map: DurableMap::from_bytes(&self.map)? })
    }
}

impl Failure {
    pub(super) fn of(input: Handled, choices: &[Choice], fault: &Fault) -> Self {
        let answers = choices.iter().map(Answer::from).collect();
        Self { input, answers, kind: fault.kind, message: fault.message.clone() }
    }
}
