//! How the checkers of the nodes of a run work: how far they look, and how long that takes.

use std::time::Duration;

use crate::checker::Limits;
use crate::filter::Quota;

/// How the checkers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The time between two rounds of a node, at least.
    pub interval: Duration,
    /// How long a snapshot takes.
    pub gathering: Duration,
    /// What a round takes besides its work.
    pub base: Duration,
    /// What a unit of work takes: an event or a transition.
    pub each: Duration,
    /// How far a round looks.
    pub limits: Limits,
    /// How much may be filtered.
    pub quota: Quota,
    /// How far to look ahead from each event while its effects are held, in events of the unfolding; not at all if there is no number. On
    /// links without an order.
    pub hold: Option<u64>,
    /// Whether each node asks the nodes alone that the protocol names its neighbours, where it does; else it asks all.
    pub neighbours: bool,
}

impl Profile {
    /// The times of the thesis: a snapshot every 3.8 s, and 3.3 s for a round.
    pub fn thesis() -> Self {
        let (interval, base) = (Duration::from_millis(3_800), Duration::from_millis(3_300));
        Self { interval, base, each: Duration::ZERO, ..Self::ours() }
    }

    /// A snapshot as soon as something has happened, 50 ms after the last one at the earliest. A unit of work is 10 µs, ten times what
    /// it takes in a search that runs no guest.
    pub fn ours() -> Self {
        Self {
            interval: Duration::from_millis(50),
            gathering: Duration::from_millis(50),
            base: Duration::from_millis(1),
            each: Duration::from_micros(10),
            // Each round begins in an empty local transition system, so that no run depends on those before it.
            limits: Limits { past_max: 0, bytes_max: 0, ..Limits::default() },
            quota: Quota::default(),
            hold: None,
            neighbours: true,
        }
    }
}
