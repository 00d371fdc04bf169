//! The digest of data memories as a sum over their granules, at a cost in proportion to the granules that differ from the base.
//!
//! Each granule that differs from the pristine image contributes the hash of its place and content; the digest is their sum modulo 2^256.
//! It does not depend on the base: the sum of the reference image is known, and the granules that differ from it are exchanged.
//!
//! Source: Bellare and Micciancio, "A new paradigm for collision-free hashing: incrementality at reduced cost", EUROCRYPT 1997 (AdHash). No
//! plugin gains anything by a collision, for which a modulus of this size would be small.

use crate::rewrite::GRANULE;
use crate::state::lines::padded;

/// A sum of hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum([u64; 4]);

impl Sum {
    /// The contribution of a granule, past whose end, and past that of the image, zeros follow.
    pub(crate) fn of(memory: usize, granule: u32, bytes: &[u8], pristine: &[u8]) -> Self {
        let start = granule as usize * GRANULE;
        let content = padded(bytes, start);
        if content == padded(pristine, start) {
            return Self::default();
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(memory as u32).to_le_bytes()).update(&granule.to_le_bytes()).update(&content);
        let hash = hasher.finalize();
        let (words, _) = hash.as_bytes().as_chunks::<8>();
        Self(std::array::from_fn(|nth| u64::from_le_bytes(words[nth])))
    }

    pub(crate) fn add(&mut self, other: Self) {
        let mut carry = false;
        for (word, other) in self.0.iter_mut().zip(other.0) {
            let (sum, first) = word.overflowing_add(other);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*word, carry) = (sum, first || second);
        }
    }

    pub(crate) fn subtract(&mut self, other: Self) {
        let mut borrow = false;
        for (word, other) in self.0.iter_mut().zip(other.0) {
            let (rest, first) = word.overflowing_sub(other);
            let (rest, second) = rest.overflowing_sub(borrow.into());
            (*word, borrow) = (rest, first || second);
        }
    }

    pub(crate) fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_mut(8).zip(self.0) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// The contributions of an image.
#[derive(Debug)]
pub(crate) struct Contributions {
    /// For each data memory, those of the granules that differ from the pristine image, ascending.
    of: Vec<Vec<(u32, Sum)>>,
    pub total: Sum,
}

impl Contributions {
    /// Those of the granules of an image that differ from the pristine one.
    pub(crate) fn new(differs: &[Vec<u32>], image: &[Box<[u8]>], pristine: &[Box<[u8]>]) -> Self {
        let memories = differs.iter().zip(image).zip(pristine).enumerate();
        let of: Vec<Vec<(u32, Sum)>> = memories
            .map(|(memory, ((differs, image), pristine))| {
                differs.iter().map(|&granule| (granule, Sum::of(memory, granule, image, pristine))).collect()
            })
            .collect();
        let mut total = Sum::default();
        of.iter().flatten().for_each(|(_, sum)| total.add(*sum));
        Self { of, total }
    }

    /// That of a granule; zero if it does not differ.
    pub(crate) fn at(&self, memory: usize, granule: u32) -> Sum {
        let of = &self.of[memory];
        of.binary_search_by_key(&granule, |(granule, _)| *granule).map_or_else(|_| Sum::default(), |nth| of[nth].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memories of a few granules with three possible contents, one of them zero.
    fn memory(granules: usize, number: usize) -> Box<[u8]> {
        let content = |nth: usize| (number / 3_usize.pow(nth as u32) % 3) as u8;
        (0..granules).flat_map(|nth| [content(nth); GRANULE]).collect()
    }

    /// The sum over all granules.
    fn whole(bytes: &[u8], pristine: &[u8]) -> Sum {
        let mut sum = Sum::default();
        (0..(bytes.len() / GRANULE) as u32).for_each(|granule| sum.add(Sum::of(0, granule, bytes, pristine)));
        sum
    }

    #[test]
    fn the_digest_does_not_depend_on_the_base() {
        let pristine = memory(2, 5);
        let mut seen = std::collections::BTreeMap::new();
        for reference in (0..27).map(|number| memory(3, number)) {
            let differs: Vec<u32> =
                (0..3).filter(|&nth| Sum::of(0, nth, &reference, &pristine) != Sum::default()).collect();
            let known =
                Contributions::new(&[differs], std::slice::from_ref(&reference), std::slice::from_ref(&pristine));
            assert_eq!(known.total, whole(&reference, &pristine));
            for number in 0..27 {
                let now = memory(3, number);
                let mut sum = known.total;
                for granule in 0..3 {
                    sum.subtract(known.at(0, granule));
                    sum.add(Sum::of(0, granule, &now, &pristine));
                }
                assert_eq!(sum, whole(&now, &pristine));
                assert_eq!(*seen.entry(number).or_insert(sum), sum);
            }
        }
        let distinct: std::collections::BTreeSet<[u8; 32]> = seen.values().map(|sum| sum.bytes()).collect();
        assert_eq!(distinct.len(), 27, "other contents have other sums");
    }

    #[test]
    fn sums_carry() {
        let mut sum = Sum([u64::MAX, u64::MAX, 0, 7]);
        sum.add(Sum([1, 0, 0, u64::MAX]));
        assert_eq!(sum, Sum([0, 0, 1, 6]));
        sum.subtract(Sum([1, 0, 0, u64::MAX]));
        assert_eq!(sum, Sum([u64::MAX, u64::MAX, 0, 7]));
    }
}
