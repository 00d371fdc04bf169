//! The causal chains of the messages in flight on a walk.

use host_model::contract::NodeId;
use host_model::contract::fingerprint::Fingerprint;

use crate::strategy::random_walk::scheduler::mixed;

/// Number of notes in excess of the messages in flight at which notes of lost messages are dropped.
const STALE_MAX: usize = 64;

/// Maximum number of distinct local events and faults with a count; beyond that the counts restart.
const COUNTED_MAX: usize = 256;

/// The causal origin of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::strategy::random_walk) struct Origin {
    /// Its causal chain: a local event or fault with all messages that are sent because of it, directly or indirectly.
    pub(in crate::strategy::random_walk) chain: u64,
    /// The number of steps since the message was sent; none for local events, faults, and messages in flight at the start.
    pub(in crate::strategy::random_walk) age: Option<u32>,
}

/// A message that was sent on the walk.
#[derive(Clone, Copy, Debug)]
struct Sent {
    message: Fingerprint,
    /// Steps before it was sent.
    step: u32,
    chain: u64,
}

/// The causal chains of a walk, by contents: it can continue in another local transition system. Messages can get lost without notice, so
/// there may be notes on more messages than exist.
#[derive(Clone, Debug, Default)]
pub(in crate::strategy::random_walk) struct Chains {
    /// Sorted by message, then by step.
    sent: Vec<Sent>,
    /// The number of times that each local event and fault has happened.
    counts: Vec<(u64, u64)>,
}

impl Chains {
    /// The origin of a delivery or loss of a message in flight, after this many steps. Of equal messages it is the one sent first.
    pub(in crate::strategy::random_walk) fn of_message(&self, message: Fingerprint, steps: u32) -> Origin {
        let first = self.sent.partition_point(|sent| sent.message < message);
        match self.sent.get(first).filter(|sent| sent.message == message) {
            Some(sent) => Origin { chain: sent.chain, age: Some(steps.saturating_sub(sent.step + 1)) },
            None => Origin { chain: mixed(message as u64, 0), age: None },
        }
    }

    /// The origin of a local event or fault with this content: each time it happens a chain begins.
    pub(in crate::strategy::random_walk) fn of_own(&self, content: u64) -> Origin {
        let count = self.counts.iter().find(|(counted, _)| *counted == content).map_or(0, |(_, count)| *count);
        Origin { chain: mixed(content, count + 1), age: None }
    }

    /// Counts a local event or fault.
    pub(in crate::strategy::random_walk) fn count(&mut self, content: u64) {
        match self.counts.iter_mut().find(|(counted, _)| *counted == content) {
            Some((_, count)) => *count += 1,
            None => {
                if self.counts.len() == COUNTED_MAX {
                    self.counts.clear();
                }
                self.counts.push((content, 1));
            }
        }
    }

    /// Notes that a message is not in flight any more.
    pub(in crate::strategy::random_walk) fn take(&mut self, message: Fingerprint) {
        let first = self.sent.partition_point(|sent| sent.message < message);
        if self.sent.get(first).is_some_and(|sent| sent.message == message) {
            self.sent.remove(first);
        }
    }

    /// Notes that a message is sent because of an event of this chain, after this many steps.
    pub(in crate::strategy::random_walk) fn send(&mut self, message: Fingerprint, chain: u64, step: u32) {
        let place = self.sent.partition_point(|sent| sent.message <= message);
        self.sent.insert(place, Sent { message, step, chain });
    }

    /// Drops the older half of the notes if most of them must be about lost messages, because far fewer are in flight.
    pub(in crate::strategy::random_walk) fn drop_stale(&mut self, in_flight: usize) {
        if self.sent.len() < in_flight + STALE_MAX {
            return;
        }
        let mut steps: Vec<u32> = self.sent.iter().map(|sent| sent.step).collect();
        let middle = steps.len() / 2;
        let median = *steps.select_nth_unstable(middle).1;
        self.sent.retain(|sent| sent.step >= median);
    }

    /// Bytes that it keeps on the heap.
    pub(in crate::strategy::random_walk) fn bytes(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>() + self.counts.capacity() * size_of::<(u64, u64)>()
    }
}

/// A hash of a node and the content of an event.
pub(in crate::strategy::random_walk) fn content(node: NodeId, fingerprint: Fingerprint) -> u64 {
    mixed(mixed(fingerprint as u64, (fingerprint >> 64) as u64), node.into())
}
