//! Random weights for each walk.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::kernel::dice::draw;
use crate::strategy::random_walk::scheduler::{Candidate, Kind, Scheduler, mixed};

/// Swarm testing.
///
/// Each walk draws weights for its nodes, for the messages of each type on each link, and for the local events and faults of each kind.
/// Some are hundreds of times as likely as others.
///
/// Source: Groce, Zhang, Eide, Chen, Regehr, "Swarm testing", ISSTA 2012; differs in: features are unlikely instead of left out, since a
/// walk without deliveries is over at once.
#[derive(Debug)]
pub(super) struct Swarm {
    /// The seed of the weights of the walk.
    salt: u64,
}

impl Swarm {
    pub(super) fn new(dice: &mut ChaCha8Rng) -> Self {
        Self { salt: dice.next_u64() }
    }

    /// A power of four up to `4^(powers - 1)`, drawn by a hash of `of`.
    fn factor(&self, of: u64, powers: u64) -> u64 {
        1 << (2 * (mixed(self.salt, of) % powers))
    }
}

impl Scheduler for Swarm {
    fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize> {
        let weight = |candidate: &Candidate| {
            let (node, kind) = (u64::from(candidate.node), kind_of(candidate));
            candidate.weight * self.factor(node, 3) * self.factor(mixed(node + 1, kind), 5)
        };
        draw(dice, candidates.iter().map(weight))
    }
}

/// The kind of an event: with the type and sender of its message, or with its content if it is a local one.
fn kind_of(candidate: &Candidate) -> u64 {
    match candidate.kind {
        Kind::Delivery => mixed(u64::from(candidate.tag), candidate.from.map_or(0, |from| u64::from(from) + 1)),
        Kind::Local(kind) => 1 << 32 | kind as u64,
        Kind::Fault => 1 << 33,
    }
}
