//! The global states where a search begins: after `init`, or after a given trace.

use crate::contract::{Choice, FaultKind, Judgement, LocalEvent, MachineError, NodeId, Role};
use crate::lts::{Known, LocalStateId, Message, MessageId, Outcome, Step, Stepper, Trigger};
use crate::scenario::{FaultEvent, channels};
use crate::trace::document::{Hex, Received, Sent, Trace, TraceEvent, TraceStep};

/// A global state to begin from, with the path that leads there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The answers to `choose` in `init`, a list for each node.
    pub init_choices: Vec<Box<[Choice]>>,
    /// The local states after `init`, one per node.
    pub initial: Vec<LocalStateId>,
    /// The events of the prefix; empty without one.
    pub path: Vec<Step>,
    /// The local states, one per node.
    pub locals: Vec<LocalStateId>,
    /// The messages in flight, sorted; a message in flight twice stands twice. On an ordered network they stand channel by
    /// channel, see [`channels`].
    pub in_flight: Vec<MessageId>,
}

/// More initial global states than this are refused.
pub const STARTS_MAX: usize = 65_536;

/// Why a search cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// `init` does not accept the parameters.
    #[error("the plugin refuses its configuration: {0}")]
    Refused(String),
    /// The calls of `choose` in `init` multiply over the nodes.
    #[error("the choices in `init` have more than {STARTS_MAX} resolutions over all nodes; make them in a local event")]
    TooManyStarts,
    /// Messages in order are taken one by one.
    #[error(
        "node {to} takes messages together (its interface `quorum`), but those from node {from} come in order, one by one"
    )]
    QuorumsInOrder {
        /// The sender.
        from: NodeId,
        /// The node that takes messages together.
        to: NodeId,
    },
    /// A step of the prefix cannot happen where it stands.
    #[error("step {step} of the prefix cannot happen: {why}")]
    Prefix {
        /// Counted from 1.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
    /// The host itself cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// All initial global states: one for each resolution of the calls of `choose` in the nodes' `init`, in
/// lexicographic order. At least one.
///
/// # Errors
///
/// A node refuses its configuration, or the host cannot provide an instance. A fault in `init` is no error: it is
/// a judgement on the node's local state.
pub fn initial(stepper: &mut Stepper<'_>) -> Result<Vec<Start>, StartError> {
    let none = Start {
        init_choices: Vec::new(),
        initial: Vec::new(),
        path: Vec::new(),
        locals: Vec::new(),
        in_flight: Vec::new(),
    };
    let mut starts = vec![none];
    for node in 0..stepper.lts().scenario().nodes {
        let outcomes = stepper.init(node)?;
        if stepper.known().takes_quorums(node)
            && let Some(from) = stepper.lts().scenario().in_order_to(node)
        {
            return Err(StartError::QuorumsInOrder { from, to: node });
        }
        if starts.len() * outcomes.len() > STARTS_MAX {
            return Err(StartError::TooManyStarts);
        }
        let mut extended = Vec::with_capacity(starts.len() * outcomes.len());
        for start in &starts {
            for outcome in &outcomes {
                if let Some(fault) = stepper.state(outcome.next).fault()
                    && fault.kind == FaultKind::Refused
                {
                    return Err(StartError::Refused(fault.message.clone()));
                }
                let mut start = start.clone();
                start.init_choices.push(outcome.choices.clone());
                start.initial.push(outcome.next);
                start.locals.push(outcome.next);
                start.in_flight.extend(&outcome.sent);
                extended.push(start);
            }
        }
        starts = extended;
    }
    for start in &mut starts {
        let sent = std::mem::take(&mut start.in_flight);
        post(stepper.known(), start, &sent);
    }
    Ok(starts)
}

/// The initial global state in which a trace begins: the one with its answers to `choose` in `init`.
///
/// # Errors
///
/// As for [`initial`]; or no initial state has these answers.
pub fn begin(stepper: &mut Stepper<'_>, trace: &Trace) -> Result<Start, StartError> {
    let starts = initial(stepper)?;
    let recorded = |start: &Start| -> bool {
        let choices: Vec<&[Choice]> = start.init_choices.iter().map(|choices| &**choices).collect();
        trace.init_choices.is_empty() || trace.init_choices.iter().map(|choices| &**choices).eq(choices)
    };
    starts.into_iter().find(recorded).ok_or_else(|| StartError::Prefix {
        step: 0,
        why: "no resolution of the choices in `init` is the recorded one".to_owned(),
    })
}

/// The global state after a trace.
///
/// # Errors
///
/// As for [`begin`]; or a step of the trace cannot happen, or does something else than was recorded.
pub fn follow(stepper: &mut Stepper<'_>, trace: &Trace) -> Result<Start, StartError> {
    let mut start = begin(stepper, trace)?;
    for (index, step) in trace.steps.iter().enumerate() {
        take(stepper, &mut start, step)?.map_err(|why| StartError::Prefix { step: index + 1, why })?;
    }
    Ok(start)
}

/// Takes one recorded step; the inner error says why it cannot happen.
fn take(stepper: &mut Stepper<'_>, start: &mut Start, step: &TraceStep) -> Result<Result<(), String>, MachineError> {
    let node = step.node;
    let Some(&state) = start.locals.get(node as usize) else {
        return Ok(Err(format!("there is no node {node}")));
    };
    let trigger = match find_trigger(stepper, start, step, state)? {
        Ok(trigger) => trigger,
        Err(why) => return Ok(Err(why)),
    };
    let row = stepper.step(state, trigger)?;
    let outcomes = stepper.outcomes(row);
    let is_lost =
        matches!(step.event, TraceEvent::Break { lost: true, .. } | TraceEvent::TransportError { lost: true, .. });
    let is_taken = |outcome: &Outcome| outcome.is_lost == is_lost && *outcome.choices == *step.choices;
    let Some(index) = outcomes.iter().position(is_taken) else {
        return Ok(Err(format!("no outcome of the handler has the choices {:?}", step.choices)));
    };
    let outcome = outcomes[index].clone();
    if let Some(expected) = &step.sent
        && contents(stepper, &outcome.sent) != *expected
    {
        return Ok(Err("it sends other messages than were recorded".to_owned()));
    }
    if let Some(fault) = stepper.state(outcome.next).judgements.iter().find(|judgement| judgement.is_bad()) {
        return Ok(Err(format!("it ends in a finding of its own: {}", describe(fault))));
    }
    let known = stepper.known();
    for message in trigger.message().iter().chain(known.taken_together(trigger)) {
        if known.is_ordered() {
            channels::take(&mut start.in_flight, message, |id| known.message(*id).route());
        } else {
            let position = start.in_flight.binary_search(message).expect("the message was found in flight");
            start.in_flight.remove(position);
        }
    }
    start.locals[node as usize] = outcome.next;
    if known.is_ordered() {
        let standing = &known.state(outcome.next).standing;
        channels::drop_lost(&mut start.in_flight, node, standing, |id| known.message(*id).route());
    }
    post(known, start, &outcome.sent);
    let outcome = u32::try_from(index).expect("outcomes are bounded");
    start.path.push(Step { node, trigger, outcome });
    Ok(Ok(()))
}

/// Takes messages into flight.
fn post(known: &Known, start: &mut Start, sent: &[MessageId]) {
    if !known.is_ordered() {
        start.in_flight.extend(sent);
        start.in_flight.sort_unstable();
        return;
    }
    for id in sent {
        let route = known.message(*id).route();
        // At the start, not all nodes may have a state yet; but then nothing is broken.
        let destination = start.locals.get(route.to as usize);
        if !destination.is_some_and(|local| route.is_lost(&known.state(*local).standing)) {
            channels::insert(&mut start.in_flight, *id, |id| known.message(*id).route());
        }
    }
}

/// The item in flight that can be taken next and is wanted.
fn find_in_flight(known: &Known, start: &Start, is_wanted: impl Fn(&Message) -> bool) -> Option<MessageId> {
    let mut found = None;
    let mut look = |id: &MessageId| {
        if is_wanted(known.message(*id)) {
            found.get_or_insert(*id);
        }
    };
    if known.is_ordered() {
        channels::for_each_next(&start.in_flight, |id| known.message(*id).route(), look);
    } else {
        start.in_flight.iter().for_each(&mut look);
    }
    found
}

/// The recorded quorum as a trigger; the inner error says why the node cannot take it.
fn find_quorum(
    stepper: &mut Stepper<'_>,
    start: &Start,
    (node, name, messages): (NodeId, &str, &[Received]),
    state: LocalStateId,
) -> Result<Result<Trigger, String>, MachineError> {
    let mut found = Vec::with_capacity(messages.len());
    for Received { from, payload } in messages {
        let is_wanted = |message: &Message| (message.from, message.to) == (*from, node) && message.payload == payload.0;
        let Some(message) = find_in_flight(stepper.known(), start, is_wanted) else {
            return Ok(Err(format!("no such message from node {from} to node {node} is in flight")));
        };
        found.push(message);
    }
    Ok(match stepper.as_quorum(state, Some(name), &found)? {
        Some(trigger) => Ok(trigger),
        None => Err(format!("node {node} does not take these messages together as `{name}` there")),
    })
}

/// The recorded event as a trigger, if it is enabled; the inner error says why it is not.
fn find_trigger(
    stepper: &mut Stepper<'_>,
    start: &Start,
    step: &TraceStep,
    state: LocalStateId,
) -> Result<Result<Trigger, String>, MachineError> {
    if let TraceEvent::Quorum { name, messages } = &step.event {
        if stepper.state(state).snapshot.is_none() {
            return Ok(Err(format!("node {} is stuck in a fault", step.node)));
        }
        return find_quorum(stepper, start, (step.node, name, messages), state);
    }
    let trigger = find_other(stepper, start, step, state);
    if let Ok(trigger) = trigger
        && let Some(message) = trigger.message()
        && stepper.role(state, message)? != Role::Alone
    {
        return Ok(Err(format!("node {} does not take this message by itself there", step.node)));
    }
    Ok(trigger)
}

/// The same for all but quorums, whatever role messages have.
fn find_other(
    stepper: &mut Stepper<'_>,
    start: &Start,
    step: &TraceStep,
    state: LocalStateId,
) -> Result<Trigger, String> {
    let lts = stepper.lts();
    match &step.event {
        TraceEvent::Quorum { .. } => unreachable!("a quorum is found apart"),
        TraceEvent::Deliver { from, payload } => {
            let is_wanted = |message: &Message| {
                (message.from, message.to) == (*from, step.node) && !message.is_notice && message.payload == payload.0
            };
            let next = if lts.rules.is_in_order(*from, step.node) { "next" } else { "in flight" };
            find_in_flight(stepper.known(), start, is_wanted)
                .map(Trigger::deliver)
                .ok_or_else(|| format!("no such message from node {from} to node {} is {next}", step.node))
        }
        TraceEvent::TransportError { peer, .. } => {
            let is_wanted = |message: &Message| message.is_notice && (message.from, message.to) == (*peer, step.node);
            find_in_flight(stepper.known(), start, is_wanted)
                .map(Trigger::deliver)
                .ok_or_else(|| format!("node {peer} has not broken its connection to node {}", step.node))
        }
        TraceEvent::Break { peer, .. } => {
            let fault = Trigger::break_with(*peer);
            let is_possible = stepper.state(state).faults.contains(&fault);
            is_possible.then_some(fault).ok_or_else(|| format!("node {} cannot break with node {peer}", step.node))
        }
        TraceEvent::Reset => match stepper.state(state).faults.contains(&Trigger::RESET) {
            true => Ok(Trigger::RESET),
            false => Err(format!("no reset of node {} is left", step.node)),
        },
        TraceEvent::Local { name, cause, payload } => {
            let event = LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() };
            let id = lts.read().find_local_event(&event);
            match id {
                Some(id) if stepper.state(state).local_events.contains(&id) => Ok(Trigger::local(id)),
                _ => Err(format!("the local event `{name}` is not possible at node {} there", step.node)),
            }
        }
    }
}

