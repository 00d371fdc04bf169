//! The roots of an unfolding, and the messages in flight at the start.

use host_model::contract::MachineError;
use host_model::lts::{MessageId, Step, Trigger};
use host_model::trace::start::Start;

use crate::global::state::GlobalState;
use crate::unfolding::view::{ChannelFrontier, Consumed, Instance, InstanceId, NONE};
use crate::unfolding::{Event, EventId, Unfolding, class_bit};

impl Unfolding<'_, '_> {
    /// Makes the roots and the messages that are in flight at the start, which the roots have sent.
    pub(super) fn plant(&mut self, start: &Start) -> Result<(), MachineError> {
        let roots: Vec<EventId> = (0..self.nodes).map(|_| self.chains.push_root()).collect();
        for (root, state) in roots.iter().zip(&start.locals) {
            let (class, fingerprint) = {
                let state = self.stepper.state(*state);
                (state.protocol.class, state.fingerprint)
            };
            self.base = self.base.wrapping_add(fingerprint);
            self.events.push(Event {
                node: root.0,
                state: *state,
                class,
                size: 0,
                classes_below: class_bit(class),
                step: Step { node: root.0, trigger: Trigger::deliver(MessageId(0)), outcome: 0 },
                consumed: Consumed::Nothing,
                first_child: NONE,
                next_sibling: NONE,
                local_events: 0,
                sent: (0, start.in_flight.len() as u32),
                chain: 0,
            });
            self.pasts.extend(&roots);
            self.candidates.push(Vec::new());
        }
        if self.stepper.known().is_ordered() {
            return self.plant_in_order(start, &roots);
        }
        let mut older: Option<(MessageId, u32)> = None;
        for message in &start.in_flight {
            let (from, to, fingerprint) = {
                let message = self.stepper.message(*message);
                (message.from, message.to, message.fingerprint)
            };
            self.base = self.base.wrapping_add(fingerprint);
            let instance = self.instances.len() as u32;
            // Equal messages stand side by side, since messages in flight are sorted.
            let before = older.filter(|(other, _)| other == message).map_or(NONE, |(_, instance)| instance);
            let sender = EventId(from);
            self.instances.push(Instance { message: *message, sender, older: before, before: NONE, position: 0 });
            self.candidates[to as usize].push(InstanceId(instance));
            older = Some((*message, instance));
        }
        self.seen.insert(self.base, 0);
        for root in roots {
            self.schedule(root)?;
        }
        Ok(())
    }

    /// The remaining steps on an ordered network.
    fn plant_in_order(&mut self, start: &Start, roots: &[EventId]) -> Result<(), MachineError> {
        for root in roots {
            let mut frontiers = vec![ChannelFrontier { last_sent: NONE, taken: 0 }; self.nodes];
            let from = root.0;
            let sent = start.in_flight.iter().filter(|id| self.stepper.message(**id).from == from);
            let sent: Vec<MessageId> = sent.copied().collect();
            let first = self.instances.len() as u32;
            self.post_in_order(*root, &mut frontiers, &sent);
            self.events[root.0 as usize].sent = (first, self.instances.len() as u32);
            self.frontiers.extend(frontiers);
        }
        for index in 0..self.instances.len() {
            let to = self.stepper.message(self.instances[index].message).to;
            self.candidates[to as usize].push(InstanceId(index as u32));
        }
        self.base = GlobalState::new(self.stepper.known(), start).fingerprint;
        self.unordered_base = self.view().unordered_delta(&start.in_flight, std::iter::empty());
        self.seen.insert(self.base, 0);
        for root in roots {
            self.schedule(*root)?;
        }
        Ok(())
    }
}
