//! A line of a log: what was observed of one event of a node, as far as it is known.

use host_model::contract::{LocalKind, NodeId};
use serde_json::Value;

use crate::error::Place;

/// A line of a log by its number, in the order of the file.
pub type LineId = u32;

/// A line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its place.
    pub place: Place,
    /// The node that wrote it.
    pub node: NodeId,
    /// The event.
    pub event: Event,
    /// The messages that the event sent, all of them and in order; unknown if absent.
    pub sent: Option<Vec<Sending>>,
    /// A part of the description of the state after the event; unknown if absent.
    pub state: Option<Value>,
    /// Lines that are known to have happened before.
    pub after: Vec<LineId>,
}

/// The event of a line, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Some event.
    Any,
    /// No event: the state of the node at some moment.
    State,
    /// The node starts: `init`.
    Start,
    /// The node receives a message.
    Deliver {
        /// The sender.
        from: Option<NodeId>,
        /// The message.
        message: Content,
    },
    /// The node receives several messages together.
    Quorum {
        /// The name of the quorum.
        name: Option<String>,
    },
    /// A local event of the node.
    Local {
        /// Its name.
        name: Option<String>,
        /// The reason why it can happen.
        cause: Option<LocalKind>,
        /// Its argument.
        argument: Content,
    },
    /// The node finds a connection broken that its peer has broken.
    TransportError {
        /// The node at the other end.
        peer: Option<NodeId>,
    },
    /// The node finds a connection broken, by either end.
    Broken {
        /// The node at the other end.
        peer: Option<NodeId>,
    },
    /// A fault of the node, such as a reset.
    Fault {
        /// Its kind, as in traces.
        kind: String,
        /// The node at the other end of the connection that breaks.
        peer: Option<NodeId>,
    },
    /// The node sends a message, as a part of the event before it or of one that has no line.
    Send(Sending),
}

impl Event {
    /// The word for it in a log; none if the event is not known.
    pub fn name(&self) -> Option<&str> {
        Some(match self {
            Self::Any => return None,
            Self::State => "state",
            Self::Start => "start",
            Self::Deliver { .. } => "deliver",
            Self::Quorum { .. } => "quorum",
            Self::Local { .. } => "local",
            Self::TransportError { .. } => "transport-error",
            Self::Broken { .. } => "broken",
            Self::Fault { kind, .. } => kind,
            Self::Send(_) => "send",
        })
    }
}

/// A message that was sent, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sending {
    /// The destination.
    pub to: Option<NodeId>,
    /// The message.
    pub message: Content,
}

/// A content, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The bytes.
    pub payload: Option<Vec<u8>>,
    /// A part of the description.
    pub description: Option<Value>,
}

impl Line {
    /// Whether it is the observation of a state or of a message sent, and does not begin an event.
    pub fn is_effect(&self) -> bool {
        matches!(self.event, Event::State | Event::Send(_))
    }
}
