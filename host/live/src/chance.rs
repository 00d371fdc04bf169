//! Random numbers, one stream per purpose: a change of one condition does not affect the draws for others.

use std::marker::PhantomData;
use std::time::Duration;

use host_search::kernel::dice::{below, dice};
use rand_chacha::ChaCha8Rng;

use crate::time::{Range, Share};

/// The purpose of a draw, an enum whose variants are numbered from 0.
pub(crate) trait Purpose: Copy {
    /// The number of purposes.
    const COUNT: usize;

    /// The number of this purpose.
    fn index(self) -> usize;
}

/// The random numbers of a run.
pub(crate) struct Chance<P> {
    streams: Vec<ChaCha8Rng>,
    purposes: PhantomData<P>,
}

impl<P: Purpose> Chance<P> {
    pub(crate) fn new(seed: u64) -> Self {
        let streams = (0..P::COUNT as u64).map(|purpose| dice(seed, purpose)).collect();
        Self { streams, purposes: PhantomData }
    }

    pub(crate) fn dice(&mut self, purpose: P) -> &mut ChaCha8Rng {
        &mut self.streams[purpose.index()]
    }

    /// A uniform number below a bound.
    pub(crate) fn below(&mut self, purpose: P, bound: u64) -> u64 {
        below(self.dice(purpose), bound)
    }

    pub(crate) fn is_in(&mut self, purpose: P, share: Share) -> bool {
        self.below(purpose, Share::ALL.0.into()) < share.0.into()
    }

    pub(crate) fn within(&mut self, purpose: P, range: Range) -> Duration {
        range.draw(self.dice(purpose))
    }

    /// A uniform duration with this mean, between 1 ns and twice the mean.
    pub(crate) fn around(&mut self, purpose: P, mean: Duration) -> Duration {
        self.within(purpose, Range { from: Duration::from_nanos(1), to: 2 * mean })
    }
}
