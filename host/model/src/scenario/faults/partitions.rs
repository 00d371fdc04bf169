//! Partitions.

use super::{Budget, Faults, InSimulations, Scope};

/// The name of the budget.
pub const NAME: &str = "partitions";

/// No fault of its own: if connections can break, a partition is a number of breaks of each node.
pub static BUDGET: Budget = Budget {
    help: "Partitions that heal: messages between the parts are late or lost, which is explored in any case; where a network \
           is ordered connections break as well, for each partition one less of each node than there are nodes, in addition to \
           --breaks [default: 0]",
    one: "partition",
    scope: Scope::Cluster,
    may_be_unlimited: false,
    loses: None,
    in_simulations: InSimulations::ByConditions,
};

impl Faults {
    /// Adds partitions of a cluster: each breaks the connections between its parts, and either end of a connection may notice first.
    pub fn add_partitions(&mut self, partitions: u32, nodes: u32) {
        self.breaks = self.breaks.saturating_add(partitions.saturating_mul(nodes - 1));
    }
}

/// Whether partitions count as the fault of this name.
pub fn are_counted_in(name: &str) -> bool {
    name == "breaks"
}
