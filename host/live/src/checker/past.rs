//! Earlier paths to violations.

use std::collections::VecDeque;

use host_model::contract::{MachineError, Stop};
use host_model::lts::{Step, Stepper, Trigger};
use host_model::trace::start::Start;
use host_model::trace::{TraceEvent, TraceStep};
use host_search::kernel::{FoundViolation, judge_system_state};

use crate::kinds::Kinds;

/// The paths, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    paths: VecDeque<Vec<TraceStep>>,
    most: usize,
}

impl Past {
    /// An empty list, with room for this many paths.
    pub(super) fn new(most: usize) -> Self {
        Self { paths: VecDeque::new(), most }
    }

    /// Remembers a path that led to a violation.
    pub(super) fn remember(&mut self, steps: &[TraceStep]) {
        let is_same = |path: &Vec<TraceStep>| {
            path.len() == steps.len() && path.iter().zip(steps).all(|(one, other)| is_same_event(one, other))
        };
        if let Some(known) = self.paths.iter().position(is_same) {
            self.paths.remove(known);
        }
        self.paths.push_back(steps.to_vec());
        if self.paths.len() > self.most {
            self.paths.pop_front();
        }
    }

    /// Repeats each path from another state, the latest first: its local events if they are possible, with the same
    /// answers to `choose`, and the resulting messages. Returns the first violation, and the number of steps that were
    /// tried. Polls the stop flag before each path.
    pub(super) fn follow(
        &self,
        stepper: &mut Stepper<'_>,
        kinds: &Kinds,
        start: &Start,
        stop: &dyn Stop,
    ) -> Result<(Option<FoundViolation>, u64), MachineError> {
        let mut work = 0;
        for path in self.paths.iter().rev() {
            if stop.reason().is_some() {
                break;
            }
            if let Some(found) = follow(stepper, kinds, start, path, &mut work)? {
                return Ok((Some(found), work));
            }
        }
        Ok((None, work))
    }
}

fn is_same_event(one: &TraceStep, other: &TraceStep) -> bool {
    one.node == other.node && one.event == other.event && one.choices == other.choices
}

fn follow(
    stepper: &mut Stepper<'_>,
    kinds: &Kinds,
    start: &Start,
    path: &[TraceStep],
    work: &mut u64,
) -> Result<Option<FoundViolation>, MachineError> {
    let mut at = start.clone();
    for recorded in path {
        *work += 1;
        let node = recorded.node;
        let Some(trigger) = corresponding(stepper, kinds, &at, recorded) else { continue };
        let local = at.locals[node as usize];
        if stepper.known().is_over(&at.locals) {
            return Ok(None);
        }
        let row = stepper.step(local, trigger)?;
        let outcomes = stepper.outcomes(row);
        let same = outcomes.iter().position(|outcome| *outcome.choices == *recorded.choices && !outcome.is_lost);
        if outcomes.is_empty() {
            continue;
        }
        let outcome = u32::try_from(same.unwrap_or(0)).expect("a limit keeps outcomes below 2^32");
        at.advance(stepper, Step { node, trigger, outcome })?;
        if let Some((node, judgement)) = judge_system_state(stepper, &at.locals).bad()?.into_iter().next() {
            return Ok(Some(FoundViolation::new(start, &at.path[start.path.len()..], node, judgement)));
        }
    }
    Ok(None)
}

/// The trigger that corresponds to a recorded step: the same local event, or a message of the same kind between the same nodes,
/// preferably with the same content. Faults are not repeated.
fn corresponding(stepper: &Stepper<'_>, kinds: &Kinds, at: &Start, recorded: &TraceStep) -> Option<Trigger> {
    match &recorded.event {
        TraceEvent::Local { name, payload, .. } => {
            let events = &stepper.state(at.locals[recorded.node as usize]).protocol.local_events;
            let is_same = |event: &&host_model::lts::LocalEventId| {
                let event = stepper.lts().local_event(**event);
                event.name == *name && event.payload == payload.0
            };
            events.iter().find(is_same).map(|event| Trigger::local(*event))
        }
        TraceEvent::Deliver { from, payload } => {
            let mut next = Vec::new();
            at.in_flight.for_each_next(&stepper.known().links(&at.locals), |message| next.push(*message));
            let is_between = |id: &host_model::lts::MessageId| {
                let message = stepper.message(*id);
                message.from == *from && message.to == recorded.node && !message.is_notice
            };
            let between: Vec<_> = next.into_iter().filter(is_between).collect();
            let same = between.iter().find(|id| stepper.message(**id).payload == payload.0);
            let similar = || between.iter().find(|id| kinds.of(&stepper.message(**id).payload) == kinds.of(&payload.0));
            same.or_else(similar).map(|id| Trigger::deliver(*id))
        }
        _ => None,
    }
}
