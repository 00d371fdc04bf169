//! The set of visited global states: fingerprints with the least depth at which each was seen.

use host_model::fingerprint::Fingerprint;

use crate::codec::{Reader, Writer};

/// What a state's insertion found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The state is new.
    New,
    /// The state was seen before, but only at this greater depth.
    Deeper(u16),
    /// The state was seen before at this depth or a smaller one.
    Already,
}

/// Low bits of an entry that hold the depth; the fingerprint keeps the 112 others. With a billion states the odds
/// of a collision among 112 bits are 1 in 10^16.
const DEPTH_BITS: u32 = 16;
const DEPTH_MASK: u128 = (1 << DEPTH_BITS) - 1;

/// Tables by the highest bits, so that growing one needs little memory besides the whole, and each can have a worker of
/// its own.
const SHARD_BITS: u32 = 6;

/// Number of shards.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// The shard where a state belongs.
#[inline]
pub fn shard_of(fingerprint: Fingerprint) -> usize {
    (fingerprint >> (128 - SHARD_BITS)) as usize
}

/// No entry: a fingerprint of zero is moved to one.
const EMPTY: u128 = 0;

/// Visited global states, 16 bytes a slot.
///
/// Each shard is a linear-probing table whose entries stand in the order of their fingerprints: a miss ends at the
/// first larger entry, and growing copies the entries in order. A shard is at most 4/5 full and grows by a third.
pub struct Visited {
    shards: Vec<Shard>,
    len: u64,
}

/// The states whose fingerprints have the same highest bits.
pub struct Shard {
    /// Home positions are the first `homes`; the rest takes the overflow of the last ones.
    slots: Vec<u128>,
    homes: usize,
    len: usize,
}

/// Room behind the last home position, so that probing need not wrap.
const OVERFLOW: usize = 64;

impl Visited {
    /// An empty set.
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect(), len: 0 }
    }

    /// Number of distinct states.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no state was inserted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// Whether a state was inserted, at whatever depth.
    #[inline]
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let key = key_of(fingerprint);
        let shard = &self.shards[shard_of(fingerprint)];
        shard.slots[shard.find(key)] & !DEPTH_MASK == key
    }

    /// Notes that a state was seen at a depth. Depths above 65,535 count as that.
    #[inline]
    pub fn insert(&mut self, fingerprint: Fingerprint, depth: u32) -> Seen {
        let seen = self.shards[shard_of(fingerprint)].insert(fingerprint, depth);
        self.len += u64::from(seen == Seen::New);
        seen
    }
}

/// The part of a fingerprint that is kept. The all-zero key would look like an empty slot.
#[inline]
fn key_of(fingerprint: Fingerprint) -> u128 {
    (fingerprint & !DEPTH_MASK).max(1 << DEPTH_BITS)
}

impl Default for Visited {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::new(192)
    }
}

impl Shard {
    /// Number of states.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Whether no state was inserted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<u128>()) as u64
    }

    /// Saves all states with their depths.
    pub fn save(&self, out: &mut Writer<'_>) {
        out.wide(self.len as u64, self.slots.iter().copied().filter(|slot| *slot != EMPTY));
    }

    /// The states that were saved.
    pub fn load(saved: &mut Reader<'_>) -> Option<Self> {
        let mut shard = Self::default();
        saved.wide(|slot| {
            shard.insert_key(slot & !DEPTH_MASK, (slot & DEPTH_MASK) as u16);
        })?;
        Some(shard)
    }

    /// Reads the slots of states that are going to be inserted, all before any is needed: a look-up mostly waits for
    /// memory, and these waits overlap.
    #[inline]
    pub fn warm(&self, fingerprints: impl Iterator<Item = Fingerprint>) {
        let read = |fingerprint| self.slots[Self::home(key_of(fingerprint), self.homes)] as u64;
        std::hint::black_box(fingerprints.fold(0, |sum: u64, fingerprint| sum.wrapping_add(read(fingerprint))));
    }

    /// Notes that a state of this shard was seen at a depth. Depths above 65,535 count as that.
    #[inline]
    pub fn insert(&mut self, fingerprint: Fingerprint, depth: u32) -> Seen {
        self.insert_key(key_of(fingerprint), u16::try_from(depth).unwrap_or(u16::MAX))
    }

    fn new(homes: usize) -> Self {
        Self { slots: vec![EMPTY; homes + OVERFLOW], homes, len: 0 }
    }

    #[inline]
    fn home(key: u128, homes: usize) -> usize {
        let hash = (key >> (64 - SHARD_BITS)) as u64;
        ((u128::from(hash) * homes as u128) >> 64) as usize
    }

    /// The slot of a key, or the one where it belongs.
    #[inline]
    fn find(&self, key: u128) -> usize {
        let mut index = Self::home(key, self.homes);
        while self.slots[index] != EMPTY && self.slots[index] & !DEPTH_MASK < key {
            index += 1;
        }
        index
    }

    #[inline]
    fn insert_key(&mut self, key: u128, depth: u16) -> Seen {
        let index = self.find(key);
        let entry = self.slots[index];
        if entry & !DEPTH_MASK == key {
            let known = (entry & DEPTH_MASK) as u16;
            if known <= depth {
                return Seen::Already;
            }
            self.slots[index] = key | u128::from(depth);
            return Seen::Deeper(known);
        }
        self.insert_at(index, key | u128::from(depth));
        Seen::New
    }

    /// Puts a new entry at `index` and moves the entries up to the next empty slot by one.
    fn insert_at(&mut self, index: usize, entry: u128) {
        let end = index + self.slots[index..].iter().position(|slot| *slot == EMPTY).expect("the last slot is empty");
        self.slots.copy_within(index..end, index + 1);
        self.slots[index] = entry;
        self.len += 1;
        // The last slot stays empty, so that probing always ends.
        if end + 2 >= self.slots.len() {
            self.slots.push(EMPTY);
        }
        if self.len * 5 > self.homes * 4 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let homes = self.homes + self.homes / 3 + 1;
        let mut grown = Self { slots: vec![EMPTY; homes + OVERFLOW], homes, len: self.len };
        let mut next = 0;
        for entry in self.slots.iter().filter(|entry| **entry != EMPTY) {
            next = next.max(Self::home(*entry & !DEPTH_MASK, homes));
            if next + 2 >= grown.slots.len() {
                grown.slots.push(EMPTY);
            }
            grown.slots[next] = *entry;
            next += 1;
        }
        *self = grown;
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
        for round in 0..200_000_u32 {
            random = random.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851);
            let key = match round % 4 {
                0 => (random % 500) << 16,
                1 => u128::MAX - ((random % 500) << 16),
                _ => random,
            };
            let depth = round % 97;
            let expected = match reference.get(&(key & !DEPTH_MASK).max(1 << 16)) {
                None => Seen::New,
                Some(known) if *known > depth => Seen::Deeper(*known as u16),
                Some(_) => Seen::Already,
            };
            let least = reference.entry((key & !DEPTH_MASK).max(1 << 16)).or_insert(depth);
            *least = depth.min(*least);
            assert_eq!(visited.insert(key, depth), expected, "round {round}");
        }
        assert_eq!(visited.len(), reference.len() as u64);
    }

    #[test]
    fn a_state_takes_at_most_24_bytes_in_the_mean() {
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
        assert!(sum / samples < 24.0, "{} bytes a state", sum / samples);
    }
}
