//! The results of a finished run.

use host_search::kernel::FoundViolation;

use crate::simulator::kept::Kept;
use crate::time::Time;

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A property is violated, or a handler has failed.
    Violation,
    /// No input is left.
    Quiet,
    /// The time is over.
    Time,
    /// The maximum number of events is reached.
    Events,
}

/// Counts of the events in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All events.
    pub events: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// Messages lost, those in partitions included.
    pub lost: u64,
    /// Local events.
    pub local: u64,
    /// Resets.
    pub resets: u64,
    /// Partitions.
    pub partitions: u64,
    /// States that violate a property: at most one unless the run continues after a violation.
    pub violating: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its seed.
    pub seed: u64,
    /// Why it has ended.
    pub end: End,
    /// The time of its end.
    pub at: Time,
    /// The counts of its events.
    pub counts: Counts,
    /// The first bytes of a hash of all events and their times: equal digests mean equal runs.
    pub digest: u128,
    /// The time of the first violation, if any.
    pub violated: Option<Time>,
    /// The first violation, if any. Its path replays.
    pub violation: Option<FoundViolation>,
    /// The `sometimes` properties that were reached, sorted by index, with the first time of each.
    pub witnessed: Vec<(u32, Time)>,
    /// The time that each `eventually` property was kept, by index.
    pub kept: Vec<Kept>,
}
