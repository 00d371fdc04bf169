//! Chance: which outcomes of a handler can be taken for ever while others are not.
//!
//! The answers that lead to the outcomes of a handler are a tree. Where an adversary chooses an answer, any answer may be the only one
//! for ever. Where an answer is drawn, each one with a weight above 0 comes again and again. So an outcome can be taken for ever
//! only if at each draw on the way to it some outcome is taken for ever behind each such answer.

use crate::liveness::graph::label::{Draw, Source};

/// For each of these outcomes of one handler whether it can be taken for ever, if only the `wanted` ones are to be taken.
pub fn lasting(outcomes: &[(&Draw, bool)]) -> Vec<bool> {
    let mut lasts = vec![false; outcomes.len()];
    let all: Vec<usize> = (0..outcomes.len()).collect();
    keep(outcomes, &all, 0, &mut lasts);
    lasts
}

/// Whether some outcome behind the first `depth` answers, which these outcomes share, can be taken for ever. Marks those that can.
fn keep(outcomes: &[(&Draw, bool)], of: &[usize], depth: usize, lasts: &mut [bool]) -> bool {
    let answer = |index: &usize| outcomes[*index].0.answers.get(depth).copied();
    // An outcome without another answer shares all its answers with no other one.
    if of.iter().any(|index| answer(index).is_none()) {
        of.iter().for_each(|index| lasts[*index] = outcomes[*index].1);
        return of.iter().any(|index| lasts[*index]);
    }
    let mut branches: Vec<(u32, Source)> = of.iter().filter_map(answer).collect();
    branches.sort_unstable();
    branches.dedup();
    let (mut any, mut all_drawn) = (false, true);
    for (picked, source) in branches {
        let behind: Vec<usize> = of.iter().copied().filter(|index| answer(index) == Some((picked, source))).collect();
        let can_last = keep(outcomes, &behind, depth + 1, lasts);
        any |= can_last;
        all_drawn &= can_last || source != Source::Drawn;
    }
    if !all_drawn {
        of.iter().for_each(|index| lasts[*index] = false);
    }
    any && all_drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use Source::{Chosen, Drawn, Undrawn};

    fn lasting_of(outcomes: &[(&[(u32, Source)], bool)]) -> Vec<bool> {
        let draws: Vec<Draw> =
            outcomes.iter().map(|(answers, _)| Draw { row: 0, answers: (*answers).into() }).collect();
        let outcomes: Vec<(&Draw, bool)> =
            draws.iter().zip(outcomes).map(|(draw, (_, wanted))| (draw, *wanted)).collect();
        lasting(&outcomes)
    }

    #[test]
    fn a_coin_shows_both_sides_and_an_adversary_need_not() {
        assert_eq!(lasting_of(&[(&[(0, Drawn)], true), (&[(1, Drawn)], false)]), [false, false]);
        assert_eq!(lasting_of(&[(&[(0, Chosen)], true), (&[(1, Chosen)], false)]), [true, false]);
        assert_eq!(lasting_of(&[(&[(0, Drawn)], true), (&[(1, Undrawn)], false)]), [true, false]);
        // A coin, and then a choice after heads alone: one choice behind it is enough.
        let after = |wanted| {
            lasting_of(&[
                (&[(0, Drawn), (0, Chosen)], true),
                (&[(0, Drawn), (1, Chosen)], false),
                (&[(1, Drawn)], wanted),
            ])
        };
        assert_eq!(after(true), [true, false, true]);
        assert_eq!(after(false), [false, false, false]);
        // A choice, and then a coin: the adversary picks the branch where both sides are wanted.
        let branches: [(&[(u32, Source)], bool); 4] = [
            (&[(0, Chosen), (0, Drawn)], true),
            (&[(0, Chosen), (1, Drawn)], false),
            (&[(1, Chosen), (0, Drawn)], true),
            (&[(1, Chosen), (1, Drawn)], true),
        ];
        assert_eq!(lasting_of(&branches), [false, false, true, true]);
    }
}
