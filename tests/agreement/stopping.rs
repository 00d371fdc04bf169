//! Stops of a search: a monitor that stops it after some checks and keeps its checkpoint in memory, and a stop between two calls
//! of a guest.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use host_model::contract::{Stop, Stopped};
use host_search::kernel::checkpoint_codec::{Reader, Writer};
use host_search::kernel::{EndCondition, Keeper, Monitor, Progress};

/// Stops a search after some checks, and keeps its checkpoint.
#[derive(Default)]
pub struct Stopping {
    /// The number of checks still answered with "continue".
    pub checks_left: AtomicU64,
    /// The number of checkpoints saved.
    pub saves: AtomicU64,
    saved: Mutex<Vec<u8>>,
}

/// Requests a stop after a number of calls of a guest.
pub struct StopAfter {
    /// Number of polls of the stop.
    pub asked: AtomicU64,
    /// Number of polls that it answers with no.
    pub continues: AtomicU64,
}

impl StopAfter {
    /// Continues this many times, then stops.
    pub fn new(continues: u64) -> Self {
        Self { asked: AtomicU64::new(0), continues: AtomicU64::new(continues) }
    }
}

impl Stop for StopAfter {
    fn reason(&self) -> Option<Stopped> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.continues.load(Ordering::Relaxed)).then_some(Stopped::Interrupted)
    }
}

impl Monitor for Stopping {
    fn check(&self, _: &Progress) -> Option<EndCondition> {
        let left = self.checks_left.load(Ordering::Relaxed);
        self.checks_left.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(EndCondition::Interrupted)
    }

    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }
}

impl Keeper for Stopping {
    fn is_due(&self) -> bool {
        false
    }

    fn save(&self, _: bool, write: &dyn Fn(&mut Writer<'_>)) {
        let mut bytes = Vec::new();
        write(&mut Writer(&mut |part| bytes.extend_from_slice(part)));
        self.saves.fetch_add(1, Ordering::Relaxed);
        *self.saved.lock().expect("one thread") = bytes;
    }

    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let bytes = self.saved.lock().expect("one thread").clone();
        if bytes.is_empty() {
            return;
        }
        let mut rest = bytes.as_slice();
        read(&mut Reader(&mut |buffer| match rest.split_at_checked(buffer.len()) {
            Some((first, others)) => {
                buffer.copy_from_slice(first);
                rest = others;
                true
            }
            None => false,
        }));
    }
}
