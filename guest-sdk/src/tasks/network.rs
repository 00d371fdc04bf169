//! The network as tasks see it: messages to nodes, as datagrams.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::NodeId;

/// The network at one node. Clones are the same one.
pub struct Network<M> {
    links: Rc<Links<M>>,
}

/// Messages that have arrived, and messages to send. An empty list holds no memory.
struct Links<M> {
    me: NodeId,
    nodes: u32,
    arrived: RefCell<Vec<(NodeId, M)>>,
    sent: RefCell<Vec<(NodeId, M)>>,
    waiting: RefCell<Vec<Waker>>,
}

impl<M> Clone for Network<M> {
    fn clone(&self) -> Self {
        Self { links: Rc::clone(&self.links) }
    }
}

impl<M> fmt::Debug for Network<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("me", &self.me()).field("nodes", &self.nodes()).finish_non_exhaustive()
    }
}

impl<M> Network<M> {
    pub(super) fn new(me: NodeId, nodes: u32) -> Self {
        let links =
            Links { me, nodes, arrived: RefCell::default(), sent: RefCell::default(), waiting: RefCell::default() };
        Self { links: Rc::new(links) }
    }

    /// This node.
    #[must_use]
    pub fn me(&self) -> NodeId {
        self.links.me
    }

    /// Number of nodes in the cluster, this one included.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.links.nodes
    }

    /// All nodes but this one, in their order.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<M> {
        (0..self.me()).chain(self.me() + 1..self.nodes())
    }

    /// The smallest number of nodes that is more than half of them.
    #[must_use]
    pub fn majority(&self) -> usize {
        self.nodes() as usize / 2 + 1
    }

    /// Sends a message, which leaves with all others of the handler when no task is ready. The scenario decides whether links keep the
    /// order of messages, lose and duplicate them.
    ///
    /// # Panics
    ///
    /// The cluster has no such node.
    pub fn send_to(&self, to: NodeId, message: M) {
        assert!(to < self.nodes(), "sent to node {to} of a cluster of {}", self.nodes());
        self.links.sent.borrow_mut().push((to, message));
    }

    /// Waits for a message, and for its sender. Of several tasks that wait, the first one that runs has it.
    pub async fn recv_from(&self) -> (NodeId, M) {
        poll_fn(|polling| {
            let mut arrived = self.links.arrived.borrow_mut();
            if arrived.is_empty() {
                self.links.waiting.borrow_mut().push(polling.waker().clone());
                return Poll::Pending;
            }
            let first = arrived.remove(0);
            if arrived.is_empty() {
                *arrived = Vec::new();
            }
            Poll::Ready(first)
        })
        .await
    }

    pub(super) fn arrive(&self, from: NodeId, message: M) {
        self.links.arrived.borrow_mut().push((from, message));
        self.links.waiting.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn take_sent(&self) -> Vec<(NodeId, M)> {
        self.links.sent.take()
    }

    /// Messages that no task has received.
    pub(super) fn unread(&self) -> usize {
        self.links.arrived.borrow().len()
    }
}
