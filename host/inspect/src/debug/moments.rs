//! A tree of executions: all visited states, and queries about them.

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

/// A state in the tree; 0 is the root.
pub type Place = usize;

/// The maximum number of places in a tree, and of messages in flight at all of them: up to several gigabytes.
pub const PLACES_MAX: usize = 1_000_000;
const MESSAGES_MAX: usize = 100_000_000;

/// The maximum number of cached descriptions, of states and of messages.
const DESCRIPTIONS_MAX: usize = 10_000;

/// The reason why a tree of executions cannot begin or grow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// A trace cannot be followed.
    #[error("step {step} of the trace cannot happen: {why}")]
    Trace {
        /// Its number, counted from 1.
        step: usize,
        /// The reason, a lower-case phrase.
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
    /// The tree has reached its maximum number of states.
    #[error("this session has {0} states, the most that it keeps: save what matters and begin another one")]
    Full(usize),
    /// The states of the tree have the maximum number of messages in flight.
    #[error("the {0} states of this session have {MESSAGES_MAX} messages in flight, the most that it keeps")]
    Crowded(usize),
}

/// A state and the step that leads to it.
struct Point {
    parent: Place,
    depth: usize,
    traced: TracedState,
    /// None at the beginning.
    step: Option<TraceStep>,
    /// In the order in which they were tried.
    children: Vec<Place>,
}

/// A tree of executions of one cluster. Places never change or disappear; a step that is repeated leads to the same place.
pub struct Moments<'l> {
    stepper: Stepper<'l>,
    describer: Box<dyn Machine>,
    names: NodeNames,
    start: Start,
    points: Vec<Point>,
    /// The maximum number of places of this tree, and its messages in flight at all places.
    places_max: usize,
    messages_in_flight: usize,
    states: BTreeMap<LocalStateId, Value>,
    messages: BTreeMap<Vec<u8>, String>,
}

impl<'l> Moments<'l> {
    /// The beginning of a trace, without its steps.
    ///
    /// # Errors
    ///
    /// The cluster does not start, or the host cannot provide an instance.
    pub fn new(factory: &dyn MachineFactory, mut stepper: Stepper<'l>, trace: &Trace) -> Result<Self, CursorError> {
        let start = start::begin(&mut stepper, trace)?;
        let traced = TracedState::new(&stepper, &start);
        let messages_in_flight = traced.in_flight().len();
        let first = Point { parent: 0, depth: 0, traced, step: None, children: Vec::new() };
        let mut describer = factory.machine()?;
        let names = trace::node_names(&mut *describer, &stepper, &start.locals)?;
        Ok(Self {
            stepper,
            describer,
            names,
            start,
            points: vec![first],
            places_max: PLACES_MAX,
            messages_in_flight,
            states: BTreeMap::new(),
            messages: BTreeMap::new(),
        })
    }

    /// Bounds the number of places, by at most [`PLACES_MAX`].
    #[must_use]
    pub fn with_places_max(mut self, places_max: usize) -> Self {
        self.places_max = places_max.min(PLACES_MAX);
        self
    }

    /// Adds the steps of a trace, and returns the places along it, from the beginning.
    ///
    /// # Errors
    ///
    /// The trace cannot be followed; the error carries the places of its possible part.
    pub fn open(&mut self, trace: &Trace) -> Result<Vec<Place>, (Vec<Place>, CursorError)> {
        let mut line = vec![0];
        if trace.beginning.as_ref() != self.start.origin.states() {
            let why = "one of them begins in states from elsewhere that the other does not have";
            return Err((line, CursorError::Elsewhere(why)));
        }
        if !trace.init_choices.is_empty() && trace.origin() != self.start.origin {
            return Err((line, CursorError::Elsewhere("it has other choices in `init`")));
        }
        for (index, step) in trace.steps.iter().enumerate() {
            let from = *line.last().expect("the line has its beginning at least");
            match self.follow(from, step, index + 1) {
                Ok(place) => line.push(place),
                Err(error) => return Err((line, error)),
            }
        }
        Ok(line)
    }

