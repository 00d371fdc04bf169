//! Random numbers, a stream for each purpose.
//!
//! So a change of one condition leaves the draws for all others as they are.

use std::time::Duration;

use host_model::lts::Outcome;
use host_search::kernel::dice::{below, dice, draw_outcome};
use rand_chacha::ChaCha8Rng;

use crate::time::{Range, Share};

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Start,
    Latency,
    Loss,
    Duplicates,
    Delay,
    Churn,
    Partitions,
    Choices,
    Phases,
}

/// The random numbers of a run.
pub(super) struct Chance([ChaCha8Rng; 9]);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(std::array::from_fn(|purpose| dice(seed, purpose as u64)))
    }

    /// A number below a bound.
    pub(super) fn below(&mut self, purpose: Purpose, bound: u64) -> u64 {
        below(&mut self.0[purpose as usize], bound)
    }

    pub(super) fn is_in(&mut self, purpose: Purpose, share: Share) -> bool {
        self.below(purpose, Share::ALL.0.into()) < share.0.into()
    }

    pub(super) fn within(&mut self, purpose: Purpose, range: Range) -> Duration {
        range.draw(&mut self.0[purpose as usize])
    }

    /// A time with this mean: between nothing and twice as much.
    pub(super) fn around(&mut self, purpose: Purpose, mean: Duration) -> Duration {
        self.within(purpose, Range { from: Duration::from_nanos(1), to: 2 * mean })
    }

    pub(super) fn outcome(&mut self, outcomes: &[Outcome]) -> usize {
        draw_outcome(&mut self.0[Purpose::Choices as usize], outcomes.iter())
    }
}
