//! Faults of guests, and when two of them are the same.

use serde::{Deserialize, Serialize};

/// A fault of a guest: a finding about the protocol, not an error of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The handler trapped: a panic, an assertion, a wrong memory access.
    Trap,
    /// The handler used up its fuel: an endless loop, or a very long one.
    Divergence,
    /// The handler wanted more memory or table space than allowed.
    MemoryLimit,
    /// The handler returned more than allowed.
    OutputLimit,
    /// The result is not a value of the contract: a node id that does not exist, a string that is not UTF-8.
    Malformed,
    /// The handler called `choose` with no alternative, too many, or too often.
    Choose,
    /// `init` refused its configuration.
    Refused,
    /// The handler asked for what no plugin has: a clock, a thread, a socket. It says nothing about the protocol.
    Platform,
}

/// A guest's fault with the words that explain it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Which sort of fault.
    pub kind: FaultKind,
    /// A lower-case phrase; deterministic for the same guest and input.
    pub message: String,
}

impl Fault {
    /// Whether a limit on its time or memory ended the call: what it had done by then, and the function in the words, may depend on memory
    /// that no one sees.
    pub fn is_limit(&self) -> bool {
        matches!(self.kind, FaultKind::Divergence | FaultKind::MemoryLimit)
    }

    /// Whether two runs of one call failed in the same way, from memories that may differ in what no one sees.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.is_limit() || self.message == other.message)
    }
}
