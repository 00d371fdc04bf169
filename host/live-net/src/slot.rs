//! The slot in which a node leaves a snapshot for its checker, and in which the checker asks for one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use host_live::checkpoint::Snapshot;

/// Room for one snapshot, the latest.
#[derive(Default)]
pub(crate) struct Slot {
    content: Mutex<Content>,
    changed: Condvar,
}

#[derive(Default)]
struct Content {
    latest: Option<Snapshot>,
    /// Whether the checker wants one.
    is_wanted: bool,
    is_closed: bool,
}

impl Slot {
    /// The lock is held only while a value is moved.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.lock().is_wanted
    }

    /// Puts a snapshot, in place of an earlier one.
    pub(crate) fn put(&self, snapshot: Snapshot) {
        self.lock().latest = Some(snapshot);
        self.changed.notify_one();
    }

    /// Asks for a snapshot and waits for it; with `wants_more`, the next one is wanted at once. None after the end time, if there is one,
    /// or when the node has ended.
    pub(crate) fn take(&self, wants_more: bool, end: Option<Instant>) -> Option<Snapshot> {
        let mut content = self.lock();
        content.is_wanted = true;
        let time = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        if time.is_zero() {
            return None;
        }
        let is_idle = |content: &mut Content| content.latest.is_none() && !content.is_closed;
        let waited = self.changed.wait_timeout_while(content, time, is_idle);
        let mut content = waited.unwrap_or_else(PoisonError::into_inner).0;
        let taken = if content.is_closed { None } else { content.latest.take() };
        content.is_wanted = wants_more || taken.is_none();
        taken
    }

    /// Ends all waits, since the node has ended.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits for this time, or until the node has ended. A snapshot is asked for early enough to be there by then, given the time to
    /// collect one.
    pub(crate) fn rest(&self, time: Duration, collecting: Duration) {
        self.wait(self.lock(), time.saturating_sub(collecting)).is_wanted = true;
        drop(self.wait(self.lock(), time.min(collecting)));
    }

    /// Waits for this time, or until the node has ended.
    fn wait<'s>(&'s self, content: MutexGuard<'s, Content>, time: Duration) -> MutexGuard<'s, Content> {
        let waited = self.changed.wait_timeout_while(content, time, |content| !content.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::thread;

    use super::*;

    /// A node collects no snapshot while its checker works or rests, except at the end of a rest; a resting checker ends with the node.
    #[test]
    fn a_snapshot_is_wanted_only_where_it_will_be_begun() {
        let slot = &Slot::default();
        assert!(!slot.is_wanted());
        let snapshot = || Snapshot { number: 1, checkpoints: BTreeMap::new(), absent: BTreeSet::new() };
        let until = |is_wanted| {
            while slot.is_wanted() != is_wanted {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            for wants_more in [true, false] {
                let taken = scope.spawn(move || slot.take(wants_more, None));
                until(true);
                slot.put(snapshot());
                assert!(taken.join().expect("it does not panic").is_some());
                assert_eq!(slot.is_wanted(), wants_more);
            }
            slot.rest(Duration::from_millis(2), Duration::from_millis(1));
            assert!(slot.is_wanted());
            slot.put(snapshot());
            assert!(slot.take(false, None).is_some() && !slot.is_wanted());
            slot.put(snapshot());
            let hour = Duration::from_secs(3_600);
            assert!(slot.take(false, Some(Instant::now() + hour)).is_some() && !slot.is_wanted());
            let rested = scope.spawn(|| {
                slot.rest(Duration::from_secs(3_600), Duration::from_secs(1));
                slot.take(false, None)
            });
            assert!(!slot.is_wanted());
            slot.close();
            assert!(rested.join().expect("it does not panic").is_none());
        });
    }
}
