//! Power outages.

use super::{Budget, Effect, FaultDescription, InSimulations, Keeps, Loses, NodeFault, Scope, Shows};

/// As a reset, but writes after the last `sync` can be lost: the latest ones, of whole handlers.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Power outages of each node: as a reset, and writes to the durable map since the last `sync` can be lost, see \
               --outage-writes, if the protocol calls `sync` [default: 0]",
        one: "outage",
        scope: Scope::Node,
        may_be_unlimited: false,
        loses: Some(Loses::OfConnections),
        in_simulations: InSimulations::AsOutage,
    },
    by_default: 0,
    needs: None,
    shows: Shows::WithSync,
    event: Some(NodeFault { kind: "outage", words: "loses power", effect: Effect::Restart(Keeps::Synced) }),
};
