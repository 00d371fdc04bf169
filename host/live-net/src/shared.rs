//! What the threads that serve the network share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use host_live::node::Identity;

use crate::budget::Budget;
use crate::tls::Tls;
use crate::wire::Arrival;

/// How often a thread looks whether the node has ended, or a peer is there by now.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
/// What a stream begins with, before the number.
pub(crate) const MAGIC: [u8; 4] = *b"HCON";

/// What the threads of a node share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Who the node is.
    pub(crate) identity: Arc<Identity>,
    /// Without it, a peer is whoever it says that it is.
    pub(crate) tls: Option<Tls>,
    pub(crate) arrivals: SyncSender<Arrival>,
    /// What others make the node hold.
    pub(crate) budget: Budget,
    pub(crate) stopped: Arc<AtomicBool>,
    /// The number of the next stream.
    pub(crate) next: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(identity: &Identity, tls: Option<Tls>, arrivals: SyncSender<Arrival>, budget: Budget) -> Self {
        let identity = Arc::new(identity.clone());
        Self { identity, tls, arrivals, budget, stopped: Arc::default(), next: Arc::default() }
    }

    /// The number of a new stream.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// That of node 0 of so many, without TLS.
    #[cfg(test)]
    pub(crate) fn of_tests(arrivals: SyncSender<Arrival>, nodes: u32) -> Self {
        let identity = Identity { node: 0, nodes, config: String::new(), cluster: [4; 16], session: 1 };
        Self::new(&identity, None, arrivals, Budget::new(nodes))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
