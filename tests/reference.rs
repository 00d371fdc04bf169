//! A search of the global states of a toy, written straight from the definition: no ids, no fingerprints, no
//! sharing. What every exact strategy is compared with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_model::machine::NodeId;
use host_model::toy::{Toy, ToyOutcome, ToyState, ToyTrigger};

/// A message in flight: sender, destination, content.
type Message = (NodeId, NodeId, u8);

/// A global state of a toy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Global {
    locals: Vec<ToyState>,
    in_flight: BTreeMap<Message, usize>,
    /// Local events so far at each node; all zero without a bound on them.
    local_events: Vec<u32>,
}

/// What a full search of a toy finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Number of distinct global states.
    pub global_states: u64,
    /// Number of edges between them.
    pub transitions: u64,
    /// The distinct tuples of local states.
    pub system_states: BTreeSet<Vec<ToyState>>,
    /// Number of events on the shortest path to a forbidden system state.
    pub violation_depth: Option<u32>,
}

/// Breadth-first search within the bounds; `None` if there are more than `states_max` global states.
pub fn search(toy: &Toy, depth_max: Option<u32>, local_events_max: Option<u32>, states_max: usize) -> Option<Reached> {
    let mut in_flight = BTreeMap::new();
    for message in &toy.initial {
        *in_flight.entry(*message).or_default() += 1;
    }
    let nodes = toy.nodes as usize;
    let start = Global { locals: vec![0; nodes], in_flight, local_events: vec![0; nodes] };
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = VecDeque::from([(start, 0)]);
    let mut reached = Reached::default();
    while let Some((global, depth)) = queue.pop_front() {
        if toy.is_forbidden(&global.locals) && reached.violation_depth.is_none() {
            reached.violation_depth = Some(depth);
        }
        reached.system_states.insert(global.locals.clone());
        if depth_max.is_some_and(|max| depth >= max) {
            continue;
        }
        for next in successors(toy, &global, local_events_max) {
            reached.transitions += 1;
            if seen.insert(next.clone()) {
                queue.push_back((next, depth + 1));
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    reached.global_states = seen.len() as u64;
    Some(reached)
}

fn successors(toy: &Toy, global: &Global, local_events_max: Option<u32>) -> Vec<Global> {
    let mut next = Vec::new();
    for message in global.in_flight.keys() {
        let (from, to, content) = *message;
        let mut without = global.clone();
        match without.in_flight.get_mut(message) {
            Some(1) => drop(without.in_flight.remove(message)),
            Some(count) => *count -= 1,
            None => unreachable!("it was iterated over"),
        }
        next.extend(moves(toy, &without, to, ToyTrigger::Message(from, content)));
    }
    for node in 0..toy.nodes {
        for name in toy.local_events(node, global.locals[node as usize]) {
            let mut counted = global.clone();
            if let Some(max) = local_events_max {
                if counted.local_events[node as usize] >= max {
                    continue;
                }
                counted.local_events[node as usize] += 1;
            }
            next.extend(moves(toy, &counted, node, ToyTrigger::Local(name)));
        }
    }
    next
}

fn moves(toy: &Toy, global: &Global, node: NodeId, on: ToyTrigger) -> Vec<Global> {
    let outcomes = toy.outcomes(node, global.locals[node as usize], on);
    let go = |outcome| {
        let ToyOutcome::Go(state, sent) = outcome else { panic!("the reference does not know traps") };
        let mut next = global.clone();
        next.locals[node as usize] = state;
        for (to, content) in sent {
            *next.in_flight.entry((node, to, content)).or_default() += 1;
        }
        next
    };
    outcomes.into_iter().map(go).collect()
}
