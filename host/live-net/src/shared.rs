//! State shared by the threads that serve the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use host_live::address::Address;
use host_live::node::Identity;

use crate::budget::Budget;
use crate::callback::Made;
use crate::tls::Tls;
use crate::wire::Arrival;

/// The interval at which a thread checks whether the node has ended, or a peer is reachable.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
/// The first bytes of a stream, before the number and the secret.
pub(crate) const MAGIC: [u8; 4] = *b"HCO2";

/// The state shared by the threads of a node.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The node and its cluster.
    pub(crate) identity: Arc<Identity>,
    /// Authenticates peers; without it, a peer is identified by its address.
    pub(crate) tls: Option<Tls>,
    /// The addresses of the nodes.
    pub(crate) addresses: Arc<Vec<Address>>,
    /// The streams that this node has made.
    pub(crate) made: Made,
    pub(crate) arrivals: SyncSender<Arrival>,
    /// Memory that others make the node hold.
    pub(crate) budget: Budget,
    pub(crate) stopped: Arc<AtomicBool>,
    /// The number of the next stream.
    pub(crate) next: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(
        identity: &Identity,
        addresses: &[Address],
        tls: Option<Tls>,
        arrivals: SyncSender<Arrival>,
        budget: Budget,
    ) -> Self {
        let (identity, addresses) = (Arc::new(identity.clone()), Arc::new(addresses.to_vec()));
        let (made, stopped, next) = Default::default();
        Self { identity, tls, addresses, made, arrivals, budget, stopped, next }
    }

    /// The number of a new stream.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The state of node 0 in a cluster of `nodes`, without TLS.
    #[cfg(test)]
    pub(crate) fn of_tests(arrivals: SyncSender<Arrival>, nodes: u32) -> Self {
        let identity =
            Identity { node: 0, nodes, config: String::new(), name: String::new(), cluster: [4; 16], session: 1 };
        Self::new(&identity, &[], None, arrivals, Budget::new(nodes))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
