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

/// A cluster, its parameters and its network. Part of every trace.
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
}

impl Scenario {
    /// A cluster on an unordered network, without parameters.
    pub fn new(nodes: u32) -> Self {
        Self { nodes, parameters: BTreeMap::new(), network: Network::Unordered }
    }

    /// The parameters as the contract wants them: one `key=value` a line, sorted by key.
    pub fn config(&self) -> String {
        self.parameters.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}
