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

/// What the hint of a fault at a limit begins with.
const HINT: &str = "`--limit ";

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
    /// The hint in the message of a fault at a limit: [`limit`](Self::limit) reads the name from it.
    pub fn allows_more(limit: &str) -> String {
        format!("{HINT}{limit}=N` allows more")
    }

    /// The name of the limit that ended the call; none if no limit did. A component that traps with these words is taken at its word: all
    /// that follows is that a running node undoes its handler.
    pub fn limit(&self) -> Option<&str> {
        if matches!(self.kind, FaultKind::Malformed | FaultKind::Refused | FaultKind::Platform) {
            return None;
        }
        self.hinted().or(match self.kind {
            FaultKind::Divergence => Some("fuel"),
            FaultKind::MemoryLimit => Some("memory"),
            // Such as a message that no frame holds, whatever is given.
            FaultKind::OutputLimit => Some("message"),
            _ => None,
        })
    }

    /// The limit that the message names.
    fn hinted(&self) -> Option<&str> {
        let (_, hint) = self.message.split_once(HINT)?;
        let (name, rest) = hint.split_once('=')?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        (is_name && rest.starts_with("N` allows more")).then_some(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_fault_is_the_one_that_its_hint_names() {
        let of = |kind, message: &str| Fault { kind, message: message.to_owned() }.limit().map(str::to_owned);
        let hint = format!("too much; {}", Fault::allows_more("compile-time"));
        for kind in
            [FaultKind::Trap, FaultKind::Divergence, FaultKind::MemoryLimit, FaultKind::OutputLimit, FaultKind::Choose]
        {
            assert_eq!(of(kind, &hint).as_deref(), Some("compile-time"), "{kind:?}");
        }
        for kind in [FaultKind::Malformed, FaultKind::Refused, FaultKind::Platform] {
            assert_eq!(of(kind, &hint), None, "{kind:?}");
        }
        for (kind, limit) in [
            (FaultKind::Divergence, Some("fuel")),
            (FaultKind::MemoryLimit, Some("memory")),
            (FaultKind::OutputLimit, Some("message")),
            (FaultKind::Choose, None),
        ] {
            assert_eq!(of(kind, "without a hint").as_deref(), limit);
        }
        for message in [
            "",
            "`handle` trapped: unreachable",
            "`--limit ",
            "`--limit =N` allows more",
            "`--limit a=N",
            "`--limit A B=N` allows more",
        ] {
            assert_eq!(of(FaultKind::Trap, message), None, "{message}");
        }
    }
}
