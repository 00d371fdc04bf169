//! The ways from a candidate to others: events that are enabled, with the lines that they explain, and observations of states.

use host_model::contract::{MachineError, NodeId};
use host_model::lts::{LocalStateId, MessageId, Outcome, Step, Trigger, enabled, is_in_order};

use crate::candidate::{Candidate, HIDDEN, Last, Move};
use crate::facts::{Facts, Happened};
use crate::line::{Event, LineId, Sending};
use crate::log::Log;

/// The most events without a line in a row at each node, and whether that is assumed of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) events_max: u32,
    pub(crate) is_assumed: bool,
}

/// Finds moves.
pub(crate) struct Mover<'s, 'l> {
    pub(crate) facts: &'s mut Facts<'l>,
    pub(crate) log: &'s Log,
    /// Per node.
    pub(crate) gaps: &'s [Gap],
    /// Whether the bound on events without a line has left something out.
    pub(crate) is_cut: bool,
}

/// The lines that an event can explain.
struct Options {
    /// The most of them: each smaller number is possible as well, since a later event may have them.
    lines_max: u32,
    /// Whether it can have none.
    may_hide: bool,
}

impl Mover<'_, '_> {
    /// All moves from a candidate that have to be tried, those with the first lines first.
    pub(crate) fn moves(&mut self, from: &Candidate) -> Result<Vec<Move>, MachineError> {
        let enabled = enabled(&mut self.facts.stepper, &from.locals, &from.in_flight)?;
        if let Some(ample) = self.ample(from, &enabled)? {
            return Ok(ample);
        }
        let mut moves = Vec::new();
        for (node, triggers) in (0..).zip(&enabled) {
            self.observations(from, node, &mut moves)?;
            for trigger in triggers {
                self.of_trigger(from, node, *trigger, &mut moves)?;
            }
        }
        let last = from.last.as_ref();
        moves.retain(|taken| last.is_none_or(|last| !self.is_out_of_order(from, last, taken)));
        moves.sort_by_key(|taken| (taken.rank, std::cmp::Reverse(taken.lines)));
        Ok(moves)
    }

    /// Whether an event could happen before the last one, and has to: of two orders of independent events one is tried, the one in
    /// which the event with the smaller rank comes first.
    fn is_out_of_order(&self, from: &Candidate, last: &Last, taken: &Move) -> bool {
        if taken.node == last.node || (taken.rank, taken.node) > (last.rank, last.node) {
            return false;
        }
        let known = self.facts.stepper.known();
        if let Some(step) = taken.step {
            let ends = known.row(from.locals[taken.node as usize], step.trigger).is_some_and(|row| {
                let outcome = &known.outcomes(row)[step.outcome as usize];
                known.brief(outcome.next).is_stuck
            });
            if ends || known.taken(step.trigger).any(|message| last.sent.contains(&message)) {
                return false;
            }
        }
        // The last event may be in front of this one in the log.
        let first = from.positions[taken.node as usize];
        let lines = (first..first + taken.lines).filter_map(|position| self.log.at(taken.node, position));
        lines.into_iter().all(|line| self.log.line(line).after.is_empty())
    }

    /// The moves of one node alone, if they are all that have to be tried: its next event is certainly one with the next line, and no
    /// event of another node enables or disables any that could be. An empty list says that the candidate is refused.
    fn ample(&mut self, from: &Candidate, enabled: &[Vec<Trigger>]) -> Result<Option<Vec<Move>>, MachineError> {
        if self.facts.stepper.lts().scenario().has_connections() {
            return Ok(None);
        }
        let mut next: Vec<(LineId, NodeId)> = Vec::new();
        for (node, position) in (0..).zip(&from.positions) {
            if from.gaps[node as usize] >= self.gaps[node as usize].events_max
                && let Some(line) = self.log.at(node, *position)
                && self.is_due(from, line)
            {
                next.push((line, node));
            }
        }
        next.sort_unstable();
        for (line, node) in next {
            let Some(triggers) = self.certain(line, &enabled[node as usize]) else { continue };
            let mut moves = Vec::new();
            for trigger in triggers {
                self.of_trigger(from, node, trigger, &mut moves)?;
            }
            if moves.iter().any(|taken| self.ends(from, taken)) {
                continue;
            }
            // Events of the node without a line are not looked at.
            self.is_cut |= !self.gaps[node as usize].is_assumed;
            moves.iter_mut().for_each(|taken| taken.is_ample = true);
            moves.sort_by_key(|taken| std::cmp::Reverse(taken.lines));
            return Ok(Some(moves));
        }
        Ok(None)
    }

