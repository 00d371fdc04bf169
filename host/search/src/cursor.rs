//! A global state that moves along a path and back again: the shared ground of the strategies that search global states.

use std::collections::BTreeSet;

use host_model::fingerprint::{self, Fingerprint};
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};
use host_model::machine::{MachineError, NodeId};
use host_model::property::{ClassId, Judgement};
use host_model::start::Start;
use host_model::stepper::{OutcomesRef, Stepper};
use rustc_hash::FxHashSet;

use crate::kernel::Limits;

/// A successor of the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The event that leads there.
    pub step: Step,
    /// The outcomes of its trigger.
    pub row: OutcomesRef,
    /// The local state of its node there.
    pub next: LocalStateId,
    /// The global state there.
    pub fingerprint: Fingerprint,
}

/// How to leave a state again.
struct Frame {
    row: OutcomesRef,
    before: LocalStateId,
    fingerprint: Fingerprint,
    locals_fingerprint: Fingerprint,
}

/// The current global state and the path to it.
pub struct Cursor {
    locals: Vec<LocalStateId>,
    /// Sorted; a message in flight twice stands twice.
    in_flight: Vec<MessageId>,
    /// Local events of each node on the path.
    local_events: Vec<u32>,
    local_events_max: Option<u32>,
    /// What a local event of each node adds to the fingerprint: under a bound, states with different budgets are
    /// different.
    counters: Vec<Fingerprint>,
    fingerprint: Fingerprint,
    locals_fingerprint: Fingerprint,
    path: Vec<Step>,
    frames: Vec<Frame>,
}

