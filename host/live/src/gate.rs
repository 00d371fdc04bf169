//! The gate between a node and the world: decisions of steering about an event before it is handled, and about its effects before they
//! leave.
//!
//! A node runtime calls [`Gate::before`] for each event that can be filtered, and [`Gate::after`] once its handler has run and before any
//! effect has left: no message has been sent, nothing has been written to disk. It never calls them for transport errors and restarts,
//! which cannot be refused. [`Open`] is the gate of an unsteered node, [`Steered`](crate::steered::Steered) that of a steered one.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, Envelope, Fault, Input, LocalEvent, LocalKind, NodeId};
use host_model::scenario::Network;

use crate::carried::Fork;
use crate::time::Time;

/// An event that a node is about to handle.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// The protocol state before it, by [`of_local_state`](host_model::contract::fingerprint::of_local_state).
    pub state: Fingerprint,
    /// Its cause.
    pub cause: Cause<'e>,
    /// Whether the connection may be broken in place of a message on an ordered link.
    pub may_break: bool,
}

/// The cause of an event that can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'e> {
    /// A message arrives.
    Message {
        /// The sender.
        from: NodeId,
        /// The network between the two.
        network: Network,
        /// The content.
        payload: &'e [u8],
    },
    /// A local event is due.
    Local(&'e LocalEvent),
}

/// The substitute of a filtered event. The network or the scheduler may do the same at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Substitute {
    /// The message is dropped, which an unordered link may do.
    Drop,
    /// The connection is broken, and both ends receive an error.
    Break,
    /// The timer is armed again.
    Postpone,
    /// The call of the application waits, and is never lost.
    Delay,
}

impl Substitute {
    /// The sound substitute for a cause; none for an internal event, which the contract does not allow to be postponed.
    pub fn of(cause: Cause<'_>) -> Option<Self> {
        match cause {
            Cause::Message { network: Network::Ordered, .. } => Some(Self::Break),
            Cause::Message { .. } => Some(Self::Drop),
            Cause::Local(event) => match event.kind {
                LocalKind::Timer => Some(Self::Postpone),
                LocalKind::Application => Some(Self::Delay),
                LocalKind::Internal => None,
            },
        }
    }

    /// Its name, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Break => "break",
            Self::Postpone => "postpone",
            Self::Delay => "delay",
        }
    }
}

impl Event<'_> {
    /// The substitute for this event, if any. Breaking a connection affects more than the event, so it is not one unless `may_break`.
    pub fn substitute(&self) -> Option<Substitute> {
        Substitute::of(self.cause).filter(|substitute| *substitute != Substitute::Break || self.may_break)
    }
}

/// The views of a node, by property.
pub type Views = Vec<Option<Vec<u8>>>;

/// A side of a handler that has run, with all its effects still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The node before the event.
    Before,
    /// The node after the event.
    After,
}

/// Whether an `always` property fails, or cannot be evaluated, given the node before or after its handler and these states of the others.
/// A `V` distinguishes the states that properties distinguish; it is none for an unknown node, and ignored for the node itself.
/// For [`Side::After`] it may skip properties whose views of the node did not change. The node is read only when this is called, since
/// reading takes time.
pub type Judge<'j, V = Views> = dyn FnMut(Side, &[Option<V>]) -> bool + 'j;

/// The decision of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The event is handled, or its effects leave.
    Pass,
    /// The substitute is executed: the handler does not run, or its effects are discarded and the state before is restored.
    Instead(Substitute),
}

/// An event that has happened at a node, `init` included: its handler has run, and only a crash can undo it.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'h> {
    /// The time, by the clock of the node.
    pub at: Time,
    /// The input of the handler.
    pub input: Input<'h>,
    /// The answers to `choose`.
    pub choices: &'h [Choice],
    /// The messages sent.
    pub sent: &'h [Envelope],
    /// The protocol state after it, by [`of_local_state`](host_model::contract::fingerprint::of_local_state).
    pub state: Fingerprint,
    /// The record that must be on the disk before any effect of the event leaves the node. The tickets of a start are counted from 1.
    pub ticket: u64,
}

