//! Small protocols given by tables: the test bed of every strategy.
//!
//! A toy has the same interface as a sandboxed plugin, so whatever is checked on toys holds for the strategies
//! as they are. [`Toy::random`] makes systems whose reachable global states are finite by construction.
//!
//! | module | what it holds |
//! |---|---|
//! | `features` | the features of the contract that a random toy can have besides messages and local events |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::machine::{
    Choice, Effects, Envelope, Fault, FaultKind, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory,
    NodeId, Property, PropertyKind, PropertyScope, Quorum, Role, Snapshot,
};

mod features;

pub use features::{Feature, ToyProperty};

/// The local state of a toy node.
pub type ToyState = u8;

/// What makes a toy node move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToyTrigger {
    /// A message with this content from this node.
    Message(NodeId, u8),
    /// A local event with this name.
    Local(u8),
    /// The connection to this node is broken.
    Error(NodeId),
}

/// How a toy node moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToyOutcome {
    /// To a state, sending messages: destination and content.
    Go(ToyState, Vec<(NodeId, u8)>),
    /// It traps, after it has sent these: destination and content. As the execution ends there, they are never delivered.
    Trap(Vec<(NodeId, u8)>),
}

/// A protocol given by a table. A message or an error without a rule changes nothing; a local event is
/// possible exactly in the states that have a rule for it. Several outcomes of one rule are a call of `choose`.
#[derive(Clone, Debug, Default)]
pub struct Toy {
    /// Number of nodes.
    pub nodes: u32,
    /// Messages that `init` sends: sender, destination and content. A node without an entry in `starts` begins in state 0.
    pub initial: Vec<(NodeId, NodeId, u8)>,
    /// What `init` does at a node instead; several outcomes are a call of `choose`.
    pub starts: BTreeMap<NodeId, Vec<ToyOutcome>>,
    /// The rules.
    pub rules: BTreeMap<(NodeId, ToyState, ToyTrigger), Vec<ToyOutcome>>,
    /// What a node has made durable in a state; nothing where there is no entry.
    pub durable: BTreeMap<(NodeId, ToyState), u8>,
    /// How a node begins after a reset with what was durable. Without an entry it is the state with that number; where
    /// nothing was durable, the node begins as it did at the start.
    pub restarts: BTreeMap<(NodeId, u8), Vec<ToyOutcome>>,
    /// How a node takes messages with this content in a state, where that is not by themselves: as members of the quorum
    /// with this name and size, or, without one, not at all.
    pub roles: BTreeMap<(NodeId, ToyState, u8), Option<(u8, u32)>>,
    /// What a quorum of this name does in a state: one of these lists of outcomes, see [`quorum`](Self::quorum). An empty
    /// list declines the messages.
    pub quorums: BTreeMap<(NodeId, ToyState, u8), Vec<Vec<ToyOutcome>>>,
    /// Tuples of local states that must not be reached together; `None` stands for any state. They make up the one
    /// `always` property, named `forbidden`, of system scope.
    pub forbidden: Vec<Vec<Option<ToyState>>>,
    /// Whether the transport is asked for each message, but those that `init` sends.
    pub is_careful: bool,
    /// Where a node goes if a message was refused on the way to a state; without an entry it goes there all the same.
    pub refused: BTreeMap<(NodeId, ToyState), ToyState>,
    /// The states in which a node says that it is done.
    pub done: BTreeSet<(NodeId, ToyState)>,
    /// What it declares about interchangeable nodes, true or not. Contents name nodes as in [`named`].
    pub interchangeable: Vec<Vec<NodeId>>,
    /// The properties besides `forbidden`.
    pub properties: Vec<ToyProperty>,
    /// Whether one of several outcomes is found by several calls of `choose`, each between this one and those after it.
    pub is_stepwise: bool,
}

/// Contents and states from here on name a node.
const NAMED: u8 = 8;

/// The content, or the state, `base` with a node in it. `base` is below 8.
pub fn named(base: u8, node: NodeId) -> u8 {
    base + NAMED * (1 + node as u8)
}

