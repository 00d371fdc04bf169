//! 128-bit fingerprints of contents, and sums of them for multisets.

use crate::contract::event::{LocalEvent, NodeId};
use crate::contract::fault::Fault;

/// The first 128 bits of a blake3 hash.
///
/// A global state's fingerprint is the wrapping sum of those of its parts, so that a step changes it by
/// a constant that is known beforehand. With `n` states the odds of any collision are about
/// `n² / 2^129`: for a billion states, 1 in 10^21.
pub type Fingerprint = u128;

/// Fingerprint of the local state of a node with this canonical encoding.
pub fn of_local_state(node: NodeId, encoding: &[u8]) -> Fingerprint {
    hash(b"local state", &[&node.to_le_bytes(), encoding])
}

/// Fingerprint of a node that is stuck in a fault.
pub fn of_fault(node: NodeId, fault: &Fault) -> Fingerprint {
    hash(b"fault", &[&node.to_le_bytes(), &[fault.kind as u8], fault.message.as_bytes()])
}

/// Fingerprint of a node that is absent.
pub fn of_absent(node: NodeId) -> Fingerprint {
    hash(b"absent", &[&node.to_le_bytes()])
}

/// Fingerprint of a local state that is more than its content: something has gone wrong at the node.
pub fn of_fault_state(content: Fingerprint, fault_state: &[u32]) -> Fingerprint {
    let words: Vec<u8> = fault_state.iter().flat_map(|word| word.to_le_bytes()).collect();
    hash(b"standing", &[&content.to_le_bytes(), &words])
}

/// Fingerprint of a message in flight.
pub fn of_message(from: NodeId, to: NodeId, payload: &[u8]) -> Fingerprint {
    hash(b"message", &[&from.to_le_bytes(), &to.to_le_bytes(), payload])
}

/// Fingerprint of a message or notice of a connection that was broken before.
pub fn of_tagged(message: Fingerprint, incarnation: u32, is_notice: bool) -> Fingerprint {
    hash(b"tagged", &[&message.to_le_bytes(), &incarnation.to_le_bytes(), &[u8::from(is_notice)]])
}

/// By how much an item of a channel counts more than the one before it, see [`of_channel`].
const RANK: Fingerprint = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// Fingerprint of the items of a channel, given from the last to the first: their order matters.
pub fn of_channel(last_to_first: impl Iterator<Item = Fingerprint>) -> Fingerprint {
    last_to_first.fold(0, |sum: Fingerprint, item| sum.wrapping_mul(RANK).wrapping_add(item))
}

/// The fingerprint of a channel while items come at its end and go at its beginning, see [`of_channel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSum {
    /// That of the items which are there.
    pub fingerprint: Fingerprint,
    /// By how much the next item counts.
    weight: Fingerprint,
}

impl Default for ChannelSum {
    /// Without items.
    fn default() -> Self {
        Self { fingerprint: 0, weight: 1 }
    }
}

impl ChannelSum {
    /// An item comes.
    #[inline]
    pub fn push(&mut self, item: Fingerprint) {
        self.fingerprint = self.fingerprint.wrapping_add(item.wrapping_mul(self.weight));
        self.weight = self.weight.wrapping_mul(RANK);
    }

    /// The first item, which is this one, goes.
    #[inline]
    pub fn take_first(&mut self, item: Fingerprint) {
        self.fingerprint = self.fingerprint.wrapping_sub(item).wrapping_mul(RANK_INVERSE);
        self.weight = self.weight.wrapping_mul(RANK_INVERSE);
    }
}

/// The inverse of [`RANK`], which is odd. Each step of Newton's method doubles the number of right bits, three at first.
const RANK_INVERSE: Fingerprint = {
    let (mut inverse, mut step) = (RANK, 0);
    while step < 6 {
        inverse = inverse.wrapping_mul((2 as Fingerprint).wrapping_sub(RANK.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// Fingerprint of a local event, by its content.
pub fn of_local_event(event: &LocalEvent) -> Fingerprint {
    hash(b"local event", &[event.name.as_bytes(), &[event.kind as u8], &event.payload])
}

/// Fingerprint of a fault, or of whatever else a number stands for.
pub fn of_fault_event(number: u32) -> Fingerprint {
    hash(b"fault event", &[&number.to_le_bytes()])
}

/// Fingerprint of an outcome: of the local state before, of what makes the handler run there, and of the place among its
/// outcomes.
pub fn of_outcome(before: Fingerprint, trigger: Fingerprint, outcome: u32) -> Fingerprint {
    before.wrapping_mul(RANK).wrapping_add(trigger).wrapping_mul(RANK).wrapping_add(outcome.into())
}

/// Fingerprint of a resource that is used up, such as the local events of a node under a bound.
pub fn of_counter(name: &[u8], node: NodeId) -> Fingerprint {
    hash(b"counter", &[&node.to_le_bytes(), name])
}

/// Hashes the domain and the parts, each preceded by its length, so that no two lists of parts collide by layout.
fn hash(domain: &[u8], parts: &[&[u8]]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    for part in std::iter::once(&domain).chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_summed_up_as_items_come_and_go() {
        let items: Vec<Fingerprint> = (0..20).map(|item| of_message(0, 1, &[item])).collect();
        let mut sum = ChannelSum::default();
        let (mut first, mut last) = (0, 0);
        for round in 0..39 {
            // Two come, one goes; then all go.
            if last < items.len() && round % 3 != 2 {
                sum.push(items[last]);
                last += 1;
            } else {
                sum.take_first(items[first]);
                first += 1;
            }
            assert_eq!(sum.fingerprint, of_channel(items[first..last].iter().rev().copied()), "{first}..{last}");
        }
        assert_eq!(last, items.len());
    }
}
