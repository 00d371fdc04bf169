//! The state from which each state was found, in next to no memory.
//!
//! States are numbered as they are found, and expanded in that order. So the states found from neighbouring states have consecutive
//! numbers, and it is enough to keep where each run begins: the parent is the first of a few states with an edge to the state.

use std::ops::Range;

/// Number of states among which a parent is searched.
const BLOCK: u32 = 1 << 8;

/// The parents of states: the states from which they were found.
#[derive(Clone, Debug, Default)]
pub struct Parents {
    len: u32,
    /// States without a parent, in ascending order.
    starts: Vec<u32>,
    /// For each block the first state whose parent is in it or in a later one.
    first_found: Vec<u32>,
    /// The parent of the last state that has one.
    last: u32,
}

impl Parents {
    /// Adds the next state, with its parent; none for a start state.
    ///
    /// # Panics
    ///
    /// Its parent comes before that of the state before it.
    pub fn push(&mut self, parent: Option<u32>) {
        match parent {
            None => self.starts.push(self.len),
            Some(parent) => {
                assert!(self.last <= parent, "states are expanded in the order of their numbers");
                self.last = parent;
                let blocks = (parent / BLOCK) as usize + 1;
                if self.first_found.len() < blocks {
                    self.first_found.resize(blocks, self.len);
                }
            }
        }
        self.len += 1;
    }

    /// Number of states.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        ((self.starts.capacity() + self.first_found.capacity()) * size_of::<u32>()) as u64
    }

    /// States among which the parent of a state is; none for a start state.
    pub fn near(&self, state: u32) -> Option<Range<u32>> {
        if self.starts.binary_search(&state).is_ok() {
            return None;
        }
        let block = self.first_found.partition_point(|first| *first <= state) as u32 - 1;
        Some(block * BLOCK..((block + 1) * BLOCK).min(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_near_the_one_that_it_was_found_from() {
        // Some states find none, one finds as many as two blocks, and some are start states.
        let found = |state: u32| match state {
            7 => 2 * BLOCK,
            _ => (state % 5).saturating_sub(2),
        };
        let mut parents = Parents::default();
        let mut expected = vec![None; 10];
        for state in 0..4 * BLOCK {
            expected.extend((0..found(state)).map(|_| Some(state)));
            if state == 20 {
                // A start state that is found late is still a start state.
                expected.push(None);
            }
        }
        expected.iter().for_each(|parent| parents.push(*parent));
        assert_eq!(parents.len(), expected.len() as u32);
        for (state, parent) in (0..).zip(&expected) {
            let near = parents.near(state);
            assert_eq!(near.is_some(), parent.is_some(), "{state}");
            if let (Some(near), Some(parent)) = (near, parent) {
                assert!(near.contains(parent) && near.end <= state, "{state}: {parent} in {near:?}");
                assert!(near.len() <= BLOCK as usize);
            }
        }
    }
}
