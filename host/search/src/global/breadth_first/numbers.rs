//! The states that a breadth-first search has met: numbered densely in the order of discovery, each with the step by which it was
//! met first.

use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{Step, Trigger};

use crate::global::breadth_first::sink::Discovery;
use crate::global::ordered_table::{Key, OrderedTable, Slot};
use crate::global::visited::{SHARD_BITS, SHARDS, high_of, shard_of};
use crate::kernel::checkpoint_codec::{Reader, Writer};

/// Ways that are saved together.
const SAVED_TOGETHER: usize = 4096;

/// All states met so far. About 20 bytes per state in the table, and 16 for the way to it.
pub struct Numbers {
    /// The number of each fingerprint. Tables are separate by the highest bits, so that growing one needs little additional memory.
    shards: Vec<OrderedTable<Entry>>,
    /// The first states: for each distinct start state its index in the search.
    starts: Vec<u32>,
    /// All other states.
    found: Vec<ParentStep>,
}

/// The step from an earlier state by which a state was found.
#[derive(Clone, Copy)]
struct ParentStep {
    parent: u32,
    step: Step,
}

/// A state: 102 bits of its fingerprint, and its number. Packed, so that it needs no padding.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Entry {
    high: u64,
    low: u32,
    number: u32,
}

impl Slot for Entry {
    const EMPTY: Self = Self { high: 0, low: 0, number: 0 };

    #[inline]
    fn high(self) -> u64 {
        self.high
    }

    #[inline]
    fn key(self) -> Key {
        (self.high, self.low)
    }
}

impl Entry {
    #[inline]
    fn new(fingerprint: Fingerprint, number: u32) -> Self {
        Self { high: high_of(fingerprint), low: (fingerprint >> (32 - SHARD_BITS)) as u32, number }
    }
}

impl Numbers {
    /// No state yet.
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| OrderedTable::default()).collect(), starts: Vec::new(), found: Vec::new() }
    }

    /// Number of states; all state numbers are below it.
    pub fn len(&self) -> u32 {
        (self.starts.len() + self.found.len()) as u32
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let ways = self.starts.capacity() * size_of::<u32>() + self.found.capacity() * size_of::<ParentStep>();
        ways as u64 + self.shards.iter().map(OrderedTable::bytes).sum::<u64>()
    }

    /// Reads the places of states that are going to be looked up, all before any is needed, see [`OrderedTable::warm`].
    #[inline]
    pub fn warm(&self, fingerprints: impl Iterator<Item = Fingerprint>) {
        for fingerprint in fingerprints {
            self.shards[shard_of(fingerprint)].warm(std::iter::once(Entry::new(fingerprint, 0)));
        }
    }

    /// The number of a state, if it was met.
    #[inline]
    pub fn find(&self, fingerprint: Fingerprint) -> Option<u32> {
        let (table, entry) = (&self.shards[shard_of(fingerprint)], Entry::new(fingerprint, 0));
        let known = table.at(table.find(entry));
        (known.key() == entry.key()).then_some(known.number)
    }

    /// The number of a state, and whether it is new. All start states come first.
    ///
    /// # Panics
    ///
    /// There are four billion states.
    #[inline]
    pub fn number(&mut self, fingerprint: Fingerprint, discovery: Discovery) -> (u32, bool) {
        let number = self.len();
        let (table, entry) = (&mut self.shards[shard_of(fingerprint)], Entry::new(fingerprint, number));
        let index = table.find(entry);
        let known = table.at(index);
        if known.key() == entry.key() {
            return (known.number, false);
        }
        assert!(number < u32::MAX, "fewer than four billion states");
        table.insert_at(index, entry);
        match discovery {
            Discovery::Start(start) => self.starts.push(start),
            Discovery::Step(parent, step) => self.found.push(ParentStep { parent, step }),
        }
        (number, true)
    }

    /// Saves all states.
    pub fn save(&self, out: &mut Writer<'_>) {
        out.words(&self.starts);
        out.number(self.found.len() as u64);
        for chunk in self.found.chunks(SAVED_TOGETHER) {
            let words =
                |ParentStep { parent, step }: &ParentStep| [*parent, step.node, step.trigger.raw(), step.outcome];
            out.words(&chunk.iter().flat_map(words).collect::<Vec<_>>());
        }
        let entry = |Entry { high, low, number }| u128::from(high) << 64 | u128::from(low) << 32 | u128::from(number);
        for shard in &self.shards {
            out.wide(shard.len() as u64, shard.iter().map(entry));
        }
    }

    /// The states that were saved, with start states below `starts`; none if the ways do not lead to start states.
    pub fn load(starts: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let mut numbers = Self { starts: saved.words()?, ..Self::new() };
        let found = saved.number()?;
        while (numbers.found.len() as u64) < found {
            let words = saved.words().filter(|words| !words.is_empty())?;
            numbers.found.extend(words.as_chunks().0.iter().map(|[parent, node, trigger, outcome]: &[u32; 4]| {
                let step = Step { node: *node, trigger: Trigger::from_raw(*trigger), outcome: *outcome };
                ParentStep { parent: *parent, step }
            }));
        }
        let (first, len) = (numbers.starts.len(), numbers.starts.len().checked_add(numbers.found.len())?);
        u32::try_from(len).ok().filter(|len| *len < u32::MAX)?;
        let are_earlier = (first..).zip(&numbers.found).all(|(number, found)| (found.parent as usize) < number);
        let are_starts = numbers.starts.iter().all(|start| (*start as usize) < starts);
        let (mut entries, mut are_whole) = (0, found == numbers.found.len() as u64 && are_earlier && are_starts);
        for table in &mut numbers.shards {
            saved.wide(|entry| {
                let entry = Entry { high: (entry >> 64) as u64, low: (entry >> 32) as u32, number: entry as u32 };
                are_whole &= entry.high != 0 && (entry.number as usize) < len;
                entries += 1;
                if are_whole {
                    let place = table.find(entry);
                    are_whole = table.at(place).key() != entry.key();
                    table.insert_at(place, entry);
                }
            })?;
        }
        (are_whole && entries == len).then_some(numbers)
    }

    /// The discovery of a state.
    pub fn discovery(&self, state: u32) -> Discovery {
        match (state as usize).checked_sub(self.starts.len()) {
            Some(index) => Discovery::Step(self.found[index].parent, self.found[index].step),
            None => Discovery::Start(self.starts[state as usize]),
        }
    }

    /// The index of the start state and the steps that lead to a state.
    pub fn path_to(&self, state: u32) -> (u32, Vec<Step>) {
        let mut path = Vec::new();
        let mut at = state as usize;
        while let Some(index) = at.checked_sub(self.starts.len()) {
            let ParentStep { parent, step } = self.found[index];
            path.push(step);
            at = parent as usize;
        }
        path.reverse();
        (self.starts[at], path)
    }
}
