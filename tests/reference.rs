//! A search of the global states of a toy, written straight from the definition: no ids, no fingerprints, no
//! sharing. What every exact strategy is compared with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_model::machine::NodeId;
use host_model::scenario::Faults;
use host_model::toy::{Toy, ToyOutcome, ToyState, ToyTrigger};

/// A message in flight: sender, destination, content.
type Message = (NodeId, NodeId, u8);

/// A local state: what the protocol knows, and what has gone wrong at the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local {
    /// What the toy knows.
    pub state: ToyState,
    /// Resets so far.
    pub resets: u32,
}

/// The toys' states alone.
pub fn states(locals: &[Local]) -> Vec<ToyState> {
    locals.iter().map(|local| local.state).collect()
}

/// What there is to explore: a toy and what can go wrong.
#[derive(Clone, Debug)]
pub struct System {
    /// The protocol.
    pub toy: Toy,
    /// The budgets.
    pub faults: Faults,
}

impl System {
    /// A toy to which nothing happens.
    pub fn new(toy: Toy) -> Self {
        Self { toy, faults: Faults::default() }
    }
}

/// A global state of a toy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Global {
    locals: Vec<Local>,
    in_flight: BTreeMap<Message, usize>,
    /// Local events so far at each node; all zero without a bound on them.
    local_events: Vec<u32>,
}

/// What happens at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A message or a local event.
    Trigger(ToyTrigger),
    /// A reset.
    Reset,
}

/// What a full search of a toy finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Number of distinct global states.
    pub global_states: u64,
    /// Number of edges between them.
    pub transitions: u64,
    /// The distinct tuples of local states.
    pub system_states: BTreeSet<Vec<Local>>,
    /// Number of events on the shortest path to a forbidden system state.
    pub violation_depth: Option<u32>,
}

/// Breadth-first search within the bounds; `None` if there are more than `states_max` global states.
pub fn search(
    system: &System,
    depth_max: Option<u32>,
    local_events_max: Option<u32>,
    states_max: usize,
) -> Option<Reached> {
    let start = start(system);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = VecDeque::from([(start, 0)]);
    let mut reached = Reached::default();
    while let Some((global, depth)) = queue.pop_front() {
        if system.toy.is_forbidden(&states(&global.locals)) && reached.violation_depth.is_none() {
            reached.violation_depth = Some(depth);
        }
        reached.system_states.insert(global.locals.clone());
        if depth_max.is_some_and(|max| depth >= max) {
            continue;
        }
        for (node, happening) in happenings(system, &global, local_events_max) {
            for next in moves(system, &global, node, happening, local_events_max.is_some()) {
                reached.transitions += 1;
                if seen.insert(next.clone()) {
                    queue.push_back((next, depth + 1));
                }
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    reached.global_states = seen.len() as u64;
    Some(reached)
}

fn start(system: &System) -> Global {
    let nodes = system.toy.nodes as usize;
    let mut start =
        Global { locals: vec![Local::default(); nodes], in_flight: BTreeMap::new(), local_events: vec![0; nodes] };
    for message in &system.toy.initial {
        *start.in_flight.entry(*message).or_default() += 1;
    }
    start
}

/// What can happen in a global state.
fn happenings(system: &System, global: &Global, local_events_max: Option<u32>) -> Vec<(NodeId, Happening)> {
    let mut found = Vec::new();
    for (from, to, content) in global.in_flight.keys() {
        found.push((*to, Happening::Trigger(ToyTrigger::Message(*from, *content))));
    }
    for (node, local) in (0..).zip(&global.locals) {
        if local_events_max.is_none_or(|max| global.local_events[node as usize] < max) {
            let names = system.toy.local_events(node, local.state).into_iter();
            found.extend(names.map(|name| (node, Happening::Trigger(ToyTrigger::Local(name)))));
        }
        if local.resets < system.faults.resets {
            found.push((node, Happening::Reset));
        }
    }
    found
}

/// The global states that follow, in the order of the outcomes; those of a reset that changes nothing left out.
fn moves(system: &System, global: &Global, node: NodeId, happening: Happening, is_counted: bool) -> Vec<Global> {
    let mut before = global.clone();
    let local = before.locals[node as usize].clone();
    let outcomes = match happening {
        Happening::Trigger(on) => {
            match on {
                ToyTrigger::Message(from, content) => {
                    let message = (from, node, content);
                    match before.in_flight.get_mut(&message) {
                        Some(1) => drop(before.in_flight.remove(&message)),
                        Some(count) => *count -= 1,
                        None => unreachable!("it is in flight"),
                    }
                }
                ToyTrigger::Local(_) => before.local_events[node as usize] += u32::from(is_counted),
            }
            system.toy.outcomes(node, local.state, on)
        }
        Happening::Reset => {
            before.locals[node as usize].resets += 1;
            system.toy.reset(node, local.state)
        }
    };
    let go = |outcome| {
        let ToyOutcome::Go(state, sent) = outcome else { panic!("the reference does not know traps") };
        if happening == Happening::Reset && state == local.state && sent.is_empty() {
            return None;
        }
        let mut next = before.clone();
        next.locals[node as usize].state = state;
        for (to, content) in sent {
            *next.in_flight.entry((node, to, content)).or_default() += 1;
        }
        Some(next)
    };
    outcomes.into_iter().filter_map(go).collect()
}

/// The configurations of a toy: executions up to the order of independent events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configurations {
    /// How many there are.
    pub all: usize,
    /// In how many of them nothing more can happen.
    pub maximal: u64,
}

/// What happened at one node so far, with the outcomes.
type Sequence = Vec<(Happening, usize)>;

/// Counts the configurations; `None` if there are more than `all_max`.
///
/// Two executions are reorderings of each other exactly if every node sees the same sequence of triggers and outcomes
/// in both: what a node sends depends on its sequence alone, and with identical messages delivered in the order of
/// sending, which delivery belongs to which sending does, too. So is the global state at the end: it is kept with the
/// sequences.
pub fn configurations(system: &System, local_events_max: Option<u32>, all_max: usize) -> Option<Configurations> {
    let empty = vec![Sequence::new(); system.toy.nodes as usize];
    let mut seen = BTreeSet::from([empty.clone()]);
    let mut queue = VecDeque::from([(empty, start(system))]);
    let mut found = Configurations::default();
    while let Some((sequences, global)) = queue.pop_front() {
        let mut is_maximal = true;
        for (node, happening) in happenings(system, &global, local_events_max) {
            let next = moves(system, &global, node, happening, true);
            for (outcome, next) in next.into_iter().enumerate() {
                is_maximal = false;
                let mut longer = sequences.clone();
                longer[node as usize].push((happening, outcome));
                if seen.insert(longer.clone()) {
                    queue.push_back((longer, next));
                }
            }
        }
        found.maximal += u64::from(is_maximal);
        if seen.len() > all_max {
            return None;
        }
    }
    found.all = seen.len();
    Some(found)
}
