//! The assumptions about the system under test.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::contract::NodeId;

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

/// A link with a network of its own: the way of messages from one node to another, or to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// How messages travel there.
    pub network: Network,
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
    /// Nodes that stop and never come back. Only deadlocks depend on it.
    #[serde(skip_serializing_if = "is_zero")]
    pub crashes: u32,
}

impl Faults {
    /// The name and the budget of each kind.
    pub fn kinds(&self) -> [(&'static str, u32); 5] {
        let Self { resets, duplicates, breaks, refusals, crashes } = *self;
        [
            ("resets", resets),
            ("duplicates", duplicates),
            ("breaks", breaks),
            ("refusals", refusals),
            ("crashes", crashes),
        ]
    }

    /// The most of each. More are no sensible question, and each duplicate of a message costs memory.
    pub const MAX: u32 = 100;

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
    /// The network of all links that have none of their own.
    #[serde(default)]
    pub network: Network,
    /// Links where messages travel in another way: each once, in the order of senders and then destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What can go wrong.
    #[serde(default, skip_serializing_if = "Faults::are_none")]
    pub faults: Faults,
    /// Nodes of which no state is known. They take no step, and messages to them vanish where they are sent; no property reads
    /// them. What a cluster does with them is part of what it could do if they were there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<NodeId>,
}

/// What does not fit together in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// A link has an end that does not exist.
    #[error("the link from node {from} to node {to}: there is no node {node}, but {nodes}, numbered from 0")]
    NoNode {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
        /// Which of them it is.
        node: NodeId,
        /// How many there are.
        nodes: u32,
    },
    /// An absent node does not exist, or all nodes are absent.
    #[error("nodes {absent:?} are absent of {nodes}, numbered from 0: some node must be there")]
    Absent {
        /// Which nodes.
        absent: BTreeSet<NodeId>,
        /// How many nodes there are, absent ones included.
        nodes: u32,
    },
    /// A link stands twice.
    #[error("the network from node {from} to node {to} is given twice")]
    Twice {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
    /// A link stands behind one that it should stand before.
    #[error("the link from node {from} to node {to} is not in its place: links are sorted by sender and destination")]
    Unsorted {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
    /// More faults of a kind than anybody explores.
    #[error("{count} {kind} are more than {} of a kind", Faults::MAX)]
    TooMany {
        /// Of what.
        kind: &'static str,
        /// How many.
        count: u32,
    },
    /// Duplicates where no message comes twice.
    #[error("{network} never delivers a message twice, so it has no duplicates")]
    NoDuplicates {
        /// What is asked to have them.
        network: String,
    },
    /// Breaks without connections.
    #[error(
        "{network} has no connections that could break: a message that is lost there is one that is never delivered"
    )]
    NoConnections {
        /// What is asked to have them.
        network: String,
    },
    /// A connection that can break has one end.
    #[error(
        "messages from node {from} to node {to} are ordered and those back are not: a connection that can break, by a \
         break or a reset, has two ends"
    )]
    OneWay {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
}

impl Scenario {
    /// A cluster on an unordered network, without parameters and faults.
    pub fn new(nodes: u32) -> Self {
        Self {
            nodes,
            parameters: BTreeMap::new(),
            network: Network::Unordered,
            links: Vec::new(),
            faults: Faults::default(),
            absent: BTreeSet::new(),
        }
    }

    /// How messages travel from one node to another.
    pub fn network_of(&self, from: NodeId, to: NodeId) -> Network {
        let found = self.links.binary_search_by_key(&(from, to), |link| (link.from, link.to));
        found.map_or(self.network, |index| self.links[index].network)
    }

    /// Whether messages travel like this somewhere.
    pub fn has_network(&self, network: Network) -> bool {
        match self.links.is_empty() {
            true => self.network == network,
            false => self.pairs().any(|(from, to)| self.network_of(from, to) == network),
        }
    }

    /// A node from which messages come in order to this one; none if all of them overtake each other.
    pub fn in_order_to(&self, to: NodeId) -> Option<NodeId> {
        (0..self.nodes).find(|from| self.network_of(*from, to) == Network::Ordered)
    }

    fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        (0..self.nodes).flat_map(|from| (0..self.nodes).map(move |to| (from, to)))
    }

    /// Refuses links that make no sense, and faults that no link has.
    ///
    /// # Errors
    ///
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let Faults { duplicates, breaks, resets, .. } = self.faults;
        if let Some((kind, count)) = self.faults.kinds().into_iter().find(|(_, count)| *count > Faults::MAX) {
            return Err(ScenarioError::TooMany { kind, count });
        }
        let last_absent = self.absent.last().is_some_and(|last| *last >= self.nodes);
        if last_absent || self.absent.len() >= self.nodes.max(1) as usize {
            return Err(ScenarioError::Absent { absent: self.absent.clone(), nodes: self.nodes });
        }
        let mut last = None;
        for Link { from, to, .. } in &self.links {
            if let Some(node) = [*from, *to].into_iter().find(|node| *node >= self.nodes) {
                return Err(ScenarioError::NoNode { from: *from, to: *to, node, nodes: self.nodes });
            }
            let before = last.replace((*from, *to));
            match before.cmp(&last) {
                Ordering::Less => {}
                Ordering::Equal => return Err(ScenarioError::Twice { from: *from, to: *to }),
                Ordering::Greater => return Err(ScenarioError::Unsorted { from: *from, to: *to }),
            }
        }
        let network = match self.links.is_empty() {
            true => format!("the network {}", self.network),
            false => "every link".to_owned(),
        };
        if duplicates > 0 && !self.has_network(Network::UnorderedDuplicating) {
            return Err(ScenarioError::NoDuplicates { network });
        }
        if breaks > 0 && !self.has_network(Network::Ordered) {
            return Err(ScenarioError::NoConnections { network });
        }
        let is_ordered = |from, to| self.network_of(from, to) == Network::Ordered;
        if self.links.is_empty() || (breaks == 0 && resets == 0) {
            return Ok(());
        }
        let one_way = self.pairs().find(|(from, to)| is_ordered(*from, *to) && !is_ordered(*to, *from));
        one_way.map_or(Ok(()), |(from, to)| Err(ScenarioError::OneWay { from, to }))
    }

    /// The parameters as the contract wants them: one `key=value` a line, sorted by key.
    pub fn config(&self) -> String {
        self.parameters.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}
