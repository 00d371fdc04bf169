//! The graph of the global states: all of them, and all steps between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_model::contract::NodeId;
use rustc_hash::FxHashSet;

use super::events::{happenings, moves};
use super::{Channel, Global, Item, Local, System, starts, states};

/// A global state, without the local events that are counted under a bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content {
    /// The local states.
    pub locals: Vec<Local>,
    /// The items in flight on each nonempty channel: in the order of sending, or sorted if the order does not matter.
    pub in_flight: BTreeMap<Channel, Vec<Flying>>,
}

/// A message in flight or a notice: its content, of a message, and the number of breaks of the connection that it knows.
pub type Flying = (Option<u8>, u32);

/// From which state, at which node, to which state.
pub type Edge = (Content, NodeId, Content);

/// A graph, with the multiplicity of each state and each edge: states with different counts of local events look alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// With the length of a shortest path and whether the state is bad.
    pub states: BTreeMap<(Content, u32, bool), u32>,
    /// All steps.
    pub edges: BTreeMap<Edge, u32>,
}

/// The graph within the bounds; `None` if it has more than `states_max` states.
pub fn graph(
    system: &System,
    depth_max: Option<u32>,
    local_events_max: Option<u32>,
    states_max: usize,
) -> Option<Graph> {
    let starts: BTreeSet<Global> = starts(system).into_iter().collect();
    let mut seen: FxHashSet<Global> = starts.iter().cloned().collect();
    let mut queue: VecDeque<(Global, u32)> = starts.into_iter().map(|start| (start, 0)).collect();
    let mut graph = Graph::default();
    while let Some((global, depth)) = queue.pop_front() {
        let is_bad = global.is_over() || system.toy.is_forbidden(&states(&global.locals));
        *graph.states.entry((content(&global), depth, is_bad)).or_default() += 1;
        if global.is_over() || depth_max.is_some_and(|max| depth >= max) {
            continue;
        }
        for (node, happening) in happenings(system, &global, local_events_max) {
            for step in moves(system, &global, node, &happening, local_events_max.is_some()) {
                *graph.edges.entry((content(&global), node, content(&step.next))).or_default() += 1;
                if seen.insert(step.next.clone()) {
                    queue.push_back((step.next, depth + 1));
                }
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    Some(graph)
}

pub(super) fn content(global: &Global) -> Content {
    let flying = |item: &Item| match *item {
        Item::Message { content, breaks, .. } => (Some(content), breaks),
        Item::Notice { breaks } => (None, breaks),
    };
    let in_flight =
        global.in_flight.channels().map(|(channel, items)| (channel, items.iter().map(flying).collect())).collect();
    Content { locals: global.locals.clone(), in_flight }
}
