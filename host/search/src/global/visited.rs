//! The set of visited global states: fingerprints with the least depth at which each was seen.

use host_model::contract::fingerprint::Fingerprint;
use rustc_hash::FxHashMap;

use crate::global::ordered_table::{Key, OrderedTable, Slot};
use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::table_bytes;

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The state is new.
    New,
    /// The state was seen before, but only at this greater depth.
    Deeper(u32),
    /// The state was seen before at this depth or a smaller one.
    Already,
}

/// The bits of a fingerprint that are kept: those of the shard, 64 and 16. With a billion states the odds that any two of
/// them are mistaken for one are 1 in 10^8, see [`collision_odds`].
pub const FINGERPRINT_BITS: u32 = SHARD_BITS + 80;

/// The odds that two of this many states have equal fingerprints, in the bits that are kept.
pub fn collision_odds(states: u64) -> f64 {
    let states = states as f64;
    (states * states / 2.0 / 2f64.powi(FINGERPRINT_BITS as i32)).min(1.0)
}

/// Tables are separate by these highest bits, so that growing one needs little additional memory, and each can have a worker of its own.
pub const SHARD_BITS: u32 = 6;

/// Number of shards.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// The shard where a state belongs.
#[inline]
pub fn shard_of(fingerprint: Fingerprint) -> usize {
    (fingerprint >> (128 - SHARD_BITS)) as usize
}

/// Visited global states, 12 bytes per slot.
pub struct Visited {
    shards: Vec<Shard>,
    len: u64,
}

/// The states whose fingerprints have the same highest bits.
#[derive(Default)]
pub struct Shard {
    table: OrderedTable<Entry>,
    /// The depths that do not fit in a slot, by the state's key: those above 65,534 events, which are rare.
    deep: FxHashMap<Key, u32>,
}

/// A state. Packed, so that it needs no padding.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(4))]
struct Entry {
    /// The bits of the fingerprint after those of the shard; a zero is moved to one.
    high: u64,
    /// The next 16 bits of the fingerprint, then 16 bits for the depth: all ones if it is in the table of deep states.
    low: u32,
}

const DEPTH_MASK: u32 = 0xffff;

impl Slot for Entry {
    const EMPTY: Self = Self { high: 0, low: 0 };

    #[inline]
    fn high(self) -> u64 {
        self.high
    }

    #[inline]
    fn key(self) -> Key {
        (self.high, self.low & !DEPTH_MASK)
    }
}

impl Entry {
    #[inline]
    fn new(fingerprint: Fingerprint, depth: u32) -> Self {
        let low = (fingerprint >> (48 - SHARD_BITS)) as u32 & 0xffff;
        Self { high: high_of(fingerprint), low: low << 16 | depth.min(DEPTH_MASK) }
    }

    /// The depth; [`DEPTH_MASK`] stands for all depths from there on.
    #[inline]
    fn depth(self) -> u32 {
        self.low & DEPTH_MASK
    }
}

/// The 64 bits of a fingerprint after those of the shard; a zero is moved to one.
#[inline]
pub fn high_of(fingerprint: Fingerprint) -> u64 {
    ((fingerprint >> (64 - SHARD_BITS)) as u64).max(1)
}

impl Visited {
    /// An empty set.
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect(), len: 0 }
    }

    /// Number of distinct states.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// Whether a state was inserted, at whatever depth.
    #[inline]
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let entry = Entry::new(fingerprint, 0);
        let table = &self.shards[shard_of(fingerprint)].table;
        table.at(table.find(entry)).key() == entry.key()
    }

    /// Notes that a state was seen at a depth.
    #[inline]
    pub fn insert(&mut self, fingerprint: Fingerprint, depth: u32) -> Insertion {
        let seen = self.shards[shard_of(fingerprint)].insert(fingerprint, depth);
        self.len += u64::from(seen == Insertion::New);
        seen
    }

    /// Saves all states with their depths.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.shards.iter().for_each(|shard| shard.save(out));
    }

    /// The states that were saved.
    pub fn load(saved: &mut Reader<'_>) -> Option<Self> {
        let shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::load(saved)).collect::<Option<_>>()?;
        let len = shards.iter().map(Shard::len).sum();
        Some(Self { shards, len })
    }
}

impl Default for Visited {
    fn default() -> Self {
        Self::new()
    }
}

