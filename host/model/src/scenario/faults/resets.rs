//! Resets.

use super::{Budget, Effect, FaultDescription, InSimulations, Keeps, Loses, NodeFault, Scope, Shows};

/// A node loses its state, except for durable state, and restarts.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Resets of each node: at any moment it can lose its state, except for durable state, and restart [default: 0]",
        one: "reset",
        scope: Scope::Node,
        may_be_unlimited: false,
        loses: Some(Loses::OfConnections),
        in_simulations: InSimulations::AsRestart,
    },
    by_default: 0,
    needs: None,
    shows: Shows::Anywhere,
    event: Some(NodeFault { kind: "reset", words: "reset", effect: Effect::Restart(Keeps::Everything) }),
};
