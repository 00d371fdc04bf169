//! A run that is over.

use host_search::kernel::FoundViolation;

use crate::simulator::kept::Kept;
use crate::time::Time;

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A property is violated, or a handler has failed.
    Violation,
    /// Nothing is going to happen any more.
    Quiet,
    /// The time is up.
    Time,
    /// It has had as many events as it may have.
    Events,
}

/// What has happened in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All events.
    pub events: u64,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that were lost, those in partitions included.
    pub lost: u64,
    /// Local events.
    pub local: u64,
    /// Resets.
    pub resets: u64,
    /// Partitions.
    pub partitions: u64,
    /// States that violate a property: more than one only where a run continues after the first.
    pub violating: u64,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its seed.
    pub seed: u64,
    /// Why it has ended.
    pub end: End,
    /// When.
    pub at: Time,
    /// What has happened.
    pub counts: Counts,
    /// The first bytes of a hash of everything that has happened, and when: equal ones mean equal runs.
    pub digest: u128,
    /// When the first violation was there, if there is one.
    pub violated: Option<Time>,
    /// The first violation, if there is one. Its path replays.
    pub violation: Option<FoundViolation>,
    /// The `sometimes` properties that were reached, by index, sorted, and when each was for the first time.
    pub witnessed: Vec<(u32, Time)>,
    /// How long each `eventually` property was kept, by index.
    pub kept: Vec<Kept>,
}