    /// The triggers that can have a line now or later, if these are the same; none if others can follow.
    fn certain(&self, line: LineId, enabled: &[Trigger]) -> Option<Vec<Trigger>> {
        let line = self.log.line(line);
        let stepper = &self.facts.stepper;
        match &line.event {
            Event::Local { .. } => {
                Some(enabled.iter().copied().filter(|trigger| trigger.local_event().is_some()).collect())
            }
            Event::Fault { .. } => Some(enabled.iter().copied().filter(|trigger| trigger.fault().is_some()).collect()),
            Event::Deliver { from: Some(from), message } if !stepper.known().takes_quorums(line.node) => {
                let is_ordered = is_in_order(stepper, *from, line.node);
                let of_sender = |trigger: &Trigger| {
                    trigger.message().is_some_and(|id| {
                        let found = stepper.message(id);
                        found.from == *from && (is_ordered || Some(&found.payload) == message.payload.as_ref())
                    })
                };
                let found: Vec<Trigger> = enabled.iter().copied().filter(of_sender).collect();
                let is_certain = !found.is_empty()
                    && (message.payload.is_some() || is_ordered)
                    && (!is_ordered || !stepper.known().has_losses());
                is_certain.then_some(found)
            }
            _ => None,
        }
    }

    /// Whether a move leads to a node that is stuck in a fault.
    fn ends(&self, from: &Candidate, taken: &Move) -> bool {
        let known = self.facts.stepper.known();
        let Some(step) = taken.step else { return false };
        let row = known.row(from.locals[taken.node as usize], step.trigger);
        row.is_some_and(|row| known.brief(known.outcomes(row)[step.outcome as usize].next).is_stuck)
    }

    /// Whether everything has happened that is known to have happened before a line.
    pub(crate) fn is_due(&self, from: &Candidate, line: LineId) -> bool {
        self.log.line(line).after.iter().all(|before| {
            let node = self.log.line(*before).node;
            self.log.position(*before) < from.positions[node as usize]
        })
    }

    /// The observation of a state in which the node is.
    fn observations(&mut self, from: &Candidate, node: NodeId, moves: &mut Vec<Move>) -> Result<(), MachineError> {
        let Some(line) = self.log.at(node, from.positions[node as usize]) else { return Ok(()) };
        if !matches!(self.log.line(line).event, Event::State) || !self.is_due(from, line) {
            return Ok(());
        }
        if self.facts.is_in(self.log.line(line), from.locals[node as usize])?.is_ok() {
            moves.push(Move { node, step: None, lines: 1, rank: line, is_hidden: false, is_ample: false });
        }
        Ok(())
    }

    /// The moves of a trigger: one per outcome and number of lines.
    fn of_trigger(
        &mut self,
        from: &Candidate,
        node: NodeId,
        trigger: Trigger,
        moves: &mut Vec<Move>,
    ) -> Result<(), MachineError> {
        let local = from.locals[node as usize];
        let next = self.log.at(node, from.positions[node as usize]);
        let gap = self.gaps[node as usize];
        let may_hide = from.gaps[node as usize] < gap.events_max;
        // Handlers run only where they can matter. A loss is an event that no node notices.
        if !may_hide && trigger.lost().is_none() && !self.may_matter(from, next, local, trigger)? {
            self.is_cut |= !gap.is_assumed;
            return Ok(());
        }
        let row = self.facts.stepper.step(local, trigger)?;
        let outcomes: Vec<Outcome> = self.facts.stepper.outcomes(row).to_vec();
        if outcomes.is_empty() && self.is_idle_fault(from, next, local, trigger)? {
            let (lines, rank) = (1, next.unwrap_or(HIDDEN));
            moves.push(Move { node, step: None, lines, rank, is_hidden: false, is_ample: false });
        }
        for (index, outcome) in (0..).zip(&outcomes) {
            let happened = Happened { trigger, outcome };
            let step = Step { node, trigger, outcome: index };
            if trigger.lost().is_some() || outcome.is_lost {
                let (lines, rank) = (0, HIDDEN);
                moves.push(Move { node, step: Some(step), lines, rank, is_hidden: false, is_ample: false });
                continue;
            }
            let Options { lines_max, may_hide } = self.options(from, node, happened)?;
            let rank = next.filter(|_| lines_max > 0).unwrap_or(HIDDEN);
            for lines in (1..=lines_max).rev() {
                moves.push(Move { node, step: Some(step), lines, rank, is_hidden: false, is_ample: false });
            }
            if may_hide {
                let (lines, rank) = (0, HIDDEN);
                moves.push(Move { node, step: Some(step), lines, rank, is_hidden: true, is_ample: false });
            }
        }
        Ok(())
    }

