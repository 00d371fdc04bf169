//! One bit per state.

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// A set of states. Its length is given by whoever makes it; states beyond are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSet(Vec<u64>);

impl StateSet {
    /// The empty set, with room for so many states.
    pub fn new(states: u32) -> Self {
        Self(vec![0; (states as usize).div_ceil(WORD)])
    }

    /// Adds a state; whether it was not there.
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

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
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
    }
}
