//! The questions of a world to the memory of its machines.

use std::sync::Mutex;

use host_model::contract::{Machine, NodeId};
use host_model::lts::Trigger;
use host_model::scenario::FaultEvent;

use crate::gate::Happened;
use crate::world::ends::{Breaking, ModelEnd, Notice};
use crate::world::memo::{Memo, Memory, lock};

/// The model of the cluster of a world, in which handlers are looked up.
pub(in crate::world) trait Model {
    /// The machine of the next start of a node.
    fn machine(&self, node: NodeId) -> Box<dyn Machine + '_>;

    /// An event has happened at a node.
    fn follow(&self, node: NodeId, happened: &Happened<'_>);

    /// Whether a node may be killed and start again.
    fn can_restart(&self, node: NodeId) -> bool;

    /// The number of steps so far.
    fn steps(&self) -> u64;

    /// Whether a handler has failed, which ends the run.
    fn has_failed(&self) -> bool;

    /// Whether it has connections that can break.
    fn has_connections(&self) -> bool;

    /// An end of a connection.
    fn end(&self, node: NodeId, peer: NodeId) -> ModelEnd;

    /// Takes the notices to peers since the last call.
    fn take_notices(&self) -> Vec<Notice>;

    /// If a node hears of a broken connection from now on, it is by a notice of this peer.
    fn expect_notice(&self, noticed: Option<(NodeId, NodeId)>);

    /// A node takes the next notice of a peer, and its protocol does not hear of it.
    fn miss(&self, node: NodeId, peer: NodeId);

    /// The way to break a connection in place of a message to a node from a peer; none if no end can break it.
    fn breaking(&self, node: NodeId, peer: NodeId) -> Option<Breaking>;

    /// A node breaks a connection, and its protocol does not hear of it.
    fn break_unheard(&self, node: NodeId, peer: NodeId);
}

impl Model for Mutex<Memory<'_>> {
    fn machine(&self, node: NodeId) -> Box<dyn Machine + '_> {
        Box::new(Memo::new(self, node))
    }

    fn follow(&self, node: NodeId, happened: &Happened<'_>) {
        lock(self).follow(node, happened);
    }

    fn can_restart(&self, node: NodeId) -> bool {
        lock(self).can_restart(node)
    }

    fn steps(&self) -> u64 {
        lock(self).path.len() as u64
    }

    fn has_failed(&self) -> bool {
        lock(self).failed().is_some()
    }

    fn has_connections(&self) -> bool {
        lock(self).stepper.lts().scenario().has_connections()
    }

    fn end(&self, node: NodeId, peer: NodeId) -> ModelEnd {
        lock(self).end_of(node, peer)
    }

    fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut lock(self).notices)
    }

    fn expect_notice(&self, noticed: Option<(NodeId, NodeId)>) {
        lock(self).noticed = noticed;
    }

    fn miss(&self, node: NodeId, peer: NodeId) {
        lock(self).miss(node, peer);
    }

    fn breaking(&self, node: NodeId, peer: NodeId) -> Option<Breaking> {
        lock(self).breaking(node, peer)
    }

    fn break_unheard(&self, node: NodeId, peer: NodeId) {
        lock(self).take_unheard(node, |_, _| Trigger::from(FaultEvent::disconnect(peer)));
    }
}