/// A handler that has failed, which leaves the node in the state before.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'f> {
    /// The input of the handler.
    pub input: Input<'f>,
    /// The answers to `choose` by then.
    pub choices: &'f [Choice],
    /// The fault of the guest.
    pub fault: &'f Fault,
}

/// The decisions of steering, as a node requests them.
pub trait Gate<V = Views> {
    /// Whether the gate judges states. Otherwise [`after`](Self::after) is not called.
    fn judges(&self) -> bool {
        true
    }

    /// Whether connections to other nodes may be broken in place of messages on ordered links.
    fn breaks(&self) -> bool {
        false
    }

    /// Decides whether an event is handled.
    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict;

    /// Decides whether the effects of a handler leave. Called if the handler has changed the state.
    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_, V>) -> Verdict;

    /// Whether the gate looks ahead from events whose effects are held. Otherwise [`ahead`](Self::ahead) is not called, and the node
    /// keeps no log for it.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Decides whether the effects of a handler that has passed [`after`](Self::after) leave, by looking ahead from it. The fork is
    /// computed on demand; it is none if the node knows too little of the other nodes.
    fn ahead(&mut self, _now: Time, _event: &Event<'_>, _fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        Verdict::Pass
    }

    /// Records an event that has happened, for gates that log.
    fn happened(&mut self, _happened: &Happened<'_>) {}

    /// Records a handler that has failed, for gates that log.
    fn failed(&mut self, _failed: &Failed<'_>) {}

    /// Records that a record is on the disk, for gates that log.
    fn persisted(&mut self, _ticket: u64) {}
}

/// The gate of an unsteered node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl<V> Gate<V> for Open {
    fn judges(&self) -> bool {
        false
    }

    fn before(&mut self, _now: Time, _event: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _now: Time, _event: &Event<'_>, _judge: &mut Judge<'_, V>) -> Verdict {
        Verdict::Pass
    }
}

/// An optional gate; without one, every event passes.
impl<V, G: Gate<V>> Gate<V> for Option<G> {
    fn judges(&self) -> bool {
        self.as_ref().is_some_and(Gate::judges)
    }

    fn breaks(&self) -> bool {
        self.as_ref().is_some_and(Gate::breaks)
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.as_mut().map_or(Verdict::Pass, |gate| gate.before(now, event))
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_, V>) -> Verdict {
        self.as_mut().map_or(Verdict::Pass, |gate| gate.after(now, event, judge))
    }

    fn looks_ahead(&self) -> bool {
        self.as_ref().is_some_and(Gate::looks_ahead)
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        self.as_mut().map_or(Verdict::Pass, |gate| gate.ahead(now, event, fork))
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        if let Some(gate) = self {
            gate.happened(happened);
        }
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        if let Some(gate) = self {
            gate.failed(failed);
        }
    }

    fn persisted(&mut self, ticket: u64) {
        if let Some(gate) = self {
            gate.persisted(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a message that the network may lose can be dropped, and internal events cannot be postponed.
    #[test]
    fn each_cause_has_its_sound_substitute() {
        let local = |kind| LocalEvent { name: String::new(), kind, payload: Vec::new() };
        let of_kind = |kind| Substitute::of(Cause::Local(&local(kind)));
        assert_eq!(of_kind(LocalKind::Timer), Some(Substitute::Postpone));
        assert_eq!(of_kind(LocalKind::Application), Some(Substitute::Delay));
        assert_eq!(of_kind(LocalKind::Internal), None);
        let of_network = |network| Substitute::of(Cause::Message { from: 0, network, payload: &[] });
        for network in Network::ALL {
            let expected = if network == Network::Ordered { Substitute::Break } else { Substitute::Drop };
            assert_eq!(of_network(network), Some(expected));
        }
    }
}
