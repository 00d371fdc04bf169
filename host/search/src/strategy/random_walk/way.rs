//! The path of a walk, without the steps.

use std::sync::Arc;

use crate::strategy::random_walk::script::{Line, Script};

/// Maximum number of walks in a path: each keeps the path with which it began.
const LEGS_MAX: u32 = 64;

/// One walk of a path.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    /// The number of the walk.
    pub(super) number: u64,
    /// The steps that the walk may take.
    pub(super) steps_max: u32,
    /// The steps from the start state to the end of this part.
    pub(super) depth: u32,
    /// The events that the walk repeats first.
    pub(super) script: Script,
}

/// The walks that lead to a state, one after the other, from a start state on. With the seed of the search they repeat their draws, so a
/// path holds in any local transition system.
#[derive(Debug)]
pub(super) struct Way {
    /// The path to the beginning of the last walk, if not a start state.
    pub(super) from: Option<Arc<Way>>,
    /// The last walk.
    pub(super) leg: Leg,
    /// Index of the start state.
    pub(super) start: usize,
    /// The number of goals reached on it, each after the one before.
    pub(super) reached: u32,
    legs: u32,
    bytes: u64,
}

impl Way {
    pub(super) fn new(from: Option<Arc<Self>>, leg: Leg, start: usize, reached: u32) -> Self {
        let legs = from.as_ref().map_or(0, |from| from.legs) + 1;
        let own = size_of::<Self>() + leg.script.len() * size_of::<Line>();
        let bytes = from.as_ref().map_or(0, |from| from.bytes) + own as u64;
        Self { from, leg, start, reached, legs, bytes }
    }

    /// Number of steps from the start state.
    pub(super) fn depth(&self) -> u32 {
        self.leg.depth
    }

    /// The path to the beginning of the walk that takes the step after this many; none if it begins in a start state.
    pub(super) fn before(&self, steps: u32) -> Option<&Arc<Self>> {
        let mut from = self.from.as_ref();
        while let Some(way) = from
            && way.depth() > steps
        {
            from = way.from.as_ref();
        }
        from
    }

    /// Bytes that it keeps, those of its beginning included, which other paths may share.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it has the maximum number of walks.
    pub(super) fn is_long(&self) -> bool {
        self.legs >= LEGS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_belongs_to_the_walk_that_takes_it() {
        let leg = |number, depth| Leg { number, steps_max: 32, depth, script: Script::default() };
        let first = Arc::new(Way::new(None, leg(1, 10), 0, 0));
        let second = Arc::new(Way::new(Some(first), leg(2, 15), 0, 0));
        let way = Way::new(Some(second), leg(3, 40), 0, 0);
        let before = |steps| way.before(steps).map(|from| from.leg.number);
        assert_eq!([0, 9, 10, 14, 15, 39].map(before), [None, None, Some(1), Some(1), Some(2), Some(2)]);
    }
}
