//! Protocols whose states and contents are numbers that can grow without end, given by tables, and a naive search of them.
//!
//! A [`Toy`](host_model::toys::Toy) cannot have unboundedly many local states where few global states are reachable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_model::contract::{
    Choice, Effects, Envelope, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, NodeId,
    Property, PropertyKind, PropertyScope, Snapshot,
};
use host_model::toys::Dice;

/// Rules distinguish only numbers below this one.
const ALIKE: u64 = 4;

/// The cause of a transition: a content, or a local event.
pub type On = Option<u64>;

/// A number that a rule makes.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// This one.
    Is(u64),
    /// The state of the node plus this number.
    Own(u64),
    /// The content received plus this number; the state of the node for a local event.
    Given(u64),
}

/// The next state, and the messages sent: destination and content.
pub type Outcome = (Number, Vec<(NodeId, Number)>);

/// A protocol. All nodes begin in state 0. A message without a rule changes nothing, a local event is possible where it has a
/// rule.
#[derive(Debug, Default)]
pub struct Growing {
    /// Number of nodes.
    pub nodes: u32,
    /// Messages that `init` sends: sender, destination, content.
    pub initial: Vec<(NodeId, NodeId, u64)>,
    /// By node, state and cause, where all numbers from 4 on are alike.
    pub rules: BTreeMap<(NodeId, u64, On), Vec<Outcome>>,
    /// Tuples of states that must not be reached; `None` stands for any.
    pub forbidden: Vec<Vec<Option<u64>>>,
    /// A node and a state that is to be reached.
    pub goal: Option<(NodeId, u64)>,
    /// The number of evaluations of a property.
    pub evaluations: AtomicU64,
}

impl Growing {
    /// Without rules.
    pub fn new(nodes: u32) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// Adds an outcome to a rule.
    #[must_use]
    pub fn rule(mut self, node: NodeId, state: u64, on: On, next: Number, sent: &[(NodeId, Number)]) -> Self {
        self.rules.entry((node, state, on)).or_default().push((next, sent.to_vec()));
        self
    }

    /// Adds a message that is in flight from the start.
    #[must_use]
    pub fn in_flight(mut self, from: NodeId, to: NodeId, content: u64) -> Self {
        self.initial.push((from, to, content));
        self
    }

    /// Forbids a tuple of states.
    #[must_use]
    pub fn forbid(mut self, states: &[Option<u64>]) -> Self {
        self.forbidden.push(states.to_vec());
        self
    }

    /// A random one; the same seed gives the same.
    pub fn random(seed: u64) -> Self {
        let mut dice = Draws(Dice(seed));
        let mut made = Self::new(2 + dice.below(2) as u32);
        let nodes = u64::from(made.nodes);
        for node in 0..made.nodes {
            for state in 0..=ALIKE {
                for content in 0..=ALIKE {
                    if dice.below(10) < 4 {
                        let outcomes = (0..1 + dice.below(5) / 4).map(|_| dice.outcome(nodes)).collect();
                        made.rules.insert((node, state, Some(content)), outcomes);
                    }
                }
                // A state with a cycle that sends makes the system endless, which few are to be.
                if state < ALIKE && dice.below(10) < 3 {
                    let (_, sent) = dice.outcome(nodes);
                    let next = if dice.below(12) == 0 { state } else { state + 1 + dice.below(2) };
                    made.rules.insert((node, state, None), vec![(Number::Is(next), sent)]);
                }
            }
        }
        for _ in 0..1 + dice.below(2) {
            let message = (dice.below(nodes) as NodeId, dice.below(nodes) as NodeId, dice.below(3));
            // A network that keeps everything cannot distinguish equal messages from one.
            made.initial.extend(std::iter::repeat_n(message, 1 + dice.below(2) as usize));
        }
        for _ in 0..1 + dice.below(2) {
            let tuple = (0..nodes).map(|_| (dice.below(3) > 0).then(|| dice.below(ALIKE + 1))).collect();
            made.forbidden.push(tuple);
        }
        made.goal = Some((dice.below(nodes) as NodeId, 1 + dice.below(ALIKE)));
        made
    }

    fn outcomes(&self, node: NodeId, state: u64, on: On) -> Vec<(u64, Vec<(NodeId, u64)>)> {
        let key = (node, state.min(ALIKE), on.map(|content| content.min(ALIKE)));
        let number = |number: Number| match number {
            Number::Is(number) => number,
            Number::Own(more) => state + more,
            Number::Given(more) => on.unwrap_or(state) + more,
        };
        let outcome = |(next, sent): &Outcome| {
            (number(*next), sent.iter().map(|(to, content)| (*to, number(*content))).collect())
        };
        match (self.rules.get(&key), on) {
            (Some(outcomes), _) => outcomes.iter().map(outcome).collect(),
            (None, Some(_)) => vec![(state, Vec::new())],
            (None, None) => Vec::new(),
        }
    }

    fn words(&self, states: &[u64]) -> Option<String> {
        let fits = |tuple: &Vec<Option<u64>>| {
            tuple.iter().zip(states).all(|(wanted, state)| wanted.is_none_or(|wanted| wanted == *state))
        };
        self.forbidden.iter().any(fits).then(|| format!("{states:?} is forbidden"))
    }
}

