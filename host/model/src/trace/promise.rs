//! Broken promises of progress in a trace, checked in a replay.
//!
//! Only a search can find out that a promise is dead, or that a loop is fair: it examines all possible events. A replay can check
//! that the promise is not kept where the trace says so, that the loop returns to its state when machines run it twice, and that in a
//! stuck state no fair event is enabled.

use crate::contract::hex::Hex;
use crate::contract::{LocalEvent, LocalKind, MachineError, MachineFactory, NodeId, Role};
use crate::lts::handler::owed;
use crate::scenario::FaultState;
use crate::trace::document::{BreachClass, BrokenPromise, Trace, TraceEvent, TraceStep};
use crate::trace::replay::{Replay, ReplayError, Travelling};

/// A global state of a replay, to be compared with others of the same replay.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Instant {
    /// None for absent nodes.
    states: Vec<Option<Vec<u8>>>,
    fault_states: Vec<FaultState>,
    in_flight: Vec<Travelling>,
}

/// Watches a replay of a trace with a broken promise.
pub struct PromiseWatch<'t> {
    promise: &'t BrokenPromise,
    property: u32,
    steps: &'t [TraceStep],
    entry: Option<Instant>,
}

impl<'t> PromiseWatch<'t> {
    /// A watch over a replay in which no step was taken yet.
    ///
    /// # Errors
    ///
    /// There is no such property. The host cannot provide an instance.
    pub fn new(replay: &mut Replay, promise: &'t BrokenPromise, steps: &'t [TraceStep]) -> Result<Self, ReplayError> {
        let property = index_of(replay, promise)?;
        let mut watch = Self { promise, property, steps, entry: None };
        watch.after(replay, 0)?;
        Ok(watch)
    }

    /// To be called after each step, with its number.
    ///
    /// # Errors
    ///
    /// The promise is kept inside the loop. The host cannot provide an instance.
    pub fn after(&mut self, replay: &mut Replay, number: usize) -> Result<(), ReplayError> {
        let Some(start) = self.promise.loop_start.filter(|start| number >= *start) else { return Ok(()) };
        self.owed(replay, number)?;
        if number == start {
            self.entry = Some(replay.instant()?);
        }
        Ok(())
    }

    /// Takes the loop once more, at the end of the trace. Returns the reason why the promise is broken, in the plugin's words.
    ///
    /// # Errors
    ///
    /// The promise is kept; the loop does not lead back to its start; a fair event is enabled in a stuck state; or the host cannot provide
    /// an instance.
    pub fn end(mut self, replay: &mut Replay) -> Result<String, ReplayError> {
        let message = self.owed(replay, self.steps.len())?;
        let recorded = &self.promise.message;
        if !recorded.is_empty() && *recorded != message {
            return Err(not_there(format!("{} does not hold in other words: {message}", self.promise.name)));
        }
        if self.promise.class == BreachClass::Stuck
            && let Some(what) = replay.has_to_happen()?
        {
            return Err(not_there(format!("{what} has to happen, and {} is not stuck", self.promise.name)));
        }
        let Some(entry) = self.entry.take() else { return Ok(message) };
        for round in 1..=2 {
            if replay.instant()? != entry {
                let start = self.promise.loop_start.unwrap_or_default();
                let what = format!("the cluster is not as it was after step {start}, in round {round}");
                return Err(not_there(format!("{what}: there is no loop")));
            }
            let start = self.promise.loop_start.filter(|_| round == 1);
            for (number, step) in (1..).zip(self.steps).skip(start.unwrap_or(self.steps.len())) {
                replay.step(step)?;
                self.owed(replay, number)?;
            }
        }
        Ok(message)
    }

    fn owed(&self, replay: &mut Replay, number: usize) -> Result<String, ReplayError> {
        let owed = replay.owing(self.property, self.promise.node)?;
        owed.ok_or_else(|| not_there(format!("{} holds after step {number}", self.promise.name)))
    }
}

