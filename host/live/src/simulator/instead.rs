//! The substitutes of events that steering prevents in a run.

use host_model::contract::{MachineError, NodeId};
use host_model::lts::{MessageId, Trigger};
use host_model::scenario::FaultEvent;

use crate::gate::Substitute;
use crate::seen::Seen;
use crate::simulator::run::Run;

/// The way in which a connection is broken in place of a message over it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Breaking {
    /// The destination of the message breaks it.
    Here(Trigger),
    /// The sender has broken it: its notice overtakes the message.
    Told(MessageId),
    /// The sender breaks it now, and its notice overtakes the message.
    There(NodeId, Trigger),
}

impl Run<'_, '_, '_> {
    /// Executes the substitute of an event, if a filter matches it. Returns whether the substitute is an event of a node.
    pub(super) fn filter(&mut self, node: NodeId, trigger: Trigger) -> Result<Option<bool>, MachineError> {
        let may_break = self.breaking(trigger).is_some();
        let Some(watch) = &mut self.watch else { return Ok(None) };
        let seen = Seen::of(self.stepper, self.locals[node as usize], trigger);
        match seen.event(may_break).and_then(|event| watch.before(self.now, node, &event)) {
            Some(substitute) => self.replace(node, trigger, substitute).map(Some),
            None => Ok(None),
        }
    }

    /// The way to break a connection in place of a message over it. None if that is not allowed, or no node can break it.
    pub(super) fn breaking(&self, trigger: Trigger) -> Option<Breaking> {
        let watch = self.watch.as_ref().filter(|watch| watch.breaks())?;
        let message = self.stepper.message(trigger.message()?);
        let (from, to) = (message.from, message.to);
        let broken_by = |node: NodeId, peer: NodeId| {
            let event = Trigger::from(FaultEvent::disconnect(peer));
            self.stepper.state(self.locals[node as usize]).faults.contains(&event).then_some(event)
        };
        let here = broken_by(to, from).map(Breaking::Here);
        let told = || watch.history.notice(self.stepper, from, to).map(Breaking::Told);
        here.or_else(told).or_else(|| broken_by(from, to).map(|event| Breaking::There(from, event)))
    }

    /// Breaks a connection in place of a message to a node. Returns whether that was an event of a node.
    fn break_connection(&mut self, node: NodeId, breaking: Breaking) -> Result<bool, MachineError> {
        match breaking {
            Breaking::Here(event) => self.step(node, event),
            Breaking::Told(notice) => self.step(node, Trigger::deliver(notice)),
            Breaking::There(from, event) => {
                let is_event = self.step(from, event)?;
                if self.is_over() {
                    return Ok(is_event);
                }
                let watch = self.watch.as_ref().expect("only steering breaks connections, and it has checkers");
                match watch.history.notice(self.stepper, from, node) {
                    Some(notice) => self.step(node, Trigger::deliver(notice)),
                    // The sender has failed on the error.
                    None => Ok(is_event),
                }
            }
        }
    }

    /// Executes the substitute of an event. Returns whether it is an event of a node.
    pub(super) fn replace(
        &mut self,
        node: NodeId,
        trigger: Trigger,
        substitute: Substitute,
    ) -> Result<bool, MachineError> {
        self.log.replace(self.now, substitute as u8);
        if substitute == Substitute::Break {
            let breaking = self.breaking(trigger).expect("the gate allows a break only if there is one");
            return self.break_connection(node, breaking);
        }
        if let Some(watch) = &mut self.watch {
            let taken: Vec<_> = self.stepper.known().taken(trigger).collect();
            // An event that waits takes no message, and may wait many times.
            if !taken.is_empty() {
                watch.step(self.stepper, &self.locals, node, taken, &[]);
            }
        }
        self.waited += u64::from(matches!(substitute, Substitute::Postpone | Substitute::Delay));
        // An event that was postponed or delayed gets a new time.
        self.arm(node);
        Ok(false)
    }
}
