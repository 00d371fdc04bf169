//! How a walk got to where it is, without the steps.

use std::sync::Arc;

/// Walks of a way beyond which no walk continues: each keeps the way that it began with.
const LEGS_MAX: u32 = 64;

/// One walk of a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// Which walk.
    pub(super) number: u64,
    /// The steps that the walk may take.
    pub(super) steps_max: u32,
    /// The steps from the start state to the end of this part.
    pub(super) depth: u32,
}

/// The walks that lead to a state, one after the other, from a start state on. With the seed of the search they repeat their draws, so a way
/// holds in any local transition system.
#[derive(Debug)]
pub(super) struct Way {
    /// Where the last walk began, if not in a start state.
    pub(super) from: Option<Arc<Way>>,
    /// The last walk.
    pub(super) leg: Leg,
    /// Index of the start state.
    pub(super) start: usize,
    /// How many goals were reached on it, each after the one before.
    pub(super) reached: u32,
    legs: u32,
}

impl Way {
    pub(super) fn new(from: Option<Arc<Self>>, leg: Leg, start: usize, reached: u32) -> Self {
        let legs = from.as_ref().map_or(0, |from| from.legs) + 1;
        Self { from, leg, start, reached, legs }
    }

    /// The steps from the start state.
    pub(super) fn depth(&self) -> u32 {
        self.leg.depth
    }

    /// How many walks it has.
    pub(super) fn legs(&self) -> u32 {
        self.legs
    }

    /// Whether it has as many walks as a way may have.
    pub(super) fn is_long(&self) -> bool {
        self.legs >= LEGS_MAX
    }
}
