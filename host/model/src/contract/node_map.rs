//! The durable map of the node that a machine stands for.

use crate::contract::durable_map::DurableMap;
use crate::contract::exchange::Snapshot;
use crate::contract::synced::Synced;
use crate::contract::written_keys::WrittenKeys;

/// The durable map of the node that a machine stands for.
#[derive(Clone, Default)]
pub struct NodeMap {
    map: DurableMap,
    before: DurableMap,
    written: WrittenKeys,
    /// The map at the last call of `sync`.
    synced: Option<DurableMap>,
}

impl NodeMap {
    /// The map of a node that is restored, or starts, with this one.
    pub fn new(map: DurableMap) -> Self {
        Self { before: map.clone(), map, written: WrittenKeys::default(), synced: None }
    }

    /// As it is now.
    pub fn map(&self) -> &DurableMap {
        &self.map
    }

    /// Sets the value of a key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.map.put(key, value);
        self.written.add(key);
    }

    /// Removes a key, if it is there.
    pub fn delete(&mut self, key: &[u8]) {
        self.map.delete(key);
        self.written.add(key);
    }

    /// Removes the keys from `start` on and before `end`; all from `start` on without an end.
    pub fn delete_range(&mut self, start: &[u8], end: Option<&[u8]>) {
        let map = self.map.clone();
        map.range(start, end).for_each(|(key, _)| self.delete(key));
    }

    /// Makes all writes so far durable.
    pub fn sync(&mut self) {
        self.synced = Some(self.map.clone());
    }

    /// The writes since the last call that are durable, of a protocol that calls [`sync`](Self::sync).
    pub fn take_synced(&mut self) -> Synced {
        self.synced.take().map_or(Synced::Nothing, Synced::UpTo)
    }

    /// The keys written since the last call.
    pub fn take_written(&mut self) -> WrittenKeys {
        std::mem::take(&mut self.written)
    }

    /// A snapshot with the map.
    pub fn in_snapshot(&self, snapshot: Snapshot) -> Snapshot {
        snapshot.with_map(&self.map, &self.before)
    }
}
