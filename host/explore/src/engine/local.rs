//! The graph of one node: its states and the steps between them, over all states of the cluster that a map or the session has. It
//! is small where the graph of the cluster is not.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::page::shapes::{MapEdge, MapState, StateMap};
use host_inspect::words;
use host_model::contract::{NodeId, PropertyScope};
use host_model::lts::LocalStateId;
use host_model::trace::Standing;

use super::Engine;
use super::map::{LETTERS_MAX, Texts};
use crate::refused::{Answer, Refused};

/// The graph while it is gathered: for each state the properties that it violates, and the steps between them.
#[derive(Default)]
struct Graph {
    states: BTreeMap<LocalStateId, Vec<usize>>,
    edges: BTreeSet<(LocalStateId, LocalStateId, String)>,
}

impl Engine<'_> {
    /// The states of a node in the map of this many states and at the places of the session.
    pub fn local_graph(&mut self, node: NodeId, at: Place, limit: usize) -> Answer {
        let at = self.place(at)?;
        if node >= self.moments.nodes() {
            return Err(Refused::missing(format_args!("there is no node {node}")));
        }
        let index = node as usize;
        let reach = self.reach(limit)?;
        let (mut graph, mut texts) = (Graph::default(), Texts::default());
        for edge in reach.edges.iter().filter(|edge| edge.action.node == node) {
            let [from, to] = [edge.from, edge.to].map(|state| reach.states[state].traced.locals()[index]);
            let text = self.edge(&reach.states, edge, &mut texts).text;
            graph.edges.insert((from, to, text));
        }
        let complete = reach.complete;
        for state in &reach.states {
            if let Entry::Vacant(entry) = graph.states.entry(state.traced.locals()[index]) {
                entry.insert(self.violated_at(&state.traced, node)?);
            }
        }
        for place in 0..self.moments.places() {
            let local = self.moments.traced(place).locals()[index];
            if let Entry::Vacant(entry) = graph.states.entry(local) {
                let traced = self.moments.traced(place).clone();
                entry.insert(self.violated_at(&traced, node)?);
            }
        }
        let mut places: BTreeMap<LocalStateId, Place> = BTreeMap::new();
        for place in 0..self.moments.places() {
            let local = self.moments.traced(place).locals()[index];
            places.entry(local).or_insert(place);
            let is_of_node = self.moments.step_at(place).is_some_and(|step| step.node == node);
            if let Some(parent) = self.moments.parent(place).filter(|_| is_of_node) {
                let from = self.moments.traced(parent).locals()[index];
                let text = clean(&self.moments.event(place));
                graph.edges.insert((from, local, text));
            }
        }
        let start = self.moments.traced(0).locals()[index];
        let order = graph.breadth_first(start);
        let here = self.moments.traced(at).locals()[index];
        let mut states = Vec::new();
        for (local, level) in &order {
            let text = words::value_on_one_line(&self.moments.local_state(*local));
            states.push(MapState {
                level: *level,
                violated: graph.states.get(local).cloned().unwrap_or_default(),
                local: clean(&words::clipped(&text, LETTERS_MAX)),
                place: places.get(local).copied(),
            });
        }
        let numbers: BTreeMap<LocalStateId, usize> = order.iter().map(|(local, _)| *local).zip(0..).collect();
        let edges = graph.edges.iter().filter_map(|(from, to, text)| {
            Some(MapEdge { from: *numbers.get(from)?, to: *numbers.get(to)?, node, text: text.clone() })
        });
        let edges = edges.collect();
        super::json(&StateMap { complete, states, edges, here: numbers.get(&here).copied() })
    }

    /// The properties of one node that a node violates in a state.
    fn violated_at(
        &mut self,
        traced: &host_inspect::traced_state::TracedState,
        node: NodeId,
    ) -> Result<Vec<usize>, Refused> {
        let properties = self.moments.stepper().lts().properties();
        if properties.iter().all(|property| property.scope != PropertyScope::Node) {
            return Ok(Vec::new());
        }
        let standings = self.moments.standings(traced)?;
        let of_node = standings.iter().filter(|stands| stands.node == Some(node));
        let violated = of_node.filter(|stands| matches!(stands.standing, Standing::Violated(_)));
        Ok(violated.map(|stands| stands.property).collect())
    }
}

impl Graph {
    /// The states by their distance from the first one; states to which no step of the node leads, such as those that a trace brings
    /// along, are last.
    fn breadth_first(&self, start: LocalStateId) -> Vec<(LocalStateId, u32)> {
        let mut next: BTreeMap<LocalStateId, Vec<LocalStateId>> = BTreeMap::new();
        for (from, to, _) in &self.edges {
            next.entry(*from).or_default().push(*to);
        }
        let (mut order, mut known) = (vec![(start, 0)], BTreeSet::from([start]));
        let mut waiting = VecDeque::from([(start, 0)]);
        while let Some((local, level)) = waiting.pop_front() {
            for to in next.get(&local).into_iter().flatten() {
                if known.insert(*to) {
                    order.push((*to, level + 1));
                    waiting.push_back((*to, level + 1));
                }
            }
        }
        let last = order.last().map_or(0, |(_, level)| *level) + 1;
        order.extend(self.states.keys().filter(|local| !known.contains(local)).map(|local| (*local, last)));
        order
    }
}
