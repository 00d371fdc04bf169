//! Large snapshots, kept once for all siblings.
//!
//! The memory of an interpreter differs from its image in hundreds of kilobytes in every local state, so snapshots take most of the
//! memory. Siblings that explore the same local states, one search each, share them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::contract::Snapshot;
use crate::contract::fingerprint::Fingerprint;

/// Smaller snapshots are cheaper to keep twice than to look up.
const SHARED_BYTES_MIN: usize = 4_096;

/// The snapshots that local transition systems share.
#[derive(Clone, Default)]
pub(crate) struct SharedSnapshots(Arc<Mutex<FxHashMap<Fingerprint, Snapshot>>>);

impl SharedSnapshots {
    /// Adds the snapshot of a protocol state that is new to a table, or replaces it by the one of another table; returns whether
    /// it was replaced.
    pub(crate) fn share(&self, fingerprint: Fingerprint, snapshot: &mut Option<Snapshot>) -> bool {
        let Some(snapshot) = snapshot.as_mut().filter(|snapshot| snapshot.bytes() >= SHARED_BYTES_MIN) else {
            return false;
        };
        let mut all = self.lock();
        let known = all.entry(fingerprint).or_insert_with(|| snapshot.clone());
        // A snapshot moved from table to table is known already, and the other table is about to be dropped.
        let is_another = !known.is_same(snapshot);
        if is_another {
            snapshot.clone_from(known);
        }
        is_another
    }

    /// Forgets the snapshots that no table uses.
    fn forget_unused(&self) {
        self.lock().retain(|_, snapshot| snapshot.is_shared());
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<Fingerprint, Snapshot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets unused snapshots when it is dropped: to be dropped after the tables.
pub(crate) struct Forgetting(pub(crate) SharedSnapshots);

impl Drop for Forgetting {
    fn drop(&mut self) {
        self.0.forget_unused();
    }
}
