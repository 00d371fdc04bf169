//! One bit per state.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits per word.
const WORD: usize = u64::BITS as usize;

/// A set of states. Its length is fixed at creation; states beyond are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSet(Vec<u64>);

impl StateSet {
    /// The empty set, with room for this many states.
    pub fn new(states: u32) -> Self {
        Self(vec![0; (states as usize).div_ceil(WORD)])
    }

    /// Adds a state; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, state: u32) -> bool {
        let (word, bit) = (state as usize / WORD, 1 << (state as usize % WORD));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Whether a state is in it.
    #[inline]
    pub fn contains(&self, state: u32) -> bool {
        self.0.get(state as usize / WORD).is_some_and(|word| word >> (state as usize % WORD) & 1 == 1)
    }

    /// Number of states in it.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Removes the states of another set.
    pub fn take_out(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    /// The states in it, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let states = |(index, word): (usize, &u64)| {
            let word = *word;
            (0..WORD).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (index * WORD + bit) as u32)
        };
        self.0.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(states)
    }
}

/// A set of states that several workers change at once. A worker may see the changes of another worker late; it sees all of them once
/// that worker has ended.
#[derive(Debug)]
pub struct SharedSet(Vec<AtomicU64>);

impl SharedSet {
    /// The empty set of this many states.
    pub fn new(states: u32) -> Self {
        Self::from(StateSet::new(states))
    }

    /// Adds a state; returns whether it is new.
    ///
    /// # Panics
    ///
    /// There are fewer states.
    #[inline]
    pub fn insert(&self, state: u32) -> bool {
        let (word, bit) = self.place(state);
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Removes a state.
    ///
    /// # Panics
    ///
    /// There are fewer states.
    #[inline]
    pub fn remove(&self, state: u32) {
        let (word, bit) = self.place(state);
        word.fetch_and(!bit, Ordering::Relaxed);
    }

    /// Whether a state is in it.
    ///
    /// # Panics
    ///
    /// There are fewer states.
    #[inline]
    pub fn contains(&self, state: u32) -> bool {
        let (word, bit) = self.place(state);
        word.load(Ordering::Relaxed) & bit != 0
    }

    #[inline]
    fn place(&self, state: u32) -> (&AtomicU64, u64) {
        (&self.0[state as usize / WORD], 1 << (state as usize % WORD))
    }

    /// The set, once no worker changes it any more.
    pub fn finish(self) -> StateSet {
        StateSet(self.0.into_iter().map(AtomicU64::into_inner).collect())
    }
}

impl From<StateSet> for SharedSet {
    fn from(set: StateSet) -> Self {
        Self(set.0.into_iter().map(AtomicU64::new).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_grows_and_counts() {
        let mut set = StateSet::new(1);
        assert!(set.insert(3) && set.insert(200) && !set.insert(200));
        assert_eq!((0..300).filter(|state| set.contains(*state)).collect::<Vec<_>>(), [3, 200]);
        assert_eq!(set.len(), 2);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 200]);
        let shared = SharedSet::from(set);
        assert!(!shared.insert(3) && shared.insert(64) && shared.contains(64) && !shared.contains(65));
        shared.remove(200);
        assert_eq!(shared.finish().iter().collect::<Vec<_>>(), [3, 64]);
    }
}
