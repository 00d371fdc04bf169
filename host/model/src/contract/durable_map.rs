//! The durable map of a node: entries that handlers write and that survive a reset, ordered by key.
//!
//! A map is a value: a copy takes constant time, and copies share their entries. Each map has a running fingerprint, so that a write costs
//! no more than its place in the order, however many entries there are.

use std::borrow::Borrow;
use std::ops::Bound;

use rpds::RedBlackTreeMapSync;

type Bytes = Box<[u8]>;

/// Bytes of a node of the tree, and of its counter: a link to the entry, two to subtrees, a color.
const NODE_BYTES: u64 = 16 + 4 * 8;

/// Bytes of an entry without its key and value: two boxes and a counter, and three headers of the allocator.
const ENTRY_BYTES: u64 = 16 + 2 * 16 + 3 * 16;

/// An ordered map from keys to values, both of bytes. Equal contents have equal fingerprints, whatever the writes that led to them.
#[derive(Clone, Default)]
pub struct DurableMap {
    entries: RedBlackTreeMapSync<Bytes, Bytes>,
    fingerprint: Sum,
    content_bytes: u64,
    allocated: u64,
}

impl DurableMap {
    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(|value| &**value)
    }

    /// Sets the value of a key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.forget(key);
        self.fingerprint.add(entry_hash(key, value));
        self.content_bytes += bytes_of(key, value);
        self.entries.insert_mut(key.into(), value.into());
        self.allocated += self.path_bytes() + ENTRY_BYTES + bytes_of(key, value);
    }

    /// Removes a key, if it is there.
    pub fn delete(&mut self, key: &[u8]) {
        if self.forget(key) {
            self.entries.remove_mut(key);
            self.allocated += self.path_bytes();
        }
    }

    /// Removes the keys from `start` on and before `end`; all from `start` on without an end. Returns their number.
    pub fn delete_range(&mut self, start: &[u8], end: Option<&[u8]>) -> usize {
        let keys: Vec<Bytes> = self.range(start, end).map(|(key, _)| key.into()).collect();
        keys.iter().for_each(|key| self.delete(key));
        keys.len()
    }

    /// The entries from `start` on and before `end`, in the order of their keys; all from `start` on without an end.
    pub fn range<'m>(
        &'m self,
        start: &'m [u8],
        end: Option<&'m [u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'m [u8], &'m [u8])> {
        // A range that ends before it starts is empty, and no panic.
        let end = end.map(|end| end.max(start));
        let bounds = (Bound::Included(start), end.map_or(Bound::Unbounded, Bound::Excluded));
        self.entries.range::<[u8], _>(bounds).map(|(key, value)| (&**key, &**value))
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.size()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all keys and values.
    pub fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    /// The wrapping sum of the 256-bit blake3 hashes of the entries, little-endian.
    ///
    /// Two different maps that a protocol happens to write have equal sums with odds of about 1 in 2^256. An author who
    /// chooses entries on purpose finds two with less work, and deceives only the check of the own protocol.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint.bytes()
    }

    /// The entries as bytes: each key and each value behind its length, in the order of the keys. Lengths have 4 bytes, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes_len());
        for part in self.iter().flat_map(|(key, value)| [key, value]) {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// The number of these bytes.
    pub fn bytes_len(&self) -> usize {
        self.content_bytes as usize + 8 * self.len()
    }

    /// The map with these bytes; none if they are not the bytes of a map.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut map, mut rest, mut last) = (Self::default(), bytes, None);
        while !rest.is_empty() {
            let (key, behind) = first_part(rest)?;
            let (value, behind) = first_part(behind)?;
            if last.is_some_and(|last| key <= last) {
                return None;
            }
            map.put(key, value);
            (last, rest) = (Some(key), behind);
        }
        Some(map)
    }

    /// Bytes that all writes so far have allocated, about. The difference to an earlier state of the map is the part that
    /// the two do not share.
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated
    }

    /// Bytes of the whole map, about.
    pub fn whole_bytes(&self) -> u64 {
        self.content_bytes + self.len() as u64 * (ENTRY_BYTES + NODE_BYTES)
    }

    /// Takes a key out of sums; returns whether it is there.
    fn forget(&mut self, key: &[u8]) -> bool {
        let Some(value) = self.entries.get(key) else { return false };
        self.fingerprint.subtract(entry_hash(key, value));
        self.content_bytes -= bytes_of(key, value);
        true
    }

    /// Bytes of the path to an entry, which a write copies unless the map shares nothing.
    fn path_bytes(&self) -> u64 {
        // The depth of a balanced tree; one more for the neighbours that a change of color copies.
        u64::from(usize::BITS - self.entries.size().leading_zeros() + 1) * NODE_BYTES
    }
}

impl PartialEq for DurableMap {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.len() == other.len()
    }
}

impl Eq for DurableMap {}

impl std::fmt::Debug for DurableMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Borrow<[u8]>, V: Borrow<[u8]>> FromIterator<(K, V)> for DurableMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.put(key.borrow(), value.borrow()));
        map
    }
}

