//! A place in a tree of executions.

use std::collections::BTreeMap;

use host_model::contract::{Judgement, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Role};
use host_model::lts::{LocalStateId, MessageId, Promise, Stepper};
use host_model::scenario::NodeNames;
use host_model::trace::start::{self, Start, StartError};
use host_model::trace::{self, Trace, TraceEvent, TraceStep, Unresolved};
use serde_json::Value;

use crate::diff::{self, Change};
use crate::traced_state::{Action, Cause, TracedState};
use crate::words;

/// A state in the tree; 0 is where everything begins.
pub type Place = usize;

/// Why the debugger cannot do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// A trace cannot be followed.
    #[error("step {step} of the trace cannot happen: {why}")]
    Trace {
        /// Counted from 1.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
    /// A trace begins in another state than the session.
    #[error("it begins in another state than this session: {0}")]
    Elsewhere(&'static str),
    /// The cluster does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// A state and the step that led there.
struct Point {
    parent: Place,
    depth: usize,
    traced: TracedState,
    /// None at the beginning.
    step: Option<TraceStep>,
    /// In the order in which they were tried.
    children: Vec<Place>,
}

/// Where the cursor is: the branch, from the beginning to its end, and how far along it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    line: Vec<Place>,
    at: usize,
}

/// A cursor over executions of one cluster.
pub struct Cursor<'l> {
    stepper: Stepper<'l>,
    describer: Box<dyn Machine>,
    names: NodeNames,
    start: Start,
    points: Vec<Point>,
    now: Position,
    undo: Vec<Position>,
    states: BTreeMap<LocalStateId, Value>,
    messages: BTreeMap<Vec<u8>, String>,
}

impl<'l> Cursor<'l> {
    /// A cursor at the beginning of a trace, or of a cluster where nothing has happened yet: `trace` is then one without
    /// steps.
    ///
    /// # Errors
    ///
    /// The trace cannot be followed, or the host cannot provide an instance.
    pub fn new(factory: &dyn MachineFactory, mut stepper: Stepper<'l>, trace: &Trace) -> Result<Self, CursorError> {
        let start = start::begin(&mut stepper, trace)?;
        let traced = TracedState::new(&stepper, &start);
        let first = Point { parent: 0, depth: 0, traced, step: None, children: Vec::new() };
        let mut describer = factory.machine()?;
        let names = trace::node_names(&mut *describer, &stepper, &start.locals)?;
        let mut cursor = Self {
            stepper,
            describer,
            names,
            start,
            points: vec![first],
            now: Position { line: vec![0], at: 0 },
            undo: Vec::new(),
            states: BTreeMap::new(),
            messages: BTreeMap::new(),
        };
        cursor.open(trace)?;
        cursor.undo.clear();
        Ok(cursor)
    }

    /// Adds the steps of another trace as a branch, and goes to its beginning.
    ///
    /// # Errors
    ///
    /// It cannot be followed; what could be is a branch then.
    pub fn open(&mut self, trace: &Trace) -> Result<(), CursorError> {
        if trace.beginning.as_ref() != self.start.origin.states() {
            return Err(CursorError::Elsewhere(
                "one of them begins in states from elsewhere that the other does not have",
            ));
        }
        if !trace.init_choices.is_empty() && trace.origin() != self.start.origin {
            return Err(CursorError::Elsewhere("it has other choices in `init`"));
        }
        let mut line = vec![0];
        let mut result = Ok(());
        for (index, step) in trace.steps.iter().enumerate() {
            let from = *line.last().expect("the beginning is there");
            let action = match self.points[from].traced.resolve(&mut self.stepper, step) {
                Ok(action) => action,
                Err(Unresolved::Machine(error)) => return Err(error.into()),
                Err(Unresolved::NotEnabled(why)) => {
                    result = Err(CursorError::Trace { step: index + 1, why });
                    break;
                }
            };
            match self.child(from, &action)? {
                Some(child) => line.push(child),
                None => {
                    result = Err(CursorError::Trace { step: index + 1, why: "it changes nothing".to_owned() });
                    break;
                }
            }
        }
        self.move_to(Position { line, at: 0 });
        result
    }

