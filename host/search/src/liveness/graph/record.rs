//! Records a graph while it is explored, as far as promises of progress depend on it.

use host_model::contract::{LocalKind, NodeId, Role};
use host_model::lts::{KindId, LocalStateId, Lts, LtsCache, MessageId, Step, Trigger};
use rustc_hash::FxHashMap;

use crate::graph::{Discovery, Expanded, GraphEdge, GraphSink, GraphState};
use crate::kernel::{EndCondition, Promise, table_bytes};
use crate::liveness::graph::label::{ActionId, Draw, EventClass, Label, Source};
use crate::liveness::graph::rows::LabelId;
use crate::liveness::graph::stored::{Edge, StoredGraph};

/// No label yet.
const NONE: LabelId = LabelId::MAX;

/// A fair action: it has to happen if it stays possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// The delivery of a message.
    Deliver(MessageId),
    /// The delivery of a quorum of this kind.
    Quorum(KindId, NodeId),
    /// A timer or an internal event.
    Local(NodeId, Trigger),
}

/// The event of the edges with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step.
    pub step: Step,
    /// The local state of its node before.
    pub before: LocalStateId,
    /// The local state of its node after.
    pub after: LocalStateId,
}

/// Records a graph.
pub struct Recorder<'l> {
    lts: &'l Lts<'l>,
    promises: Vec<Promise>,
    graph: StoredGraph,
    /// The start state of each of the first states.
    starts: Vec<u32>,
    /// The label of each outcome, by its number.
    labels: Vec<LabelId>,
    /// The event of each label; none for labels that stand for no event.
    events: Vec<Option<Event>>,
    actions: FxHashMap<Action, ActionId>,
    /// The labels of suppressed actions, and of states about which nothing is known.
    suppressed: FxHashMap<Option<ActionId>, LabelId>,
    row: Vec<(u32, LabelId)>,
}

/// A graph that was recorded.
pub struct Recorded {
    /// The graph, for the promises of [`promises`].
    pub graph: StoredGraph,
    starts: Vec<u32>,
    events: Vec<Option<Event>>,
}

impl<'l> Recorder<'l> {
    /// A recorder without any states yet.
    pub fn new(lts: &'l Lts<'l>) -> Self {
        let promises = lts.promises();
        Self {
            lts,
            graph: StoredGraph::new(promises.len()),
            promises,
            starts: Vec::new(),
            labels: Vec::new(),
            events: Vec::new(),
            actions: FxHashMap::default(),
            suppressed: FxHashMap::default(),
            row: Vec::new(),
        }
    }

    /// Returns the recorded graph.
    pub fn finish(self) -> Recorded {
        Recorded { graph: self.graph, starts: self.starts, events: self.events }
    }

    fn label(&mut self, edge: &GraphEdge<'_>) -> LabelId {
        let number = edge.known.edge_number(edge.row, edge.step.outcome) as usize;
        if self.labels.len() <= number {
            self.labels.resize(number + 1, NONE);
        }
        if self.labels[number] == NONE {
            let outcome = &edge.known.outcomes(edge.row)[edge.step.outcome as usize];
            let (mut class, action) = self.classify(edge.known, edge.local, edge.step);
            let mut action = action.map(|action| self.action(action));
            if outcome.is_refused() {
                (class, action) = (EventClass::Fault, None);
            }
            let answer = |(index, choice): (usize, &host_model::contract::Choice)| {
                let source = match outcome.draws.is_likely(index) {
                    None => Source::Chosen,
                    Some(true) => Source::Drawn,
                    Some(false) => Source::Undrawn,
                };
                (choice.picked, source)
            };
            let answers = || outcome.choices.iter().enumerate().map(answer).collect();
            let draw = (!outcome.draws.are_none()).then(|| Draw { row: edge.row.number(), answers: answers() });
            self.labels[number] = self.graph.add_label(Label { class, action, draw });
            self.events.push(Some(Event { step: edge.step, before: edge.local, after: outcome.next }));
        }
        self.labels[number]
    }

