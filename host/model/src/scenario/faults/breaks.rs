//! Connections that break.

use super::{Budget, Effect, FaultDescription, InSimulations, Loses, Need, NodeFault, Scope, Shows};
use crate::scenario::link::Network;

/// A node breaks an open connection. A notice informs its peer.
pub const FAULT: FaultDescription = FaultDescription {
    budget: Budget {
        help: "Breaks of connections that each node begins, where a network is ordered: messages in flight are lost, and each \
               end gets a transport error, which can be lost, too [default: 0]",
        one: "broken connection",
        scope: Scope::Node,
        may_be_unlimited: false,
        loses: Some(Loses::OfConnections),
        in_simulations: InSimulations::AsBreak,
    },
    by_default: 0,
    needs: Some(Need {
        network: Network::Ordered,
        otherwise: "has no connections that could break: a message that is lost there is one that is never delivered",
    }),
    shows: Shows::Anywhere,
    event: Some(NodeFault { kind: "break", words: "loses its connection to", effect: Effect::Disconnect }),
};
