//! The global states where a search begins: after `init`, or after a given trace.

use crate::lts::{LocalStateId, MessageId, Step, Trigger};
use crate::machine::{Choice, FaultKind, LocalEvent, MachineError};
use crate::property::Judgement;
use crate::stepper::Stepper;
use crate::trace::{Hex, Sent, Trace, TraceEvent, TraceStep};

/// A global state to begin from, with the path that leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The answers to `choose` in `init`, a list for each node.
    pub init_choices: Vec<Box<[Choice]>>,
    /// The local states after `init`, one a node.
    pub initial: Vec<LocalStateId>,
    /// The events of the prefix; empty without one.
    pub path: Vec<Step>,
    /// The local states, one a node.
    pub locals: Vec<LocalStateId>,
    /// The messages in flight, sorted; a message in flight twice stands twice.
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
        start.in_flight.sort_unstable();
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
    let trigger = match find_trigger(stepper, start, step, state) {
        Ok(trigger) => trigger,
        Err(why) => return Ok(Err(why)),
    };
    let row = stepper.step(state, trigger)?;
    let outcomes = stepper.outcomes(row);
    let Some(index) = outcomes.iter().position(|outcome| *outcome.choices == *step.choices) else {
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
    if let Some(message) = trigger.message() {
        let position = start.in_flight.binary_search(&message).expect("the message was found in flight");
        start.in_flight.remove(position);
    }
    start.locals[node as usize] = outcome.next;
    start.in_flight.extend(&outcome.sent);
    start.in_flight.sort_unstable();
    let outcome = u32::try_from(index).expect("outcomes are bounded");
    start.path.push(Step { node, trigger, outcome });
    Ok(Ok(()))
}

/// The recorded event as a trigger, if it is enabled.
fn find_trigger(
    stepper: &mut Stepper<'_>,
    start: &Start,
    step: &TraceStep,
    state: LocalStateId,
) -> Result<Trigger, String> {
    let lts = stepper.lts();
    match &step.event {
        TraceEvent::Deliver { from, payload } => {
            let message = lts.read().find_message(*from, step.node, &payload.0);
            match message {
                Some(message) if start.in_flight.binary_search(&message).is_ok() => Ok(Trigger::deliver(message)),
                _ => Err(format!("no such message from node {from} to node {} is in flight", step.node)),
            }
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
        Judgement::Violated { message, .. } => message,
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
        let local = &mut locals[step.node as usize];
        let row = stepper.step(*local, step.trigger)?;
        let outcome = stepper.outcomes(row)[step.outcome as usize].clone();
        *local = outcome.next;
        let event = match (step.trigger.message(), step.trigger.local_event()) {
            (Some(message), _) => {
                let message = stepper.message(message);
                TraceEvent::Deliver { from: message.from, payload: Hex(message.payload.clone()) }
            }
            (_, Some(event)) => TraceEvent::from_local(&stepper.lts().local_event(event)),
            _ => TraceEvent::Reset,
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

/// Messages by content.
fn contents(stepper: &mut Stepper<'_>, messages: &[MessageId]) -> Vec<Sent> {
    let content = |id: &MessageId| {
        let message = stepper.message(*id);
        Sent { to: message.to, payload: Hex(message.payload.clone()) }
    };
    messages.iter().map(content).collect()
}
