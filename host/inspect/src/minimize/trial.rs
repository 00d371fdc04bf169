//! An execution of some of the events of a trace.

use std::ops::Range;

use host_model::contract::{Judgement, MachineError};
use host_model::lts::{LocalStateId, MessageId, Step, Stepper};
use host_model::scenario::InFlight;
use host_search::outlook::execution::Proof;

use crate::traced_state::{Action, Event, MatchRule, Tag, TracedState};

/// An execution that reaches the goal.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) events: Vec<Event>,
    pub(super) path: Vec<Step>,
    pub(super) judgement: Judgement,
    /// The way in which it breaks a promise, if that is the goal.
    pub(super) broken: Option<Broken>,
}

/// A global state, without the origins of its messages.
pub(super) type State = (Vec<LocalStateId>, InFlight<MessageId>);

/// The way in which an execution breaks a promise.
#[derive(Clone, Debug, Default)]
pub(super) struct Broken {
    /// The number of its last events that form the cycle.
    pub(super) cycle: usize,
    pub(super) proof: Proof,
    /// The states of the cycle, each with the event that continues from it.
    pub(super) entries: Vec<(State, Tag)>,
}

impl Broken {
    /// The parts of an execution of this length inside which events may be reordered: the path to the critical step, or to the cycle,
    /// and the cycle.
    pub(super) fn parts(&self, len: usize) -> Vec<Range<usize>> {
        let way = len - self.cycle - usize::from(self.proof.is_critical && len > 0);
        vec![0..way, len - self.cycle..len]
    }
}

/// Takes the event that is most similar to another one, if one exists and changes something; returns it as taken, as a step, and with
/// the local state before.
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
    // With the choices of the outcome that was taken.
    let action = Action { choices: outcome.choices.clone(), is_lost: outcome.is_lost, ..action };
    Ok(Some((Event { tag: event.tag, action }, step, before)))
}