    /// Whether an event of a node that may not have one without a line can have the next line, as far as it shows without running a
    /// handler.
    fn may_matter(
        &mut self,
        from: &Candidate,
        next: Option<LineId>,
        local: LocalStateId,
        trigger: Trigger,
    ) -> Result<bool, MachineError> {
        // A break that the node does not notice has no line.
        let is_break = trigger.fault().is_some_and(|fault| fault.peer().is_some());
        let is_notice = trigger.message().is_some_and(|id| self.facts.stepper.message(id).is_notice);
        if is_break || is_notice {
            return Ok(true);
        }
        let Some(next) = next else { return Ok(false) };
        let line = self.log.line(next);
        Ok(match line.event {
            Event::State => true,
            _ if !self.is_due(from, next) => false,
            // Only the handler shows what is sent.
            Event::Send(_) => true,
            _ => self.facts.begins(line, local, trigger)?.is_ok(),
        })
    }

    /// Whether the next line is about a fault that changes nothing, such as a reset right after the start. It is no event of the model.
    fn is_idle_fault(
        &mut self,
        from: &Candidate,
        next: Option<LineId>,
        local: LocalStateId,
        trigger: Trigger,
    ) -> Result<bool, MachineError> {
        let Some(next) = next.filter(|next| trigger.fault().is_some() && self.is_due(from, *next)) else {
            return Ok(false);
        };
        let line = self.log.line(next);
        let is_fault = matches!(line.event, Event::Fault { .. }) && self.facts.begins(line, local, trigger)?.is_ok();
        let sends = line.sent.as_ref().is_some_and(|sent| !sent.is_empty());
        Ok(is_fault && !sends && self.facts.is_in(line, local)?.is_ok())
    }

    /// The lines that an event can explain.
    fn options(&mut self, from: &Candidate, node: NodeId, happened: Happened<'_>) -> Result<Options, MachineError> {
        let gap = self.gaps[node as usize];
        let used = from.gaps[node as usize];
        let first = from.positions[node as usize];
        let sent = self.facts.messages_of(happened.outcome);
        let mut unseen = &sent[..];
        let (mut lines_max, mut is_over) = (0, false);
        while let Some(id) = self.log.at(node, first + lines_max) {
            let line = self.log.line(id);
            if !self.is_due(from, id) {
                break;
            }
            let fits = match &line.event {
                Event::Send(_) if is_over => false,
                Event::Send(sending) => self.find(sending, &mut unseen)?,
                Event::State => {
                    is_over = true;
                    self.facts.is_in(line, happened.outcome.next)?.is_ok()
                }
                _ if lines_max > 0 => false,
                _ => {
                    self.facts.begins(line, from.locals[node as usize], happened.trigger)?.is_ok()
                        && self.facts.ends(line, happened)?.is_ok()
                }
            };
            if !fits {
                break;
            }
            lines_max += 1;
        }
        let is_useless = self.is_useless(from, node, happened);
        let mut may_hide = used < gap.events_max;
        if !may_hide && !is_useless {
            // The state afterwards may be observed later, where something else has to happen before.
            may_hide = used == gap.events_max && lines_max == 0 && self.is_seen_later(from, node, happened)?;
            self.is_cut |= !may_hide && !gap.is_assumed;
        }
        Ok(Options { lines_max, may_hide: may_hide && !is_useless })
    }

    /// Whether the next line is about the state after an event, and is not due yet.
    fn is_seen_later(&mut self, from: &Candidate, node: NodeId, happened: Happened<'_>) -> Result<bool, MachineError> {
        let Some(id) = self.log.at(node, from.positions[node as usize]) else { return Ok(false) };
        let line = self.log.line(id);
        let is_later = matches!(line.event, Event::State) && !self.is_due(from, id);
        Ok(is_later && self.facts.is_in(line, happened.outcome.next)?.is_ok())
    }

    /// Takes the first of the messages that fits, and those before it.
    fn find(&mut self, sending: &Sending, unseen: &mut &[MessageId]) -> Result<bool, MachineError> {
        for (index, id) in unseen.iter().enumerate() {
            if self.facts.sends("", sending, *id)?.is_ok() {
                *unseen = &unseen[index + 1..];
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an event without a line makes no difference: a message arrives where it changes nothing, and no message waits behind it.
    /// The same execution without it has more messages in flight, which enables at least as much.
    fn is_useless(&self, from: &Candidate, node: NodeId, happened: Happened<'_>) -> bool {
        let stepper = &self.facts.stepper;
        let Some(message) = happened.trigger.message() else { return false };
        let changes = happened.outcome.next != from.locals[node as usize] || !happened.outcome.sent.is_empty();
        let found = stepper.message(message);
        !changes && !found.is_notice && !is_in_order(stepper, found.from, node)
    }
}
