//! Deliberate mistakes by their names in MaceMC's report, in any combination.

use guest_sdk::{Mistake, Mistakes};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A node that hears of a reset also takes the actions for a socket error.
    SimTcp1,
    /// The flag that is cleared when an error has arrived is always that of node 0.
    SimTcp2,
    /// A node that is reset while errors are in flight both ways still expects one.
    SimTcp3,
}

/// The mistakes of a run.
pub type Bugs = Mistakes<Bug>;

impl Mistake for Bug {
    /// The names of the report.
    const NAMES: &'static [(&'static str, Self)] =
        &[("SIMTCP1", Self::SimTcp1), ("SIMTCP2", Self::SimTcp2), ("SIMTCP3", Self::SimTcp3)];
}
