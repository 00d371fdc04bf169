//! The starts and disks of peers, which a node learns and keeps in its record.

use host_model::contract::NodeId;

use crate::checkpoint::Dropped;
use crate::gate::Gate;
use crate::node::disks::{DiskId, Ends, Stranger};
use crate::node::refusal::Refusal;
use crate::node::runtime::Node;

impl<G: Gate> Node<'_, G> {
    /// Notes a start of a peer in the record, for the next start of this node.
    pub(super) fn note_start(&mut self, peer: NodeId, start: u64, disk: DiskId) {
        if peer == self.identity.node {
            return;
        }
        let is_later = start > self.starts.get(&peer).copied().unwrap_or_default();
        if is_later {
            self.starts.insert(peer, start);
        }
        if self.disks.learn(peer, disk) || is_later {
            self.persist();
        }
    }

    /// Refuses a frame of a node that has lost its disk, and notifies that node; also refuses a frame for this node with a disk that it
    /// has lost.
    pub(super) fn check_disks(&mut self, from: NodeId, ends: Ends, start: u64) -> Result<(), Refusal> {
        if from == self.identity.node {
            return Ok(());
        }
        self.disks.judge(from, ends).map_err(|stranger| match stranger {
            Stranger::Malformed => Dropped::Malformed.into(),
            Stranger::Destination => Refusal::LostDisk { disk: ends.destination, start },
            Stranger::Sender => {
                let mut outputs = Vec::new();
                self.manager.remind(from, &mut outputs);
                self.forward(outputs);
                Refusal::OtherDisk(from)
            }
        })
    }
}
