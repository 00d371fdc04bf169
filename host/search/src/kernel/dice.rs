//! Random numbers from a seed, the same on every machine.

use host_model::lts::Outcome;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers: those of the same seed do not depend on each other.
pub fn dice(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    dice.set_stream(stream);
    dice
}

/// Draws one of all outcomes of a handler: each call of `choose` evenly, each of `choose-weighted` by its weights.
///
/// # Panics
///
/// There is none.
pub fn draw_outcome<'o>(dice: &mut ChaCha8Rng, outcomes: impl ExactSizeIterator<Item = &'o Outcome> + Clone) -> usize {
    let mut likelihoods = outcomes.clone().map(|outcome| outcome.likelihood);
    let first = likelihoods.next();
    if likelihoods.all(|other| Some(other) == first) {
        return below(dice, outcomes.len() as u64) as usize;
    }
    draw(dice, outcomes.map(|outcome| outcome.likelihood.parts()))
        .expect("weights are not all 0, so some outcome is likely")
}

/// An index, with a probability in proportion to its weight; none if all weights are 0.
pub fn draw(dice: &mut ChaCha8Rng, mut weights: impl Iterator<Item = u64> + Clone) -> Option<usize> {
    let sum: u64 = weights.clone().sum();
    if sum == 0 {
        return None;
    }
    let mut left = below(dice, sum);
    weights.position(|weight| match left.checked_sub(weight) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}

/// A number below `bound`, each with the same probability; 0 if there is only one.
///
/// Written here because the distributions of crates for random numbers change between versions, while the stream of
/// ChaCha does not.
pub fn below(dice: &mut ChaCha8Rng, bound: u64) -> u64 {
    if bound <= 1 {
        return 0;
    }
    // Lemire, "Fast random integer generation in an interval", 2019: the high half of a product, and another draw in
    // the few cases that would favour some numbers.
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(dice.next_u64()) * u128::from(bound);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn draws_are_even_and_do_not_depend_on_each_other() {
        let mut dice = ChaCha8Rng::seed_from_u64(7);
        let mut drawn = [0_u32; 6];
        for _ in 0..60_000 {
            drawn[below(&mut dice, 6) as usize] += 1;
        }
        // Ten thousand each; the standard deviation is 91.
        assert!(drawn.iter().all(|count| count.abs_diff(10_000) < 500), "{drawn:?}");
        let of_stream = |stream| {
            let mut dice = ChaCha8Rng::seed_from_u64(7);
            dice.set_stream(stream);
            (0..8).map(|_| below(&mut dice, 1 << 40)).collect::<Vec<_>>()
        };
        let streams: BTreeSet<Vec<u64>> = (0..100).map(of_stream).collect();
        assert_eq!(streams.len(), 100);
    }
}
