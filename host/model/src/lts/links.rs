//! The links between nodes in given local states.

use crate::contract::NodeId;
use crate::lts::cache::LtsCache;
use crate::lts::ids::{LocalStateId, MessageId};
use crate::scenario::{Links, Route};

/// An item in flight that is a message of the local transition system.
pub trait AsMessage: Copy + PartialEq {
    /// The message.
    fn message(&self) -> MessageId;

    /// See [`Links::rank`].
    fn rank(&self) -> u32;
}

/// Plain messages stand in the order of their ids.
impl AsMessage for MessageId {
    #[inline]
    fn message(&self) -> MessageId {
        *self
    }

    #[inline]
    fn rank(&self) -> u32 {
        self.0
    }
}

/// The links between nodes in these local states.
#[derive(Clone, Copy)]
pub struct NodeLinks<'k> {
    known: &'k LtsCache,
    locals: &'k [LocalStateId],
}

impl LtsCache {
    /// The links between nodes in these local states, one per node. At the start, some nodes may have none yet: then no connection is
    /// broken.
    #[inline]
    pub fn links<'k>(&'k self, locals: &'k [LocalStateId]) -> NodeLinks<'k> {
        NodeLinks { known: self, locals }
    }
}

impl<T: AsMessage> Links<T> for NodeLinks<'_> {
    #[inline]
    fn is_ordered(&self) -> bool {
        self.known.is_ordered()
    }

    #[inline]
    fn route(&self, item: &T) -> Route {
        self.known.message(item.message()).route()
    }

    #[inline]
    fn incarnation(&self, node: NodeId, peer: NodeId) -> u32 {
        self.locals.get(node as usize).map_or(0, |local| self.known.state(*local).fault_state.incarnation(peer))
    }

    #[inline]
    fn rank(&self, item: &T) -> u32 {
        item.rank()
    }
}
