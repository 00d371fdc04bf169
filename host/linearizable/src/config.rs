//! Beginnings of an order.

use crate::memo::{Used, used};
use crate::object::State;

/// A beginning of an order.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The number of events that it explains.
    pub(crate) position: u32,
    pub(crate) state: State,
    /// The last operation overwrites or is an open call, another one has to return, and no read saw it so far.
    pub(crate) is_unseen: bool,
    /// Per slot, whether its operation took effect, and behind these whether it may have done so without being seen.
    pub(crate) slots: Vec<u64>,
    pub(crate) used: Used,
}

impl Config {
    /// The beginning without operations, for this number of slots.
    pub(crate) fn start(state: State, slots: usize) -> Self {
        Self { position: 0, state, is_unseen: false, slots: vec![0; 2 * slots.div_ceil(64)], used: Used::new() }
    }

    fn words(&self) -> usize {
        self.slots.len() / 2
    }

    /// Whether the operation in a slot took effect.
    pub(crate) fn is_done(&self, slot: u32) -> bool {
        self.slots[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Whether it may have done so without being seen.
    pub(crate) fn is_covered(&self, slot: u32) -> bool {
        self.slots[self.words() + slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// The operation in a slot takes effect.
    pub(crate) fn set_done(&mut self, slot: u32) {
        self.slots[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// The operation in a slot may take effect without being seen.
    pub(crate) fn set_covered(&mut self, slot: u32) {
        let words = self.words();
        self.slots[words + slot as usize / 64] |= 1 << (slot % 64);
    }

    /// The operation in a slot returns.
    pub(crate) fn clear(&mut self, slot: u32) {
        let words = self.words();
        self.slots[slot as usize / 64] &= !(1 << (slot % 64));
        self.slots[words + slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// The number of open calls of a class that took effect.
    pub(crate) fn used_of(&self, class: u32) -> u32 {
        let found = self.used.binary_search_by_key(&class, |entry| (entry >> 32) as u32);
        found.map_or(0, |index| self.used[index] as u32)
    }

    /// One more open call of a class takes effect.
    pub(crate) fn use_one(&mut self, class: u32) {
        let count = self.used_of(class) + 1;
        match self.used.binary_search_by_key(&class, |entry| (entry >> 32) as u32) {
            Ok(index) => self.used[index] = used(class, count),
            Err(index) => self.used.insert(index, used(class, count)),
        }
    }

    /// The configuration after one more open call of a class took effect.
    pub(crate) fn after(&self, class: u32, state: State) -> Self {
        let mut next = Self { state, ..self.clone() };
        next.use_one(class);
        next
    }

    /// The configuration after one of the open calls that no result needs; none if it took effect before.
    pub(crate) fn after_unneeded(&self, index: u32, state: State) -> Option<Self> {
        // Behind the numbers of classes.
        let class = u32::MAX - index;
        (self.used_of(class) == 0).then(|| self.after(class, state))
    }

    /// The difference to others at the end of a history.
    pub(crate) fn identity(&self) -> (State, Used) {
        (self.state, self.used.clone())
    }
}
