//! A count of distinct items in bounded memory.

use host_model::contract::fingerprint::Fingerprint;
use rustc_hash::FxHashSet;

use crate::kernel::table_bytes;

/// Counts distinct items by their fingerprints: exactly while there is room for all of them, and a lower bound from then on.
#[derive(Debug)]
pub(super) struct Distinct {
    seen: FxHashSet<Fingerprint>,
    bytes_max: u64,
    is_full: bool,
}

impl Distinct {
    /// A counter without items, with room for this many bytes.
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { seen: FxHashSet::default(), bytes_max, is_full: false }
    }

    /// Counts an item; returns whether it was not counted before.
    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        if self.is_full {
            return false;
        }
        // A full table doubles, and keeps the old places until it has the new ones.
        let is_growing = self.seen.len() == self.seen.capacity();
        if is_growing && 3 * self.bytes() > self.bytes_max {
            self.is_full = !self.seen.contains(&fingerprint);
            return false;
        }
        self.seen.insert(fingerprint)
    }

    /// A lower bound of the number of items.
    pub(super) fn len(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Whether there may be more.
    pub(super) fn is_lower_bound(&self) -> bool {
        self.is_full
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        table_bytes::<Fingerprint>(self.seen.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_exact_until_its_room_is_full() {
        let mut few = Distinct::new(u64::MAX);
        let mut many = Distinct::new(100_000);
        for round in 0..3 {
            for number in 0..5_000_u32 {
                assert_eq!(few.insert(number.into()), round == 0, "{number}");
                many.insert(number.into());
                assert!(many.bytes() <= 100_000, "{number}");
            }
            assert_eq!((few.len(), few.is_lower_bound()), (5_000, false), "round {round}");
            assert!(many.len() <= 5_000 && (many.len() == 5_000 || many.is_lower_bound()), "round {round}");
        }
        assert!(many.is_lower_bound() && many.len() > 500, "{} fit", many.len());
        let mut repeated = Distinct::new(0);
        repeated.insert(1);
        assert!(repeated.is_lower_bound() || repeated.len() == 1);
    }
}
