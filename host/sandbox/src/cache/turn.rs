//! Hosts that want the same entry at once: one makes it, and the others wait for it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::private;

/// Longer than compiling an interpreter takes on a busy machine. A process that takes longer may have been stopped meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time between two checks whether the other one is done.
const PAUSE: Duration = Duration::from_millis(20);

/// The turn of a host to make an entry, until it is dropped.
pub(super) struct Turn {
    _locked: File,
    path: PathBuf,
}

impl Turn {
    /// Waits until no other process makes the entry, but not for ever. Without a turn, because files cannot be locked here or another host
    /// is not done in time, the entry is made all the same: that only costs time.
    ///
    /// Calls `waits` again and again with the time since the last call.
    pub(super) fn wait_for(entry: &Path, waits: &mut dyn FnMut(Duration)) -> Option<Self> {
        let path = entry.with_extension(private::TEMPORARY);
        let file = private::file(&path).ok()?;
        let begun = Instant::now();
        let mut said = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Self { _locked: file, path }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(_) => return None,
            }
            let passed = begun.elapsed();
            waits(passed - said);
            said = passed;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A host that has opened it already waits for this very file; a later one makes another file, and finds the entry.
        let _ = fs::remove_file(&self.path);
    }
}
