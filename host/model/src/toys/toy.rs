//! A protocol given by a table, and its construction.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{LocalKind, NodeId, PropertyKind, PropertyScope};
use crate::toys::property::{ToyProperty, matches};
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};

/// The place of the durable state of a toy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Medium {
    /// The result of `persist`.
    #[default]
    Persisted,
    /// The durable map, which handlers write.
    Map,
    /// The durable map as well, which also has the state of the node: machines keep nothing else, and states differ in it alone.
    WholeMap,
    /// The durable map, where each entry has a part of the durable state by itself: whatever entries are left, they are some state.
    Digits,
}

/// The place of a call of `sync` in a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToySync {
    /// Before it writes.
    First,
    /// After it has written.
    Last,
}

/// A protocol given by a table. A message or an error without a rule changes nothing; a local event is
/// possible exactly in the states that have a rule for it. Several outcomes of one rule are a call of `choose`.
#[derive(Clone, Debug, Default)]
pub struct Toy {
    /// Number of nodes.
    pub nodes: u32,
    /// Messages that `init` sends: sender, destination and content. A node without an entry in `starts` begins in state 0.
    pub initial: Vec<(NodeId, NodeId, u8)>,
    /// Outcomes of `init` at a node in place of the usual one; several are a call of `choose`.
    pub starts: BTreeMap<NodeId, Vec<ToyOutcome>>,
    /// The rules.
    pub rules: BTreeMap<(NodeId, ToyState, ToyTrigger), Vec<ToyOutcome>>,
    /// The durable state of a node in a state; no entry means none.
    pub durable: BTreeMap<(NodeId, ToyState), u8>,
    /// The place of the durable state.
    pub medium: Medium,
    /// The handlers that call `sync`, by the states in which they end; none if the toy has no `sync`.
    pub syncs: Option<BTreeMap<(NodeId, ToyState), ToySync>>,
    /// The outcomes of a restart with this durable state. Without an entry the node goes to the state with that number; without
    /// a durable state, it begins as at the start.
    pub restarts: BTreeMap<(NodeId, u8), Vec<ToyOutcome>>,
    /// The role of messages with this content in a state, unless the node takes them by themselves: members of the quorum
    /// with this name and size, or, without one, held.
    pub roles: BTreeMap<(NodeId, ToyState, u8), Option<(u8, u32)>>,
    /// The reaction of a quorum of this name in a state: one of these lists of outcomes, see [`quorum`](Self::quorum). An empty
    /// list declines the messages.
    pub quorums: BTreeMap<(NodeId, ToyState, u8), Vec<Vec<ToyOutcome>>>,
    /// Tuples of local states that must not be reached together; `None` stands for any state. They make up the one
    /// `always` property, named `forbidden`, of system scope.
    pub forbidden: Vec<Vec<Option<ToyState>>>,
    /// Whether the toy asks the transport before it sends a message, except in `init`.
    pub is_careful: bool,
    /// The state that replaces a target state if a message was refused on the way to it; without an entry there is no change.
    pub refused: BTreeMap<(NodeId, ToyState), ToyState>,
    /// The states in which a node is done.
    pub done: BTreeSet<(NodeId, ToyState)>,
    /// The neighbours that a node names in a state, true or not: without an entry it names none, and with an empty one it traps.
    pub neighbours: BTreeMap<(NodeId, ToyState), Option<Vec<NodeId>>>,
    /// The states that properties cannot read.
    pub concealed: BTreeSet<(NodeId, ToyState)>,
    /// Its declaration of interchangeable nodes, true or not. Contents name nodes as in `named`.
    pub interchangeable: Vec<Vec<NodeId>>,
    /// The properties other than `forbidden`.
    pub properties: Vec<ToyProperty>,
    /// Whether several calls of `choose` select one of several outcomes, each between the next outcome and those after it.
    pub is_stepwise: bool,
    /// The kinds of local events with these names; the others are internal.
    pub kinds: BTreeMap<u8, LocalKind>,
    /// The states in which the outcomes of handlers are drawn, by even weights, and not chosen. The third answer, and each one after it,
    /// has the weight 0.
    pub drawn: BTreeSet<(NodeId, ToyState)>,
    /// Bytes of the messages with this content; the others have one.
    pub lengths: BTreeMap<u8, usize>,
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

    /// Adds an outcome to `init` at a node, which then begins in another state than 0, or in one of several.
    #[must_use]
    pub fn start(mut self, node: NodeId, state: ToyState, sent: &[(NodeId, u8)]) -> Self {
        self.starts.entry(node).or_default().push(ToyOutcome::Go(state, sent.to_vec()));
        self
    }

    /// Lets a node take messages with these contents in a state as a quorum of this size, whose name is the first of them.
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

    /// Lets a node hold messages with this content in a state.
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

