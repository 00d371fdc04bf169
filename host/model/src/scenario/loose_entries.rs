//! The entries of a durable map that a power outage can leave with another value, each by itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::contract::hex::Hex;
use crate::contract::{DurableMap, Fault, FaultKind, Synced, WrittenKeys};

/// The most disks that the unsynced writes of a node can leave: 16 entries with one other value each. A node with more is a fault.
pub const DISKS_MAX: u32 = 1 << 16;

/// A value of an entry; none if there is no such entry.
type Value = Option<Box<[u8]>>;

/// The values that the entries of a node have had since its last `sync`, without the present ones.
///
/// A disk writes each entry at any time, and writes to one entry in their order. So an outage leaves each entry with one of its values
/// since the last `sync`, whatever it leaves of the others. The writes of one handler are no exception, except those to one key: of these
/// the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Written>", into = "Vec<Written>")]
pub(crate) struct LooseEntries(BTreeMap<Box<[u8]>, BTreeSet<Value>>);

/// An entry in a trace.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    key: Hex,
    values: Vec<Option<Hex>>,
}

impl LooseEntries {
    /// Whether the present map is on the disk.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of disks that an outage can leave other than the present map; none if there are more than [`DISKS_MAX`] disks.
    pub(crate) fn others(&self) -> Option<u32> {
        let mut values = self.0.values().map(|values| 1 + values.len() as u64);
        let disks = values.try_fold(1_u64, |disks, values| {
            Some(disks.saturating_mul(values)).filter(|disks| *disks <= DISKS_MAX.into())
        });
        disks.map(|disks| disks as u32 - 1)
    }

    /// The map that an outage leaves in place of the present one, by its number from 1: in the lexicographic order of the choices for each
    /// key, in the order of the keys, where the present value is the first choice, no entry the second, and the others follow by their
    /// bytes.
    ///
    /// None if there is no such number.
    pub(crate) fn disk(&self, number: u32, present: &DurableMap) -> Option<DurableMap> {
        let (mut map, mut rest) = (present.clone(), number as usize);
        for (key, values) in self.0.iter().rev() {
            let choice = rest % (1 + values.len());
            rest /= 1 + values.len();
            match choice.checked_sub(1).and_then(|at| values.iter().nth(at)) {
                Some(Some(value)) => map.put(key, value),
                Some(None) => map.delete(key),
                None => {}
            }
        }
        (number > 0 && rest == 0).then_some(map)
    }

    /// Nothing is left to lose.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes a handler that began with one map, wrote these keys, and ended with another map.
    ///
    /// # Errors
    ///
    /// An outage could leave more than [`DISKS_MAX`] disks.
    pub(crate) fn note(&mut self, before: &DurableMap, writes: &Writes<'_>) -> Result<(), Fault> {
        let from = match writes.synced {
            Synced::AtTheEnd => {
                self.clear();
                return Ok(());
            }
            Synced::UpTo(map) => {
                self.clear();
                map
            }
            Synced::Nothing => before,
        };
        for key in writes.keys.iter() {
            let [then, now] = [from, writes.after].map(|map| map.get(key).map(Box::from));
            let values = self.0.entry(key.into()).or_default();
            values.insert(then);
            values.remove(&now);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
        match self.others() {
            Some(_) => Ok(()),
            None => {
                self.clear();
                Err(Fault::new(FaultKind::OutputLimit, format!("{TOO_MANY} {DISKS_MAX} disks: {REMEDY}")))
            }
        }
    }

    /// Words to be hashed; none where nothing can be lost.
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        for (key, values) in &self.0 {
            add(key);
            add(&(values.len() as u64).to_le_bytes());
            // One value is no entry at most, and it is the first.
            add(&[values.contains(&None).into()]);
            values.iter().flatten().for_each(|value| add(value));
        }
        let hash = hasher.finalize();
        let (words, _) = hash.as_bytes().as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        words.into_iter().filter(|_| !self.is_empty())
    }

    /// The entries, each with its other values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], impl Iterator<Item = Option<&[u8]>>)> {
        self.0.iter().map(|(key, values)| (&**key, values.iter().map(Option::as_deref)))
    }
}

const TOO_MANY: &str = "a power outage can leave more than";
const REMEDY: &str = "too many entries are not synced; call `sync` more often, or give --outage-writes prefix";

/// The writes of a handler.
pub(crate) struct Writes<'w> {
    /// Those that are durable.
    pub(crate) synced: &'w Synced,
    /// The keys of all of them.
    pub(crate) keys: &'w WrittenKeys,
    /// The map behind them.
    pub(crate) after: &'w DurableMap,
}

impl From<Vec<Written>> for LooseEntries {
    fn from(entries: Vec<Written>) -> Self {
        let values = |values: Vec<Option<Hex>>| values.into_iter().map(|value| value.map(|value| value.0.into()));
        let entries = entries.into_iter().map(|entry| (entry.key.0.into(), values(entry.values).collect()));
        Self(entries.filter(|(_, values): &(_, BTreeSet<Value>)| !values.is_empty()).collect())
    }
}

