//! The profile of a run's checkers: their limits, and the time that they take.

use std::time::Duration;

use crate::checker::Limits;
use crate::filter::Quota;

/// The profile of checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The minimum time between two rounds of a node.
    pub interval: Duration,
    /// The time of a snapshot.
    pub gathering: Duration,
    /// The time of a round in addition to its work.
    pub base: Duration,
    /// The time per unit of work: an event or a transition.
    pub each: Duration,
    /// The limits of a round.
    pub limits: Limits,
    /// The quota of filtered events.
    pub quota: Quota,
    /// The limit of the look-ahead from each event whose effects are held, in events of the unfolding; none for no holding. Only on
    /// unordered links.
    pub hold: Option<u64>,
    /// Whether each node asks only the neighbours that the protocol names, if it names any; otherwise it asks all nodes.
    pub neighbours: bool,
}

impl Profile {
    /// The times of the thesis: a snapshot every 3.8 s, and rounds of 3.3 s.
    pub fn thesis() -> Self {
        let (interval, base) = (Duration::from_millis(3_800), Duration::from_millis(3_300));
        Self { interval, base, each: Duration::ZERO, ..Self::ours() }
    }

    /// A snapshot after each event, at the earliest 50 ms after the last one. A unit of work takes 10 µs, ten times as long as in a search
    /// that runs no guest.
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
