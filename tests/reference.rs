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

/// The configurations of a toy: executions up to the order of independent events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configurations {
    /// How many there are.
    pub all: usize,
    /// In how many of them nothing more can happen.
    pub maximal: u64,
}

/// What happened at one node so far.
type Sequence = Vec<(ToyTrigger, usize)>;

/// Counts the configurations; `None` if there are more than `all_max`.
///
/// Two executions are reorderings of each other exactly if every node sees the same sequence of triggers and outcomes
/// in both: what a node sends depends on its sequence alone, and with identical messages delivered in the order of
/// sending, which delivery belongs to which sending does, too.
pub fn configurations(toy: &Toy, local_events_max: Option<u32>, all_max: usize) -> Option<Configurations> {
    let start = vec![Sequence::new(); toy.nodes as usize];
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = VecDeque::from([start]);
    let mut found = Configurations::default();
    while let Some(sequences) = queue.pop_front() {
        let next = longer(toy, &sequences, local_events_max);
        found.maximal += u64::from(next.is_empty());
        queue.extend(next.into_iter().filter(|longer| seen.insert(longer.clone())));
        if seen.len() > all_max {
            return None;
        }
    }
    found.all = seen.len();
    Some(found)
}

/// The configurations with one event more.
fn longer(toy: &Toy, sequences: &[Sequence], local_events_max: Option<u32>) -> Vec<Vec<Sequence>> {
    let global = after(toy, sequences);
    let mut found = Vec::new();
    let mut add = |node: NodeId, on: ToyTrigger| {
        for outcome in 0..toy.outcomes(node, global.locals[node as usize], on).len() {
            let mut longer = sequences.to_vec();
            longer[node as usize].push((on, outcome));
            found.push(longer);
        }
    };
    for (from, to, content) in global.in_flight.iter().filter(|(_, count)| **count > 0).map(|(message, _)| *message) {
        add(to, ToyTrigger::Message(from, content));
    }
    for node in 0..toy.nodes {
        let so_far = sequences[node as usize].iter().filter(|(on, _)| matches!(on, ToyTrigger::Local(_))).count();
        if local_events_max.is_none_or(|max| so_far < max as usize) {
            for name in toy.local_events(node, global.locals[node as usize]) {
                add(node, ToyTrigger::Local(name));
            }
        }
    }
    found
}

/// The global state after each node has seen its sequence.
fn after(toy: &Toy, sequences: &[Sequence]) -> Global {
    let mut global =
        Global { locals: vec![0; sequences.len()], in_flight: BTreeMap::new(), local_events: vec![0; sequences.len()] };
    let (mut sent, mut received): (Vec<Message>, Vec<Message>) = (toy.initial.clone(), Vec::new());
    for (node, sequence) in (0..).zip(sequences) {
        for (on, outcome) in sequence {
            if let ToyTrigger::Message(from, content) = on {
                received.push((*from, node, *content));
            }
            let local = &mut global.locals[node as usize];
            let ToyOutcome::Go(state, out) = toy.outcomes(node, *local, *on).swap_remove(*outcome) else {
                panic!("the reference does not know traps")
            };
            *local = state;
            sent.extend(out.into_iter().map(|(to, content)| (node, to, content)));
        }
    }
    for message in sent {
        *global.in_flight.entry(message).or_default() += 1;
    }
    for message in received {
        *global.in_flight.get_mut(&message).expect("what is received was sent") -= 1;
    }
    global
}
