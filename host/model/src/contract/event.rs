//! Nodes, what they send, and what happens to them without a message.

use serde::{Deserialize, Serialize};

/// A node of the cluster: 0 up to, not including, the cluster size.
pub type NodeId = u32;

/// A message on its way out of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Envelope {
    /// The destination; smaller than the cluster size.
    pub to: NodeId,
    /// The content, opaque to the host.
    pub payload: Vec<u8>,
}

/// Why a local event can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalKind {
    /// A timer that is due.
    Timer,
    /// A call of the application above the protocol.
    Application,
    /// A step that the protocol takes by itself.
    Internal,
}

/// Something that can happen to one node without a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalEvent {
    /// Its name for people, such as `propose`.
    pub name: String,
    /// Why it can happen.
    pub kind: LocalKind,
    /// The argument, opaque to the host.
    pub payload: Vec<u8>,
}
