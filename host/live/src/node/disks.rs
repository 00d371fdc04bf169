//! The identities of data files, by which nodes recognise a node that lost its data, whatever the number of its starts.
//!
//! A data file gets an identity at its first start. A node remembers the identity of each peer on its own disk, and refuses frames of
//! another one, unless that one has rejoined the cluster more often: `--rejoin` draws an identity that all peers accept.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

/// Largest step from the last known rejoin of a node to the next one: a frame that claims more is forged.
const REJOINS_MAX: u64 = 1 << 16;

/// The identity of a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId {
    /// The number of times that the node has rejoined its cluster without its earlier data.
    pub rejoins: u64,
    /// A random number; 0 before it is drawn, and for an unknown disk.
    pub drawn: u64,
}

impl DiskId {
    /// Bytes of it in a frame.
    pub(super) const LENGTH: usize = 16;

    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.rejoins.to_le_bytes());
        bytes[8..].copy_from_slice(&self.drawn.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| bytes[at..].iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Self { rejoins: word(0), drawn: word(8) }
    }

    /// The identity after a process of this session has drawn a number, if it had none.
    pub(super) fn drawn_by(self, session: u64) -> Self {
        let drawn = if self.drawn == 0 { session.max(1) } else { self.drawn };
        Self { drawn, ..self }
    }

    /// Whether it is the former disk, or one with which the node has rejoined since.
    pub(crate) fn succeeds(self, former: Self) -> bool {
        self == former || self.rejoins > former.rejoins
    }
}

/// The disks that a frame names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    /// The disk of its sender.
    pub(super) sender: DiskId,
    /// The disk of its destination, as far as the sender knows.
    pub(super) destination: DiskId,
}

/// The reason why a frame is refused because of its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    /// No node sends such a frame.
    Malformed,
    /// Its sender had another disk.
    Sender,
    /// It is for this node with another disk.
    Destination,
}

/// The disks that a node knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disks {
    /// Its own.
    pub own: DiskId,
    /// The known disks of peers.
    pub peers: BTreeMap<NodeId, DiskId>,
}

impl Disks {
    /// The disks after a process of this session has drawn a number for its own disk, if it had none.
    pub(super) fn drawn_by(self, session: u64) -> Self {
        Self { own: self.own.drawn_by(session), ..self }
    }

    /// The disks in a frame to a node, which may be the node itself.
    pub(super) fn ends(&self, me: NodeId, to: NodeId) -> Ends {
        let destination = if to == me { self.own } else { self.peers.get(&to).copied().unwrap_or_default() };
        Ends { sender: self.own, destination }
    }

    /// Judges the disks in a frame of a peer.
    pub(super) fn judge(&self, from: NodeId, ends: Ends) -> Result<(), Stranger> {
        let known = self.peers.get(&from).copied();
        if ends.sender.drawn == 0 || ends.sender.rejoins > known.unwrap_or_default().rejoins + REJOINS_MAX {
            return Err(Stranger::Malformed);
        }
        if !known.is_none_or(|known| ends.sender.succeeds(known)) {
            return Err(Stranger::Sender);
        }
        let Ends { destination, .. } = ends;
        if destination.drawn != 0 && !self.own.succeeds(destination) {
            return Err(Stranger::Destination);
        }
        Ok(())
    }

    /// Notes the disk in a frame of a peer. Returns whether it is new.
    pub(super) fn learn(&mut self, from: NodeId, disk: DiskId) -> bool {
        self.peers.insert(from, disk) != Some(disk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(rejoins: u64, drawn: u64) -> DiskId {
        DiskId { rejoins, drawn }
    }

    /// All pairs of a known disk and one in a frame, for both ends: a disk is accepted if it is the same, or has rejoined since.
    #[test]
    fn another_disk_is_taken_after_a_rejoin_only() {
        let all: Vec<DiskId> = (0..3).flat_map(|rejoins| (1..4).map(move |drawn| disk(rejoins, drawn))).collect();
        for (known, named) in all.iter().flat_map(|known| all.iter().map(move |named| (*known, *named))) {
            let is_taken = known == named || named.rejoins > known.rejoins;
            let disks = Disks { own: disk(0, 9), peers: BTreeMap::from([(1, known)]) };
            let judged = disks.judge(1, Ends { sender: named, destination: disk(0, 9) });
            assert_eq!(judged, if is_taken { Ok(()) } else { Err(Stranger::Sender) }, "{known:?} {named:?}");
            // The node with disk `named` receives a frame from a peer that knows it by `known`.
            let disks = Disks { own: named, peers: BTreeMap::new() };
            let judged = disks.judge(1, Ends { sender: disk(0, 9), destination: known });
            assert_eq!(judged, if is_taken { Ok(()) } else { Err(Stranger::Destination) }, "{known:?} {named:?}");
        }
    }

    /// A forged frame advances the rejoins by a bounded number, so that the true node can always exceed them.
    #[test]
    fn a_forged_disk_is_bounded() {
        let mut disks = Disks::default();
        for sender in [disk(0, 0), disk(REJOINS_MAX + 1, 7), disk(u64::MAX, 7)] {
            assert_eq!(disks.judge(1, Ends { sender, ..Ends::default() }), Err(Stranger::Malformed));
        }
        assert!(disks.learn(1, disk(REJOINS_MAX, 7)) && !disks.learn(1, disk(REJOINS_MAX, 7)));
        assert_eq!(disks.judge(1, Ends { sender: disk(2 * REJOINS_MAX, 8), ..Ends::default() }), Ok(()));
    }

    #[test]
    fn an_identity_survives_its_bytes() {
        for id in [disk(0, 1), disk(1, 0), disk(0x0102_0304_0506_0708, u64::MAX - 5)] {
            assert_eq!(DiskId::from_bytes(&id.to_bytes()), id);
        }
        assert_eq!([disk(3, 0).drawn_by(0), disk(3, 7).drawn_by(9)], [disk(3, 1), disk(3, 7)]);
    }
}
