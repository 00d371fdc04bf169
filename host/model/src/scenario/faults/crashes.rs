//! Nodes that stop.

use super::{Budget, FaultDescription, InSimulations, Scope, Shows};

/// No event: every execution may have a node that never takes another step. It matters only for ends, see `lts::deadlock`.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Nodes that stop and never come back. Only --deadlock depends on it: every state that is reached with a crash is \
               reached without one, too, by an execution that ends there [default: 0]",
        one: "crashed node",
        scope: Scope::Cluster,
        may_be_unlimited: false,
        loses: None,
        in_simulations: InSimulations::ByConditions,
    },
    by_default: 0,
    needs: None,
    shows: Shows::InEnds,
    event: None,
};
