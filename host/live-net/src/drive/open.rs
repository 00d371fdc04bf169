//! The start of a node: its ports, its gate, and the checks of its configuration.

use std::sync::Arc;

use host_live::address::Address;
use host_live::checker::armed;
use host_live::kinds::Kinds;
use host_model::contract::NodeId;
use host_model::scenario::Network;

use crate::accept::Listening;
use crate::board::Board;
use crate::drive::{Place, RunError};
use crate::hold::Hold;
use crate::http::Server;
use crate::shared::Shared;
use crate::steer::{Inbox, Steer, Steerer};
use crate::watch::Watch;
use crate::wire::Port;

/// The gate of a node, if it is steered and its messages have kinds. Machines of the checker may hang, so the gate uses none.
pub(super) fn gate(
    watch: Option<&Watch>,
    node: NodeId,
    nodes: u32,
    kinds: Option<Arc<Kinds>>,
    inbox: &Arc<Inbox>,
) -> Result<Option<Steerer>, RunError> {
    let steered = watch.and_then(|watch| Some((watch, watch.steer.as_ref()?))).zip(kinds);
    let Some(((watch, Steer { quota, hold, breaks, .. }), kinds)) = steered else { return Ok(None) };
    let Watch { factory, scenario, kept, every, .. } = watch;
    let armed = armed(kept, node, *breaks, scenario, &kinds);
    let hold = hold.map(|time| Hold::start(Arc::clone(factory), scenario.clone(), time));
    let hold = hold.transpose().map_err(RunError::Checker)?;
    let steerer = Steerer::new(node, nodes, *quota, Arc::clone(inbox), hold).with_kinds(kinds).breaking(*breaks);
    Ok(Some(steerer.armed(armed, *every)))
}

/// Checks whether a node can run at a place.
pub(super) fn check(place: &Place) -> Result<(), RunError> {
    let Place { identity, settings, addresses, tls, clients, metrics, .. } = place;
    if tls.is_some() && settings.network != Network::Ordered {
        return Err(RunError::Datagrams);
    }
    // Clients are never authenticated.
    let own = clients.iter().chain(metrics).map(|address| Address::from(*address));
    let unproven = addresses.iter().filter(|_| tls.is_none()).cloned().chain(own);
    if let Some(address) = unproven.into_iter().find(|address| !address.is_loopback()) {
        return Err(RunError::NotLoopback(address));
    }
    let is_right = |count: usize| count == identity.nodes as usize;
    let is_served = clients.is_empty() || is_right(clients.len());
    if !is_right(addresses.len()) || identity.node >= identity.nodes || !is_served {
        return Err(RunError::Addresses { addresses: addresses.len(), nodes: identity.nodes });
    }
    Ok(())
}

/// The ports of a node for clients and for metrics, which are open until they are dropped.
pub(super) fn ports(place: &Place, shared: &Shared, board: &Arc<Board>) -> Result<Vec<Listening>, RunError> {
    let Place { identity, clients, metrics, operations, .. } = place;
    let ready: Option<Arc<str>> = operations.ready.as_deref().map(Into::into);
    let own = clients.get(identity.node as usize).map(|address| (Port::Clients, address));
    let ports = own.into_iter().chain(metrics.iter().map(|address| (Port::Metrics, address)));
    let bound = ports.map(|(port, address)| {
        let server = Server {
            port,
            board: Arc::clone(board),
            arrivals: shared.arrivals.clone(),
            budget: shared.budget.clone(),
            stopped: Arc::clone(&shared.stopped),
            clients: Arc::new(clients.clone()),
            ready: ready.clone(),
        };
        server.bind(*address).map_err(|error| RunError::Bind { address: Address::from(*address), error })
    });
    bound.collect()
}