    /// The present state.
    pub fn here(&self) -> Place {
        self.now.line[self.now.at]
    }

    /// Number of steps before the present state.
    pub fn depth(&self) -> usize {
        self.now.at
    }

    /// Number of steps of the present branch.
    pub fn length(&self) -> usize {
        self.now.line.len() - 1
    }

    /// Number of nodes.
    pub fn nodes(&self) -> NodeId {
        self.start.locals.len() as NodeId
    }

    /// What people call the nodes.
    pub fn names(&self) -> &NodeNames {
        &self.names
    }

    /// The place after this many steps of the present branch.
    pub fn place(&self, depth: usize) -> Option<Place> {
        self.now.line.get(depth).copied()
    }

    /// Moves along the present branch; false if it is not that long.
    pub fn jump(&mut self, depth: usize) -> bool {
        if depth >= self.now.line.len() {
            return false;
        }
        self.move_to(Position { line: self.now.line.clone(), at: depth });
        true
    }

    /// The first step behind the present state of the present branch that fits; its number.
    pub fn find(&mut self, mut fits: impl FnMut(&mut Self, usize) -> bool) -> Option<usize> {
        (self.now.at + 1..self.now.line.len()).find(|depth| fits(self, *depth))
    }

    /// The step of the present branch with this number, counted from 1.
    pub fn step(&self, number: usize) -> Option<&TraceStep> {
        self.points[self.place(number)?].step.as_ref()
    }

    /// The step that led to a place, as one line.
    pub fn event(&mut self, place: Place) -> String {
        match self.points[place].step.clone() {
            None => "start".to_owned(),
            Some(step) => {
                let names = self.names.clone();
                words::event(&step, &names, None, |payload| self.message(payload))
            }
        }
    }

    /// The step that led to a place; none at the beginning.
    pub fn step_at(&self, place: Place) -> Option<&TraceStep> {
        self.points[place].step.as_ref()
    }

    /// Number of places in the tree.
    pub fn places(&self) -> usize {
        self.points.len()
    }

    /// All that can happen in the present state.
    pub fn enabled(&mut self) -> Result<Vec<Action>, MachineError> {
        let here = self.here();
        let mut enabled = self.points[here].traced.enabled(&mut self.stepper)?;
        let mut idle = Vec::new();
        for action in &enabled {
            // A reset that would change nothing does not happen, nor a quorum that is declined.
            let may_be_idle = matches!(action.cause, Cause::Fault(_) | Cause::Quorum(_));
            idle.push(may_be_idle && self.outcomes(action)? == 0);
        }
        let mut idle = idle.into_iter();
        enabled.retain(|_| !idle.next().unwrap_or(false));
        Ok(enabled)
    }

    /// The messages that could be lost in the present state: those that could be delivered next.
    pub fn losses(&mut self) -> Vec<Action> {
        let here = self.here();
        self.points[here].traced.losses(&self.stepper)
    }

    /// The state of the cluster at a place.
    pub fn traced(&self, place: Place) -> &TracedState {
        &self.points[place].traced
    }