impl From<LooseEntries> for Vec<Written> {
    fn from(entries: LooseEntries) -> Self {
        let values = |values: BTreeSet<Value>| values.into_iter().map(|value| value.map(|value| Hex(value.into())));
        entries.0.into_iter().map(|(key, of)| Written { key: Hex(key.into()), values: values(of).collect() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::NodeMap;
    use crate::toys::Dice;

    /// Writes of handlers since the last `sync`, without any cleverness: those of each handler, by key.
    #[derive(Default)]
    struct Naive {
        synced: DurableMap,
        writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    }

    impl Naive {
        /// The maps that each subset of the writes leaves, applied in order.
        fn disks(&self) -> BTreeSet<Vec<u8>> {
            let subset = |chosen: u32| {
                let mut map = self.synced.clone();
                for (key, value) in
                    (0..).zip(&self.writes).filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, write)| write)
                {
                    match value {
                        Some(value) => map.put(key, value),
                        None => map.delete(key),
                    }
                }
                map.to_bytes()
            };
            (0..1 << self.writes.len()).map(subset).collect()
        }
    }

    /// A handler that writes random entries, some of them twice, and may call `sync` in between.
    fn handler(map: &mut NodeMap, naive: &mut Naive, dice: &mut Dice) {
        let writes = dice.below(4);
        let sync_at = if dice.below(6) == 0 { Some(dice.below(writes + 1)) } else { None };
        let mut latest: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        for at in 0..=writes {
            if sync_at == Some(at) {
                map.sync();
                *naive = Naive { synced: map.map().clone(), writes: Vec::new() };
                latest.clear();
            }
            if at == writes {
                break;
            }
            let (key, value) = (vec![dice.below(4) as u8], vec![dice.below(3) as u8]);
            match value[0] {
                0 => map.delete(&key),
                _ => map.put(&key, &value),
            }
            // Of several writes to one key the last one counts.
            latest.insert(key, Some(value).filter(|value| value[0] > 0));
        }
        naive.writes.extend(latest);
    }

    /// After each of many random handlers, the disks are those of all subsets of the writes, each once.
    #[test]
    fn an_outage_leaves_any_subset_of_the_writes() {
        let (mut most, mut checked) = (0, 0);
        for seed in 0..400 {
            let mut dice = Dice(seed);
            let (mut map, mut naive, mut entries) = (NodeMap::default(), Naive::default(), LooseEntries::default());
            while naive.writes.len() < 12 {
                let before = map.map().clone();
                handler(&mut map, &mut naive, &mut dice);
                let writes = Writes { synced: &map.take_synced(), keys: &map.take_written(), after: map.map() };
                entries.note(&before, &writes).expect("there are few keys");
                let others = entries.others().expect("there are few keys");
                let left = (1..=others).map(|number| entries.disk(number, map.map()).expect("it is a number"));
                let left: Vec<Vec<u8>> = left.map(|map| map.to_bytes()).chain([map.map().to_bytes()]).collect();
                let distinct: BTreeSet<Vec<u8>> = left.iter().cloned().collect();
                assert_eq!(distinct.len(), left.len(), "seed {seed}");
                assert_eq!(distinct, naive.disks(), "seed {seed}");
                assert_eq!(entries.disk(others + 1, map.map()), None);
                (most, checked) = (most.max(left.len()), checked + 1);
                if checked % 50 == 0 {
                    break;
                }
            }
        }
        assert!(most > 30 && checked > 2_000, "{most} and {checked}: the test says little");
    }

    /// Sixteen entries with one other value each are the limit.
    #[test]
    fn too_many_disks_are_a_fault() {
        let mut entries = LooseEntries::default();
        let mut map = NodeMap::default();
        for key in 0..17 {
            let before = map.map().clone();
            map.put(&[key], b"x");
            let writes = Writes { synced: &map.take_synced(), keys: &map.take_written(), after: map.map() };
            let noted = entries.note(&before, &writes);
            assert_eq!(noted.is_ok(), key < 16, "{noted:?}");
        }
        assert!(entries.is_empty());
    }

    /// Sets of values that would be one if nothing separated them.
    #[test]
    fn different_entries_have_different_words() {
        let entry = |key: &[u8], values: &[Option<&[u8]>]| {
            let values = values.iter().map(|value| value.map(Box::from)).collect();
            LooseEntries([(key.into(), values)].into_iter().collect()).words().collect::<Vec<u32>>()
        };
        let all: BTreeSet<Vec<u32>> = [
            entry(b"a", &[None]),
            entry(b"a", &[Some(b"")]),
            entry(b"a", &[None, Some(b"")]),
            entry(b"a", &[Some(b"b")]),
            entry(b"ab", &[Some(b"")]),
            entry(b"a", &[Some(b"b"), Some(b"c")]),
            entry(b"a", &[Some(b"bc")]),
            LooseEntries::default().words().collect(),
        ]
        .into();
        assert_eq!((all.len(), all.first().map(Vec::len)), (8, Some(0)));
    }
}
