//! Partitions.

use super::{Budget, Scope};

/// The name of the budget.
pub const NAME: &str = "partitions";

/// No fault of its own: where connections can break, a partition is a number of breaks of each node.
pub static BUDGET: Budget = Budget {
    help: "Partitions that heal: messages between the parts are late or lost, which is explored in any case; where a network \
           is ordered connections break as well, for each partition one less of each node than there are nodes, in addition to \
           --breaks [default: 0]",
    one: "partition",
    scope: Scope::Cluster,
    may_be_unlimited: false,
    loses: None,
    bounds_simulations: false,
};