impl Cursor {
    /// At a start state.
    pub fn new(stepper: &mut Stepper<'_>, start: &Start, limits: &Limits) -> Self {
        let locals_fingerprint =
            start.locals.iter().fold(0, |sum: Fingerprint, id| sum.wrapping_add(stepper.state(*id).fingerprint));
        let fingerprint = (start.in_flight.iter())
            .fold(locals_fingerprint, |sum, id| sum.wrapping_add(stepper.message(*id).fingerprint));
        let counter = |node| limits.local_events.map_or(0, |_| fingerprint::of_counter(b"local events", node));
        Self {
            locals: start.locals.clone(),
            in_flight: start.in_flight.clone(),
            local_events: vec![0; start.locals.len()],
            local_events_max: limits.local_events,
            counters: (0..start.locals.len() as NodeId).map(counter).collect(),
            fingerprint,
            locals_fingerprint,
            path: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// The local states, one a node.
    pub fn locals(&self) -> &[LocalStateId] {
        &self.locals
    }

    /// The fingerprint of the global state, used-up budgets included.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The events from the start state.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// Number of events from the start state.
    pub fn depth(&self) -> u32 {
        self.path.len() as u32
    }

    /// Puts what can happen here into `enabled`: the distinct messages in flight in the order of their ids, then the
    /// local events node by node. Returns whether the bound on local events left something out.
    pub fn enabled(&self, stepper: &mut Stepper<'_>, enabled: &mut Vec<(NodeId, Trigger)>) -> bool {
        enabled.clear();
        let mut last = None;
        for message in &self.in_flight {
            if last.replace(*message) == Some(*message) {
                continue;
            }
            let node = stepper.message(*message).to;
            // Nothing happens any more at a node that is stuck in a fault.
            if stepper.state(self.locals[node as usize]).snapshot.is_some() {
                enabled.push((node, Trigger::deliver(*message)));
            }
        }
        let mut is_cut = false;
        for (node, local) in (0..).zip(&self.locals) {
            let events = &stepper.state(*local).local_events;
            if self.local_events_max.is_some_and(|max| self.local_events[node as usize] >= max) {
                is_cut |= !events.is_empty();
            } else {
                enabled.extend(events.iter().map(|event| (node, Trigger::local(*event))));
            }
        }
        is_cut
    }

    /// Adds the successors by one trigger to `children`: one for each outcome of the handler.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    #[inline]
    pub fn children(
        &self,
        stepper: &mut Stepper<'_>,
        (node, trigger): (NodeId, Trigger),
        children: &mut Vec<Child>,
    ) -> Result<(), MachineError> {
        let row = stepper.step(self.locals[node as usize], trigger)?;
        let counter = if trigger.local_event().is_some() { self.counters[node as usize] } else { 0 };
        let base = self.fingerprint.wrapping_add(counter);
        for (outcome, executed) in (0..).zip(stepper.outcomes(row)) {
            let step = Step { node, trigger, outcome };
            children.push(Child { step, row, next: executed.next, fingerprint: base.wrapping_add(executed.delta) });
        }
        Ok(())
    }

    /// Moves to a child.
    pub fn descend(&mut self, stepper: &mut Stepper<'_>, step: Step, row: OutcomesRef) {
        let node = step.node as usize;
        let before = self.locals[node];
        let (fingerprint, locals_fingerprint) = (self.fingerprint, self.locals_fingerprint);
        let outcome = &stepper.outcomes(row)[step.outcome as usize];
        let next = outcome.next;
        self.fingerprint = self.fingerprint.wrapping_add(outcome.delta);
        match step.trigger.message() {
            Some(message) => remove(&mut self.in_flight, message),
            None => {
                self.local_events[node] += 1;
                self.fingerprint = self.fingerprint.wrapping_add(self.counters[node]);
            }
        }
        for message in &outcome.sent {
            insert(&mut self.in_flight, *message);
        }
        self.locals[node] = next;
        if next != before {
            let change = stepper.state(next).fingerprint.wrapping_sub(stepper.state(before).fingerprint);
            self.locals_fingerprint = self.locals_fingerprint.wrapping_add(change);
        }
        self.path.push(step);
        self.frames.push(Frame { row, before, fingerprint, locals_fingerprint });
    }

    /// Moves back to the parent; false at the start state.
    pub fn ascend(&mut self, stepper: &Stepper<'_>) -> bool {
        let (Some(frame), Some(step)) = (self.frames.pop(), self.path.pop()) else {
            return false;
        };
        for message in &stepper.outcomes(frame.row)[step.outcome as usize].sent {
            remove(&mut self.in_flight, *message);
        }
        match step.trigger.message() {
            Some(message) => insert(&mut self.in_flight, message),
            None => self.local_events[step.node as usize] -= 1,
        }
        self.locals[step.node as usize] = frame.before;
        self.fingerprint = frame.fingerprint;
        self.locals_fingerprint = frame.locals_fingerprint;
        true
    }

    /// Moves to the state after these steps from the start state, through the last state that both paths share.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn go_to(&mut self, stepper: &mut Stepper<'_>, path: &[Step]) -> Result<(), MachineError> {
        let shared = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        while self.path.len() > shared {
            self.ascend(stepper);
        }
        for step in &path[shared..] {
            let row = stepper.step(self.locals[step.node as usize], step.trigger)?;
            self.descend(stepper, *step, row);
        }
        Ok(())
    }

    /// Counts the system state of the current state, or of a child, and keeps it where `collected` is given.
    pub fn note_system_state(
        &self,
        stepper: &mut Stepper<'_>,
        child: Option<&Child>,
        counted: &mut FxHashSet<Fingerprint>,
        collected: Option<&mut BTreeSet<Box<[LocalStateId]>>>,
    ) {
        let fingerprint = match child {
            None => self.locals_fingerprint,
            Some(child) if child.next == self.locals[child.step.node as usize] => return,
            Some(child) => {
                let before = stepper.state(self.locals[child.step.node as usize]).fingerprint;
                self.locals_fingerprint.wrapping_add(stepper.state(child.next).fingerprint.wrapping_sub(before))
            }
        };
        if counted.insert(fingerprint)
            && let Some(collected) = collected
        {
            let mut locals: Box<[LocalStateId]> = self.locals.as_slice().into();
            if let Some(child) = child {
                locals[child.step.node as usize] = child.next;
            }
            collected.insert(locals);
        }
    }

    /// What there is to say about a child that is not said about the current state already.
    ///
    /// Only a change of class, or a local state judged by itself, has something new to say.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    #[inline]
    pub fn judge_child(
        &self,
        stepper: &mut Stepper<'_>,
        child: &Child,
    ) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
        let before = self.locals[child.step.node as usize];
        if child.next == before {
            return Ok(Vec::new());
        }
        let class_before = stepper.state(before).class;
        let state = stepper.state(child.next);
        if state.class == class_before && state.judgements.is_empty() {
            return Ok(Vec::new());
        }
        self.judge_changed_child(stepper, child)
    }

    #[cold]
    fn judge_changed_child(
        &self,
        stepper: &mut Stepper<'_>,
        child: &Child,
    ) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
        let node = child.step.node;
        let state = stepper.state(child.next).clone();
        let mut judgements: Vec<_> = state.judgements.iter().map(|judgement| (Some(node), judgement.clone())).collect();
        let mut classes: Vec<ClassId> = self.locals.iter().map(|local| stepper.state(*local).class).collect();
        classes[node as usize] = state.class;
        judgements.extend(stepper.judge(&classes)?.iter().map(|judgement| (None, judgement.clone())));
        Ok(judgements)
    }

    /// Whether something can happen in a child.
    pub fn has_successors(&self, stepper: &mut Stepper<'_>, child: &Child) -> bool {
        let Step { node, trigger, outcome } = child.step;
        let sent = stepper.outcomes(child.row)[outcome as usize].sent.len();
        let in_flight = self.in_flight.len() + sent - usize::from(trigger.message().is_some());
        let local = |other: usize| if other == node as usize { child.next } else { self.locals[other] };
        in_flight > 0 || (0..self.locals.len()).any(|other| !stepper.state(local(other)).local_events.is_empty())
    }
}

fn insert(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.partition_point(|other| *other < message);
    in_flight.insert(position, message);
}

fn remove(in_flight: &mut Vec<MessageId>, message: MessageId) {
    let position = in_flight.binary_search(&message).expect("a consumed message is in flight");
    in_flight.remove(position);
}
