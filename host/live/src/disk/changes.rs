//! Records that are changes of the record before.

use std::collections::BTreeMap;

use host_model::contract::{DurableMap, WrittenKeys};
use serde::{Deserialize, Serialize};

use crate::checkpoint::Durable;
use crate::disk::edits::{self, Edit};
use crate::node::{Disks, Record};

/// The hash of a record.
pub(super) type Hash = [u8; 8];

/// A record whose state differs from that of the record before.
#[derive(Serialize, Deserialize)]
pub(super) struct Change<P, W> {
    /// The hash of the record before.
    behind: Hash,
    numbers: Durable,
    protocol: P,
    peers: BTreeMap<u32, u64>,
    disks: Disks,
    writes: W,
}

/// A change as written before protocols had maps.
#[derive(Deserialize)]
struct MaplessChange {
    behind: Hash,
    numbers: Durable,
    edits: Vec<Edit>,
    peers: BTreeMap<u32, u64>,
    disks: Disks,
}

impl From<MaplessChange> for Change<ProtocolChange, Writes> {
    fn from(MaplessChange { behind, numbers, edits, peers, disks }: MaplessChange) -> Self {
        let protocol = ProtocolChange::Edited(edits);
        Self { behind, numbers, protocol, peers, disks, writes: Writes::default() }
    }
}

/// The change of a protocol's state without its map.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ProtocolChange {
    /// Edits of the one before.
    Edited(Vec<Edit>),
    /// Another one in its place.
    Replaced(#[serde(with = "serde_bytes")] Option<Vec<u8>>),
}

impl ProtocolChange {
    /// Changes a state. Returns how many bytes were moved in it; none if these are edits of another state.
    pub(super) fn apply(self, state: &mut Option<Vec<u8>>) -> Option<u64> {
        match self {
            Self::Edited(edits) => edits::apply(state.as_mut()?, &edits),
            Self::Replaced(other) => {
                *state = other;
                Some(0)
            }
        }
    }
}

/// Writes of a durable map, in the order of their keys.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Writes(Vec<Written>);

/// A write of a durable map.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    #[serde(with = "serde_bytes")]
    key: Vec<u8>,
    /// None if the key was deleted.
    #[serde(with = "serde_bytes")]
    value: Option<Vec<u8>>,
}

/// The writes that lead to a map from one that differs in these keys at most.
pub(super) fn writes(map: &DurableMap, keys: &WrittenKeys) -> Writes {
    let written = |key: &[u8]| Written { key: key.to_vec(), value: map.get(key).map(<[u8]>::to_vec) };
    Writes(keys.iter().map(written).collect())
}

impl Writes {
    /// Writes a map.
    pub(super) fn apply(&self, map: &mut DurableMap) {
        for Written { key, value } in &self.0 {
            match value {
                Some(value) => map.put(key, value),
                None => map.delete(key),
            }
        }
    }
}

/// The parts of a change that depend on the record before.
pub(super) struct Changes<'c> {
    pub(super) protocol: &'c ProtocolChange,
    pub(super) writes: &'c Writes,
}

impl<'c> Change<&'c ProtocolChange, &'c Writes> {
    /// A record as a change of the one with this hash.
    pub(super) fn new(record: &Record, behind: Hash, changes: &Changes<'c>) -> Self {
        let Record { numbers, peers, disks, .. } = record;
        let Changes { protocol, writes } = *changes;
        Self { behind, numbers: *numbers, protocol, peers: peers.clone(), disks: disks.clone(), writes }
    }
}

/// Executes an encoded change of the record with this hash; `is_mapless` for one of the version before. Returns the bytes that were moved;
/// none if it is not a change of that.
pub(super) fn execute(last: &mut Record, hash: Hash, body: &[u8], is_mapless: bool) -> Option<u64> {
    let change: Change<ProtocolChange, Writes> = match is_mapless {
        true => postcard::from_bytes::<MaplessChange>(body).ok()?.into(),
        false => postcard::from_bytes(body).ok()?,
    };
    let Change { behind, numbers, protocol, peers, disks, writes } = change;
    if behind != hash {
        return None;
    }
    let moved = protocol.apply(&mut last.protocol)?;
    writes.apply(&mut last.map);
    (last.numbers, last.peers, last.disks) = (numbers, peers, disks);
    Some(moved)
}