    /// Lets a node go to another state if a message is refused on the way to a state, and makes the toy ask the transport.
    #[must_use]
    pub fn refuse(mut self, node: NodeId, state: ToyState, instead: ToyState) -> Self {
        self.is_careful = true;
        self.refused.insert((node, state), instead);
        self
    }

    /// The state of a node after a refused message on the way to `next`.
    pub fn after_refusal(&self, node: NodeId, next: ToyState) -> ToyState {
        self.refused.get(&(node, next)).copied().unwrap_or(next)
    }

    /// Makes a node done in a state.
    #[must_use]
    pub fn done(mut self, node: NodeId, state: ToyState) -> Self {
        self.done.insert((node, state));
        self
    }

    /// Lets a node name these neighbours in a state, or trap.
    #[must_use]
    pub fn near(mut self, node: NodeId, state: ToyState, neighbours: Option<&[NodeId]>) -> Self {
        self.neighbours.insert((node, state), neighbours.map(<[NodeId]>::to_vec));
        self
    }

    /// Makes properties trap that read a node in a state.
    #[must_use]
    pub fn conceal(mut self, node: NodeId, state: ToyState) -> Self {
        self.concealed.insert((node, state));
        self
    }

    /// Sets the durable state in a state: the number of the state to begin with after a reset.
    #[must_use]
    pub fn keep(mut self, node: NodeId, state: ToyState, durable: u8) -> Self {
        self.durable.insert((node, state), durable);
        self
    }

    /// Lets the toy call `sync` in handlers that end in these states, after they have written, and in no other.
    #[must_use]
    pub fn sync(mut self, states: &[(NodeId, ToyState)]) -> Self {
        self.syncs.get_or_insert_default().extend(states.iter().map(|state| (*state, ToySync::Last)));
        self
    }

    /// Moves the durable state to another place.
    #[must_use]
    pub fn in_medium(mut self, medium: Medium) -> Self {
        self.medium = medium;
        self
    }

    /// Whether a node takes messages together in any state.
    pub fn takes_quorums(&self, node: NodeId) -> bool {
        self.roles.range((node, 0, 0)..=(node, u8::MAX, u8::MAX)).next().is_some()
    }

    /// The outcomes of a quorum. Senders and contents select one of the lists.
    pub fn quorum(&self, node: NodeId, state: ToyState, name: u8, messages: &[(NodeId, u8)]) -> Vec<ToyOutcome> {
        let sum: u32 = messages.iter().map(|(from, content)| from * 2 + u32::from(*content)).sum();
        let lists = self.quorums.get(&(node, state, name)).filter(|lists| !lists.is_empty());
        lists.map_or_else(Vec::new, |lists| lists[sum as usize % lists.len()].clone())
    }

    /// The kind of a local event.
    pub fn kind(&self, name: u8) -> LocalKind {
        self.kinds.get(&name).copied().unwrap_or(LocalKind::Internal)
    }

    /// Sets the kind of local events with a name.
    #[must_use]
    pub fn of_kind(mut self, name: u8, kind: LocalKind) -> Self {
        self.kinds.insert(name, kind);
        self
    }

    /// Sets the length of messages with this content, in bytes.
    #[must_use]
    pub fn of_length(mut self, content: u8, bytes: usize) -> Self {
        self.lengths.insert(content, bytes);
        self
    }

    /// Adds a promise that one of these tuples of local states, one per node, is reached again and again; `None` stands for any state.
    #[must_use]
    pub fn promise(mut self, name: &str, tuples: &[&[Option<ToyState>]]) -> Self {
        let (kind, scope) = (PropertyKind::Eventually, PropertyScope::System);
        let tuples = tuples.iter().map(|tuple| tuple.to_vec()).collect();
        self.properties.push(ToyProperty {
            name: name.to_owned(),
            kind,
            scope,
            tuples,
            traps: Vec::new(),
            sees_all: true,
        });
        self
    }

    /// The outcomes of `init` at a node.
    pub fn init(&self, node: NodeId) -> Vec<ToyOutcome> {
        let initial = || self.initial.iter().filter(|(from, ..)| *from == node);
        let usual = || vec![ToyOutcome::Go(0, initial().map(|(_, to, content)| (*to, *content)).collect())];
        self.starts.get(&node).cloned().unwrap_or_else(usual)
    }

    /// The outcomes of a restart with the rest of the durable state.
    pub fn restart(&self, node: NodeId, durable: Option<u8>) -> Vec<ToyOutcome> {
        let Some(durable) = durable else { return self.init(node) };
        let known = self.restarts.get(&(node, durable));
        known.cloned().unwrap_or_else(|| vec![ToyOutcome::Go(durable, Vec::new())])
    }

    /// The outcomes of a trigger, including the implicit one.
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
        matches(&self.forbidden, states)
    }

    /// Whether some forbidden tuple names this state of this node.
    pub fn matters(&self, node: NodeId, state: ToyState) -> bool {
        self.forbidden.iter().any(|tuple| tuple[node as usize] == Some(state))
    }
}