/// The part of a node's state that a reset leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurableState {
    /// The result of `persist`.
    pub persisted: Option<Vec<u8>>,
    /// The durable map.
    pub map: DurableMap,
}

impl DurableState {
    /// That of a node with this result of `persist` and this map; none if nothing is left.
    pub fn of(persisted: Option<Vec<u8>>, map: DurableMap) -> Option<Self> {
        (persisted.is_some() || !map.is_empty()).then_some(Self { persisted, map })
    }

    /// A durable state without a map.
    pub fn persisted(bytes: impl Into<Vec<u8>>) -> Self {
        Self { persisted: Some(bytes.into()), map: DurableMap::default() }
    }
}

/// A key or value at the beginning of bytes, and what is behind it.
fn first_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn bytes_of(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

/// The length of the key separates it from the value.
fn entry_hash(key: &[u8], value: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_le_bytes()).update(key).update(value);
    hasher.finalize()
}

/// A sum of 256-bit numbers, modulo 2^256, in two halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    low: u128,
    high: u128,
}

impl Sum {
    fn add(&mut self, hash: blake3::Hash) {
        let Self { low, high } = Self::from(hash);
        let (sum, carries) = self.low.overflowing_add(low);
        *self = Self { low: sum, high: self.high.wrapping_add(high).wrapping_add(carries.into()) };
    }

    fn subtract(&mut self, hash: blake3::Hash) {
        let Self { low, high } = Self::from(hash);
        let (difference, borrows) = self.low.overflowing_sub(low);
        *self = Self { low: difference, high: self.high.wrapping_sub(high).wrapping_sub(borrows.into()) };
    }

    fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.low.to_le_bytes());
        bytes[16..].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }
}

impl From<blake3::Hash> for Sum {
    fn from(hash: blake3::Hash) -> Self {
        let (halves, _) = hash.as_bytes().as_chunks();
        let [low, high] = [0, 1].map(|half| u128::from_le_bytes(halves[half]));
        Self { low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Naive = BTreeMap<Vec<u8>, Vec<u8>>;

    /// Numbers for a seed, by xorshift.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }

        /// Few and short keys, so that they meet again, some a prefix of others.
        fn key(&mut self) -> Vec<u8> {
            let length = self.below(4);
            (0..length).map(|_| self.below(3) as u8 * 127).collect()
        }

        fn end(&mut self) -> Option<Vec<u8>> {
            (self.below(3) > 0).then(|| self.key())
        }
    }

    fn naive_range<'n>(
        naive: &'n Naive,
        start: &'n [u8],
        end: Option<&'n [u8]>,
    ) -> impl Iterator<Item = (&'n [u8], &'n [u8])> {
        let is_in = move |key: &[u8]| key >= start && end.is_none_or(|end| key < end);
        naive.iter().map(|(key, value)| (&**key, &**value)).filter(move |(key, _)| is_in(key))
    }

    /// Written once, in the order of the keys.
    fn rebuilt(naive: &Naive) -> DurableMap {
        naive.iter().map(|(key, value)| (&**key, &**value)).collect()
    }

    fn write(map: &mut DurableMap, naive: &mut Naive, draw: &mut Draw) {
        let key = draw.key();
        match draw.below(8) {
            0..4 => {
                let value = vec![draw.below(3) as u8; draw.below(3) as usize];
                map.put(&key, &value);
                naive.insert(key, value);
            }
            4..6 => {
                map.delete(&key);
                naive.remove(&key);
            }
            _ => {
                let end = draw.end();
                let gone: Vec<Vec<u8>> =
                    naive_range(naive, &key, end.as_deref()).map(|(key, _)| key.to_vec()).collect();
                assert_eq!(map.delete_range(&key, end.as_deref()), gone.len());
                gone.iter().for_each(|key| drop(naive.remove(key)));
            }
        }
    }

    fn check(map: &DurableMap, naive: &Naive, draw: &mut Draw) {
        assert!(map.iter().eq(naive_range(naive, &[], None)));
        assert_eq!((map.len(), map.is_empty()), (naive.len(), naive.is_empty()));
        let bytes: usize = naive.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert_eq!(map.content_bytes(), bytes as u64);
        let (key, end) = (draw.key(), draw.end());
        assert_eq!(map.get(&key), naive.get(&key).map(|value| &**value));
        let expected: Vec<_> = naive_range(naive, &key, end.as_deref()).collect();
        assert!(map.range(&key, end.as_deref()).eq(expected.iter().copied()));
        assert!(map.range(&key, end.as_deref()).rev().eq(expected.iter().rev().copied()));
        // By another history.
        assert_eq!(map.fingerprint(), rebuilt(naive).fingerprint());
        assert_eq!(*map, rebuilt(naive));
    }

