//! Messages that are delivered again.

use super::{Budget, FaultDescription, InSimulations, Need, Scope, Shows};
use crate::scenario::link::Network;

/// Each message on a link that duplicates is sent with this many additional copies, see `Rules::copies`.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "How often a message can be delivered again [default: 1 where a network is unordered-duplicating, else 0]",
        one: "duplicate",
        scope: Scope::Message,
        may_be_unlimited: false,
        loses: None,
        in_simulations: InSimulations::WithinBudget,
    },
    by_default: 1,
    needs: Some(Need {
        network: Network::UnorderedDuplicating,
        otherwise: "never delivers a message twice, so it has no duplicates",
    }),
    shows: Shows::Anywhere,
    event: None,
};
