//! The messages that an event sends, each with the one to be consumed before it.

use host_model::lts::MessageId;
use host_model::scenario::Route;

use crate::unfolding::view::{ChannelFrontier, Consumed, Instance, NONE};
use crate::unfolding::{EventId, Unfolding};

impl Unfolding<'_, '_> {
    /// Notes the consumed items at the end of an event's chain, and sends messages after those that the chain has sent.
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
        for (message, older) in sent.iter().zip(self.find_older(sender, sent)) {
            let Route { to, is_notice, channel_class, .. } = self.stepper.message(*message).route();
            if channel_class > 0 {
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

    /// For each message that an event is going to send, the last identical one that its chain sent before, in the same event or in
    /// an earlier one; none on an ordered network.
    pub(super) fn find_older(&self, sender: EventId, sent: &[MessageId]) -> Vec<u32> {
        let mut found = vec![NONE; sent.len()];
        let known = self.stepper.known();
        let has_older = |message: MessageId| !known.is_ordered() || known.message(message).route().is_unordered();
        let mut wanted: Vec<(MessageId, u32)> =
            sent.iter().copied().zip(0..).filter(|(it, _)| has_older(*it)).collect();
        // There can be thousands of messages to find, in chains that have sent thousands.
        wanted.sort_unstable();
        for pair in wanted.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            found[pair[1].1 as usize] = self.instances.len() as u32 + pair[0].1;
        }
        wanted.dedup_by_key(|(message, _)| *message);
        let (mut at, mut left) = (sender, wanted.len());
        while left > 0 && self.chains.prev(at) != at {
            at = self.chains.prev(at);
            let (first, last) = self.event(at).sent;
            for index in (first..last).rev() {
                let message = self.instances[index as usize].message;
                let Ok(place) = wanted.binary_search_by_key(&message, |(message, _)| *message) else { continue };
                let older = &mut found[wanted[place].1 as usize];
                if *older == NONE {
                    *older = index;
                    left -= 1;
                }
            }
        }
        found
    }
}
