//! The queues of a global state where links have an order: the change of the fingerprint of the messages in flight by a step, without
//! making the state after it.

use host_model::contract::NodeId;
use host_model::contract::fingerprint::{ChannelSum, Fingerprint};
use host_model::lts::{Edge, LtsCache, Trigger};

use crate::global::state::GlobalState;

/// The queues between each two nodes. Only for connections that never break: otherwise a step can lose messages as well.
#[derive(Default)]
pub struct Queues {
    nodes: usize,
    queues: Vec<ChannelSum>,
    /// The queues that are not empty.
    used: Vec<usize>,
}

impl Queues {
    /// Whether the queues can be used in a state.
    pub fn fit(known: &LtsCache, state: &GlobalState) -> bool {
        known.is_ordered() && !state.locals.iter().any(|local| known.state(*local).fault_state.has_connections())
    }

    /// Bytes kept.
    pub fn bytes(&self) -> usize {
        self.queues.capacity() * size_of::<ChannelSum>() + self.used.capacity() * size_of::<usize>()
    }

    /// Reads the queues of a state.
    pub fn read(&mut self, known: &LtsCache, state: &GlobalState) {
        self.nodes = state.locals.len();
        self.queues.resize(self.nodes * self.nodes, ChannelSum::default());
        for index in self.used.drain(..) {
            self.queues[index] = ChannelSum::default();
        }
        for message in &state.in_flight {
            let message = known.message(*message);
            if !message.route().is_unordered() {
                let index = message.from as usize * self.nodes + message.to as usize;
                self.queues[index].push(message.fingerprint);
                // Messages stand channel by channel, so those of one queue follow each other.
                if self.used.last() != Some(&index) {
                    self.used.push(index);
                }
            }
        }
    }

    /// The change of the fingerprint of the messages in flight by a step of a node.
    pub fn change(&self, known: &LtsCache, node: NodeId, trigger: Trigger, edge: &Edge) -> Fingerprint {
        let queue = |to: NodeId| self.queues[node as usize * self.nodes + to as usize];
        let mut own = queue(node);
        let mut change: Fingerprint = 0;
        for taken in known.taken(trigger) {
            let message = known.message(taken);
            if message.route().is_unordered() {
                change = change.wrapping_sub(message.fingerprint);
                continue;
            }
            let mut queue = self.queues[message.from as usize * self.nodes + node as usize];
            change = change.wrapping_sub(queue.fingerprint);
            queue.take_first(message.fingerprint);
            change = change.wrapping_add(queue.fingerprint);
            if message.from == node {
                own = queue;
            }
        }
        let sent = known.sent(edge);
        for (index, first) in sent.iter().enumerate() {
            let first = known.message(*first);
            if first.route().is_unordered() {
                change = change.wrapping_add(first.fingerprint);
                continue;
            }
            let is_same = |other: &&_| {
                let other = known.message(**other);
                other.to == first.to && !other.route().is_unordered()
            };
            // All messages to one node are handled together, at the first one.
            if sent[..index].iter().any(|other| is_same(&other)) {
                continue;
            }
            let mut queue = if first.to == node { own } else { queue(first.to) };
            change = change.wrapping_sub(queue.fingerprint);
            sent[index..].iter().filter(is_same).for_each(|other| queue.push(known.message(*other).fingerprint));
            change = change.wrapping_add(queue.fingerprint);
        }
        change
    }
}
