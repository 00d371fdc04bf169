//! Faults that are events of nodes.

use serde::{Serialize, Serializer};

use crate::contract::NodeId;
use crate::scenario::faults::{Effect, FaultId, Faults, InSimulations, Keeps, NodeFault};

/// A fault that is an event of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FaultEvent {
    #[serde(rename = "kind", serialize_with = "kind")]
    id: FaultId,
    /// The node at the other end of the connection that breaks; none if the node restarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<NodeId>,
    /// The number of latest changes of the durable map that are lost.
    #[serde(skip_serializing_if = "is_nothing")]
    unsynced: u32,
    /// The number of the disk that it leaves where any unsynced writes can be lost; 0 for all of them.
    #[serde(skip_serializing_if = "is_nothing")]
    disk: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn kind<S: Serializer>(id: &FaultId, serializer: S) -> Result<S::Ok, S::Error> {
    id.description().event.map(|event| event.kind).serialize(serializer)
}

impl FaultEvent {
    /// The event of this fault, with this peer or none; none if the fault has no such event.
    pub(crate) fn new(id: FaultId, peer: Option<NodeId>) -> Option<Self> {
        let has_peer = matches!(id.description().event?.effect, Effect::Disconnect);
        (has_peer == peer.is_some()).then_some(Self { id, peer, unsynced: 0, disk: 0 })
    }

    /// The same event, which loses this many of the latest changes of the durable map; none if it loses no writes.
    pub fn losing(self, unsynced: u32) -> Option<Self> {
        (unsynced == 0 || self.loses_writes()).then_some(Self { unsynced, ..self })
    }

    /// The same event, which leaves the disk with this number, 0 for all writes; none if it loses no writes.
    pub fn leaving(self, disk: u32) -> Option<Self> {
        (disk == 0 || self.loses_writes()).then_some(Self { disk, ..self })
    }

    /// Whether it can lose changes of the durable map.
    pub fn loses_writes(self) -> bool {
        matches!(self.event().effect, Effect::Restart(Keeps::Synced))
    }

    /// The number of latest changes of the durable map that it loses: the maps since the last `sync`, each counted once.
    pub fn unsynced(self) -> u32 {
        self.unsynced
    }

    /// The number of the disk that it leaves where any of the unsynced writes can be lost, as [semantics](crate::scenario::OutageWrites)
    /// define it; 0 if no write is lost in this way.
    pub fn disk(self) -> u32 {
        self.disk
    }

    /// The event of this kind, with this peer or none; none if there is no such event.
    pub fn of_kind(kind: &str, peer: Option<NodeId>) -> Option<Self> {
        let events = Faults::default().iter().filter_map(|(id, _)| Self::new(id, peer));
        events.into_iter().find(|event| event.kind() == kind)
    }

    /// The kill and restart of a process.
    pub fn restart() -> Self {
        Self::in_simulations(InSimulations::AsRestart, None).expect("the table has a restart, which a test holds")
    }

    /// The kill and restart of a process that loses this many of the latest changes of its durable map.
    pub fn outage(unsynced: u32) -> Self {
        let outage = Self::in_simulations(InSimulations::AsOutage, None).and_then(|outage| outage.losing(unsynced));
        outage.expect("the table has an outage, which a test holds")
    }

    /// Whether the node restarts.
    pub fn is_restart(self) -> bool {
        matches!(self.event().effect, Effect::Restart(_))
    }

    /// The break of the connection to a peer.
    pub fn disconnect(peer: NodeId) -> Self {
        Self::in_simulations(InSimulations::AsBreak, Some(peer)).expect("the table has a break, which a test holds")
    }

    /// The event with this form in simulations, with this peer or none.
    fn in_simulations(way: InSimulations, peer: Option<NodeId>) -> Option<Self> {
        let mut ids = Faults::default().iter().map(|(id, _)| id);
        ids.find(|id| id.description().budget.in_simulations == way).and_then(|id| Self::new(id, peer))
    }

    /// The fault.
    pub fn id(self) -> FaultId {
        self.id
    }

    /// The node at the other end of the connection that breaks; none if the node restarts.
    pub fn peer(self) -> Option<NodeId> {
        self.peer
    }

    /// Its kind in traces.
    pub fn kind(self) -> &'static str {
        self.event().kind
    }

    /// The action in words, to be followed by the peer if there is one.
    pub fn words(self) -> &'static str {
        self.event().words
    }

    /// The same with other names of nodes.
    #[must_use]
    pub fn renamed(self, name: impl FnOnce(NodeId) -> NodeId) -> Self {
        Self { peer: self.peer.map(name), ..self }
    }

    fn event(self) -> &'static NodeFault {
        self.id.description().event.as_ref().expect("it was made of an event")
    }
}

impl std::fmt::Display for FaultEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.peer {
            Some(peer) => write!(f, "{} node {peer}", self.event().words),
            None => f.write_str(self.event().words),
        }?;
        match self.unsynced {
            0 if self.disk > 0 => write!(f, " and some unsynced entries (disk {})", self.disk),
            0 => Ok(()),
            1 => f.write_str(" and its latest write"),
            more => write!(f, " and its {more} latest writes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::faults::budgets;

    /// A simulation has one event for each way of a fault.
    #[test]
    fn a_simulation_has_one_restart_one_outage_and_one_break() {
        for way in [InSimulations::AsRestart, InSimulations::AsOutage, InSimulations::AsBreak] {
            assert_eq!(budgets().filter(|(_, budget)| budget.in_simulations == way).count(), 1, "{way:?}");
        }
        let (restart, broken) = (FaultEvent::restart(), FaultEvent::disconnect(3));
        assert_eq!((restart.kind(), restart.peer()), ("reset", None));
        assert_eq!((broken.kind(), broken.peer()), ("break", Some(3)));
        let outage = FaultEvent::outage(2);
        assert_eq!((outage.kind(), outage.peer(), outage.unsynced()), ("outage", None, 2));
        assert_eq!([restart, broken, outage].map(FaultEvent::is_restart), [true, false, true]);
    }
}