    /// The place behind a step, which has this number in its trace.
    fn follow(&mut self, from: Place, step: &TraceStep, number: usize) -> Result<Place, CursorError> {
        let action = match self.points[from].traced.resolve(&mut self.stepper, step) {
            Ok(action) => action,
            Err(Unresolved::Machine(error)) => return Err(error.into()),
            Err(Unresolved::NotEnabled(why)) => return Err(CursorError::Trace { step: number, why }),
        };
        let child = self.child(from, &action)?;
        child.ok_or_else(|| CursorError::Trace { step: number, why: "it changes nothing".to_owned() })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> NodeId {
        self.start.locals.len() as NodeId
    }

    /// The names of the nodes.
    pub fn names(&self) -> &NodeNames {
        &self.names
    }

    /// The step to a place, as one line.
    pub fn event(&mut self, place: Place) -> String {
        match self.points[place].step.clone() {
            None => "start".to_owned(),
            Some(step) => {
                let names = self.names.clone();
                words::event(&step, &names, None, |payload| self.message(payload))
            }
        }
    }

    /// The step to a place; none at the beginning.
    pub fn step_at(&self, place: Place) -> Option<&TraceStep> {
        self.points[place].step.as_ref()
    }

    /// Number of places in the tree.
    pub fn places(&self) -> usize {
        self.points.len()
    }

    /// All enabled actions at a place.
    pub fn enabled(&mut self, place: Place) -> Result<Vec<Action>, MachineError> {
        let mut enabled = self.points[place].traced.enabled(&mut self.stepper)?;
        let mut idle = Vec::new();
        for action in &enabled {
            // A reset that would change nothing does not happen, nor does a declined quorum.
            let may_be_idle = matches!(action.cause, Cause::Fault(_) | Cause::Quorum(_));
            idle.push(may_be_idle && self.outcomes(place, action)? == 0);
        }
        let mut idle = idle.into_iter();
        enabled.retain(|_| !idle.next().unwrap_or(false));
        Ok(enabled)
    }

    /// The messages that could be lost at a place: those that could be delivered next.
    pub fn losses(&mut self, place: Place) -> Vec<Action> {
        self.points[place].traced.losses(&self.stepper)
    }

    /// The state of the cluster at a place.
    pub fn traced(&self, place: Place) -> &TracedState {
        &self.points[place].traced
    }

    /// Mutable access to the local transition system, to execute unknown handlers.
    pub fn stepper_mut(&mut self) -> &mut Stepper<'l> {
        &mut self.stepper
    }