    fn classify(&self, known: &LtsCache, local: LocalStateId, step: Step) -> (EventClass, Option<Action>) {
        let Step { node, trigger, .. } = step;
        if let Some(message) = trigger.message() {
            return (EventClass::Delivery, Some(Action::Deliver(message)));
        }
        if let Some(message) = known.taken_together(trigger).first() {
            let Role::Member(kind) = known.role(local, *message) else {
                unreachable!("the messages of a quorum are members of it");
            };
            return (EventClass::Delivery, Some(Action::Quorum(kind, node)));
        }
        if let Some(event) = trigger.local_event() {
            let action = Some(Action::Local(node, trigger));
            return match self.lts.local_event(event).kind {
                LocalKind::Timer => (EventClass::Timer, action),
                LocalKind::Internal => (EventClass::Internal, action),
                LocalKind::Application => (EventClass::Free, None),
            };
        }
        match trigger.fault() {
            // Without a peer the node restarts.
            Some(fault) if fault.peer().is_none() => (EventClass::Reset, None),
            Some(_) => (EventClass::Fault, None),
            None => (EventClass::Loss, None),
        }
    }

    fn action(&mut self, action: Action) -> ActionId {
        let next = self.actions.len() as ActionId;
        *self.actions.entry(action).or_insert(next)
    }

    /// The label of an action that a bound suppresses; without an action, that of any action.
    fn suppressed(&mut self, action: Option<ActionId>) -> LabelId {
        if let Some(label) = self.suppressed.get(&action) {
            return *label;
        }
        let label = self.graph.add_label(Label::new(EventClass::Suppressed, action));
        self.events.push(None);
        self.suppressed.insert(action, label);
        label
    }
}

impl GraphSink for Recorder<'_> {
    fn state(&mut self, state: &GraphState<'_>) {
        let parent = match state.discovery {
            Discovery::Start(start) => {
                self.starts.push(start);
                None
            }
            Discovery::Step(parent, _) => Some(parent),
        };
        let is_over = state.known.is_over(state.locals);
        let owes = |promise: &Promise| match promise.node {
            None => state.owed.contains(&promise.property),
            Some(node) => {
                let local = state.known.state(state.locals[node as usize]);
                !is_over && local.protocol.owed.contains(&promise.property)
            }
        };
        let owing = self.promises.iter().enumerate().filter(|(_, promise)| owes(promise)).map(|(index, _)| index);
        self.graph.add_state(parent, owing);
    }

    fn edge(&mut self, edge: &GraphEdge<'_>) {
        let label = self.label(edge);
        self.row.push((edge.to, label));
    }

    fn expanded(&mut self, expanded: &Expanded<'_>) {
        let Expanded { state, left_out, is_followed, suppressed } = *expanded;
        for (node, trigger) in suppressed {
            let event = trigger.local_event().expect("only local events are suppressed");
            if self.lts.local_event(event).kind != LocalKind::Application {
                let action = self.action(Action::Local(*node, *trigger));
                let label = self.suppressed(Some(action));
                self.row.push((state, label));
            }
        }
        if !is_followed && left_out.is_some() {
            let label = self.suppressed(None);
            self.row.push((state, label));
        }
        let is_truncated = left_out.is_some_and(|end| end != EndCondition::SpaceExhausted);
        self.graph.add_row(&mut self.row, is_truncated);
        self.row.clear();
    }

    fn bytes(&self) -> u64 {
        let lists = self.labels.capacity() * size_of::<LabelId>()
            + self.events.capacity() * size_of::<Option<Event>>()
            + table_bytes::<(Action, ActionId)>(self.actions.capacity())
            + self.row.capacity() * size_of::<(u32, LabelId)>();
        self.graph.bytes() + lists as u64
    }
}

impl Recorded {
    /// The start of a path, as an index of the search's start states.
    pub fn start_of(&self, first: u32) -> usize {
        self.starts[first as usize] as usize
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let lists = self.starts.capacity() * size_of::<u32>() + self.events.capacity() * size_of::<Option<Event>>();
        self.graph.bytes() + lists as u64
    }

    /// The event of an edge.
    ///
    /// # Panics
    ///
    /// The edge stands for no event.
    pub fn event(&self, edge: &Edge) -> Event {
        self.events[edge.label as usize].expect("an edge is an event")
    }

    /// The edge of a step from a state; none if the step cannot happen there.
    pub fn edge(&self, from: u32, step: Step) -> Option<Edge> {
        let mut row = self.graph.row(from);
        let is_step = |label: LabelId| self.events[label as usize].is_some_and(|event| event.step == step);
        row.find_map(|(to, label)| is_step(label).then_some(Edge { from, to, label }))
    }

    /// The events of a path as steps.
    pub fn steps(&self, path: &[Edge]) -> Vec<Step> {
        path.iter().map(|edge| self.event(edge).step).collect()
    }
}
