//! Packets that leave a node.

use host_model::contract::NodeId;
use host_model::scenario::Network;

use crate::checkpoint::{Body, Packet};
use crate::gate::Gate;
use crate::node::frame::{self, FRAME_MAX};
use crate::node::outbox::Output;
use crate::node::runtime::Node;

/// Bytes of the longest frame in a datagram over IPv4, which ends with the token of its destination.
const DATAGRAM_MAX: usize = 65_507 - TOKEN;

/// Bytes of the token after each frame in a datagram.
pub const TOKEN: usize = 8;

/// Bytes of the longest frame that a network takes.
pub(super) fn longest_frame(network: Network) -> usize {
    match network {
        Network::Ordered => FRAME_MAX,
        Network::Unordered | Network::UnorderedDuplicating => DATAGRAM_MAX,
    }
}

impl<G: Gate> Node<'_, G> {
    /// Encodes a packet and sends it. A checkpoint that exceeds the bandwidth or the longest frame is replaced by a packet that says so;
    /// other packets are neither delayed nor refused.
    pub(super) fn post(&mut self, to: NodeId, packet: &Packet) {
        let ends = self.disks.ends(self.identity.node, to);
        let mut frame = frame::encode(&self.identity, to, ends, &self.differences.pack(to, packet));
        if let Body::Answer { request, checkpoint } = &packet.body {
            let (now, length) = (self.now, frame.len());
            if length <= longest_frame(self.settings.network)
                && self.bucket.as_mut().is_none_or(|bucket| bucket.take(now, length))
            {
                self.differences.sent(to, checkpoint);
                self.counts.checkpoints += 1;
                self.counts.checkpoint_bytes += length as u64;
            } else {
                self.counts.checkpoints_capped += 1;
                let capped = Packet { header: packet.header, body: Body::Capped { request: *request } };
                frame = frame::encode(&self.identity, to, ends, &self.differences.pack(to, &capped));
            }
        }
        self.outbox.add(Output::Send { to, frame });
    }
}