    /// Random writes against a `BTreeMap`; copies that were taken on the way stay as they were.
    #[test]
    fn a_map_is_one_and_its_copies_never_change() {
        for seed in 1..=200 {
            let mut draw = Draw(seed);
            let (mut map, mut naive) = (DurableMap::default(), Naive::new());
            let mut copies: Vec<(DurableMap, Naive)> = Vec::new();
            for _ in 0..100 {
                match draw.below(10) {
                    0 => copies.push((map.clone(), naive.clone())),
                    1 if !copies.is_empty() => {
                        let at = draw.below(copies.len() as u64) as usize;
                        (map, naive) = copies[at].clone();
                    }
                    _ => write(&mut map, &mut naive, &mut draw),
                }
                check(&map, &naive, &mut draw);
            }
            for (copy, then) in &copies {
                check(copy, then, &mut draw);
            }
        }
    }

    /// Bytes are those of one map, and no others are those of any.
    #[test]
    fn a_map_survives_its_bytes() {
        let mut draw = Draw(7);
        let (mut map, mut naive) = (DurableMap::default(), Naive::new());
        for _ in 0..200 {
            write(&mut map, &mut naive, &mut draw);
            let bytes = map.to_bytes();
            assert_eq!(DurableMap::from_bytes(&bytes).as_ref(), Some(&map));
            for end in 0..bytes.len() {
                let cut = DurableMap::from_bytes(&bytes[..end]);
                assert!(cut.is_none_or(|cut| cut.to_bytes() == bytes[..end]), "{end} of {bytes:?}");
            }
        }
        let of = |parts: &[&[u8]]| -> Vec<u8> {
            parts.iter().flat_map(|part| [&(part.len() as u32).to_le_bytes()[..], part].concat()).collect()
        };
        assert!(DurableMap::from_bytes(&of(&[b"a", b"1", b"b", b"2"])).is_some());
        for wrong in [&[&b"b"[..], b"1", b"a", b"2"][..], &[b"a", b"1", b"a", b"2"], &[b"a"]] {
            assert_eq!(DurableMap::from_bytes(&of(wrong)), None);
        }
        assert_eq!(DurableMap::from_bytes(&[u8::MAX; 9]), None);
    }

    /// Equal fingerprints mean equal contents, for all maps with up to two of these entries.
    #[test]
    fn different_maps_have_different_fingerprints() {
        // The boundary between key and value is part of an entry.
        let entries: Vec<(&[u8], &[u8])> =
            vec![(b"", b""), (b"", b"ab"), (b"a", b"b"), (b"ab", b""), (b"b", b"a"), (b"a", b"")];
        let mut seen: BTreeMap<[u8; 32], Naive> = BTreeMap::new();
        for first in &entries {
            for second in &entries {
                let map: DurableMap = [*first, *second].into_iter().collect();
                let naive: Naive = [first, second].iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
                assert_eq!(seen.entry(map.fingerprint()).or_insert_with(|| naive.clone()), &naive);
            }
        }
        // Six maps with one entry, and those pairs that have two keys: 15 less the three pairs of equal keys, {"", ""} and {"a", "a"}.
        assert_eq!(seen.len(), 6 + 15 - 2);
        assert_eq!(DurableMap::default().fingerprint(), [0; 32]);
    }

    /// The sum carries from its low half into its high one.
    #[test]
    fn sums_are_those_of_256_bits() {
        let number = |low: u128, high: u128| {
            let sum = Sum { low, high };
            blake3::Hash::from_bytes(sum.bytes())
        };
        let mut sum = Sum::default();
        sum.add(number(u128::MAX, 1));
        sum.add(number(2, 3));
        assert_eq!(sum, Sum { low: 1, high: 5 });
        sum.subtract(number(2, 3));
        assert_eq!(sum, Sum { low: u128::MAX, high: 1 });
        sum.subtract(number(u128::MAX, 1));
        assert_eq!(sum, Sum::default());
    }

    /// A write to a copy costs about the same whether the map has ten entries or ten thousand.
    #[test]
    fn a_write_shares_what_it_does_not_change() {
        let cost = |entries: u32| {
            let map: DurableMap = (0..entries).map(|key| (key.to_be_bytes(), [7; 10])).collect();
            let mut written = map.clone();
            written.put(&5u32.to_be_bytes(), &[8; 10]);
            written.allocated_bytes() - map.allocated_bytes()
        };
        assert!(cost(10_000) < 3 * cost(10), "{} and {}", cost(10_000), cost(10));
        // The map itself is counted once: at least its contents.
        let whole: DurableMap = (0..10_000u32).map(|key| (key.to_be_bytes(), [7; 10])).collect();
        assert!(whole.allocated_bytes() > 10_000 * (4 + 10));
    }

    #[test]
    fn nothing_left_is_no_durable_state() {
        assert_eq!(DurableState::of(None, DurableMap::default()), None);
        let map: DurableMap = [(b"a", b"b")].into_iter().map(|(key, value)| (&key[..], &value[..])).collect();
        assert!(DurableState::of(None, map).is_some());
        assert_eq!(DurableState::of(Some(vec![]), DurableMap::default()), Some(DurableState::persisted([])));
    }
}