impl Shard {
    /// Number of states.
    pub fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        self.table.bytes() + table_bytes::<(Key, u32)>(self.deep.capacity()) as u64
    }

    /// Saves all states with their depths.
    pub fn save(&self, out: &mut Writer<'_>) {
        let saved = |entry: Entry| {
            let (high, low) = entry.key();
            u128::from(high) << 48 | u128::from(low) << 16 | u128::from(self.depth_of(entry))
        };
        out.wide(self.len(), self.table.iter().map(saved));
    }

    /// The states that were saved.
    pub fn load(saved: &mut Reader<'_>) -> Option<Self> {
        let mut shard = Self::default();
        saved.wide(|entry| {
            let (low, depth) = ((entry >> 16) as u32 & !DEPTH_MASK, entry as u32);
            let high = ((entry >> 48) as u64).max(1);
            shard.insert_entry(Entry { high, low: low | depth.min(DEPTH_MASK) }, depth);
        })?;
        Some(shard)
    }

    /// Reads the slots of states that are going to be inserted, see [`OrderedTable::warm`].
    #[inline]
    pub fn warm(&self, fingerprints: impl Iterator<Item = Fingerprint>) {
        self.table.warm(fingerprints.map(|fingerprint| Entry::new(fingerprint, 0)));
    }

    /// Notes that a state of this shard was seen at a depth.
    #[inline(always)]
    pub fn insert(&mut self, fingerprint: Fingerprint, depth: u32) -> Insertion {
        self.insert_entry(Entry::new(fingerprint, depth), depth)
    }

    /// The least depth at which a state of the table was seen.
    fn depth_of(&self, entry: Entry) -> u32 {
        match entry.depth() {
            DEPTH_MASK => self.deep[&entry.key()],
            depth => depth,
        }
    }

    // A third of the work of taking in an edge is here, and most edges lead to known states.
    #[inline(always)]
    fn insert_entry(&mut self, entry: Entry, depth: u32) -> Insertion {
        let index = self.table.find(entry);
        let known = self.table.at(index);
        if known.key() != entry.key() {
            if depth >= DEPTH_MASK {
                self.insert_deep(entry, depth);
            }
            self.table.insert_at(index, entry);
            return Insertion::New;
        }
        if known.depth() == DEPTH_MASK {
            return self.reach_deep(index, entry, depth);
        }
        if known.depth() <= entry.depth() {
            return Insertion::Already;
        }
        self.table.replace(index, entry);
        Insertion::Deeper(known.depth())
    }

    /// Notes that a state was reached whose depth is too large for its slot. A function of its own, so that the caller
    /// stays small: it runs for every edge.
    #[cold]
    #[inline(never)]
    fn reach_deep(&mut self, index: usize, entry: Entry, depth: u32) -> Insertion {
        let least = self.deep[&entry.key()];
        if least <= depth {
            return Insertion::Already;
        }
        self.table.replace(index, entry);
        match depth {
            DEPTH_MASK.. => self.insert_deep(entry, depth),
            _ => _ = self.deep.remove(&entry.key()),
        }
        Insertion::Deeper(least)
    }

    #[cold]
    #[inline(never)]
    fn insert_deep(&mut self, entry: Entry, depth: u32) {
        self.deep.insert(entry.key(), depth);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Agreement with a map from the standard library, with keys that crowd together at both ends.
    #[test]
    fn insertion_agrees_with_a_map() {
        let mut visited = Visited::new();
        let mut reference: BTreeMap<u128, u32> = BTreeMap::new();
        let mut random: u128 = 1;
        let unit = 1 << (128 - FINGERPRINT_BITS);
        for round in 0..200_000_u32 {
            random = random.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851);
            let key = match round % 5 {
                0 => (1 << 58) + random % 500 * unit,
                1 => u128::MAX - random % 500 * unit,
                // Equal in the first 64 bits, so that the others decide.
                2 => (7 << 90) + random % 60_000 * unit,
                _ => random,
            };
            let kept = key / unit;
            // Also around the largest depth that fits in a slot, and far above it.
            let depth = round % 97 + [0, 65_480, 70_000, 1 << 31][round as usize / 97 % 4];
            let expected = match reference.get(&kept) {
                None => Insertion::New,
                Some(known) if *known > depth => Insertion::Deeper(*known),
                Some(_) => Insertion::Already,
            };
            let least = reference.entry(kept).or_insert(depth);
            *least = depth.min(*least);
            assert_eq!(visited.insert(key, depth), expected, "round {round}");
            assert!(visited.contains(key));
        }
        assert_eq!(visited.len(), reference.len() as u64);
        // A saved set has the same depths.
        for shard in &mut visited.shards {
            let mut saved = Vec::new();
            shard.save(&mut Writer(&mut |part| saved.extend_from_slice(part)));
            let mut rest = saved.as_slice();
            *shard = Shard::load(&mut Reader(&mut |buffer| {
                let (first, others) = rest.split_at(buffer.len());
                buffer.copy_from_slice(first);
                rest = others;
                true
            }))
            .expect("it was saved");
        }
        for (kept, depth) in reference {
            assert_eq!(visited.insert(kept * unit, depth), Insertion::Already);
            assert_eq!(visited.insert(kept * unit, depth.saturating_sub(1)) == Insertion::Deeper(depth), depth > 0);
        }
    }

    #[test]
    fn a_state_takes_at_most_17_bytes_in_the_mean() {
        let mut visited = Visited::new();
        let mut random: u128 = 7;
        let (mut sum, mut samples) = (0.0, 0.0);
        for round in 0..2_000_000_u32 {
            random = random.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851);
            visited.insert(random, 0);
            if round > 100_000 && round % 1_000 == 0 {
                sum += visited.bytes() as f64 / visited.len() as f64;
                samples += 1.0;
            }
        }
        assert!(sum / samples < 17.0, "{} bytes per state", sum / samples);
    }
}
