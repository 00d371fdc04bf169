//! Random priorities with odds by weight.

/// Bits after the point of a logarithm.
const FRACTION: u32 = 20;

/// The turn of an item with this random number and weight: the least turn is first, and each item is first with a probability in proportion
/// to its weight (Efraimidis, Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters, 2006). Larger numbers
/// are earlier. None with the weight 0, which never has a turn.
pub(super) fn turn(random: u64, weight: u64) -> Option<u64> {
    // In integers, so that the result is the same on every machine.
    (weight > 0).then(|| (minus_log2(random) << 32) / weight)
}

/// The negative base-2 logarithm of `number / 2^64`, with `FRACTION` bits after the point.
fn minus_log2(number: u64) -> u64 {
    let number = number | 1;
    let zeros = number.leading_zeros();
    // Between 1 and 2, with 62 bits after the point; each squaring yields one more bit of the logarithm.
    let mut mantissa = (number << zeros) >> 1;
    let mut log = 0;
    for _ in 0..FRACTION {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 62;
        let is_two = square >> 63 == 1;
        log = log << 1 | u64::from(is_two);
        mantissa = (square >> u32::from(is_two)) as u64;
    }
    (u64::from(zeros + 1) << FRACTION) - log
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::RngCore;

    use super::*;
    use crate::kernel::dice::dice;

    #[test]
    fn logarithms_are_right() {
        for (number, expected) in
            [(1 << 63, 1 << FRACTION), (1 << 60, 4 << FRACTION), (u64::MAX, 1), (0, 64 << FRACTION)]
        {
            assert_eq!(minus_log2(number), expected, "{number}");
        }
        let mut dice = dice(1, 1);
        for _ in 0..1_000 {
            let number = dice.next_u64();
            let expected = -(number as f64 / 2_f64.powi(64)).log2() * f64::from(1 << FRACTION);
            assert!((minus_log2(number) as f64 - expected).abs() < 1.5, "{number}");
        }
    }

    #[test]
    fn the_first_one_has_odds_by_weight() {
        let (mut dice, weights) = (dice(3, 1), [1, 0, 2, 5]);
        let mut firsts = [0_u32; 4];
        for _ in 0..40_000 {
            let turns = weights.map(|weight| turn(dice.next_u64(), weight));
            let first = (0..4).filter(|index| turns[*index].is_some()).min_by_key(|index| turns[*index]);
            firsts[first.expect("some weight is not 0")] += 1;
        }
        // 5,000, 0, 10,000 and 25,000 in the mean; the standard deviations are below 100.
        let expected = [5_000, 0, 10_000, 25_000];
        assert!(firsts.iter().zip(expected).all(|(one, other)| one.abs_diff(other) < 500), "{firsts:?}");
        assert_eq!(firsts[1], 0);
    }
}