/// The result of a search of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Number of distinct global states.
    pub global_states: usize,
    /// By its words, the number of events on the shortest path to a violation.
    pub violations: BTreeMap<String, u32>,
    /// Whether the goal is reached.
    pub goal: bool,
    /// Number of local states in them, over all nodes.
    pub local_states: usize,
}

/// Breadth-first search of the global states up to a depth; none if it exceeds `states_max` states.
pub fn search(system: &Growing, depth_max: u32, states_max: usize) -> Option<Reached> {
    let mut in_flight = system.initial.clone();
    in_flight.sort_unstable();
    let start = (vec![0; system.nodes as usize], in_flight);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = VecDeque::from([(start, 0)]);
    let mut reached = Reached::default();
    let mut locals = BTreeSet::new();
    while let Some(((states, in_flight), depth)) = queue.pop_front() {
        locals.extend(states.iter().copied().enumerate());
        reached.goal |= system.goal.is_some_and(|(node, goal)| states[node as usize] == goal);
        if let Some(words) = system.words(&states) {
            reached.violations.entry(words).or_insert(depth);
        }
        let deliveries = in_flight.iter().map(|message| (message.1, Some(*message)));
        let own = (0..system.nodes).map(|node| (node, None));
        for (node, message) in deliveries.chain(own).filter(|_| depth < depth_max) {
            for (next, sent) in system.outcomes(node, states[node as usize], message.map(|(_, _, content)| content)) {
                let (mut states, mut in_flight) = (states.clone(), in_flight.clone());
                states[node as usize] = next;
                if let Some(message) = message {
                    in_flight.remove(in_flight.binary_search(&message).expect("it is in flight"));
                }
                in_flight.extend(sent.into_iter().map(|(to, content)| (node, to, content)));
                in_flight.sort_unstable();
                let global = (states, in_flight);
                if seen.insert(global.clone()) {
                    queue.push_back((global, depth + 1));
                }
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    (reached.global_states, reached.local_states) = (seen.len(), locals.len());
    Some(reached)
}

/// Makes its machines.
pub struct Factory(pub Arc<Growing>);

impl MachineFactory for Factory {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(GrowingMachine { system: Arc::clone(&self.0), node: 0, state: 0 }))
    }
}

struct GrowingMachine {
    system: Arc<Growing>,
    node: NodeId,
    state: u64,
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a number"))
}

impl Machine for GrowingMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        (self.node, self.state) =
            snapshot.map_or((0, 0), |snapshot| (snapshot.words()[0] as NodeId, snapshot.words()[1]));
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        let on = match input {
            Input::Init { node, .. } => {
                (self.node, self.state) = (node, 0);
                let initial = self.system.initial.iter().filter(|(from, ..)| *from == node);
                effects.sent = initial
                    .map(|(_, to, content)| Envelope { to: *to, payload: content.to_le_bytes().into() })
                    .collect();
                return Ok(());
            }
            Input::Message { payload, .. } => Some(number(payload)),
            _ => None,
        };
        let mut outcomes = self.system.outcomes(self.node, self.state, on);
        let alternatives = u32::try_from(outcomes.len()).expect("tables are small");
        let picked = if alternatives > 1 { script.first().copied().unwrap_or(0) } else { 0 };
        if alternatives > 1 {
            effects.choices.push(Choice::among(alternatives, picked));
        }
        let (next, sent) = outcomes.swap_remove(picked as usize);
        self.state = next;
        effects.sent =
            sent.into_iter().map(|(to, content)| Envelope { to, payload: content.to_le_bytes().into() }).collect();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(self.state.to_le_bytes().into())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let is_there = self.system.rules.contains_key(&(self.node, self.state.min(ALIKE), None));
        let event = LocalEvent { name: "tick".to_owned(), kind: LocalKind::Internal, payload: Vec::new() };
        Ok(is_there.then_some(event).into_iter().collect())
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let is_read = property == 0 || self.system.goal.is_some_and(|(node, _)| node == self.node);
        Ok(is_read.then(|| self.state.to_le_bytes().into()))
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[u64::from(self.node), self.state])
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let property = |name: &str, kind| Property { name: name.to_owned(), kind, scope: PropertyScope::System };
        Ok(vec![property("forbidden", PropertyKind::Always), property("goal", PropertyKind::Sometimes)])
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.system.evaluations.fetch_add(1, Ordering::Relaxed);
        if property == 1 {
            let (node, goal) = self.system.goal.expect("a node has a view");
            let is_reached = views[node as usize].map(number) == Some(goal);
            return Ok(if is_reached { Ok(()) } else { Err("not yet".to_owned()) });
        }
        let states: Vec<u64> = views.iter().map(|view| number(view.expect("all have views"))).collect();
        Ok(self.system.words(&states).map_or(Ok(()), Err))
    }
}

/// Numbers of a seed.
struct Draws(Dice);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.number() % bound
    }

    fn outcome(&mut self, nodes: u64) -> Outcome {
        let next = match self.below(6) {
            0 => Number::Is(self.below(3)),
            1 => Number::Given(self.below(2)),
            2 => Number::Own(0),
            _ => Number::Own(1),
        };
        let sent = (0..self.below(4) / 2).map(|_| {
            let content = match self.below(4) {
                0 => Number::Own(self.below(2)),
                1 => Number::Is(self.below(ALIKE)),
                _ => Number::Given(1),
            };
            (self.below(nodes) as NodeId, content)
        });
        (next, sent.collect())
    }
}
