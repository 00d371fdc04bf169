//! The messages that an event sends, each with the one to be consumed before it.

use host_model::lts::MessageId;
use host_model::scenario::Route;

use crate::unfolding::view::{ChannelFrontier, Consumed, Instance, NONE};
use crate::unfolding::{EventId, Unfolding};

impl Unfolding<'_, '_> {
    /// Notes at the end of an event's chain what the event takes, and sends messages after what the chain has sent.
    pub(super) fn send_in_order(&mut self, id: EventId, prev: EventId, consumed: Consumed, sent: &[MessageId]) {
        let first = prev.0 as usize * self.nodes;
        let mut frontiers: Vec<ChannelFrontier> = self.frontiers[first..first + self.nodes].to_vec();
        for instance in consumed.instances(&self.quorums) {
            let instance = &self.instances[instance.0 as usize];
            let route = self.stepper.message(instance.message).route();
            if !route.is_unordered() {
                frontiers[route.from as usize].taken = instance.position + 1;
            }
        }
        self.post_in_order(id, &mut frontiers, sent);
        self.frontiers.extend(frontiers);
    }

    /// Sends messages, each after the one sent last to its destination.
    pub(super) fn post_in_order(&mut self, sender: EventId, frontiers: &mut [ChannelFrontier], sent: &[MessageId]) {
        for message in sent {
            let Route { to, is_notice, channel_class, .. } = self.stepper.message(*message).route();
            if channel_class > 0 {
                let older = self.find_older(sender, *message);
                self.instances.push(Instance { message: *message, sender, older, before: NONE, position: 0 });
                continue;
            }
            let to = to as usize;
            let before = frontiers[to].last_sent;
            let position = self.instances.get(before as usize).map_or(0, |instance| instance.position + 1);
            let mut older = before;
            while is_notice && older != NONE {
                let Instance { message, before, .. } = self.instances[older as usize];
                if self.stepper.message(message).is_notice {
                    break;
                }
                older = before;
            }
            frontiers[to].last_sent = self.instances.len() as u32;
            self.instances.push(Instance { message: *message, sender, older, before, position });
        }
    }

    /// The last identical message that the sender sent before, in the same event or in an earlier one.
    pub(super) fn find_older(&self, sender: EventId, message: MessageId) -> u32 {
        let mut at = sender;
        loop {
            let (first, last) = self.event(at).sent;
            let prev = self.chains.prev(at);
            // The sender's last messages may not be there yet.
            let last = last.min(self.instances.len() as u32);
            if let Some(index) = (first..last).rev().find(|index| self.instances[*index as usize].message == message) {
                return index;
            }
            if prev == at {
                return NONE;
            }
            at = prev;
        }
    }
}
