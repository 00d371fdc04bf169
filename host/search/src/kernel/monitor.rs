//! Progress of a running search, its end from outside, and its checkpoints.

use host_model::lts::Stepper;

use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::{Counts, EndCondition};

/// How far a running search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The counts so far.
    pub counts: Counts,
    /// Small steps that no count shows: of an unfolding, what it looks at to find out what can follow an event, and which events go
    /// together; of a reduced search, what it renames and compares to find out whether a state is there; of guided walks, the local states that
    /// they have the plugin describe. None elsewhere.
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
    /// The search of its own; every search begins with it.
    Exploring,
    /// Finding out whether what it came across is reachable.
    Verifying,
    /// Finding out whether something that is owed at the end of a walk can still be kept, and making the way there short.
    Examining,
}

/// Told about progress every few thousand transitions; may end the search. Keeps clocks out of this crate.
pub trait Monitor: Sync {
    /// Returns why to stop, or `None` to continue.
    fn check(&self, progress: &Progress) -> Option<EndCondition>;

    /// The same before the search takes this many bytes more: whether there is room for them.
    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<EndCondition> {
        self.check(&Progress { bytes: progress.bytes.saturating_add(bytes), ..*progress })
    }

    /// Bytes of memory that the process may have; none without a bound. A search that can forget what it knows does so before it
    /// has as many, instead of being ended by [`check`](Self::check).
    fn memory_max(&self) -> Option<u64> {
        None
    }

    /// Whether the search ends at some time anyway.
    fn is_timed(&self) -> bool {
        false
    }

    /// Called when a strategy of several has ended for the others to have its memory, with the number of bytes freed.
    fn frees(&self, _bytes: u64) {}

    /// Told that a strategy of several has its turn. Called by one worker at a time.
    fn runs(&self, _strategy: &'static str) {}

    /// Told that its turn is over, and how many units of work it has done in all of its turns.
    fn rests(&self, _strategy: &'static str, _units: u64) {}

    /// Told that another phase begins. Called by one worker at a time.
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

    /// Saves what `write` puts into the writer that it is given, instead of what was saved before. The search has ended with
    /// it, or continues.
    fn save(&self, is_last: bool, write: &dyn Fn(&mut Writer<'_>));

    /// Hands what was saved to `read`, if there is something to continue from; only the first time.
    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>));
}

/// Never stops.
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        None
    }
}

/// Says when the monitor is due: every few thousand states, and after each handler that was executed, since one can
/// take as long as a million states that only look outcomes up.
#[derive(Debug, Default)]
pub struct CheckSchedule {
    states: u32,
    rows: usize,
    bytes: u64,
}

/// By how much a search grows between two questions at most, about.
const GROWTH_BYTES: u64 = 1 << 20;

/// States between two checks.
const STATES_PER_CHECK: u32 = 4096;

impl CheckSchedule {
    /// Whether the search, which keeps this many bytes, has grown much since this was last answered with yes. To be called
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
