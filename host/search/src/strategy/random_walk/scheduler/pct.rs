//! Priorities of causal chains.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::kernel::dice::{below, draw};
use crate::strategy::random_walk::scheduler::priority::turn;
use crate::strategy::random_walk::scheduler::{Candidate, Scheduler, mixed};

/// Probabilistic concurrency testing, on causal chains.
///
/// Each chain has a random priority, and the event of the first chain happens. At some random steps the first chain becomes the last one,
/// behind all others.
///
/// Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs" (PCT),
/// ASPLOS 2010; for messages Ozkan, Majumdar, Niksic, Tabaei Befrouei, Weissenbacher, "Randomized testing of distributed systems with
/// probabilistic guarantees" (PCTCP), OOPSLA 2018. Differs in: a chain is a local event or fault with all messages sent because of it, so
/// events of one chain may be enabled together, and are drawn evenly; chains without end would starve all others, so a walk is a sequence
/// of stretches with their own priorities, of a length drawn on a logarithmic scale. So the bounds of the papers do not hold.
#[derive(Debug)]
pub(super) struct Pct {
    /// Changes of priorities in a stretch.
    changes_max: u32,
    /// Steps of a stretch.
    length: u32,
    /// The seed of the priorities of the stretch.
    salt: u64,
    /// Steps at which the first chain becomes the last one, from the last to the first one.
    changes: Vec<u32>,
    /// Steps of the stretch so far.
    steps: u32,
    /// Chains that were first when priorities changed. The later, the further behind.
    last: Vec<u64>,
}

impl Pct {
    /// A scheduler for a walk of at most this many steps.
    pub(super) fn new(dice: &mut ChaCha8Rng, depth: u32, steps_max: u32) -> Self {
        // From eight steps to all of them.
        let scales = steps_max.max(8).ilog2() - 2;
        let length = 8 << below(dice, u64::from(scales));
        let (changes, last) = (Vec::new(), Vec::new());
        let mut it = Self { changes_max: depth - 1, length, salt: 0, changes, steps: 0, last };
        it.begin(dice);
        it
    }

    /// Begins a stretch.
    fn begin(&mut self, dice: &mut ChaCha8Rng) {
        self.salt = dice.next_u64();
        self.steps = 0;
        self.last.clear();
        self.changes = (0..self.changes_max).map(|_| below(dice, u64::from(self.length)) as u32).collect();
        self.changes.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The chain with the first priority.
    fn first(&self, candidates: &[Candidate]) -> Option<u64> {
        let rank = |candidate: &Candidate| {
            let chain = candidate.origin.chain;
            let place = self.last.iter().position(|last| *last == chain).map_or(0, |place| place + 1);
            Some((place, turn(mixed(self.salt, chain), candidate.weight)?, chain))
        };
        candidates.iter().filter_map(rank).min().map(|(_, _, chain)| chain)
    }
}

impl Scheduler for Pct {
    fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize> {
        if self.steps == self.length {
            self.begin(dice);
        }
        while self.changes.pop_if(|step| *step <= self.steps).is_some() {
            let first = self.first(candidates)?;
            self.last.retain(|last| *last != first);
            self.last.push(first);
        }
        self.steps += 1;
        let first = self.first(candidates)?;
        draw(dice, candidates.iter().map(|it| if it.origin.chain == first { it.weight } else { 0 }))
    }
}
