//! The assumptions about the system under test.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::contract::NodeId;
use crate::scenario::faults::{FaultId, Faults, Need, budget};
use crate::scenario::link::{Link, Network};
use crate::scenario::outage_writes::OutageWrites;

/// A cluster, its parameters, its network and its faults. Part of every trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Number of nodes; at least 1.
    pub nodes: u32,
    /// Parameters of the protocol that differ from its defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The network of all links without one of their own.
    #[serde(default)]
    pub network: Network,
    /// Links with another network: each once, in the order of senders and then destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The budgets of faults.
    #[serde(default, skip_serializing_if = "Faults::are_none")]
    pub faults: Faults,
    /// The unsynced writes that an outage can lose.
    #[serde(default, skip_serializing_if = "OutageWrites::is_prefix")]
    pub outage_writes: OutageWrites,
    /// Nodes without a known state. They take no step, and messages to them vanish when they are sent; no property reads
    /// them. The executions of the cluster without them are among those that it could have with them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<NodeId>,
}

/// A contradiction in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// A link has an end that does not exist.
    #[error("the link from node {from} to node {to}: there is no node {node}, but {nodes}, numbered from 0")]
    NoNode {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
        /// The one that does not exist.
        node: NodeId,
        /// The number of nodes.
        nodes: u32,
    },
    /// An absent node does not exist, or all nodes are absent.
    #[error("nodes {absent:?} are absent of {nodes}, numbered from 0: some node must be there")]
    Absent {
        /// The absent nodes.
        absent: BTreeSet<NodeId>,
        /// The number of nodes, including absent ones.
        nodes: u32,
    },
    /// A link is listed twice.
    #[error("the network from node {from} to node {to} is given twice")]
    Twice {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
    /// A link is listed after one that it must precede.
    #[error("the link from node {from} to node {to} is not in its place: links are sorted by sender and destination")]
    Unsorted {
        /// The sender.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
    /// A budget of faults that is larger than any useful search.
    #[error("{} {kind} are more than {} of a kind", budget::words(*count), Faults::MAX)]
    TooMany {
        /// The kind of fault.
        kind: &'static str,
        /// The budget.
        count: u32,
    },
    /// A fault that needs a network that no link has.
    #[error("{network} {}", need.otherwise)]
    NoNetwork {
        /// The fault.
        kind: &'static str,
        /// The network that would have to allow it.
        network: String,
        /// The need of the fault.
        need: Need,
    },
    /// A connection that can break has one end.
    #[error(
        "messages from node {from} to node {to} are ordered and those back are not: a connection that can break, by a \
         break or a reset, has two ends"
    )]
    OneWay {
        /// The kind of fault.
        kind: &'static str,
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
            outage_writes: OutageWrites::default(),
            absent: BTreeSet::new(),
        }
    }

    /// The network from one node to another.
    pub fn network_of(&self, from: NodeId, to: NodeId) -> Network {
        let found = self.links.binary_search_by_key(&(from, to), |link| (link.from, link.to));
        found.map_or(self.network, |index| self.links[index].network)
    }

    /// Whether some link has this network.
    pub fn has_network(&self, network: Network) -> bool {
        match self.links.is_empty() {
            true => self.network == network,
            false => self.pairs().any(|(from, to)| self.network_of(from, to) == network),
        }
    }

    /// Whether connections can break, so that nodes have ends of them.
    pub fn has_connections(&self) -> bool {
        self.has_network(Network::Ordered) && self.faults.breaks_of_connections() > 0
    }

    /// A node whose messages come in order to this one; none if all messages to it can overtake each other.
    pub fn in_order_to(&self, to: NodeId) -> Option<NodeId> {
        (0..self.nodes).find(|from| self.network_of(*from, to) == Network::Ordered)
    }

    fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        (0..self.nodes).flat_map(|from| (0..self.nodes).map(move |to| (from, to)))
    }

    /// Refuses contradictory links, and faults that no link can have.
    ///
    /// # Errors
    ///
    /// The first contradiction.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let is_too_much = |fault: FaultId, count: u32| {
            count > Faults::MAX && !(count == Faults::UNLIMITED && fault.description().budget.may_be_unlimited)
        };
        if let Some((fault, count)) = self.faults.iter().find(|(fault, count)| is_too_much(*fault, *count)) {
            return Err(ScenarioError::TooMany { kind: fault.name(), count });
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
        let asked = || self.faults.iter().filter(|(_, count)| *count > 0).map(|(fault, _)| fault);
        for fault in asked() {
            if let Some(need) = fault.description().needs.filter(|need| !self.has_network(need.network)) {
                let network = match self.links.is_empty() {
                    true => format!("the network {}", self.network),
                    false => "every link".to_owned(),
                };
                return Err(ScenarioError::NoNetwork { kind: fault.name(), network, need });
            }
        }
        let is_ordered = |from, to| self.network_of(from, to) == Network::Ordered;
        let one_way = || self.pairs().find(|(from, to)| is_ordered(*from, *to) && !is_ordered(*to, *from));
        let breaking = asked().filter(|fault| fault.breaks_connections()).last();
        match breaking.and_then(|fault| Some((fault.name(), one_way()?))) {
            Some((kind, (from, to))) => Err(ScenarioError::OneWay { kind, from, to }),
            None => Ok(()),
        }
    }

    /// The parameters in the form of the contract: one `key=value` per line, sorted by key.
    pub fn config(&self) -> String {
        self.parameters.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}
