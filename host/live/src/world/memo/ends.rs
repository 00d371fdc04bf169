//! The ends of connections, as nodes have them now.

use std::sync::Arc;

use host_model::contract::NodeId;
use host_model::lts::{LocalStateId, Outcome, Stepper, Trigger};
use host_model::scenario::FaultEvent;

use crate::world::ends::{Breaking, ModelEnd};
use crate::world::memo::{Memory, Taken};

impl<'l> Memory<'l> {
    /// An end of a connection; one of a node that has not started yet is new.
    pub(super) fn end_of(&self, node: NodeId, peer: NodeId) -> ModelEnd {
        self.present.get(&node).map_or_else(ModelEnd::default, |present| {
            let fault_state = &self.stepper.state(*present).fault_state;
            ModelEnd { incarnation: fault_state.incarnation(peer), is_open: fault_state.is_open(peer) }
        })
    }

    /// The way to break a connection in place of a message to a node from a peer; none if no end can break it, or after a handler that has
    /// failed.
    pub(super) fn breaking(&self, node: NodeId, peer: NodeId) -> Option<Breaking> {
        let can_break = |node: NodeId, peer: NodeId| {
            let event = Trigger::from(FaultEvent::disconnect(peer));
            self.present.get(&node).is_some_and(|present| self.stepper.state(*present).faults.contains(event))
        };
        match () {
            () if self.failed.is_some() => None,
            () if can_break(node, peer) => Some(Breaking::Here),
            () if self.end_of(peer, node).incarnation > self.end_of(node, peer).incarnation => Some(Breaking::Told),
            () => can_break(peer, node).then_some(Breaking::There),
        }
    }

    /// A node takes the next notice of a peer, and its protocol does not hear of it.
    pub(super) fn miss(&mut self, node: NodeId, peer: NodeId) {
        self.take_unheard(node, |stepper, from| Trigger::deliver(stepper.arriving(from, peer, None)));
    }

    /// A connection of a node breaks by this event, and its protocol does not hear of it.
    pub(super) fn take_unheard(&mut self, node: NodeId, event: impl FnOnce(&mut Stepper<'l>, LocalStateId) -> Trigger) {
        // A handler that has failed on it ends the run.
        let Some(from) = self.present.get(&node).copied().filter(|_| self.failed.is_none()) else { return };
        let trigger = event(&mut self.stepper, from);
        let row = self.stepper.step(from, trigger);
        let Ok(row) = self.told(row) else { return };
        let protocol = |local| &self.stepper.state(local).protocol;
        // A handler that ignores the error does what one does that never hears of it.
        let is_unheard = |outcome: &Outcome| {
            outcome.is_lost || (outcome.sent.is_empty() && Arc::ptr_eq(protocol(outcome.next), protocol(from)))
        };
        let found = (0..).zip(self.stepper.outcomes(row)).find(|(_, outcome)| is_unheard(outcome));
        if let Some((outcome, Outcome { next, .. })) = found {
            let taken = Taken { trigger: Some(trigger), outcome, next: *next };
            self.take(node, taken);
        }
    }
}
