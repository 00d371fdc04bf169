//! Deliberate mistakes by their names in MaceMC's report, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A duplicate SYN opens its connection again.
    MT1,
    /// The timers of a connection that is closed continue.
    MT2,
    /// A SYN that is late opens its old connection again.
    MT3,
    /// The last SYN is noted in the connection, and forgotten with it.
    MT3Forgets,
    /// Messages leaving the buffer are not counted as received.
    MT4,
    /// A message that arrives too early is acknowledged with the number that was expected.
    MT5,
    /// An acknowledgement of more than the segments in flight is ignored.
    MT6,
    /// A Reset closes both directions, for any connection.
    MT7,
    /// A fragment that is in the buffer is counted again.
    MT8,
    /// A message is acknowledged without those after it that are in the buffer.
    MT9,
    /// An error leaves the promise that the application may send.
    MT10,
    /// A message that stays in the buffer, and is sent again and again, does not reset its connection.
    MT11,
}

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The names of the report. Of the two wrong repairs of MT3 in it, the one with a missing clause behaves like MT3.
    const NAMES: &'static [(&'static str, Self)] = &[
        ("MT1", Self::MT1),
        ("MT2", Self::MT2),
        ("MT3", Self::MT3),
        ("MT3-clause", Self::MT3),
        ("MT3-forgets", Self::MT3Forgets),
        ("MT4", Self::MT4),
        ("MT5", Self::MT5),
        ("MT6", Self::MT6),
        ("MT7", Self::MT7),
        ("MT8", Self::MT8),
        ("MT9", Self::MT9),
        ("MT10", Self::MT10),
        ("MT11", Self::MT11),
    ];
}
