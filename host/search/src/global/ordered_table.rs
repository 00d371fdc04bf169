//! A hash table of fingerprints whose entries stand in the order of the fingerprints: compact, with one wait for memory per look-up.

/// The part of a fingerprint that a slot keeps.
pub type Key = (u64, u32);

/// The content of a slot: a part of a fingerprint, and its value. Empty where `high` is zero.
pub trait Slot: Copy {
    /// An empty place.
    const EMPTY: Self;

    /// The first 64 bits that are kept of the fingerprint; zero in an empty place alone.
    fn high(self) -> u64;

    /// All kept bits of the fingerprint.
    fn key(self) -> Key;
}

/// A linear-probing table whose entries stand in the order of their keys: a miss ends at the first larger entry, and growing copies
/// the entries in order. It is at most 17/20 full and grows by a quarter.
pub struct OrderedTable<S> {
    /// Home positions are the first `homes`; the rest takes the overflow of the last ones.
    slots: Vec<S>,
    homes: usize,
    len: usize,
}

/// Room behind the last home position, so that probing need not wrap.
const OVERFLOW: usize = 64;

/// Home positions of an empty table.
const HOMES: usize = 192;

impl<S: Slot> Default for OrderedTable<S> {
    fn default() -> Self {
        Self::with_homes(HOMES)
    }
}

impl<S: Slot> OrderedTable<S> {
    fn with_homes(homes: usize) -> Self {
        Self { slots: vec![S::EMPTY; homes + OVERFLOW], homes, len: 0 }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<S>()) as u64
    }

    /// All entries, in their order.
    pub fn iter(&self) -> impl Iterator<Item = S> {
        self.slots.iter().copied().filter(|slot| slot.high() != 0)
    }

    /// Reads the places of these entries before any is needed: a look-up mostly waits for memory, and these waits overlap.
    #[inline]
    pub fn warm(&self, entries: impl Iterator<Item = S>) {
        let read = |entry: S| self.slots[Self::home(entry, self.homes)].high();
        std::hint::black_box(entries.fold(0, |sum: u64, entry| sum.wrapping_add(read(entry))));
    }

    #[inline]
    fn home(slot: S, homes: usize) -> usize {
        ((u128::from(slot.high()) * homes as u128) >> 64) as usize
    }

    /// The place of the entry with this key, or the place for it.
    #[inline]
    pub fn find(&self, slot: S) -> usize {
        let mut index = Self::home(slot, self.homes);
        // One comparison for "not empty, and smaller".
        while self.slots[index].high().wrapping_sub(1) < slot.high() - 1 {
            index += 1;
        }
        // Only an equal key, or one that hardly ever occurs, gets past the first 64 bits.
        while self.slots[index].high() == slot.high() && self.slots[index].key() < slot.key() {
            index += 1;
        }
        index
    }

    /// The slot at a place.
    #[inline]
    pub fn at(&self, index: usize) -> S {
        self.slots[index]
    }

    /// Replaces an entry by one with the same key.
    #[inline]
    pub fn replace(&mut self, index: usize, entry: S) {
        self.slots[index] = entry;
    }

    /// Puts a new entry into its place, and moves the entries up to the next empty place by one.
    #[inline(never)]
    pub fn insert_at(&mut self, index: usize, entry: S) {
        let empty = self.slots[index..].iter().position(|slot| slot.high() == 0);
        let end = index + empty.expect("the last slot is empty");
        self.slots.copy_within(index..end, index + 1);
        self.slots[index] = entry;
        self.len += 1;
        // The last slot stays empty, so that probing always ends.
        if end + 2 >= self.slots.len() {
            self.slots.push(S::EMPTY);
        }
        if self.len * 20 > self.homes * 17 {
            self.grow();
        }
    }

    /// Makes room. Entries stand in order, so each place is written once.
    fn grow(&mut self) {
        let homes = self.homes + self.homes / 4 + 1;
        let mut slots = Vec::with_capacity(homes + OVERFLOW);
        for entry in self.iter() {
            let home = Self::home(entry, homes);
            if slots.len() < home {
                slots.resize(home, S::EMPTY);
            }
            slots.push(entry);
        }
        slots.resize((homes + OVERFLOW).max(slots.len() + 1), S::EMPTY);
        (self.slots, self.homes) = (slots, homes);
    }
}
