//! Faults of guests, and when two of them are the same.

use std::cmp::Ordering;
use std::fmt::Display;
use std::hash::{Hash, Hasher};

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

/// A guest's fault with the words that explain it. Two of one kind with the same words are equal: the limit follows from them.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Which sort of fault.
    pub kind: FaultKind,
    /// A lower-case phrase; deterministic for the same guest and input.
    pub message: String,
    /// The limit that ended the call. It is no part of a trace: what counts there are the limits of the replay.
    #[serde(skip)]
    limit: Option<&'static str>,
}

impl Fault {
    /// A fault that no limit has to do with.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), limit: None }
    }

    /// A fault at a limit, whose words end with the option that allows more.
    pub fn at_limit(kind: FaultKind, limit: &'static str, message: impl Display) -> Self {
        Self { kind, message: format!("{message}; {}", Self::allows_more(limit)), limit: Some(limit) }
    }

    /// The same at a limit, in words of its own.
    #[must_use]
    pub fn with_limit(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The option that allows more of what a limit bounds: a phrase.
    pub fn allows_more(limit: &str) -> String {
        format!("`--limit {limit}=N` allows more")
    }

    /// The name of the limit that ended the call; none if no limit did, whatever the words say, or if the fault was read from a file.
    pub fn limit(&self) -> Option<&'static str> {
        self.limit
    }

    /// The same, which names the function that has failed.
    #[must_use]
    pub fn of(self, function: &str) -> Self {
        Self { message: format!("`{function}` {}", self.message), ..self }
    }

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

impl Fault {
    fn content(&self) -> (FaultKind, &str) {
        (self.kind, &self.message)
    }
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.content() == other.content()
    }
}

impl Eq for Fault {}

impl PartialOrd for Fault {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fault {
    fn cmp(&self, other: &Self) -> Ordering {
        self.content().cmp(&other.content())
    }
}

impl Hash for Fault {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest chooses the words of its traps: they say nothing about a limit.
    #[test]
    fn a_fault_has_the_limit_that_it_was_made_with() {
        let words = "too much; `--limit compile-time=N` allows more";
        let known = Fault::at_limit(FaultKind::Trap, "compile-time", "too much");
        assert_eq!((known.limit(), &*known.message), (Some("compile-time"), words));
        assert_eq!(known.clone().of("init").limit(), Some("compile-time"));
        let claimed = Fault::new(FaultKind::Trap, words);
        assert_eq!((claimed.limit(), &claimed), (None, &known));
        assert_eq!(claimed.with_limit("fuel").limit(), Some("fuel"));
        for kind in [FaultKind::Divergence, FaultKind::MemoryLimit, FaultKind::OutputLimit] {
            assert_eq!(Fault::new(kind, words).limit(), None, "{kind:?}");
        }
    }
}