/// Checks that the sibling of the critical step leads to where the promise is kept, if the trace has one.
///
/// # Errors
///
/// A step of it cannot happen, or the promise is not kept there. The host cannot provide an instance.
pub fn check_sibling(factory: &dyn MachineFactory, trace: &Trace) -> Result<(), ReplayError> {
    let Some((promise, sibling)) = trace.promise().zip(sibling(trace)) else { return Ok(()) };
    let (mut replay, _) = Replay::new(factory, &sibling.scenario, &sibling.origin())?;
    for step in &sibling.steps {
        replay.step(step)?;
    }
    let property = index_of(&replay, promise)?;
    match replay.owing(property, promise.node)? {
        None => Ok(()),
        Some(_) => Err(not_there(format!("{} does not hold after the sibling of the critical step", promise.name))),
    }
}

/// The trace with the sibling in place of the critical step, if it has one.
pub fn sibling(trace: &Trace) -> Option<Trace> {
    let promise = trace.promise().filter(|promise| promise.critical.is_some())?;
    let (_, before) = trace.steps.split_last()?;
    Some(Trace { finding: None, steps: [before, &promise.sibling].concat(), ..trace.clone() })
}

/// Maximum number of events of a continuation after a promise is dead.
const WAY_ON_MAX: usize = 20;

/// A trace whose critical step is a call of the application, with one continuation from its end: the fair events, those first that have
/// happened least often. Also whether that continuation ends in a state without fair events, and not at its bound. None for other traces,
/// whose critical step explains itself, and if nodes receive several messages at once.
///
/// # Errors
///
/// The trace does not replay. The host cannot provide an instance.
pub fn way_on(factory: &dyn MachineFactory, trace: &Trace) -> Result<Option<(Trace, bool)>, ReplayError> {
    let is_call = |step: &TraceStep| matches!(step.event, TraceEvent::Local { cause: LocalKind::Application, .. });
    let critical = trace.promise().is_some_and(|promise| promise.critical.is_some());
    if !critical || !trace.steps.last().is_some_and(is_call) {
        return Ok(None);
    }
    let (mut replay, _) = Replay::new(factory, &trace.scenario, &trace.origin())?;
    // Only a handler decides whether messages that wait for others are received.
    if replay.takes_quorums.contains(&true) {
        return Ok(None);
    }
    for step in &trace.steps {
        replay.step(step)?;
    }
    let extended =
        |way: Vec<TraceStep>| Trace { finding: None, steps: [trace.steps.clone(), way].concat(), ..trace.clone() };
    let mut way: Vec<TraceStep> = Vec::new();
    while way.len() < WAY_ON_MAX {
        let mut due = replay.due()?;
        let Some((first, _)) = (0..).zip(&due).min_by_key(|(place, step)| {
            let before = way.iter().filter(|other| other.node == step.node && other.event == step.event).count();
            (before, *place)
        }) else {
            return Ok(Some((extended(way), true)));
        };
        let step = due.swap_remove(first);
        let is_over = replay.step(&step)?.fault.is_some();
        way.push(step);
        if is_over {
            return Ok(Some((extended(way), false)));
        }
    }
    let is_over = replay.due()?.is_empty();
    Ok(Some((extended(way), is_over)))
}

/// The index of the property of a promise; the node must exist.
fn index_of(replay: &Replay, promise: &BrokenPromise) -> Result<u32, ReplayError> {
    let mut properties = (0..).zip(replay.properties());
    let is_there = promise.node.is_none_or(|node| (node as usize) < replay.views.len());
    let property = properties.find(|(_, property)| property.name == promise.name && is_there);
    property.map(|(index, _)| index).ok_or_else(|| not_there(format!("there is no property {}", promise.name)))
}

fn not_there(what: String) -> ReplayError {
    ReplayError::NoFinding { what }
}

