//! Ids of interned items, and the triggers of handlers, each as one integer.

use crate::scenario::faults::FaultId;
use crate::scenario::{FaultEvent, OutageWrites};

/// A local state of one node, interned by its protocol state and its fault state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalStateId(pub u32);

/// A protocol state of one node, interned by its canonical encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProtocolStateId(pub(crate) u32);

/// A message, interned by sender, destination and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// A local event, interned by name, kind and argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalEventId(pub u32);

/// A set of messages that one node takes together, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuorumId(pub u32);

/// A name and size of quorums, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub u32);

/// The cause of a handler's execution as one integer: a message, a quorum, a local event or a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trigger(u32);

impl Trigger {
    /// The largest id: the lowest bit of a trigger distinguishes messages from the rest, the next one local events from the others, and the
    /// one after it faults from quorums.
    pub(crate) const ID_MAX: u32 = u32::MAX >> 3;

    /// A placeholder for no trigger; equal to no other.
    pub const NONE: Self = Self(u32::MAX);

    /// Delivery of a message.
    pub fn deliver(message: MessageId) -> Self {
        Self(message.0 << 1)
    }

    /// A local event.
    pub fn local(event: LocalEventId) -> Self {
        Self(event.0 << 2 | 0b01)
    }

    /// The highest bit distinguishes a lost message from a delivered one: ids leave it free.
    const LOST: u32 = 1 << 31;

    /// The loss of a message: an event of its destination, which does not notice.
    pub fn lose(message: MessageId) -> Self {
        Self(message.0 << 1 | Self::LOST)
    }

    /// The message, if this is a delivery.
    #[inline]
    pub fn message(self) -> Option<MessageId> {
        (self.0 & (Self::LOST | 1) == 0).then_some(MessageId(self.0 >> 1))
    }

    /// The lost message, if this is a loss.
    pub fn lost(self) -> Option<MessageId> {
        (self.0 & (Self::LOST | 1) == Self::LOST).then_some(MessageId((self.0 & !Self::LOST) >> 1))
    }

    /// The local event, if this is one.
    pub fn local_event(self) -> Option<LocalEventId> {
        (self.0 & 0b11 == 0b01).then_some(LocalEventId(self.0 >> 2))
    }

    /// Delivery of a quorum.
    pub fn deliver_quorum(quorum: QuorumId) -> Self {
        Self(quorum.0 << 3 | 0b111)
    }

    /// The quorum, if this is the delivery of one.
    pub fn quorum(self) -> Option<QuorumId> {
        (self.0 & 0b111 == 0b111 && self != Self::NONE).then_some(QuorumId(self.0 >> 3))
    }

    /// Whether the node takes messages.
    pub fn is_delivery(self) -> bool {
        self.message().is_some() || self.quorum().is_some()
    }

    /// Bits for the peer of a fault, counted from 1, or for the number of changes that a restart loses; the place of the fault is above
    /// them.
    const PEER_BITS: u32 = 24;

    /// The highest of them distinguishes the number of the disk that a restart leaves.
    const DISK: u32 = 1 << (Self::PEER_BITS - 1);

    /// The fault, if this is one.
    pub fn fault(self) -> Option<FaultEvent> {
        let (place, low) = (self.0 >> (3 + Self::PEER_BITS), self.0 >> 3 & ((1 << Self::PEER_BITS) - 1));
        if self.0 & 0b111 != 0b011 {
            return None;
        }
        let fault = FaultId::at(place)?;
        match FaultEvent::new(fault, None) {
            Some(restart) if low & Self::DISK > 0 => restart.leaving(low - Self::DISK),
            Some(restart) => restart.losing(low),
            None => FaultEvent::new(fault, low.checked_sub(1)),
        }
    }

    /// The same fault, which loses writes in the way of this number: that of the latest changes, or that of the disk that it leaves.
    /// None if it loses no writes.
    pub(crate) fn losing(self, number: u32, writes: OutageWrites) -> Option<Self> {
        let fault = self.fault()?;
        match writes {
            OutageWrites::Prefix => fault.losing(number),
            OutageWrites::Any => fault.leaving(number),
        }
        .map(Self::from)
    }

    /// The trigger with this [`raw`](Self::raw) integer.
    pub fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The integer itself, for keys.
    pub fn raw(self) -> u32 {
        self.0
    }
}

impl From<FaultEvent> for Trigger {
    fn from(fault: FaultEvent) -> Self {
        let low = match (fault.peer(), fault.disk()) {
            (Some(peer), _) => peer + 1,
            (None, 0) => fault.unsynced(),
            (None, disk) => disk | Self::DISK,
        };
        assert!(
            fault.peer().unwrap_or_default().max(fault.unsynced()).max(fault.disk()) < Self::DISK,
            "a cluster has fewer nodes, and a node fewer maps between two calls of `sync`"
        );
        Self((fault.id().place() << Self::PEER_BITS | low) << 3 | 0b011)
    }
}
