//! The writes of a node that are not on its disk for certain.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contract::hex::Hex;
use crate::contract::{DurableMap, Synced};

/// The durable maps that a power outage can leave in place of the present one, the oldest first: those since the last `sync`, each once.
///
/// Handlers write in order, and a disk keeps what one handler wrote together or not at all, so an outage leaves the map as it was after
/// one of them. Bounded by the number of different maps that a node has between two calls of `sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unsynced(Vec<DurableMap>);

impl Unsynced {
    /// Whether the present map is on the disk.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        self.0.iter().position(|other| other == map).map_or(0, |index| (self.0.len() - index) as u32)
    }

    /// Nothing is left to lose.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes a handler that began with one map and ended with another.
    pub(crate) fn note(&mut self, before: DurableMap, synced: &Synced, after: &DurableMap) {
        match synced {
            Synced::AtTheEnd => self.0.clear(),
            Synced::UpTo(map) => {
                self.0.clear();
                self.0.push(map.clone());
            }
            Synced::Nothing => {
                self.0.retain(|map| *map != before);
                self.0.push(before);
            }
        }
        self.0.retain(|map| map != after);
    }

    /// Words to be hashed.
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|map| {
            let bytes = map.fingerprint();
            let (words, _) = bytes.as_chunks();
            let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
            words
        })
    }

    fn fingerprints(&self) -> impl Iterator<Item = [u8; 32]> {
        self.0.iter().map(DurableMap::fingerprint)
    }
}

impl PartialOrd for Unsynced {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Unsynced {
    fn cmp(&self, other: &Self) -> Ordering {
        self.fingerprints().cmp(other.fingerprints())
    }
}

impl Hash for Unsynced {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprints().for_each(|fingerprint| fingerprint.hash(state));
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
        unsynced.0
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
