//! Deliberate mistakes by their names in MaceMC's report, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A node that forwards a Join requests all rows again.
    Pastry1,
    /// Nodes whose connections break are forgotten.
    Pastry2,
    /// A distance of more than half of the ring counts as a small one.
    Pastry3,
    /// A Join can be forwarded to the node that joins.
    Pastry4,
    /// A node that has not joined does not report that to the node that forwards a Join to it.
    Pastry5,
}

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The names of the report.
    const NAMES: &'static [(&'static str, Self)] = &[
        ("PASTRY1", Self::Pastry1),
        ("PASTRY2", Self::Pastry2),
        ("PASTRY3", Self::Pastry3),
        ("PASTRY4", Self::Pastry4),
        ("PASTRY5", Self::Pastry5),
    ];
}
