//! The recorded steps of a path of a search.

use crate::contract::hex::Hex;
use crate::contract::{MachineError, Role};
use crate::lts::{LocalStateId, MessageId, Step, Stepper, Trigger};
use crate::trace::document::{Received, Sent, TraceEvent, TraceStep};

/// The trace of a path that begins at an initial state.
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
        let event = event(stepper, before, step.trigger, outcome.is_lost);
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

/// The event of a trigger in a local state, by content. `is_lost`: the node does not notice that a connection is broken.
pub fn event(stepper: &Stepper<'_>, state: LocalStateId, trigger: Trigger, is_lost: bool) -> TraceEvent {
    match (trigger.message().or(trigger.lost()), trigger.local_event()) {
        (Some(message), _) => {
            let message = stepper.message(message);
            match message.is_notice {
                _ if trigger.lost().is_some() => {
                    TraceEvent::Lose { from: message.from, payload: Hex(message.payload.clone()) }
                }
                true => TraceEvent::TransportError { peer: message.from, lost: is_lost },
                false => TraceEvent::Deliver { from: message.from, payload: Hex(message.payload.clone()) },
            }
        }
        (_, Some(event)) => TraceEvent::from_local(&stepper.lts().local_event(event)),
        _ if trigger.quorum().is_some() => quorum_event(stepper, state, trigger),
        _ => {
            let event = trigger.fault().expect("a trigger is a message, a quorum, a local event or a fault");
            TraceEvent::Fault { event, lost: is_lost }
        }
    }
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

/// Messages by content, each once, whatever the number of its deliveries.
pub(crate) fn contents(stepper: &mut Stepper<'_>, messages: &[MessageId]) -> Vec<Sent> {
    let rules = &stepper.lts().rules;
    let mut contents = Vec::with_capacity(messages.len());
    let mut rest = messages.iter();
    while let Some(id) = rest.next() {
        let message = stepper.message(*id);
        if !message.is_notice {
            contents.push(Sent { to: message.to, payload: Hex(message.payload.clone()) });
            // The copies are adjacent.
            for _ in 1..rules.copies(message.from, message.to) {
                rest.next();
            }
        }
    }
    contents
}