fn describe(judgement: &Judgement) -> &str {
    match judgement {
        Judgement::Violated { message, .. } | Judgement::Deadlock { message } => message,
        Judgement::Broken { fault, .. } | Judgement::Fault(fault) => &fault.message,
        Judgement::Witnessed { .. } => "a property is reached",
    }
}

/// The trace of a path that begins at an initial state.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn record(
    stepper: &mut Stepper<'_>,
    initial: &[LocalStateId],
    path: &[Step],
) -> Result<Vec<TraceStep>, MachineError> {
    let mut locals = initial.to_vec();
    let mut steps = Vec::with_capacity(path.len());
    for step in path {
        let before = locals[step.node as usize];
        let row = stepper.step(before, step.trigger)?;
        let outcome = stepper.outcomes(row)[step.outcome as usize].clone();
        locals[step.node as usize] = outcome.next;
        let event = match (step.trigger.message(), step.trigger.local_event()) {
            (Some(message), _) => {
                let message = stepper.message(message);
                match message.is_notice {
                    true => TraceEvent::TransportError { peer: message.from, lost: outcome.is_lost },
                    false => TraceEvent::Deliver { from: message.from, payload: Hex(message.payload.clone()) },
                }
            }
            (_, Some(event)) => TraceEvent::from_local(&stepper.lts().local_event(event)),
            _ if step.trigger.quorum().is_some() => quorum_event(stepper, before, step.trigger),
            _ => match step.trigger.fault() {
                Some(FaultEvent::Break(peer)) => TraceEvent::Break { peer, lost: outcome.is_lost },
                _ => TraceEvent::Reset,
            },
        };
        let sent = contents(stepper, &outcome.sent);
        steps.push(TraceStep {
            node: step.node,
            event,
            choices: outcome.choices.to_vec(),
            sent: Some(sent),
            state: None,
        });
    }
    Ok(steps)
}

