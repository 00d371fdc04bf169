//! The purposes of random draws in a world.

use crate::chance;

/// The purpose of a draw.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Latency,
    Loss,
    Repeats,
    Cuts,
    Kills,
    Crashes,
    Writes,
    Pauses,
    Jumps,
    Snapshots,
    Requests,
    Breaks,
    Disks,
    /// Everything about frames without a message, so that the requests of checkers do not affect messages.
    Packets,
    Divisions,
    Phases,
}

impl chance::Purpose for Purpose {
    const COUNT: usize = Self::Phases as usize + 1;

    fn index(self) -> usize {
        self as usize
    }
}

/// The random numbers of a world.
pub(super) type Chance = chance::Chance<Purpose>;
