//! The reason why a candidate goes no further: per node its next line, and the enabled events with the first field in which each differs.

use host_model::contract::{MachineError, NodeId};
use host_model::lts::{Outcome, Trigger, enabled};
use host_model::trace;

use crate::candidate::Candidate;
use crate::facts::{Facts, Happened};
use crate::fits::{Closeness, Difference};
use crate::line::{Event, LineId};
use crate::log::Log;
use crate::verdict::{Alternative, Blocked, Furthest};

/// Explains a candidate from which no move leads on.
pub(crate) fn refusal(
    facts: &mut Facts<'_>,
    log: &Log,
    candidate: &Candidate,
    furthest: &mut Furthest,
) -> Result<(), MachineError> {
    let stuck = facts.stepper.known().stuck(&candidate.locals);
    furthest.stuck = stuck.map(|(node, fault)| (node, fault.to_string()));
    let enabled = enabled(&mut facts.stepper, &candidate.locals, &candidate.in_flight)?;
    for (node, triggers) in (0..).zip(&enabled) {
        let Some(line) = log.at(node, candidate.positions[node as usize]) else { continue };
        let is_open =
            |before: &&LineId| log.position(**before) >= candidate.positions[log.line(**before).node as usize];
        let waits_for: Vec<LineId> = log.line(line).after.iter().filter(is_open).copied().collect();
        let mut alternatives = Vec::new();
        let mut explaining = Explaining { facts, log, candidate, node, line };
        explaining.state(&mut alternatives)?;
        for trigger in triggers {
            explaining.event(*trigger, &mut alternatives)?;
        }
        alternatives.sort_by_key(|alternative| std::cmp::Reverse(closeness(alternative)));
        furthest.blocked.push(Blocked { line, waits_for, alternatives });
    }
    let rank = |blocked: &Blocked| {
        let closest = blocked.alternatives.first().map(closeness);
        (std::cmp::Reverse(closest.filter(|_| blocked.waits_for.is_empty())), blocked.line)
    };
    furthest.blocked.sort_by_key(rank);
    Ok(())
}

/// An event that differs in nothing is the closest.
fn closeness(alternative: &Alternative) -> (bool, Option<Closeness>) {
    let closeness = alternative.difference.as_ref().map(|difference| difference.closeness);
    (closeness.is_none(), closeness)
}

struct Explaining<'e, 'l> {
    facts: &'e mut Facts<'l>,
    log: &'e Log,
    candidate: &'e Candidate,
    node: NodeId,
    line: LineId,
}

impl Explaining<'_, '_> {
    /// The present state, for a line about a state.
    fn state(&mut self, alternatives: &mut Vec<Alternative>) -> Result<(), MachineError> {
        let line = self.log.line(self.line);
        if matches!(line.event, Event::State) {
            let local = self.candidate.locals[self.node as usize];
            let difference = self.facts.is_in(line, local)?.err();
            alternatives.push(Alternative { event: None, difference });
        }
        Ok(())
    }

    /// An event: the outcome that comes closest.
    fn event(&mut self, trigger: Trigger, alternatives: &mut Vec<Alternative>) -> Result<(), MachineError> {
        let local = self.candidate.locals[self.node as usize];
        if trigger.lost().is_some() {
            return Ok(());
        }
        let row = self.facts.stepper.step(local, trigger)?;
        let outcomes: Vec<Outcome> = self.facts.stepper.outcomes(row).to_vec();
        let mut closest: Option<Alternative> = None;
        for outcome in outcomes.iter().filter(|outcome| !outcome.is_lost) {
            let difference = self.difference(Happened { trigger, outcome })?;
            let event = Some(trace::event(&self.facts.stepper, local, trigger, outcome.is_lost));
            let alternative = Alternative { event, difference };
            if closest.as_ref().is_none_or(|known| closeness(known) < closeness(&alternative)) {
                closest = Some(alternative);
            }
        }
        alternatives.extend(closest);
        Ok(())
    }

    fn difference(&mut self, happened: Happened<'_>) -> Result<Option<Difference>, MachineError> {
        let line = self.log.line(self.line);
        let local = self.candidate.locals[self.node as usize];
        match &line.event {
            Event::State => Ok(self.facts.is_in(line, happened.outcome.next)?.err()),
            Event::Send(sending) => {
                let mut first = None;
                for id in self.facts.messages_of(happened.outcome) {
                    match self.facts.sends("", sending, id)? {
                        Ok(()) => return Ok(None),
                        Err(difference) => first = first.or(Some(difference)),
                    }
                }
                Ok(Some(first.unwrap_or_else(|| Difference::new(Closeness::Event, "sent", "a message", "nothing"))))
            }
            _ => match self.facts.begins(line, local, happened.trigger)? {
                Ok(()) => Ok(self.facts.ends(line, happened)?.err()),
                Err(difference) => Ok(Some(difference)),
            },
        }
    }
}
