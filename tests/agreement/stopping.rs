//! A monitor that stops a search after some checks and keeps its checkpoint in memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use host_search::codec::{Reader, Writer};
use host_search::kernel::{End, Keeper, Monitor, Progress};

/// Stops a search after some checks, and keeps what it saves.
#[derive(Default)]
pub struct Stopping {
    /// How many checks are still answered with "go on".
    pub checks_left: AtomicU64,
    saved: Mutex<Vec<u8>>,
    resumes: Mutex<bool>,
}

impl Monitor for Stopping {
    fn check(&self, _: &Progress) -> Option<End> {
        let left = self.checks_left.load(Ordering::Relaxed);
        self.checks_left.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(End::Interrupted)
    }

    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }
}

impl Keeper for Stopping {
    fn is_due(&self) -> bool {
        false
    }

    fn save(&self, write: &dyn Fn(&mut Writer<'_>)) {
        let mut bytes = Vec::new();
        write(&mut Writer(&mut |part| bytes.extend_from_slice(part)));
        *self.saved.lock().expect("one thread") = bytes;
        *self.resumes.lock().expect("one thread") = true;
    }

    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>)) {
        if !std::mem::take(&mut *self.resumes.lock().expect("one thread")) {
            return;
        }
        let bytes = self.saved.lock().expect("one thread").clone();
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
