//! Recently sent messages first.

use rand_chacha::ChaCha8Rng;

use crate::kernel::dice::draw;
use crate::strategy::random_walk::scheduler::{Candidate, Scheduler};

/// The factor by which a message of the last step is likelier.
const FRESHEST: u64 = 64;

/// Fresh messages first.
///
/// A message is likelier the later it was sent: 64 times as likely after the step that sent it, half as likely after each two further
/// steps. So a round of a protocol mostly ends before the next one begins, and some old messages stay for much later.
///
/// Source: none; as in depth-first searches, most events are consequences of the last ones.
#[derive(Debug)]
pub(super) struct Fresh;

impl Scheduler for Fresh {
    fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize> {
        let weight = |candidate: &Candidate| {
            let age = candidate.origin.age;
            candidate.weight * age.map_or(1, |age| (FRESHEST >> (age / 2).min(63)).max(1))
        };
        draw(dice, candidates.iter().map(weight))
    }
}
