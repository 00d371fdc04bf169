//! Messages that are lost.

use super::{Budget, FaultDescription, InSimulations, Loses, Scope, Shows};

/// An event for each message, see `Trigger::lose`: its destination counts it.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Messages to each node that are lost: N of them, or `unlimited`. For --deadlock and `eventually` properties; to \
               all others a message that stays in flight is one that is lost, unless its link has an order [default: 0]",
        one: "lost message",
        scope: Scope::Node,
        may_be_unlimited: true,
        loses: Some(Loses::Any),
        in_simulations: InSimulations::ByConditions,
    },
    by_default: 0,
    needs: None,
    shows: Shows::InWhatFollows,
    event: None,
};
