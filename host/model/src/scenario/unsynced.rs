//! The writes of a node that are not on its disk for certain.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contract::hex::Hex;
use crate::contract::{DurableMap, Synced};
use crate::scenario::map_list::MapList;

/// The durable maps that a power outage can leave in place of the present one, the oldest first: those since the last `sync`, each once.
///
/// Handlers write in order, and a disk keeps what one handler wrote together or not at all, so an outage leaves the map as it was after
/// one of them. Bounded by the number of different maps that a node has between two calls of `sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Unsynced(MapList);

impl Unsynced {
    /// Whether the present map is on the disk.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of maps.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The maps, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DurableMap> {
        self.0.iter()
    }

    /// The map without this many of the latest changes; none for the present one.
    pub(crate) fn without(&self, changes: u32) -> Option<&DurableMap> {
        let index = self.0.len().checked_sub(changes as usize)?;
        self.0.get(index)
    }

    /// The number of latest changes to lose to get this map; 0 if it is not among them.
    pub(crate) fn changes_behind(&self, map: &DurableMap) -> u32 {
        self.0.position(map).map_or(0, |index| (self.0.len() - index) as u32)
    }

    /// Nothing is left to lose.
    pub(crate) fn clear(&mut self) {
        self.0 = MapList::default();
    }

    /// Notes a handler that began with one map and ended with another.
    pub(crate) fn note(&mut self, before: DurableMap, synced: &Synced, after: &DurableMap) {
        match synced {
            Synced::AtTheEnd => self.clear(),
            Synced::UpTo(map) => {
                self.clear();
                self.0.push(map.clone());
            }
            Synced::Nothing => self.0.push(before),
        }
        self.0.remove(after);
    }

    /// Words to be hashed; none where nothing can be lost.
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> {
        let hash = self.0.hash();
        let (words, _) = hash.as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        words.into_iter().filter(|_| !self.is_empty())
    }

    /// Bytes that it does not share with the state before, about.
    pub(crate) fn own_bytes(&self) -> usize {
        self.0.own_bytes()
    }
}

impl Serialize for Unsynced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|map| Hex(map.to_bytes())))
    }
}

impl<'d> Deserialize<'d> for Unsynced {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        let maps = Vec::<Hex>::deserialize(deserializer)?.into_iter();
        let maps = maps.map(|bytes| DurableMap::from_bytes(&bytes.0).ok_or_else(|| D::Error::custom("no durable map")));
        maps.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toys::Dice;

    /// A map with one entry of this number; 0 is the empty one.
    fn map(number: u8) -> DurableMap {
        (1..=number).rev().take(1).map(|number| ([number], [number])).collect()
    }

    /// The maps after handlers, each given by what it synced and its last map.
    fn after(handlers: &[(Synced, u8)]) -> Vec<DurableMap> {
        let (mut unsynced, mut before) = (Unsynced::default(), map(0));
        for (synced, last) in handlers {
            unsynced.note(before, synced, &map(*last));
            before = map(*last);
        }
        let by_number = (0..).map_while(|changes| unsynced.without(changes + 1).cloned());
        let by_number: Vec<DurableMap> = by_number.collect();
        assert!(by_number.iter().rev().eq(unsynced.iter()), "numbers count from the latest one");
        assert!((1..).zip(&by_number).all(|(changes, map)| unsynced.changes_behind(map) == changes));
        assert_eq!(unsynced.changes_behind(&before), 0, "the present map loses none");
        assert_eq!((unsynced.without(0), by_number.len()), (None, unsynced.len()));
        unsynced.iter().cloned().collect()
    }

    /// The definition: a list without any sharing.
    #[derive(Default)]
    struct Naive(Vec<DurableMap>);

    impl Naive {
        fn note(&mut self, before: DurableMap, synced: &Synced, after: &DurableMap) {
            match synced {
                Synced::AtTheEnd => self.0.clear(),
                Synced::UpTo(map) => self.0 = vec![map.clone()],
                Synced::Nothing => {
                    self.0.retain(|map| *map != before);
                    self.0.push(before);
                }
            }
            self.0.retain(|map| map != after);
        }
    }

    /// Random handlers at nodes with few and many different maps, most of them without `sync`.
    #[test]
    fn random_handlers_leave_the_maps_of_the_definition() {
        let mut longest = 0;
        for seed in 0..80 {
            let mut dice = Dice(seed);
            let maps = [3, 20, 200][seed as usize % 3];
            let (mut ours, mut naive, mut before) = (Unsynced::default(), Naive::default(), map(0));
            for _ in 0..200 {
                let after = map(dice.below(maps) as u8);
                let synced = match dice.below(40) {
                    0 => Synced::AtTheEnd,
                    1 | 2 => Synced::UpTo(map(dice.below(maps) as u8)),
                    _ => Synced::Nothing,
                };
                ours.note(before.clone(), &synced, &after);
                naive.note(before, &synced, &after);
                assert!(ours.iter().eq(&naive.0), "seed {seed}");
                let behind = |map: &DurableMap| naive.0.iter().rev().position(|other| other == map);
                for number in 0..maps as u8 {
                    let changes = behind(&map(number)).map_or(0, |place| place + 1);
                    assert_eq!(ours.changes_behind(&map(number)) as usize, changes, "seed {seed}");
                }
                let by_number = (1..=ours.len() as u32).map(|changes| ours.without(changes));
                assert!(by_number.eq(naive.0.iter().rev().map(Some)), "seed {seed}");
                longest = longest.max(ours.len());
                before = after;
            }
        }
        assert!(longest > 50, "{longest}");
    }

    /// States that differ in what an outage can leave are hashed as different words, and a disk without such maps as none.
    #[test]
    fn different_lists_have_different_words() {
        let lists = [&[][..], &[0], &[1], &[0, 1], &[1, 0], &[0, 1, 2], &[1, 0, 2]];
        let words = |list: &&[u8]| Unsynced(list.iter().map(|number| map(*number)).collect()).words().collect();
        let words: std::collections::BTreeSet<Vec<u32>> = lists.iter().map(words).collect();
        assert_eq!((words.len(), words.first().map(Vec::len)), (lists.len(), Some(0)));
    }

    #[test]
    fn an_outage_leaves_a_map_since_the_last_sync() {
        use Synced::{AtTheEnd, Nothing, UpTo};
        assert_eq!(after(&[(Nothing, 1), (Nothing, 2)]), [map(0), map(1)]);
        // A handler that changes nothing adds nothing.
        assert_eq!(after(&[(Nothing, 1), (Nothing, 1)]), [map(0)]);
        // Back to an earlier map, which is the present one now.
        assert_eq!(after(&[(Nothing, 1), (Nothing, 2), (Nothing, 1)]), [map(0), map(2)]);
        assert_eq!(after(&[(Nothing, 1), (Nothing, 2), (Nothing, 1), (Nothing, 3)]), [map(0), map(2), map(1)]);
        assert_eq!(after(&[(Nothing, 1), (UpTo(map(2)), 2)]), []);
        // Writes behind the call can be lost.
        assert_eq!(after(&[(Nothing, 1), (UpTo(map(2)), 3)]), [map(2)]);
        assert_eq!(after(&[(Nothing, 1), (AtTheEnd, 2)]), []);
    }
}