impl Replay {
    /// The reason why an `eventually` property does not hold in the current state, at one node if it is of node scope; none if it holds, or
    /// if a node is stuck in a fault.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn owing(&mut self, property: u32, node: Option<NodeId>) -> Result<Option<String>, ReplayError> {
        if !self.faults.is_empty() {
            return Ok(None);
        }
        let of_node = |views: &Vec<Option<Vec<u8>>>| views[property as usize].clone();
        let views: Vec<Option<Vec<u8>>> = match node {
            Some(node) => vec![of_node(&self.views[node as usize])],
            None => self.views.iter().map(of_node).collect(),
        };
        let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
        let scope = self.properties[property as usize].scope;
        Ok(owed(&mut *self.judge, property, scope, &views)?)
    }

    /// The current state. Messages without an order among themselves are sorted.
    fn instant(&mut self) -> Result<Instant, ReplayError> {
        let mut states = Vec::with_capacity(self.machines.len());
        for (node, machine) in (0..).zip(&mut self.machines) {
            if self.rules.is_absent(node) {
                states.push(None);
                continue;
            }
            // A question must not change the machine.
            let before = machine.capture();
            let state = machine.serialize();
            machine.restore(Some(&before))?;
            states.push(state.ok());
        }
        let rules = &self.rules;
        let mut in_flight: Vec<Travelling> = self.in_flight.iter().cloned().collect();
        in_flight.sort_by_cached_key(|item| {
            let (from, to) = (item.route.from, item.route.to);
            let content = (!rules.is_in_order(from, to)).then(|| item.payload.clone());
            (from, to, content)
        });
        Ok(Instant { states, fault_states: self.fault_states.clone(), in_flight })
    }

    /// A fair event that is enabled in the current state, in words; none if there is none.
    fn has_to_happen(&mut self) -> Result<Option<String>, MachineError> {
        let due = self.due()?;
        Ok(due.first().map(|TraceStep { node, event, .. }| match event {
            TraceEvent::TransportError { peer, .. } => {
                format!("the news of a broken connection from node {peer} to node {node}")
            }
            TraceEvent::Deliver { from, .. } => format!("the delivery of a message from node {from} to node {node}"),
            TraceEvent::Local { name, .. } => format!("{name} at node {node}"),
            other => unreachable!("{other:?} has not to happen"),
        }))
    }

    /// The fair events of the current state: deliveries, then timers and internal events. Members of a quorum are left
    /// out: only the handler decides whether a node takes them together.
    fn due(&mut self) -> Result<Vec<TraceStep>, MachineError> {
        let step = |node, event| TraceStep { node, event, choices: Vec::new(), sent: None, state: None };
        let mut due = Vec::new();
        for Travelling { route, payload } in self.next_items() {
            let (peer, node) = (route.from, route.to);
            if route.is_notice {
                due.push(step(node, TraceEvent::TransportError { peer, lost: false }));
            } else if matches!(self.role(node, peer, &payload)?, Ok(Role::Alone) | Err(_)) {
                due.push(step(node, TraceEvent::Deliver { from: peer, payload: Hex(payload) }));
            }
        }
        let local = |(node, event): (NodeId, LocalEvent)| {
            let LocalEvent { name, kind: cause, payload } = event;
            step(node, TraceEvent::Local { name, cause, payload: Hex(payload) })
        };
        due.extend(self.local_events().into_iter().filter(|(_, it)| it.kind != LocalKind::Application).map(local));
        Ok(due)
    }

    /// The calls of the application that are possible in the current state, by name, with their nodes.
    pub fn calls(&mut self) -> Vec<(NodeId, String)> {
        let calls = self.local_events().into_iter().filter(|(_, event)| event.kind == LocalKind::Application);
        calls.map(|(node, event)| (node, event.name)).collect()
    }

    /// The local events of all nodes that are not stuck.
    fn local_events(&mut self) -> Vec<(NodeId, LocalEvent)> {
        let mut events = Vec::new();
        for (node, machine) in (0..).zip(&mut self.machines) {
            let own = if self.rules.is_absent(node) { Ok(Vec::new()) } else { machine.local_events() };
            events.extend(own.unwrap_or_default().into_iter().map(|event| (node, event)));
        }
        events
    }
}