/// The content, or the state, with the node in it renamed.
pub fn renamed(content: u8, renaming: &[NodeId]) -> u8 {
    match content / NAMED {
        0 => content,
        node => named(content % NAMED, renaming[usize::from(node - 1)]),
    }
}

impl Toy {
    /// A system without rules.
    pub fn new(nodes: u32) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// Adds a rule with one outcome.
    #[must_use]
    pub fn rule(
        mut self,
        node: NodeId,
        state: ToyState,
        on: ToyTrigger,
        next: ToyState,
        sent: &[(NodeId, u8)],
    ) -> Self {
        self.rules.entry((node, state, on)).or_default().push(ToyOutcome::Go(next, sent.to_vec()));
        self
    }

    /// Adds a rule that traps.
    #[must_use]
    pub fn trap(mut self, node: NodeId, state: ToyState, on: ToyTrigger) -> Self {
        self.rules.entry((node, state, on)).or_default().push(ToyOutcome::Trap(Vec::new()));
        self
    }

    /// Adds a message that is in flight from the start.
    #[must_use]
    pub fn in_flight(mut self, from: NodeId, to: NodeId, content: u8) -> Self {
        self.initial.push((from, to, content));
        self
    }

    /// Adds an outcome to `init` at a node, which so begins in another state than 0, or in one of several.
    #[must_use]
    pub fn start(mut self, node: NodeId, state: ToyState, sent: &[(NodeId, u8)]) -> Self {
        self.starts.entry(node).or_default().push(ToyOutcome::Go(state, sent.to_vec()));
        self
    }

