//! What is assumed about the system under test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How messages travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// A multiset of messages in flight, delivered in any order. A message that is never delivered is a lost one.
    #[default]
    Unordered,
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unordered => f.write_str("unordered"),
        }
    }
}

/// How often what goes wrong may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Resets of each node: it begins anew with what it has made durable.
    #[serde(skip_serializing_if = "is_zero")]
    pub resets: u32,
}

impl Faults {
    /// Whether nothing goes wrong.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A cluster, its parameters, its network and what can go wrong. Part of every trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Number of nodes; at least 1.
    pub nodes: u32,
    /// Parameters of the protocol that differ from its defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// How messages travel.
    #[serde(default)]
    pub network: Network,
    /// What can go wrong.
    #[serde(default, skip_serializing_if = "Faults::are_none")]
    pub faults: Faults,
}

impl Scenario {
    /// A cluster on an unordered network, without parameters and faults.
    pub fn new(nodes: u32) -> Self {
        Self { nodes, parameters: BTreeMap::new(), network: Network::Unordered, faults: Faults::default() }
    }

    /// The parameters as the contract wants them: one `key=value` a line, sorted by key.
    pub fn config(&self) -> String {
        self.parameters.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}
