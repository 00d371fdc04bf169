//! Messages that are refused.

use super::{Budget, FaultDescription, InSimulations, Scope, Shows};

/// An answer of the transport in the middle of a handler, see `FaultState::refuse`.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Messages of each node that its transport refuses because its buffers are full, among those for which the \
               protocol asks it (`can-send` in the contract) [default: 0]",
        one: "refused message",
        scope: Scope::Node,
        may_be_unlimited: false,
        loses: None,
        in_simulations: InSimulations::ByConditions,
    },
    by_default: 0,
    needs: None,
    shows: Shows::NotKnown,
    event: None,
};
