//! A global state that moves along a path and back again.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Judgement, MachineError, NodeId};
use host_model::lts::{LocalStateId, MessageId, Mover, OutcomesRef, Step, Stepper, Trigger};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;

use crate::global::judge::{judge_after, judge_end};
use crate::global::state::{Budgets, GlobalState};
use crate::kernel::{Judged, SearchBounds};

pub use crate::global::state::Child;

/// The data that a step back needs.
struct Frame {
    row: OutcomesRef,
    before: LocalStateId,
    fingerprint: Fingerprint,
    /// The messages in flight before the step, on an ordered network: a step can lose some.
    in_flight: Option<InFlight<MessageId>>,
}

/// The current global state and the path to it.
pub struct GlobalCursor {
    state: GlobalState,
    budgets: Budgets,
    path: Vec<Step>,
    frames: Vec<Frame>,
    /// Bytes of the messages in flight that the frames keep.
    frame_bytes: usize,
}

impl GlobalCursor {
    /// A cursor at a start state.
    pub fn new(stepper: &Stepper<'_>, start: &Start, bounds: &SearchBounds) -> Self {
        let state = GlobalState::new(stepper.known(), start);
        Self {
            state,
            budgets: Budgets::new(start.locals.len(), bounds),
            path: Vec::new(),
            frames: Vec::new(),
            frame_bytes: 0,
        }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let path = self.path.capacity() * size_of::<Step>() + self.frames.capacity() * size_of::<Frame>();
        (self.state.heap_bytes() + path + self.frame_bytes) as u64
    }

    /// The local states, one per node.
    pub fn locals(&self) -> &[LocalStateId] {
        &self.state.locals
    }

    /// The fingerprint of the state, budgets of local events included if they are bounded.
    pub fn fingerprint(&self) -> Fingerprint {
        self.state.fingerprint
    }

    /// Number of messages in flight: the work of a step grows with it.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.len()
    }

    /// This state as a start state. Its origin is unknown, so no finding can begin there.
    pub fn as_start(&self) -> Start {
        Start { locals: self.state.locals.clone(), in_flight: self.state.in_flight.clone(), ..Start::default() }
    }

    /// The events that are enabled here; see [`GlobalState::enabled`].
    pub fn enabled(
        &self,
        stepper: &mut Stepper<'_>,
        enabled: &mut Vec<(NodeId, Trigger)>,
    ) -> Result<bool, MachineError> {
        self.state.enabled(stepper, &self.budgets, enabled)
    }

    /// The deadlock here, if only faults can happen, see [`judge_end`].
    pub fn judge_end(&self, stepper: &mut Stepper<'_>) -> Result<Option<Judgement>, MachineError> {
        judge_end(stepper, &self.state)
    }

    /// Whether only faults can happen here, although no node has crashed.
    pub fn is_end(&self, stepper: &Stepper<'_>) -> bool {
        self.state.crashed(stepper.known(), 0).is_some()
    }

    /// Removes the faults that change nothing, and the declined quorums, from the enabled events.
    pub fn leave_out_idle(
        &self,
        stepper: &mut Stepper<'_>,
        enabled: &mut Vec<(NodeId, Trigger)>,
    ) -> Result<(), MachineError> {
        let mut index = 0;
        while let Some((node, trigger)) = enabled.get(index) {
            let local = self.state.locals[*node as usize];
            if (trigger.fault().is_some() || trigger.quorum().is_some()) && stepper.is_idle(local, *trigger)? {
                enabled.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    /// Adds the successors by one trigger to `children`: one for each outcome of the handler.
    #[inline]
    pub fn children(
        &self,
        stepper: &mut Stepper<'_>,
        node: NodeId,
        trigger: Trigger,
        children: &mut Vec<Child>,
    ) -> Result<(), MachineError> {
        let row = stepper.step(self.state.locals[node as usize], trigger)?;
        GlobalState::push_children(stepper.known(), node, trigger, row, children);
        Ok(())
    }

    /// Moves to a child.
    pub fn descend(&mut self, stepper: &Stepper<'_>, step: Step, row: OutcomesRef) {
        let (before, fingerprint) = (self.state.locals[step.node as usize], self.state.fingerprint);
        let in_flight = stepper.known().is_ordered().then(|| self.state.in_flight.clone());
        self.frame_bytes += in_flight.as_ref().map_or(0, |items| items.capacity() * size_of::<MessageId>());
        self.state.take(stepper.known(), &self.budgets, step, row);
        self.path.push(step);
        self.frames.push(Frame { row, before, fingerprint, in_flight });
    }

    /// Moves back to the parent; false at the start state.
    pub fn ascend(&mut self, stepper: &Stepper<'_>) -> bool {
        let (Some(frame), Some(step)) = (self.frames.pop(), self.path.pop()) else {
            return false;
        };
        match frame.in_flight {
            Some(in_flight) => {
                self.frame_bytes -= in_flight.capacity() * size_of::<MessageId>();
                self.state.put_back(step, frame.before, frame.fingerprint, in_flight);
            }
            None => self.state.take_back(stepper.known(), step, frame.row, frame.before, frame.fingerprint),
        }
        true
    }

    /// Moves to the state after these steps from the start state, through the last state that both paths share. Returns the work, in
    /// messages in flight that were examined.
    pub fn go_to(&mut self, stepper: &mut Stepper<'_>, path: &[Step]) -> Result<usize, MachineError> {
        let mut work = 0;
        let shared = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        while self.path.len() > shared {
            self.ascend(stepper);
        }
        for step in &path[shared..] {
            let row = stepper.step(self.state.locals[step.node as usize], step.trigger)?;
            self.descend(stepper, *step, row);
            work += 1 + self.state.in_flight.len();
        }
        Ok(work)
    }

    /// Makes this state the beginning of the path: there is no way back.
    pub fn settle(&mut self) {
        self.path.clear();
        self.frames.clear();
        self.frame_bytes = 0;
    }

    /// A new cursor that begins here.
    #[must_use]
    pub fn settled(&self) -> Self {
        let (state, budgets) = (self.state.clone(), self.budgets.clone());
        Self { state, budgets, path: Vec::new(), frames: Vec::new(), frame_bytes: 0 }
    }

    /// Moves to another local transition system, and continues there from the current state.
    pub fn move_over(&mut self, mover: &mut Mover<'_>) {
        self.settle();
        for local in &mut self.state.locals {
            *local = mover.local_state(*local);
        }
        self.state.in_flight = mover.in_flight(&self.state.in_flight);
    }

    /// The judgements of a child, without those of the current state.
    #[inline]
    pub fn judge_child(&self, stepper: &mut Stepper<'_>, child: &Child) -> Judged {
        if !self.state.is_worth_judging(stepper.known(), child) {
            return Judged::default();
        }
        let mut locals = self.state.locals.clone();
        locals[child.step.node as usize] = child.next;
        judge_after(stepper, &locals, child.step.node)
    }
}
