//! The networks of links.

use serde::{Deserialize, Serialize};

use crate::contract::NodeId;

/// The rules for messages on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// A multiset of messages in flight, delivered in any order. A message that is never delivered is lost.
    #[default]
    Unordered,
    /// As unordered, but a message can be delivered more than once.
    UnorderedDuplicating,
    /// First in, first out for each sender and destination. Connections can break, within the budget.
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

/// A link with a network of its own: the messages from one node to another, or to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The network of its messages.
    pub network: Network,
}
