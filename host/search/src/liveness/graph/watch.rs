//! Polls the monitor during an analysis: after some work, and before more memory is taken.

use crate::kernel::{EndCondition, Monitor, Progress};

/// Edges between two questions.
const WORK: u64 = 1 << 20;

/// Watches the bounds of an analysis.
pub struct Watch<'m> {
    monitor: &'m dyn Monitor,
    /// The counts of the search, with the bytes of all kept data.
    progress: Progress,
    work: u64,
}

impl<'m> Watch<'m> {
    /// Watches an analysis that begins with this progress.
    pub fn new(monitor: &'m dyn Monitor, progress: Progress) -> Self {
        Self { monitor, progress, work: 0 }
    }

    /// Counts this much more work.
    ///
    /// # Errors
    ///
    /// The analysis is to end, for the reason returned.
    #[inline]
    pub fn work(&mut self, edges: u64) -> Result<(), EndCondition> {
        self.work += edges;
        if self.work < WORK {
            return Ok(());
        }
        self.work = 0;
        self.monitor.check(&self.progress).map_or(Ok(()), Err)
    }

    /// A watch for another worker of the same analysis; its work is added to this one in the end.
    pub fn another(&self) -> Self {
        Self { work: 0, ..*self }
    }

    /// The work since the last question.
    pub fn rest(&self) -> u64 {
        self.work
    }

    /// Takes this many bytes.
    ///
    /// # Errors
    ///
    /// There is no room for them.
    pub fn take(&mut self, bytes: u64) -> Result<(), EndCondition> {
        match self.monitor.check_room(&self.progress, bytes) {
            Some(end) => Err(end),
            None => {
                self.progress.bytes += bytes;
                Ok(())
            }
        }
    }

    /// Gives this many bytes back.
    pub fn give_back(&mut self, bytes: u64) {
        self.progress.bytes = self.progress.bytes.saturating_sub(bytes);
    }
}
