//! An execution of some of the events of a trace.

use std::ops::Range;

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{LocalStateId, MessageId, Step, Stepper};
use host_model::scenario::InFlight;
use host_search::outlook::execution::Proof;

use crate::traced_state::{Action, Event, MatchRule, Tag, TracedState};

/// An execution that shows what is looked for.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) events: Vec<Event>,
    pub(super) path: Vec<Step>,
    pub(super) judgement: Judgement,
    /// How it breaks a promise, if that is what is looked for.
    pub(super) broken: Option<Broken>,
}

/// A global state, without the events that have sent its messages.
pub(super) type State = (Vec<LocalStateId>, InFlight<MessageId>);

/// How an execution breaks a promise.
#[derive(Clone, Debug, Default)]
pub(super) struct Broken {
    /// This many of its events, at the end, are the cycle.
    pub(super) cycle: usize,
    pub(super) proof: Proof,
    /// The states of the cycle, each with the event that leads on from there.
    pub(super) entries: Vec<(State, Tag)>,
}

impl Broken {
    /// The parts of an execution of this many events inside which they may change places: the way to the critical step, or to the cycle,
    /// and the cycle.
    pub(super) fn parts(&self, len: usize) -> Vec<Range<usize>> {
        let way = len - self.cycle - usize::from(self.proof.is_critical && len > 0);
        vec![0..way, len - self.cycle..len]
    }
}

/// Takes the event that is most like another one, if there is one and it changes something: returns it as it was taken, as a step, and
/// with the local state before.
pub(super) fn take_like(
    stepper: &mut Stepper<'_>,
    traced: &mut TracedState,
    event: &Event,
    rule: MatchRule,
) -> Result<Option<(Event, Step, LocalStateId)>, MachineError> {
    let Some(action) = traced.like(stepper, &event.action, rule)? else { return Ok(None) };
    let before = traced.locals()[action.node as usize];
    let Some(step) = traced.take(stepper, &action, event.tag)? else { return Ok(None) };
    let row = stepper.known().row(before, step.trigger).expect("it was executed just now");
    let outcome = &stepper.outcomes(row)[step.outcome as usize];
    // With the choices that were made in the end.
    let action = Action { choices: outcome.choices.clone(), is_lost: outcome.is_lost, ..action };
    Ok(Some((Event { tag: event.tag, action }, step, before)))
}