    /// The access to the local transition system.
    pub fn stepper(&self) -> &Stepper<'l> {
        &self.stepper
    }

    /// The number of outcomes of an action at a place, by its choices.
    pub fn outcomes(&mut self, place: Place, action: &Action) -> Result<usize, MachineError> {
        let local = self.traced(place).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        let row = self.stepper.step(local, trigger)?;
        Ok(self.stepper.outcomes(row).len())
    }

    /// The reason why a message cannot be delivered alone at a place; none if
    /// it can. Its destination must not be stuck in a fault.
    pub fn not_alone(&mut self, place: Place, message: MessageId) -> Result<Option<String>, MachineError> {
        let node = self.stepper.message(message).to;
        Ok(match self.points[place].traced.role(&mut self.stepper, message)? {
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

    /// An enabled action at a place, in the form of a trace.
    pub fn trace_event(&mut self, place: Place, action: &Action) -> TraceEvent {
        let local = self.traced(place).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        trace::event(&self.stepper, local, trigger, action.is_lost)
    }

    /// An enabled action at a place, with the choices of the outcome of this number.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn with_outcome(&mut self, place: Place, action: &Action, outcome: usize) -> Result<Action, MachineError> {
        let local = self.traced(place).locals()[action.node as usize];
        let trigger = action.cause.trigger(&mut self.stepper);
        let row = self.stepper.step(local, trigger)?;
        let outcome = &self.stepper.outcomes(row)[outcome];
        Ok(Action { choices: outcome.choices.clone(), is_lost: outcome.is_lost, ..action.clone() })
    }

    /// Takes an enabled action at a place, with the outcome of this number, and returns the place behind it; none if it changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// The tree is full, or the host cannot provide an instance.
    pub fn take(&mut self, place: Place, action: &Action, outcome: usize) -> Result<Option<Place>, CursorError> {
        let taken = self.with_outcome(place, action, outcome)?;
        self.child(place, &taken)
    }

    /// Takes an enabled action at a place, with its own choices, and returns the place behind it; none if it changes nothing.
    ///
    /// # Errors
    ///
    /// As for [`take`](Self::take).
    pub fn go(&mut self, place: Place, action: &Action) -> Result<Option<Place>, CursorError> {
        self.child(place, action)
    }

    /// The places behind a place, in the order of their creation.
    pub fn children(&self, place: Place) -> &[Place] {
        &self.points[place].children
    }

    /// The place before a place; none at the beginning.
    pub fn parent(&self, place: Place) -> Option<Place> {
        (place != 0).then(|| self.points[place].parent)
    }

    /// Number of steps before a place.
    pub fn depth_of(&self, place: Place) -> usize {
        self.points[place].depth
    }

    /// The places on the path to a place, from the beginning.
    pub fn line_to(&self, place: Place) -> Vec<Place> {
        let mut line = vec![place];
        while let Some(last) = line.last().copied().filter(|last| *last != 0) {
            line.push(self.points[last].parent);
        }
        line.reverse();
        line
    }

    /// The steps on the path to a place.
    pub fn path(&self, place: Place) -> Vec<TraceStep> {
        self.line_to(place).into_iter().filter_map(|place| self.points[place].step.clone()).collect()
    }

    /// The state of a node at a place: the plugin's description, or a string of its bytes.
    pub fn state(&mut self, place: Place, node: NodeId) -> Value {
        self.local_state(self.points[place].traced.locals()[node as usize])
    }

    /// A local state: the plugin's description, or a string of its bytes.
    pub fn local_state(&mut self, local: LocalStateId) -> Value {
        if let Some(state) = self.states.get(&local) {
            return state.clone();
        }
        let state = self.describe(local);
        if self.states.len() >= DESCRIPTIONS_MAX {
            self.states.clear();
        }
        self.states.insert(local, state.clone());
        state
    }

    fn describe(&mut self, local: LocalStateId) -> Value {
        let state = self.stepper.state(local).clone();
        if let Some(fault) = state.fault() {
            return Value::String(format!("stuck in a fault: {fault}"));
        }
        // An absent node has no state that a machine could restore.
        if self.stepper.lts().scenario().absent.contains(&state.protocol.node) {
            return Value::String(words::ABSENT.to_owned());
        }
        // If the description fails, the bytes are shown; if encoding fails too, the state is not shown.
        let snapshot = state.protocol.snapshot.as_ref();
        if self.describer.restore(snapshot).is_ok()
            && let Ok(Some(json)) = self.describer.describe_state()
        {
            return words::parsed(&json);
        }
        let bytes = self.describer.restore(snapshot).ok().and_then(|()| self.describer.serialize().ok());
        match bytes {
            // The shared encoding of all languages describes itself.
            Some(bytes) => words::json(&bytes).unwrap_or_else(|| Value::String(words::payload(&bytes))),
            None => Value::String("unknown".to_owned()),
        }
    }

    /// The argument of a local event: the plugin's description if it has one, else its bytes.
    pub fn argument(&mut self, event: &LocalEvent) -> String {
        let described = match self.describer.restore(None) {
            Ok(()) => self.describer.describe_local(event).ok().flatten(),
            Err(_) => None,
        };
        words::argument(event, described.map(|json| words::parsed(&json)).as_ref())
    }

    /// A message: the plugin's description if it has one, else its bytes.
    pub fn message(&mut self, payload: &[u8]) -> String {
        if let Some(text) = self.messages.get(payload) {
            return text.clone();
        }
        let described = match self.describer.restore(None) {
            Ok(()) => self.describer.describe_message(payload).ok().flatten(),
            Err(_) => None,
        };
        let text = described.map_or_else(|| words::payload(payload), |json| words::compact(&json));
        if self.messages.len() >= DESCRIPTIONS_MAX {
            self.messages.clear();
        }
        self.messages.insert(payload.to_vec(), text.clone());
        text
    }

    /// Differences between two places, node by node; unchanged nodes are left out.
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

    /// The judgements of the state at a place.
    pub fn judge(&mut self, place: Place) -> Result<Vec<Judgement>, MachineError> {
        let traced = self.traced(place).clone();
        traced.judge(&mut self.stepper)
    }

    /// The `eventually` properties that do not hold at a place, with the node for node scope, and the reason.
    pub fn owed(&mut self, place: Place) -> Result<Vec<(u32, Option<NodeId>, String)>, MachineError> {
        let locals = self.traced(place).locals().to_vec();
        let mut owed = Vec::new();
        for Promise { property, node } in self.stepper.lts().promises() {
            owed.extend(self.stepper.owing(property, node, &locals)?.map(|message| (property, node, message)));
        }
        Ok(owed)
    }

    /// The state behind an action at a place and the step to it, without adding a place; none if the action changes nothing.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn peek(&mut self, from: Place, action: &Action) -> Result<Option<(TracedState, TraceStep)>, MachineError> {
        let mut traced = self.points[from].traced.clone();
        // The origin of its messages is the step to the place that would be added.
        let tag = u32::try_from(self.points.len()).expect("fewer than four billion places");
        let before = traced.locals().to_vec();
        let Some(step) = traced.take(&mut self.stepper, action, tag)? else { return Ok(None) };
        let step = trace::record(&mut self.stepper, &before, &[step])?.remove(0);
        Ok(Some((traced, step)))
    }

    /// The child of a place by an action, created if it is missing; none if the action changes nothing.
    fn child(&mut self, from: Place, action: &Action) -> Result<Option<Place>, CursorError> {
        let Some((traced, step)) = self.peek(from, action)? else { return Ok(None) };
        let known = self.points[from].children.iter();
        let mut known = known.filter(|child| self.points[**child].step.as_ref() == Some(&step));
        if let Some(child) = known.next() {
            return Ok(Some(*child));
        }
        let messages_in_flight = self.messages_in_flight + traced.in_flight().len();
        if self.points.len() >= self.places_max {
            return Err(CursorError::Full(self.points.len()));
        }
        if messages_in_flight > MESSAGES_MAX {
            return Err(CursorError::Crowded(self.points.len()));
        }
        self.messages_in_flight = messages_in_flight;
        let (place, depth) = (self.points.len(), self.points[from].depth + 1);
        self.points.push(Point { parent: from, depth, traced, step: Some(step), children: Vec::new() });
        self.points[from].children.push(place);
        Ok(Some(place))
    }
}

/// The effect of a step on a message with this content to this node, if the step removes it from flight.
pub(super) fn taken(step: &TraceStep, from: NodeId, to: NodeId, payload: &[u8]) -> Option<&'static str> {
    match &step.event {
        _ if step.node != to => None,
        TraceEvent::Lose { from: sender, payload: lost } => ((*sender, &*lost.0) == (from, payload)).then_some("lost"),
        event => event.received().contains(&(from, payload)).then_some("delivered"),
    }
}
