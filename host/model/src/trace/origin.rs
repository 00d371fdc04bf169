//! The origins of the paths of traces: after `init`, or in states from elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::hex::Hex;
use crate::contract::{Choice, NodeId};
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultState, Route, Scenario};

/// The origin of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// After `init`, with these answers to `choose` for each node; an empty list means that none are known.
    Init(Vec<Vec<Choice>>),
    /// In states from elsewhere.
    States(Arc<Beginning>),
}

impl Default for Origin {
    fn default() -> Self {
        Self::Init(Vec::new())
    }
}

impl Origin {
    /// The answers of a node to `choose` in `init`.
    pub fn choices(&self, node: NodeId) -> &[Choice] {
        match self {
            Self::Init(choices) => choices.get(node as usize).map_or(&[], Vec::as_slice),
            Self::States(_) => &[],
        }
    }

    /// Adds the answers of the next node in `init`.
    pub(crate) fn answer(&mut self, choices: &[Choice]) {
        if let Self::Init(nodes) = self {
            nodes.push(choices.to_vec());
        }
    }

    /// The states from elsewhere, if the path begins in these.
    pub fn states(&self) -> Option<&Beginning> {
        match self {
            Self::Init(_) => None,
            Self::States(beginning) => Some(beginning),
        }
    }
}

/// A global state from elsewhere: the exported states of its nodes, and the messages between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// One state for each node that is not absent, in the order of the nodes.
    pub states: Vec<NodeState>,
    /// The messages in flight, those of one link in the order of sending. A message that can be delivered twice is listed twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Flight>,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeState {
    /// The node.
    pub node: NodeId,
    /// The export of its machine.
    pub exported: Hex,
    /// The faults of the node so far; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fault_state: FaultState,
}

/// A message in flight, or a notice that the connection is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flight {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The content; empty for a notice.
    #[serde(default)]
    pub payload: Hex,
    /// The number of earlier breaks of the connection; for a notice, including its own break.
    #[serde(default, skip_serializing_if = "is_default")]
    pub incarnation: u32,
    /// Whether it is a notice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notice: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The part of a [`Beginning`] that needs no machine, in the form of the rules.
pub(crate) struct Settled<'b> {
    /// One per node; a fresh one for absent nodes.
    pub(crate) fault_states: Vec<FaultState>,
    /// The items in flight with their contents.
    pub(crate) in_flight: Vec<(Route, &'b [u8])>,
}

impl Beginning {
    /// Refuses a beginning that is no possible state of a cluster of the scenario.
    ///
    /// # Errors
    ///
    /// A lower-case phrase with the reason.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        // A handler for errors makes no difference to the possible items in flight.
        self.settle(scenario, &Rules::new(scenario, false)).map(|_| ())
    }

    pub(crate) fn settle(&self, scenario: &Scenario, rules: &Rules) -> Result<Settled<'_>, String> {
        let nodes: Vec<NodeId> = self.states.iter().map(|state| state.node).collect();
        let expected = (0..scenario.nodes).filter(|node| !scenario.absent.contains(node));
        if !expected.eq(nodes.iter().copied()) {
            return Err(format!(
                "it begins with states of the nodes {nodes:?}: one is needed for each of {} nodes that is not absent, in order",
                scenario.nodes
            ));
        }
        let fresh = rules.fresh();
        let mut fault_states = vec![fresh.clone(); scenario.nodes as usize];
        for NodeState { node, fault_state, .. } in self.states.iter().filter(|state| !is_default(&state.fault_state)) {
            if let Some((what, count, most)) = rules.overdrawn(fault_state) {
                return Err(format!("node {node} has used {count} of its {what}, and its budget is {most}"));
            }
            if !fault_state.fits(&fresh) {
                return Err(format!(
                    "node {node} cannot begin in its fault state: connections that can break are known at both ends or not at all"
                ));
            }
            fault_states[*node as usize] = fault_state.clone();
        }
        let in_flight = self.routes(scenario, rules, &fault_states)?;
        Ok(Settled { fault_states, in_flight })
    }

    /// The items in flight. If they have an order and connections can break, each has the incarnation that its destination
    /// knows when it arrives.
    fn routes(
        &self,
        scenario: &Scenario,
        rules: &Rules,
        fault_states: &[FaultState],
    ) -> Result<Vec<(Route, &[u8])>, String> {
        let mut known: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
        let mut routes = Vec::with_capacity(self.in_flight.len());
        for Flight { from, to, payload, incarnation, notice } in &self.in_flight {
            let (from, to, incarnation, is_notice) = (*from, *to, *incarnation, *notice);
            let what = if is_notice { "a notice" } else { "a message" };
            let refuse = |why: &str| Err(format!("{what} from node {from} to node {to} cannot be in flight: {why}"));
            if from >= scenario.nodes || to >= scenario.nodes {
                return refuse("there is no such node");
            }
            if scenario.absent.contains(&to) {
                return refuse("its destination is absent");
            }
            let channel_class = rules.channel_class(from, to);
            let current = known.entry((from, to)).or_insert_with(|| fault_states[to as usize].incarnation(from));
            let has_connection = channel_class == 0 && fault_states[to as usize].has_connections();
            if !has_connection && (is_notice || incarnation > 0) {
                return refuse("its connection cannot break");
            }
            if is_notice && (incarnation <= *current || incarnation > fault_states[from as usize].incarnation(to)) {
                return refuse("the sender has not broken the connection, or the destination knows");
            }
            if !is_notice && incarnation != *current {
                return refuse("it belongs to another incarnation of the connection");
            }
            if is_notice && !payload.0.is_empty() {
                return refuse("it has a content");
            }
            *current = incarnation;
            routes.push((Route { from, to, incarnation, is_notice, channel_class }, &*payload.0));
        }
        let ahead = |(from, to): &(NodeId, NodeId)| {
            let current = known.get(&(*from, *to)).copied();
            let current = current.unwrap_or_else(|| fault_states[*to as usize].incarnation(*from));
            fault_states[*from as usize].incarnation(*to) > current
        };
        let mut pairs = (0..scenario.nodes).flat_map(|from| (0..scenario.nodes).map(move |to| (from, to)));
        let is_present = |(from, to): &(NodeId, NodeId)| !rules.is_absent(*from) && !rules.is_absent(*to) && from != to;
        match pairs.find(|pair| is_present(pair) && ahead(pair)) {
            Some((from, to)) => Err(format!("node {to} is never told that its connection to node {from} is broken")),
            None => Ok(routes),
        }
    }
}
