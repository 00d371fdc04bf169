//! Progress of a running search, its end from outside, and its checkpoints.

use host_model::lts::{Lts, Stepper};

use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::{Counts, EndCondition, FoundViolation};

/// The progress of a running search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The counts so far.
    pub counts: Counts,
    /// Small steps that no count shows: of an unfolding, candidates examined as successors of an event, and events combined; of a reduced
    /// search, states renamed and compared to find out whether a state is known; of guided walks, local states that the plugin describes
    /// to them, and pairs of steps of paths that they walk again. None elsewhere.
    pub steps: u64,
    /// The longest path so far, in events.
    pub depth: u32,
    /// States or events seen but not expanded yet.
    pub queue: u64,
    /// Bytes that the search itself keeps, snapshots included.
    pub bytes: u64,
}

/// The phase of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The search itself; every search begins with it.
    Exploring,
    /// Verification: is a candidate reachable?
    Verifying,
    /// Examination of the end of a walk: can an owed promise still be kept? Also shortens the path there.
    Examining,
}

/// Receives progress every few thousand transitions, and may end the search. Keeps clocks out of this crate.
pub trait Monitor: Sync {
    /// Returns the reason to stop, or `None` to continue.
    fn check(&self, progress: &Progress) -> Option<EndCondition>;

    /// The same before the search takes this many more bytes: is there room for them?
    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<EndCondition> {
        self.check(&Progress { bytes: progress.bytes.saturating_add(bytes), ..*progress })
    }

    /// Bytes of memory that the process may have; none without a bound. A search that can forget its knowledge does so below this bound,
    /// instead of being ended by [`check`](Self::check).
    fn memory_max(&self) -> Option<u64> {
        None
    }

    /// Whether the search has a time bound.
    fn is_timed(&self) -> bool {
        false
    }

    /// Called when one of several strategies has ended to free its memory for the others, with the number of bytes freed.
    fn frees(&self, _bytes: u64) {}

    /// Called when one of several strategies begins its turn, by one worker at a time.
    fn runs(&self, _strategy: &'static str) {}

    /// Called when its turn is over, with the units of work that it has done in all of its turns.
    fn rests(&self, _strategy: &'static str, _units: u64) {}

    /// Called with each violation when it is found, while the search continues: its steps are those of this local transition system. The
    /// report has it as well, perhaps with a shorter path; where the shortest violations are wanted, a shorter one may be in its place.
    fn finds(&self, _lts: &Lts<'_>, _found: &FoundViolation) {}

    /// Called when another phase begins, by one worker at a time.
    fn enter(&self, _phase: Phase) {}

    /// The keeper of checkpoints, if there are any.
    fn keeper(&self) -> Option<&dyn Keeper> {
        None
    }
}

/// Keeps the state of a long search, so that another process can continue with it. Keeps files out of this crate.
pub trait Keeper: Sync {
    /// Whether it is time to save.
    fn is_due(&self) -> bool;

    /// Saves the bytes that `write` puts into its writer, in place of those saved before. After the last save the search ends;
    /// otherwise it continues.
    fn save(&self, is_last: bool, write: &dyn Fn(&mut Writer<'_>));

    /// Passes the saved bytes to `read`, if there is a checkpoint to continue from; only the first time.
    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>));
}

/// Never stops.
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        None
    }
}

/// Decides when a check of the monitor is due: every few thousand states, and after each executed handler, since a handler can
/// take as long as a million states that only look up outcomes.
#[derive(Debug, Default)]
pub struct CheckSchedule {
    states: u32,
    rows: usize,
    bytes: u64,
}

/// The growth of a search between two checks, at most, about.
const GROWTH_BYTES: u64 = 1 << 20;

/// States between two checks.
const STATES_PER_CHECK: u32 = 4096;

impl CheckSchedule {
    /// Whether the search, which keeps this many bytes, has grown much since the last answer was yes. To be called
    /// wherever one state makes it grow by an amount without a bound.
    #[inline]
    pub fn has_grown(&mut self, bytes: u64) -> bool {
        let has_grown = bytes >= self.bytes.saturating_add(GROWTH_BYTES);
        if has_grown || bytes < self.bytes {
            self.bytes = bytes;
        }
        has_grown
    }

    /// To be called once per state.
    #[inline]
    pub fn is_check_due(&mut self, stepper: &Stepper<'_>) -> bool {
        self.is_check_due_after(stepper, 1)
    }

    /// The same for a state that takes as long as several: one with thousands of messages in flight, say.
    #[inline]
    pub fn is_check_due_after(&mut self, stepper: &Stepper<'_>, states: usize) -> bool {
        let has_executed = std::mem::replace(&mut self.rows, stepper.rows()) != stepper.rows();
        let before = self.states / STATES_PER_CHECK;
        self.states = self.states.wrapping_add(u32::try_from(states).unwrap_or(STATES_PER_CHECK));
        has_executed || self.states / STATES_PER_CHECK != before
    }
}
