//! Enabled events: their lists, their previews, and taking them.

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::page::shapes::{Enabled, EventKind, Moved, Outcome, Preview, Sent};
use host_inspect::traced_state::Action;
use host_inspect::words;
use host_model::trace;

use super::{Engine, json};
use crate::refused::{Answer, Refused};

/// Outcomes of an event that are listed.
pub(super) const OUTCOMES_MAX: usize = 256;

impl Engine<'_> {
    /// All actions at a place, in a fixed order: the enabled events as in `host debug`, then losses of messages.
    pub(super) fn actions(&mut self, place: Place) -> Result<Vec<Action>, Refused> {
        let mut actions = self.moments.enabled(place)?;
        actions.extend(self.moments.losses(place));
        Ok(actions)
    }

    pub(super) fn enabled(&mut self, place: Place) -> Result<Vec<Enabled>, Refused> {
        let actions = self.actions(place)?;
        let told = self.moments.told(place, &actions);
        let mut enabled = Vec::new();
        for (number, (action, told)) in actions.iter().zip(told).enumerate() {
            let kind = EventKind::from(&self.moments.trace_event(place, action));
            let outcomes = self.outcomes(place, action)?;
            enabled.push(Enabled { action: number, node: action.node, kind, text: clean(&told.full), outcomes });
        }
        Ok(enabled)
    }

    fn outcomes(&mut self, place: Place, action: &Action) -> Result<Vec<Outcome>, Refused> {
        let count = self.moments.outcomes(place, action)?.min(OUTCOMES_MAX);
        let mut outcomes = Vec::new();
        for outcome in 0..count {
            let taken = self.moments.with_outcome(place, action, outcome)?;
            let mut text = words::choices(&taken.choices, self.moments.names());
            text.push_str(if taken.is_lost { ", and does not notice" } else { "" });
            let text = text.trim_start_matches(", ");
            let child = self.known(place, &taken);
            outcomes.push(Outcome { outcome, text: (!text.is_empty()).then(|| clean(text)), child });
        }
        Ok(outcomes)
    }

    /// The place to which an action with its choices has led before.
    pub(super) fn known(&mut self, place: Place, taken: &Action) -> Option<Place> {
        let children = self.moments.children(place).to_vec();
        if children.is_empty() {
            return None;
        }
        let trigger = taken.cause.trigger(self.moments.stepper_mut());
        let local = self.moments.traced(place).locals()[taken.node as usize];
        let event = trace::event(self.moments.stepper(), local, trigger, taken.is_lost);
        children.into_iter().find(|child| {
            let step = self.moments.step_at(*child);
            step.is_some_and(|step| step.node == taken.node && step.event == event && *step.choices == *taken.choices)
        })
    }

    /// An action of a place and the number of an outcome, from the numbers of a request.
    pub(super) fn chosen(&mut self, place: Place, action: usize, outcome: usize) -> Result<Action, Refused> {
        let place = self.place(place)?;
        let actions = self.actions(place)?;
        let Some(action) = actions.get(action) else {
            let count = actions.len();
            return Err(Refused::missing(format_args!(
                "there is no action {action} at place {place}, which has {count}"
            )));
        };
        let outcomes = self.moments.outcomes(place, action)?;
        match outcome < outcomes {
            true => Ok(action.clone()),
            false => {
                Err(Refused::missing(format_args!("there is no outcome {outcome} of this event, which has {outcomes}")))
            }
        }
    }

    /// Takes an action.
    pub fn take(&mut self, place: Place, action: usize, outcome: usize) -> Answer {
        let action = self.chosen(place, action, outcome)?;
        match self.moments.take(place, &action, outcome)? {
            Some(to) => {
                // The page knows how it came to the place, which may be a long way.
                let mut line = vec![place, to];
                self.continue_line(&mut line);
                json(&Moved { place: to, line })
            }
            None => Err(Refused::conflict("this event changes nothing here")),
        }
    }

    /// The effects of an action that is not taken.
    pub fn preview(&mut self, place: Place, action: usize, outcome: usize) -> Answer {
        let action = self.chosen(place, action, outcome)?;
        let action = self.moments.with_outcome(place, &action, outcome)?;
        let Some((traced, step)) = self.moments.peek(place, &action)? else {
            return Err(Refused::conflict("this event changes nothing here"));
        };
        let before = self.moments.traced(place).locals()[step.node as usize];
        let sent = step.sent.iter().flatten();
        let sent = sent.map(|sent| Sent { from: step.node, to: sent.to, text: self.moments.message(&sent.payload.0) });
        let sent = sent.collect();
        json(&Preview {
            node: step.node,
            rows: self.rows(before, traced.locals()[step.node as usize]),
            sent,
            standings: self.standings_of(&traced)?,
        })
    }
}
