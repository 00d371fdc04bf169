//! Random numbers, a stream for each purpose: a change of one kind of trouble leaves the draws for all others as they are.

use std::time::Duration;

use host_search::kernel::dice::{below, dice};
use rand_chacha::ChaCha8Rng;

use crate::time::{Range, Share};

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Latency,
    Loss,
    Repeats,
    Cuts,
    Kills,
    Crashes,
    Writes,
    Pauses,
    Jumps,
    Snapshots,
    Requests,
    Breaks,
}

/// The streams of seeds of nodes begin behind these.
const PURPOSES: usize = 12;

/// The random numbers of a world.
pub(super) struct Chance([ChaCha8Rng; PURPOSES]);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(std::array::from_fn(|purpose| dice(seed, purpose as u64)))
    }

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

    pub(super) fn dice(&mut self, purpose: Purpose) -> &mut ChaCha8Rng {
        &mut self.0[purpose as usize]
    }
}
