//! Resets.

use super::{Budget, Effect, FaultDescription, NodeFault, Scope};

/// A node loses its state, except for durable state, and restarts.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Resets of each node: at any moment it can lose its state, except for durable state, and restart [default: 0]",
        one: "reset",
        scope: Scope::Node,
        may_be_unlimited: false,
    },
    needs: None,
    event: Some(NodeFault { kind: "reset", words: "reset", effect: Effect::Restart(|machine| machine.persist()) }),
};
