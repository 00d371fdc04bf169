//! Priorities of events.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::strategy::random_walk::scheduler::priority::turn;
use crate::strategy::random_walk::scheduler::{Candidate, Scheduler, mixed};

/// Partial-order sampling.
///
/// Each enabled event has a random priority, and the first one happens. All events of the same node then draw again, since their order
/// matters; those of other nodes keep their priorities.
///
/// Source: Yuan, Yang, Gu, "Partial order aware concurrency sampling" (POS), CAV 2018; differs in: events are messages and local events,
/// and those of one node are dependent.
#[derive(Debug)]
pub(super) struct Pos {
    /// The seed of the priorities of the walk.
    salt: u64,
    /// Events that have happened at each node.
    happened: Vec<u64>,
}

impl Pos {
    pub(super) fn new(dice: &mut ChaCha8Rng) -> Self {
        Self { salt: dice.next_u64(), happened: Vec::new() }
    }
}

impl Scheduler for Pos {
    fn choose(&mut self, _: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize> {
        let rank = |(index, candidate): (usize, &Candidate)| {
            let happened = self.happened.get(candidate.node as usize).copied().unwrap_or(0);
            let random = mixed(mixed(self.salt, happened), candidate.content);
            Some((turn(random, candidate.weight)?, index))
        };
        let (_, first) = candidates.iter().enumerate().filter_map(rank).min()?;
        let node = candidates[first].node as usize;
        if self.happened.len() <= node {
            self.happened.resize(node + 1, 0);
        }
        self.happened[node] += 1;
        Some(first)
    }
}
