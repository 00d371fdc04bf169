//! What is wrong on purpose: mistakes by their names in MaceMC's report, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Who hears of a reset does what it does on a socket error, too.
    SimTcp1,
    /// The flag that is cleared when an error has arrived is that of node 0, whichever node it is.
    SimTcp2,
    /// A node that is reset while errors are on their way both ways still expects one.
    SimTcp3,
}

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The names of the report.
    const NAMES: &'static [(&'static str, Self)] =
        &[("SIMTCP1", Self::SimTcp1), ("SIMTCP2", Self::SimTcp2), ("SIMTCP3", Self::SimTcp3)];
}
