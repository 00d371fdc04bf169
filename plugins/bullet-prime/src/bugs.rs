//! Deliberate mistakes, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A difference that the transport refuses counts as announced.
    Cleared,
    /// A difference that was refused is sent later, and then all blocks that have arrived meanwhile count as announced, too.
    Stale,
    /// Announcements to a receiver still count when it has opened a new connection.
    Kept,
}

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The first is the mistake that the thesis describes. Of two others it says only that they are variants; these are of our own.
    const NAMES: &'static [(&'static str, Self)] =
        &[("BUL1", Self::Cleared), ("stale", Self::Stale), ("kept", Self::Kept)];
}
