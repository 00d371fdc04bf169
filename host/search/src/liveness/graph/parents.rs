//! From which state each state was found, in next to no memory.
//!
//! States are numbered as they are found, and expanded in that order. So what is found from some states has numbers in a row, and it is
//! enough to keep where such rows begin: the state itself is the first of a few whose edges lead there.

use std::ops::Range;

/// States among which the one that another state was found from is looked for.
const BLOCK: u32 = 1 << 8;

/// From which states the others were found.
#[derive(Clone, Debug, Default)]
pub struct Parents {
    len: u32,
    /// States that were found from none, in ascending order.
    starts: Vec<u32>,
    /// For each block the first state that was found from a state of it or of a later one.
    first_found: Vec<u32>,
    /// The state that the last one was found from.
    last: u32,
}

impl Parents {
    /// Adds the next state, with the state that it was found from; none of a start state.
    ///
    /// # Panics
    ///
    /// It was found from an earlier state than the one before it.
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

    /// States among which the one is that a state was found from; none of a start state.
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
                // A start state that is found late is one all the same.
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
