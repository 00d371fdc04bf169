//! Packets that leave a node.

use host_model::contract::NodeId;

use crate::checkpoint::{Body, Packet};
use crate::gate::Gate;
use crate::node::frame;
use crate::node::outbox::Output;
use crate::node::runtime::Node;

impl<G: Gate> Node<G> {
    /// Packs a packet and sends it.
    pub(super) fn post(&mut self, to: NodeId, packet: &Packet) {
        let frame = frame::encode(&self.identity, to, &self.differences.pack(to, packet));
        if let Body::Answer { checkpoint, .. } = &packet.body {
            self.differences.sent(to, checkpoint);
            self.counts.checkpoints += 1;
            self.counts.checkpoint_bytes += frame.len() as u64;
        }
        self.outbox.add(Output::Send { to, frame });
    }
}
