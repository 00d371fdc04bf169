//! Sets of small integers.

/// A set of small integers. Those below 64, which are all in most systems, take no memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    low: u64,
    high: Vec<u64>,
}

impl Bits {
    pub(super) fn insert(&mut self, bit: usize) {
        if self.high.len() < bit / 64 {
            self.high.resize(bit / 64, 0);
        }
        *self.word_mut(bit / 64).expect("the words were extended to this bit above") |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, bit: usize) {
        if let Some(word) = self.word_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
        }
    }

    pub(super) fn contains(&self, bit: usize) -> bool {
        self.word(bit / 64) >> (bit % 64) & 1 == 1
    }

    fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.low,
            Some(index) => self.high.get(index).copied().unwrap_or(0),
        }
    }

    fn word_mut(&mut self, index: usize) -> Option<&mut u64> {
        match index.checked_sub(1) {
            None => Some(&mut self.low),
            Some(index) => self.high.get_mut(index),
        }
    }

    /// Removes the integers that are neither in `other` nor in `extra`; returns whether there were any.
    pub(super) fn intersect(&mut self, other: &Self, extra: &[u32]) -> bool {
        let mut changed = false;
        let words = std::iter::once(&mut self.low).chain(&mut self.high);
        for (index, word) in words.enumerate() {
            let extra = extra.iter().filter(|bit| (**bit / 64) as usize == index);
            let extra = extra.fold(0, |bits, bit| bits | 1 << (bit % 64));
            let kept = *word & (other.word(index) | extra);
            changed |= kept != *word;
            *word = kept;
        }
        changed
    }

    /// Adds the integers of `other`, and `extra`; returns whether any was new.
    pub(super) fn unite(&mut self, other: &Self, extra: Option<usize>) -> bool {
        let mut changed = extra.is_some_and(|bit| !self.contains(bit));
        if let Some(bit) = extra {
            self.insert(bit);
        }
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        let words = std::iter::once(&mut self.low).chain(&mut self.high);
        for (index, word) in words.enumerate() {
            let united = *word | other.word(index);
            changed |= united != *word;
            *word = united;
        }
        changed
    }
}