    /// The same system where some nodes choose in `init` how they begin; at least one of them has a choice.
    #[must_use]
    pub fn with_random_starts(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x57a7);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let chooser = dice.below(self.nodes);
        for node in 0..self.nodes {
            let count = if node == chooser { 2 + dice.below(2) } else { dice.below(3) };
            let outcomes: Vec<ToyOutcome> =
                (0..count).flat_map(|_| self.random_outcomes(&mut dice, 0..states, 2)).collect();
            if !outcomes.is_empty() {
                self.starts.insert(node, outcomes);
            }
        }
        self
    }

    /// Has a node take messages with these contents in a state as a quorum of this size, whose name is the first of them.
    #[must_use]
    pub fn collect(
        mut self,
        (node, state): (NodeId, ToyState),
        contents: &[u8],
        size: u32,
        next: ToyState,
        sent: &[(NodeId, u8)],
    ) -> Self {
        let name = contents[0];
        for content in contents {
            self.roles.insert((node, state, *content), Some((name, size)));
        }
        let outcome = ToyOutcome::Go(next, sent.to_vec());
        self.quorums.entry((node, state, name)).or_default().push(vec![outcome]);
        self
    }

    /// Has a node take no messages with this content in a state.
    #[must_use]
    pub fn hold(mut self, node: NodeId, state: ToyState, content: u8) -> Self {
        self.roles.insert((node, state, content), None);
        self
    }

    /// Forbids a tuple of local states.
    #[must_use]
    pub fn forbid(mut self, states: &[Option<ToyState>]) -> Self {
        self.forbidden.push(states.to_vec());
        self
    }

    /// Has a node go to another state if a message is refused on the way to a state, and has the transport asked.
    #[must_use]
    pub fn refuse(mut self, node: NodeId, state: ToyState, instead: ToyState) -> Self {
        self.is_careful = true;
        self.refused.insert((node, state), instead);
        self
    }

    /// The same system where messages can be refused, which nodes notice or not.
    #[must_use]
    pub fn with_random_refusals(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xf011);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        self.is_careful = true;
        for node in 0..self.nodes {
            for state in 0..states {
                // Never to a smaller one, so that local events still make the state larger.
                if dice.below(2) > 0 {
                    let instead = state + dice.below(u32::from(states - state)) as ToyState;
                    self.refused.insert((node, state), instead);
                }
            }
        }
        self
    }

    /// Where a node goes that wanted to get to a state, if a message was refused.
    pub fn after_refusal(&self, node: NodeId, next: ToyState) -> ToyState {
        self.refused.get(&(node, next)).copied().unwrap_or(next)
    }

    /// Lets a node say in a state that it is done.
    #[must_use]
    pub fn done(mut self, node: NodeId, state: ToyState) -> Self {
        self.done.insert((node, state));
        self
    }

    /// The same system where nodes are done in some states, more likely than not.
    #[must_use]
    pub fn with_random_done(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xd07e);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let all = (0..self.nodes).flat_map(|node| (0..states).map(move |state| (node, state)));
        self.done = all.filter(|_| dice.below(3) > 0).collect();
        self
    }

    /// Makes something durable in a state: the number of the state to begin with after a reset.
    #[must_use]
    pub fn keep(mut self, node: NodeId, state: ToyState, durable: u8) -> Self {
        self.durable.insert((node, state), durable);
        self
    }

    /// The same system where some states are durable, and a node that was reset begins at random.
    #[must_use]
    pub fn with_random_durable(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xd15c);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                if dice.below(3) > 0 {
                    self.durable.insert((node, state), dice.below(states.into()) as u8);
                }
                if dice.below(3) == 0 {
                    let outcomes = self.random_outcomes(&mut dice, 0..states, 2);
                    self.restarts.insert((node, state), outcomes);
                }
            }
        }
        self
    }

    /// The same system where nodes have rules for connections that break.
    #[must_use]
    pub fn with_random_errors(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xe440);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                for peer in (0..self.nodes).filter(|peer| *peer != node) {
                    if dice.below(3) > 0 {
                        let outcomes = self.random_outcomes(&mut dice, 0..states, 2);
                        self.rules.insert((node, state, ToyTrigger::Error(peer)), outcomes);
                    }
                }
            }
        }
        self
    }

    /// The same system where nodes take some messages as quorums, and others not in every state. More messages are in
    /// flight from the start, without which there would hardly be a quorum.
    ///
    /// As finite as it was: what a quorum sends is smaller than all that can be in it.
    #[must_use]
    pub fn with_random_quorums(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x9a0e);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let content = |(_, _, on): &(NodeId, ToyState, ToyTrigger)| match on {
            ToyTrigger::Message(_, content) => content + 1,
            _ => 1,
        };
        let contents = self.rules.keys().map(content).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                for content in 0..contents {
                    let role = match dice.below(8) {
                        0 => None,
                        // Those of two contents are one quorum, or each has its own.
                        1..=4 => Some((content & !dice.below(2) as u8, 1 + dice.below(self.nodes))),
                        _ => continue,
                    };
                    // Quorums with one name and two sizes are two quorums.
                    let sibling = self.roles.get(&(node, state, content ^ 1)).copied().flatten();
                    let role = role.map(|role| sibling.filter(|_| dice.below(4) > 0).unwrap_or(role));
                    self.roles.insert((node, state, content), role);
                }
                for name in 0..contents {
                    let lists = (0..1 + dice.below(3)).map(|_| match dice.below(6) {
                        0 => Vec::new(),
                        _ => self.random_outcomes(&mut dice, 0..states, name),
                    });
                    let lists = lists.collect();
                    self.quorums.insert((node, state, name), lists);
                }
            }
            if dice.below(3) > 0 {
                for from in 0..self.nodes {
                    if dice.below(4) > 0 {
                        self.initial.push((from, node, dice.below(u32::from(contents)) as u8));
                    }
                }
            }
        }
        self
    }

    /// The same system where some handlers trap, for good or in one of their outcomes. With
    /// [`starts`](Self::with_random_starts), `init` can be among them.
    #[must_use]
    pub fn with_random_traps(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x7a2b);
        let nodes = self.nodes;
        let lists = self.rules.values_mut().chain(self.restarts.values_mut());
        for outcomes in lists.chain(self.quorums.values_mut().flatten()).chain(self.starts.values_mut()) {
            let Some(last) = outcomes.last_mut() else { continue };
            let fate = dice.below(16);
            let sent = match last {
                ToyOutcome::Go(_, sent) | ToyOutcome::Trap(sent) if dice.below(2) > 0 => sent.clone(),
                _ => vec![(dice.below(nodes), 0)],
            };
            match fate {
                0 => *last = ToyOutcome::Trap(sent),
                1 => outcomes.push(ToyOutcome::Trap(sent)),
                2 => outcomes.insert(0, ToyOutcome::Trap(sent)),
                _ => {}
            }
        }
        self
    }

    /// Whether a node takes messages together in any state.
    pub fn takes_quorums(&self, node: NodeId) -> bool {
        self.roles.range((node, 0, 0)..=(node, u8::MAX, u8::MAX)).next().is_some()
    }

    /// The outcomes of a quorum. Which of the lists it is depends on senders and contents.
    pub fn quorum(&self, node: NodeId, state: ToyState, name: u8, messages: &[(NodeId, u8)]) -> Vec<ToyOutcome> {
        let sum: u32 = messages.iter().map(|(from, content)| from * 2 + u32::from(*content)).sum();
        let lists = self.quorums.get(&(node, state, name)).filter(|lists| !lists.is_empty());
        lists.map_or_else(Vec::new, |lists| lists[sum as usize % lists.len()].clone())
    }

    /// What a reset in a state does.
    pub fn reset(&self, node: NodeId, state: ToyState) -> Vec<ToyOutcome> {
        match self.durable.get(&(node, state)) {
            Some(durable) => self.restart(node, *durable),
            None => self.init(node),
        }
    }

    /// The outcomes of `init` at a node.
    pub fn init(&self, node: NodeId) -> Vec<ToyOutcome> {
        let initial = || self.initial.iter().filter(|(from, ..)| *from == node);
        let usual = || vec![ToyOutcome::Go(0, initial().map(|(_, to, content)| (*to, *content)).collect())];
        self.starts.get(&node).cloned().unwrap_or_else(usual)
    }

    fn restart(&self, node: NodeId, durable: u8) -> Vec<ToyOutcome> {
        let known = self.restarts.get(&(node, durable));
        known.cloned().unwrap_or_else(|| vec![ToyOutcome::Go(durable, Vec::new())])
    }

    /// A random system. The same seed gives the same system on every machine.
    ///
    /// Finite by construction: handling a message sends only smaller contents, and a local event, which can send
    /// anything, makes the state larger; so a run has boundedly many local events between messages.
    pub fn random(seed: u64, nodes: u32) -> Self {
        let mut dice = Dice(seed);
        let (states, contents) = (2 + dice.below(4) as ToyState, 1 + dice.below(4) as u8);
        let mut toy = Self::new(nodes);
        for node in 0..nodes {
            for state in 0..states {
                for from in 0..nodes {
                    for content in 0..contents {
                        if dice.below(10) < 6 {
                            let on = ToyTrigger::Message(from, content);
                            let outcomes = toy.random_outcomes(&mut dice, 0..states, content);
                            toy.rules.insert((node, state, on), outcomes);
                        }
                    }
                }
                if state + 1 < states && dice.below(10) < 4 {
                    let on = ToyTrigger::Local(dice.below(2) as u8);
                    let outcomes = toy.random_outcomes(&mut dice, state + 1..states, contents);
                    toy.rules.insert((node, state, on), outcomes);
                }
            }
        }
        for _ in 0..1 + dice.below(4) {
            let (from, to) = (dice.below(nodes), dice.below(nodes));
            toy.initial.push((from, to, dice.below(u32::from(contents)) as u8));
        }
        for _ in 0..1 + dice.below(2) {
            let tuple = (0..nodes).map(|_| (dice.below(3) > 0).then(|| dice.below(u32::from(states)) as ToyState));
            toy.forbidden.push(tuple.collect());
        }
        toy
    }

    /// A random system that is the same under every renaming of the nodes but node 0, and says so; contents and states
    /// may name a node. Finite for the same reason as the systems of [`random`](Self::random).
    pub fn random_symmetric(seed: u64, nodes: u32) -> Self {
        let mut dice = Dice(seed);
        let (states, contents) = (2 + dice.below(2) as ToyState, 1 + dice.below(3) as u8);
        let group = permutations(1..nodes);
        let names = |base: u8| std::iter::once(base).chain((0..nodes).map(move |node| named(base, node)));
        let mut toy = Self { interchangeable: vec![(1..nodes).collect()], ..Self::new(nodes) };
        for (node, state) in (0..nodes).flat_map(|node| (0..states).flat_map(names).map(move |state| (node, state))) {
            let messages =
                (0..nodes).flat_map(|from| (0..contents).flat_map(names).map(move |content| (from, content)));
            for (from, content) in messages {
                if dice.below(10) < 6 {
                    let on = ToyTrigger::Message(from, content);
                    toy.add_orbit(&mut dice, &group, (node, state, on), 0..states, content % NAMED);
                }
            }
            let base = state % NAMED;
            if base + 1 < states && dice.below(10) < 4 {
                let on = ToyTrigger::Local(dice.below(2) as u8);
                toy.add_orbit(&mut dice, &group, (node, state, on), base + 1..states, contents);
            }
        }
        for _ in 0..1 + dice.below(2) {
            let (from, to) = (dice.below(nodes), dice.below(nodes));
            let content = {
                let base = dice.below(u32::from(contents)) as u8;
                dice.named(base, nodes)
            };
            let messages = group.iter().map(|p| (p[from as usize], p[to as usize], renamed(content, p)));
            let messages: BTreeSet<_> = messages.collect();
            toy.initial.extend(messages);
        }
        let tuple: Vec<Option<ToyState>> = (0..nodes)
            .map(|_| {
                (dice.below(3) > 0).then(|| {
                    let base = dice.below(u32::from(states)) as u8;
                    dice.named(base, nodes)
                })
            })
            .collect();
        for p in &group {
            let mut image = tuple.clone();
            for (node, state) in tuple.iter().enumerate() {
                image[p[node] as usize] = state.map(|state| renamed(state, p));
            }
            toy.forbidden.push(image);
        }
        toy
    }

    /// Adds a random rule and the renamed ones, unless there is a rule already. What it does is the same under all
    /// renamings that its key is the same under.
    fn add_orbit(
        &mut self,
        dice: &mut Dice,
        group: &[Vec<NodeId>],
        key: (NodeId, ToyState, ToyTrigger),
        next: std::ops::Range<ToyState>,
        contents: u8,
    ) {
        let rename = |(node, state, on): (NodeId, ToyState, ToyTrigger), p: &[NodeId]| {
            let on = match on {
                ToyTrigger::Message(from, content) => ToyTrigger::Message(p[from as usize], renamed(content, p)),
                local => local,
            };
            (p[node as usize], renamed(state, p), on)
        };
        if self.rules.contains_key(&key) {
            return;
        }
        let fixing: Vec<&Vec<NodeId>> = group.iter().filter(|p| rename(key, p) == key).collect();
        let mut outcomes = Vec::new();
        for _ in 0..1 + u32::from(dice.below(8) == 0) {
            let base = next.start + dice.below(u32::from(next.end - next.start)) as ToyState;
            let state = dice.named(base, self.nodes);
            let is_fixed = fixing.iter().all(|p| renamed(state, p) == state);
            let mut sent = BTreeSet::new();
            for _ in 0..if contents > 0 { dice.below(3) } else { 0 } {
                let (to, base) = (dice.below(self.nodes), dice.below(u32::from(contents)) as u8);
                let content = dice.named(base, self.nodes);
                sent.extend(fixing.iter().map(|p| (p[to as usize], renamed(content, p))));
            }
            outcomes.push((if is_fixed { state } else { base }, sent));
        }
        for p in group {
            let go = |(state, sent): &(ToyState, BTreeSet<(NodeId, u8)>)| {
                let sent = sent.iter().map(|(to, content)| (p[*to as usize], renamed(*content, p))).collect();
                ToyOutcome::Go(renamed(*state, p), sent)
            };
            self.rules.insert(rename(key, p), outcomes.iter().map(go).collect());
        }
    }

    /// One or two outcomes; the messages sent have contents below `contents`.
    fn random_outcomes(&self, dice: &mut Dice, next: std::ops::Range<ToyState>, contents: u8) -> Vec<ToyOutcome> {
        let count = 1 + u32::from(dice.below(8) == 0);
        (0..count)
            .map(|_| {
                let sent = (0..dice.below(3))
                    .filter(|_| contents > 0)
                    .map(|_| (dice.below(self.nodes), dice.below(u32::from(contents.max(1))) as u8));
                let sent = sent.collect();
                ToyOutcome::Go(next.start + dice.below(u32::from(next.end - next.start)) as ToyState, sent)
            })
            .collect()
    }

    /// The outcomes of a trigger, the implicit one included.
    pub fn outcomes(&self, node: NodeId, state: ToyState, on: ToyTrigger) -> Vec<ToyOutcome> {
        match self.rules.get(&(node, state, on)) {
            Some(outcomes) => outcomes.clone(),
            None => vec![ToyOutcome::Go(state, Vec::new())],
        }
    }

    /// The names of the local events possible in a state.
    pub fn local_events(&self, node: NodeId, state: ToyState) -> Vec<u8> {
        let rules = self.rules.range((node, state, ToyTrigger::Local(0))..=(node, state, ToyTrigger::Local(u8::MAX)));
        rules.filter_map(|((_, _, on), _)| if let ToyTrigger::Local(name) = on { Some(*name) } else { None }).collect()
    }

    /// Whether a tuple of local states is forbidden.
    pub fn is_forbidden(&self, states: &[ToyState]) -> bool {
        features::matches(&self.forbidden, states)
    }

    /// Whether some forbidden tuple names this state of this node.
    pub fn matters(&self, node: NodeId, state: ToyState) -> bool {
        self.forbidden.iter().any(|tuple| tuple[node as usize] == Some(state))
    }
}

