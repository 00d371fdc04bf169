//! Sketches of sets of fingerprints: about how many there are, and how many two sets have together.

use crate::contract::fingerprint::Fingerprint;

/// Bits of a fingerprint that choose a register.
const INDEX_BITS: u32 = 12;

/// The number of registers. The standard error of an estimate is `1.04 / sqrt(REGISTERS)`, 1.6 %.
const REGISTERS: usize = 1 << INDEX_BITS;

/// The largest value of a register; with a fair hash no set on earth reaches it.
const RANK_MAX: u8 = 53;

/// The letters of the text form: the value of a register is the position of its letter.
const LETTERS: &[u8; RANK_MAX as usize + 1] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01";

/// 4,096 registers for a set of fingerprints (Flajolet et al., "HyperLogLog", 2007).
///
/// The union of two sketches is the sketch of the union, so sets that were never in one place can be counted together. A sketch never
/// shrinks, and does not change if a fingerprint is added twice; therefore a set whose union changes nothing has, up to the error, nothing
/// new.
///
/// ```
/// use host_model::contract::Sketch;
///
/// let sketch = |range: std::ops::Range<u128>| {
///     let spread = |number: u128| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
///     range.map(spread).collect::<Sketch>()
/// };
/// let mut all = sketch(0..2_000);
/// assert!(!all.add_all(&sketch(500..1_500)), "nothing new");
/// assert!(all.add_all(&sketch(1_000..3_000)));
/// assert_eq!(all, sketch(0..3_000));
/// assert_eq!(Sketch::from_text(&all.to_text()), Some(all));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Box<[u8; REGISTERS]>);

impl Default for Sketch {
    fn default() -> Self {
        Self(Box::new([0; REGISTERS]))
    }
}

impl FromIterator<Fingerprint> for Sketch {
    fn from_iter<I: IntoIterator<Item = Fingerprint>>(all: I) -> Self {
        let mut sketch = Self::default();
        all.into_iter().for_each(|one| sketch.add(one));
        sketch
    }
}

impl Sketch {
    /// Adds a fingerprint.
    pub fn add(&mut self, one: Fingerprint) {
        let register = &mut self.0[one as usize % REGISTERS];
        // One more than the zeros before the first bit that is set.
        let rank = (one >> INDEX_BITS).leading_zeros() - INDEX_BITS + 1;
        *register = (*register).max(rank.min(u32::from(RANK_MAX)) as u8);
    }

    /// Adds another set; returns whether that changed anything.
    pub fn add_all(&mut self, other: &Self) -> bool {
        let mut has_grown = false;
        for (register, other) in self.0.iter_mut().zip(other.0.iter()) {
            has_grown |= other > register;
            *register = (*register).max(*other);
        }
        has_grown
    }

    /// The number of distinct fingerprints, with a standard error of 1.6 %.
    pub fn estimate(&self) -> u64 {
        let registers = REGISTERS as f64;
        let sum: f64 = self.0.iter().map(|register| (-f64::from(*register)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|register| **register == 0).count();
        // Of few fingerprints, the registers that none of them has chosen say more.
        let estimate = match empty {
            0 => raw,
            _ if raw > 2.5 * registers => raw,
            _ => registers * (registers / empty as f64).ln(),
        };
        estimate.round() as u64
    }

    /// 4,096 letters.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|register| char::from(LETTERS[usize::from(*register)])).collect()
    }

    /// The sketch with this text form; none if it has another length, or other letters.
    pub fn from_text(text: &str) -> Option<Self> {
        let value = |letter| LETTERS.iter().position(|known| *known == letter).map(|position| position as u8);
        let registers: Vec<u8> = text.bytes().map(value).collect::<Option<_>>()?;
        Some(Self(registers.into_boxed_slice().try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn sketch(numbers: impl Iterator<Item = u32>) -> Sketch {
        numbers.map(|number| crate::contract::fingerprint::of_message(0, 0, &number.to_le_bytes())).collect()
    }

    /// Four standard errors, for sets of one to 300,000.
    #[test]
    fn the_estimate_is_within_its_error() {
        assert_eq!(Sketch::default().estimate(), 0);
        for size in [1_u32, 2, 10, 100, 1_000, 8_000, 11_000, 30_000, 300_000] {
            let estimate = sketch(0..size).estimate();
            let allowed = (f64::from(size) * 4.0 * 1.04 / 64.0).ceil() as u64;
            assert!(estimate.abs_diff(u64::from(size)) <= allowed, "{estimate} of {size}");
        }
    }

    #[test]
    fn a_union_is_the_sketch_of_both_and_grows_only_by_what_is_new() {
        let mut all = BTreeSet::new();
        let mut union = Sketch::default();
        for part in 0..40_u32 {
            let numbers = part * 37 % 500..part * 37 % 500 + part;
            let has_grown = union.add_all(&sketch(numbers.clone()));
            let before = all.len();
            all.extend(numbers);
            assert_eq!(union, sketch(all.iter().copied()));
            assert!(!has_grown || all.len() > before, "it grew by nothing");
        }
        assert!(union.estimate() > 0);
    }

    #[test]
    fn other_texts_are_none() {
        let text = sketch(0..100).to_text();
        assert_eq!(text.len(), REGISTERS);
        for wrong in ["", &text[1..], &format!("{text}A"), &text.replacen('A', "2", 1), &text.replacen('A', "é", 1)] {
            assert_eq!(Sketch::from_text(wrong), None);
        }
    }
}
