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
    /// As unordered, and a message can be delivered more than once.
    UnorderedDuplicating,
    /// First in, first out for each sender and destination. Connections can break, as far as the budget goes.
    Ordered,
}

impl Network {
    /// All networks.
    pub const ALL: [Self; 3] = [Self::Unordered, Self::UnorderedDuplicating, Self::Ordered];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::UnorderedDuplicating => "unordered-duplicating",
            Self::Ordered => "ordered",
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How often what goes wrong may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Resets of each node: it begins anew with what it has made durable.
    #[serde(skip_serializing_if = "is_zero")]
    pub resets: u32,
    /// How often a message is delivered again at most.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: u32,
    /// Breaks of connections that each node begins.
    #[serde(skip_serializing_if = "is_zero")]
    pub breaks: u32,
    /// Messages of each node that its transport refuses, because its buffers are full.
    #[serde(skip_serializing_if = "is_zero")]
    pub refusals: u32,
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

    /// Refuses faults that the network does not have.
    ///
    /// # Errors
    ///
    /// A phrase that says which and why.
    pub fn check(&self) -> Result<(), String> {
        let Faults { duplicates, breaks, .. } = self.faults;
        let network = self.network;
        if duplicates > 0 && network != Network::UnorderedDuplicating {
            return Err(format!("the network {network} never delivers a message twice, so it has no duplicates"));
        }
        if breaks > 0 && network != Network::Ordered {
            return Err(format!(
                "the network {network} has no connections that could break: a message that is lost there is one that is \
                 never delivered"
            ));
        }
        Ok(())
    }

    /// The parameters as the contract wants them: one `key=value` a line, sorted by key.
    pub fn config(&self) -> String {
        self.parameters.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}