/// The delivery of a quorum in a local state, by content.
fn quorum_event(stepper: &Stepper<'_>, state: LocalStateId, trigger: Trigger) -> TraceEvent {
    let taken = stepper.known().taken_together(trigger);
    let name = match stepper.known().role(state, taken[0]) {
        Role::Member(kind) => stepper.known().kind(kind).name.clone(),
        _ => unreachable!("a quorum consists of messages that are members of it"),
    };
    let received = |message: &MessageId| {
        let message = stepper.message(*message);
        Received { from: message.from, payload: Hex(message.payload.clone()) }
    };
    let mut messages: Vec<Received> = taken.iter().map(received).collect();
    messages.sort_unstable();
    TraceEvent::Quorum { name, messages }
}

/// Messages by content, each once however often it can be delivered.
fn contents(stepper: &mut Stepper<'_>, messages: &[MessageId]) -> Vec<Sent> {
    let rules = &stepper.lts().rules;
    let mut contents = Vec::with_capacity(messages.len());
    let mut rest = messages.iter();
    while let Some(id) = rest.next() {
        let message = stepper.message(*id);
        if !message.is_notice {
            contents.push(Sent { to: message.to, payload: Hex(message.payload.clone()) });
            // The copies stand side by side.
            for _ in 1..rules.copies(message.from, message.to) {
                rest.next();
            }
        }
    }
    contents
}
