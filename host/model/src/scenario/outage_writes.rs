//! The unsynced writes that a power outage can lose.

use serde::{Deserialize, Serialize};

/// The unsynced writes that a power outage can lose together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageWrites {
    /// Those of the latest handlers: a disk that is written like a log.
    #[default]
    Prefix,
    /// Any of them: a disk on which each entry is written for itself, at any time before a `sync`.
    Any,
}

impl OutageWrites {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Prefix, Self::Any];

    /// Its name in options, scenarios and traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Any => "any",
        }
    }

    /// Whether it is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_prefix(&self) -> bool {
        *self == Self::Prefix
    }
}