impl MachineFactory for Arc<Toy> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(ToyMachine { toy: Self::clone(self), node: 0, state: 0 }))
    }

    fn hears_errors(&self) -> bool {
        true
    }
}

struct ToyMachine {
    toy: Arc<Toy>,
    node: NodeId,
    state: ToyState,
}

impl Machine for ToyMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        (self.node, self.state) = snapshot.map_or((0, 0), |snapshot| {
            let words = snapshot.words();
            (words[0] as NodeId, words[1] as ToyState)
        });
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        // What the first `init` sends is never refused.
        let is_careful = self.toy.is_careful && !matches!(input, Input::Init { durable: None, .. });
        let mut outcomes = match input {
            Input::Init { node, durable: None, .. } => {
                self.node = node;
                self.toy.init(node)
            }
            Input::Init { node, durable: Some(durable), .. } => {
                self.node = node;
                self.toy.restart(node, durable[0])
            }
            Input::Message { src, payload } => {
                self.toy.outcomes(self.node, self.state, ToyTrigger::Message(src, payload[0]))
            }
            Input::Quorum { name, messages } => {
                let messages: Vec<(NodeId, u8)> = messages.iter().map(|(src, payload)| (*src, payload[0])).collect();
                let name = name.parse().expect("its names are numbers");
                self.toy.quorum(self.node, self.state, name, &messages)
            }
            Input::Local(event) => self.toy.outcomes(self.node, self.state, ToyTrigger::Local(event.payload[0])),
            Input::TransportError { peer } => self.toy.outcomes(self.node, self.state, ToyTrigger::Error(peer)),
        };
        if outcomes.is_empty() {
            effects.is_declined = true;
            return Ok(());
        }
        let picked = self.toy.pick(outcomes.len(), script, effects);
        let (next, sent) = match outcomes.swap_remove(picked) {
            ToyOutcome::Go(next, sent) => (Some(next), sent),
            ToyOutcome::Trap(sent) => (None, sent),
        };
        let mut is_refused = false;
        for (to, content) in sent {
            if is_careful {
                let answer = script.get(effects.choices.len()).copied().unwrap_or(0);
                effects.choices.push(Choice::sending(to, answer));
                if answer > 0 {
                    is_refused = true;
                    continue;
                }
            }
            effects.sent.push(Envelope { to, payload: vec![content] });
        }
        let Some(next) = next else {
            return Err(Fault { kind: FaultKind::Trap, message: trap_words(self.state) });
        };
        self.state = if is_refused { self.toy.after_refusal(self.node, next) } else { next };
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(vec![self.state])
    }

    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        Ok(self.toy.takes_quorums(self.node))
    }

    fn role(&mut self, _src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        Ok(match self.toy.roles.get(&(self.node, self.state, payload[0])) {
            None => Role::Alone,
            Some(None) => Role::Held,
            Some(Some((name, size))) => Role::Member(Quorum { name: name.to_string(), size: *size }),
        })
    }

    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.toy.durable.get(&(self.node, self.state)).map(|durable| vec![*durable]))
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let names = self.toy.local_events(self.node, self.state).into_iter();
        let event = |name| LocalEvent { name: format!("local{name}"), kind: LocalKind::Internal, payload: vec![name] };
        Ok(names.map(event).collect())
    }

    fn is_done(&mut self) -> Result<bool, Fault> {
        Ok(self.toy.done.contains(&(self.node, self.state)))
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        Ok(match self.toy.more(property) {
            None => self.toy.matters(self.node, self.state).then(|| vec![self.state]),
            Some(more) => more.view(self.node, self.state),
        })
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[u64::from(self.node), u64::from(self.state)])
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let (kind, scope) = (PropertyKind::Always, PropertyScope::System);
        let forbidden = Property { name: "forbidden".to_owned(), kind, scope };
        Ok(std::iter::once(forbidden).chain(self.toy.properties.iter().map(ToyProperty::property)).collect())
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        if let Some(more) = self.toy.more(property) {
            return more.evaluate(views);
        }
        // A state that no tuple names is like any other such state: 255 is never named.
        let states: Vec<ToyState> = views.iter().map(|view| view.map_or(u8::MAX, |view| view[0])).collect();
        Ok(if self.toy.is_forbidden(&states) { Err(forbidden_words(&states)) } else { Ok(()) })
    }

    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        Ok(self.toy.interchangeable.clone())
    }

    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        Ok(payload.iter().map(|content| renamed(*content, renaming)).collect())
    }

    fn keep_log(&mut self, _keep: bool) {}
}

/// What the property says of a forbidden tuple of states as it sees them: those that no tuple names are 255.
pub fn forbidden_words(views: &[ToyState]) -> String {
    format!("{views:?} is forbidden")
}

/// What a toy says when it traps in a state; after a reset, and in the first `init`, that is state 0.
pub fn trap_words(state: ToyState) -> String {
    format!("toy trap in {state}")
}

/// All permutations of all nodes up to the end of the range that move nodes in it only.
fn permutations(moved: std::ops::Range<NodeId>) -> Vec<Vec<NodeId>> {
    let mut all = vec![(0..moved.start).collect::<Vec<NodeId>>()];
    for _ in moved.clone() {
        let longer = |some: &Vec<NodeId>| -> Vec<Vec<NodeId>> {
            let left = moved.clone().filter(|node| !some.contains(node));
            left.map(|node| some.iter().copied().chain([node]).collect()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// A small reproducible random number generator (splitmix64), so that toys need no dependency.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A content or state that names a node, or none.
    fn named(&mut self, base: u8, nodes: u32) -> u8 {
        if self.below(3) == 0 { named(base, self.below(nodes)) } else { base }
    }

    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(bound.max(1))) as u32
    }
}
