//! The path of a walk, without the steps.

use std::sync::Arc;

/// Maximum number of walks in a path: each keeps the path with which it began.
const LEGS_MAX: u32 = 64;

/// One walk of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// The number of the walk.
    pub(super) number: u64,
    /// The steps that the walk may take.
    pub(super) steps_max: u32,
    /// The steps from the start state to the end of this part.
    pub(super) depth: u32,
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
}

impl Way {
    pub(super) fn new(from: Option<Arc<Self>>, leg: Leg, start: usize, reached: u32) -> Self {
        let legs = from.as_ref().map_or(0, |from| from.legs) + 1;
        Self { from, leg, start, reached, legs }
    }

    /// Number of steps from the start state.
    pub(super) fn depth(&self) -> u32 {
        self.leg.depth
    }

    /// Number of its walks.
    pub(super) fn legs(&self) -> u32 {
        self.legs
    }

    /// Whether it has the maximum number of walks.
    pub(super) fn is_long(&self) -> bool {
        self.legs >= LEGS_MAX
    }
}
