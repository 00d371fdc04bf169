//! What is drawn in a world.

use crate::chance;

/// What is drawn.
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
    /// All about frames that hold no message: what checkers ask for changes nothing for messages.
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