    /// The access to the local transition system.
    pub fn stepper(&self) -> &Stepper<'l> {
        &self.stepper
    }

    /// How many outcomes an action has, by its choices.
    pub fn outcomes(&mut self, action: &Action) -> Result<usize, MachineError> {
        let local = self.traced(self.here()).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        let row = self.stepper.step(local, trigger)?;
        Ok(self.stepper.outcomes(row).len())
    }

    /// How a message would be taken in the present state, if its destination is not stuck in a fault: none if by itself, else
    /// why it cannot be delivered alone.
    pub fn not_alone(&mut self, message: MessageId) -> Result<Option<String>, MachineError> {
        let here = self.here();
        let node = self.stepper.message(message).to;
        Ok(match self.points[here].traced.role(&mut self.stepper, message)? {
            Role::Alone => None,
            Role::Held => Some(format!("{} does not take it in this state", self.names.of(node))),
            Role::Member(kind) => {
                let kind = self.stepper.known().kind(kind);
                Some(format!(
                    "{} takes it as one of {} messages `{}` of different nodes",
                    self.names.of(node),
                    kind.size,
                    kind.name
                ))
            }
        })
    }

    /// An action that is enabled in the present state, as a trace writes it.
    pub fn trace_event(&mut self, action: &Action) -> TraceEvent {
        let local = self.traced(self.here()).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        trace::event(&self.stepper, local, trigger, action.is_lost)
    }

    /// Takes an action that is enabled in the present state, with the outcome of this number. If it is the next step of
    /// the present branch, the rest of the branch stays; else a new branch begins.
    pub fn take(&mut self, action: &Action, outcome: usize) -> Result<(), MachineError> {
        let here = self.here();
        let local = self.traced(here).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        let row = self.stepper.step(local, trigger)?;
        let outcome = &self.stepper.outcomes(row)[outcome];
        let taken = Action { choices: outcome.choices.clone(), is_lost: outcome.is_lost, ..action.clone() };
        let Some(next) = self.child(here, &taken)? else { return Ok(()) };
        let mut line = self.now.line.clone();
        if line.get(self.now.at + 1) != Some(&next) {
            line.truncate(self.now.at + 1);
            line.push(next);
            // As far as this was explored before.
            while let Some(child) = self.points[line[line.len() - 1]].children.first() {
                line.push(*child);
            }
        }
        self.move_to(Position { line, at: self.now.at + 1 });
        Ok(())
    }

    /// Takes back the last move; false if there is none.
    pub fn undo(&mut self) -> bool {
        match self.undo.pop() {
            Some(position) => {
                self.now = position;
                true
            }
            None => false,
        }
    }

    /// The ends of all branches in the order in which they were made, and where each leaves the present one.
    pub fn branches(&self) -> Vec<(Place, usize)> {
        let leaves = (0..self.points.len()).filter(|place| self.points[*place].children.is_empty());
        let shared = |leaf: Place| {
            let line = self.line_to(leaf);
            line.iter().zip(&self.now.line).take_while(|(one, other)| one == other).count() - 1
        };
        leaves.map(|leaf| (leaf, shared(leaf))).collect()
    }

    /// Number of steps before a place.
    pub fn depth_of(&self, place: Place) -> usize {
        self.points[place].depth
    }

    /// Whether the present branch ends here.
    pub fn is_end_of_line(&self, place: Place) -> bool {
        self.now.line.last() == Some(&place)
    }

    /// Goes over to the branch that ends at a place, where it leaves the present one.
    pub fn switch(&mut self, leaf: Place) {
        let line = self.line_to(leaf);
        let shared = line.iter().zip(&self.now.line).take_while(|(one, other)| one == other).count() - 1;
        let at = shared.min(self.now.at);
        self.move_to(Position { line, at });
    }

    /// The places on the way to a place, the beginning first.
    pub fn line_to(&self, place: Place) -> Vec<Place> {
        let mut line = vec![place];
        while let Some(last) = line.last().copied().filter(|last| *last != 0) {
            line.push(self.points[last].parent);
        }
        line.reverse();
        line
    }

    /// The state of a node at a place: as the plugin describes it, or a string of its bytes.
    pub fn state(&mut self, place: Place, node: NodeId) -> Value {
        let local = self.points[place].traced.locals()[node as usize];
        if let Some(state) = self.states.get(&local) {
            return state.clone();
        }
        let state = self.describe(local);
        self.states.insert(local, state.clone());
        state
    }

    fn describe(&mut self, local: LocalStateId) -> Value {
        let state = self.stepper.state(local).clone();
        if let Some(fault) = state.fault() {
            return Value::String(format!("stuck in a fault: {fault}"));
        }
        // It has no state that a machine could go to.
        if self.stepper.lts().scenario().absent.contains(&state.protocol.node) {
            return Value::String(words::ABSENT.to_owned());
        }
        // What fails to describe itself is shown as bytes; what fails to do that, too, has no state to show.
        let snapshot = state.protocol.snapshot.as_ref();
        if self.describer.restore(snapshot).is_ok()
            && let Ok(Some(json)) = self.describer.describe_state()
        {
            return words::parsed(&json);
        }
        let bytes = self.describer.restore(snapshot).ok().and_then(|()| self.describer.serialize().ok());
        match bytes {
            // The encoding that all languages share describes itself.
            Some(bytes) => words::json(&bytes).unwrap_or_else(|| Value::String(words::payload(&bytes))),
            None => Value::String("unknown".to_owned()),
        }
    }

    /// What a local event is about: in the plugin's words if it has any, else its bytes.
    pub fn argument(&mut self, event: &LocalEvent) -> String {
        let described = match self.describer.restore(None) {
            Ok(()) => self.describer.describe_local(event).ok().flatten(),
            Err(_) => None,
        };
        words::argument(event, described.map(|json| words::parsed(&json)).as_ref())
    }

    /// A message: in the plugin's words if it has any, else its bytes.
    pub fn message(&mut self, payload: &[u8]) -> String {
        if let Some(text) = self.messages.get(payload) {
            return text.clone();
        }
        let described = match self.describer.restore(None) {
            Ok(()) => self.describer.describe_message(payload).ok().flatten(),
            Err(_) => None,
        };
        let text = described.map_or_else(|| words::payload(payload), |json| words::compact(&json));
        self.messages.insert(payload.to_vec(), text.clone());
        text
    }

    /// Differences between two places, node by node; nodes that do not differ are left out.
    pub fn diff(&mut self, one: Place, other: Place) -> Vec<(NodeId, Vec<Change>)> {
        let mut differences = Vec::new();
        for node in 0..self.nodes() {
            let same = self.traced(one).locals()[node as usize] == self.traced(other).locals()[node as usize];
            if !same {
                let changes = diff::changes(&self.state(one, node), &self.state(other, node));
                differences.push((node, changes));
            }
        }
        differences
    }

    /// The judgements of the present state.
    pub fn judge(&mut self) -> Result<Vec<Judgement>, MachineError> {
        let traced = self.traced(self.here()).clone();
        traced.judge(&mut self.stepper)
    }

    /// The `eventually` properties that do not hold in the present state, at which node those of node scope, and why.
    pub fn owed(&mut self) -> Result<Vec<(u32, Option<NodeId>, String)>, MachineError> {
        let locals = self.traced(self.here()).locals().to_vec();
        let mut owed = Vec::new();
        for Promise { property, node } in self.stepper.lts().promises() {
            owed.extend(self.stepper.owing(property, node, &locals)?.map(|message| (property, node, message)));
        }
        Ok(owed)
    }

    /// The steps to the present state.
    pub fn path(&self) -> Vec<TraceStep> {
        self.now.line[1..=self.now.at].iter().filter_map(|place| self.points[*place].step.clone()).collect()
    }

    /// The child of a place by an action, made if it is not there; none if the action changes nothing.
    fn child(&mut self, from: Place, action: &Action) -> Result<Option<Place>, MachineError> {
        let mut traced = self.points[from].traced.clone();
        let tag = u32::try_from(self.points.len()).expect("fewer than four billion places");
        let before = traced.locals().to_vec();
        let Some(step) = traced.take(&mut self.stepper, action, tag)? else { return Ok(None) };
        let step = trace::record(&mut self.stepper, &before, &[step])?.remove(0);
        let known = self.points[from].children.iter();
        let mut known = known.filter(|child| self.points[**child].step.as_ref() == Some(&step));
        if let Some(child) = known.next() {
            return Ok(Some(*child));
        }
        let (place, depth) = (self.points.len(), self.points[from].depth + 1);
        self.points.push(Point { parent: from, depth, traced, step: Some(step), children: Vec::new() });
        self.points[from].children.push(place);
        Ok(Some(place))
    }

    fn move_to(&mut self, position: Position) {
        if position != self.now {
            self.undo.push(std::mem::replace(&mut self.now, position));
        }
    }
}

/// The effect of a step on a message with this content to this node, if it takes it out of flight.
pub(super) fn taken(step: &TraceStep, from: NodeId, to: NodeId, payload: &[u8]) -> Option<&'static str> {
    match &step.event {
        _ if step.node != to => None,
        TraceEvent::Lose { from: sender, payload: lost } => ((*sender, &*lost.0) == (from, payload)).then_some("lost"),
        event => event.received().contains(&(from, payload)).then_some("delivered"),
    }
}
