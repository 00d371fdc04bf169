//! Extensions that can follow an event, queued by the size of the event that they make.

use host_model::contract::{MachineError, Role};
use host_model::lts::{MessageId, Trigger};

use crate::unfolding::view::{Consumed, Extension, Instance, InstanceId, NONE, Offer};
use crate::unfolding::{Event, EventId, Unfolding};

impl Unfolding<'_, '_> {
    /// Schedules all extensions that can follow an event, by its candidates and its state.
    pub(super) fn schedule(&mut self, id: EventId) -> Result<(), MachineError> {
        let Event { state, local_events, size, .. } = *self.event(id);
        let local_state = self.stepper.state(state).clone();
        if local_state.is_stuck() {
            // No event happens at a node that is stuck in a fault.
            self.candidates[id.0 as usize].clear();
            return Ok(());
        }
        let node = self.event(id).node;
        for index in 0..self.candidates[id.0 as usize].len() {
            let instance = self.candidates[id.0 as usize][index];
            let message = self.instances[instance.0 as usize].message;
            if !self.is_blocked(id, instance) && self.stepper.role(state, message)? == Role::Alone {
                self.schedule_instance(id, instance);
            }
        }
        if self.stepper.known().takes_quorums(node) {
            self.schedule_quorums(id, None)?;
        }
        for fault in local_state.faults.iter() {
            self.enqueue(size as usize + 1, Extension { prev: id, trigger: fault, consumed: Consumed::Nothing });
        }
        if self.bounds.local_events.is_some_and(|max| local_events >= max) {
            self.local_events_cut |= !local_state.protocol.local_events.is_empty();
            return Ok(());
        }
        for event in &local_state.protocol.local_events {
            let extension = Extension { prev: id, trigger: Trigger::local(*event), consumed: Consumed::Nothing };
            self.enqueue(size as usize + 1, extension);
        }
        Ok(())
    }

    /// Makes an instance a candidate of an event.
    pub(super) fn accept(&mut self, Offer { instance, to, size }: Offer) -> Result<(), MachineError> {
        let message = self.instances[instance.0 as usize].message;
        // While an older identical message is a candidate, that one goes first.
        let blocked = self.is_blocked(to, instance);
        let candidates = &mut self.candidates[to.0 as usize];
        debug_assert!(
            candidates.last().is_none_or(|last| *last < instance),
            "candidates stand in the order of their ids"
        );
        let room = candidates.capacity();
        candidates.push(instance);
        self.candidate_room += candidates.capacity() - room;
        let state = self.event(to).state;
        if blocked || self.stepper.state(state).is_stuck() {
            return Ok(());
        }
        match self.stepper.role(state, message)? {
            Role::Alone => {
                let consumed = Consumed::One(instance);
                self.enqueue(size as usize, Extension { prev: to, trigger: Trigger::deliver(message), consumed });
            }
            Role::Held => {}
            // Quorums without this instance are scheduled already.
            Role::Member(_) => self.schedule_quorums(to, Some(instance))?,
        }
        Ok(())
    }

    /// Schedules the quorums among the candidates of an event; if `last` is given, only those with this member.
    fn schedule_quorums(&mut self, prev: EventId, last: Option<InstanceId>) -> Result<(), MachineError> {
        let state = self.event(prev).state;
        let mut members = Vec::new();
        for index in 0..self.candidates[prev.0 as usize].len() {
            let instance = self.candidates[prev.0 as usize][index];
            if !self.is_blocked(prev, instance) {
                let message = self.instances[instance.0 as usize].message;
                members.extend(self.stepper.member(state, message, instance)?);
            }
        }
        for quorum in self.view().quorums_of(&members, last) {
            let messages: Vec<MessageId> =
                quorum.iter().map(|instance| self.instances[instance.0 as usize].message).collect();
            let trigger = Trigger::deliver_quorum(self.stepper.quorum(&messages));
            let consumed =
                Consumed::Quorum(u32::try_from(self.quorums.len()).expect("fewer than four billion quorums"));
            self.quorums.push(quorum);
            let extension = Extension { prev, trigger, consumed };
            let size = self.chains.config_size(&self.view().past_of(extension)) + 1;
            self.enqueue(size as usize, extension);
        }
        Ok(())
    }

    fn schedule_instance(&mut self, prev: EventId, instance: InstanceId) {
        let Instance { message, sender, .. } = self.instances[instance.0 as usize];
        let size = self.view().size_of_join(prev, sender) + 1;
        let extension = Extension { prev, trigger: Trigger::deliver(message), consumed: Consumed::One(instance) };
        self.enqueue(size as usize, extension);
    }

    /// Whether an older instance of a candidate has to be consumed first.
    fn is_blocked(&self, id: EventId, instance: InstanceId) -> bool {
        let older = self.instances[instance.0 as usize].older;
        older != NONE && self.candidates[id.0 as usize].binary_search(&InstanceId(older)).is_ok()
    }

    fn enqueue(&mut self, size: usize, extension: Extension) {
        if self.queue.len() <= size {
            self.queue.resize_with(size + 1, Vec::new);
        }
        self.queue[size].push(extension);
        self.queued += 1;
    }
}
