//! The gate between a node and the world: what steering may do to an event before it is handled, and to its effects before they leave.
//!
//! A node runtime asks [`Gate::before`] with each event that can be filtered, and [`Gate::after`] once its handler has run and nothing
//! that it did has left: no message sent, nothing written to disk. It never asks about transport errors and restarts, which
//! cannot be refused. [`Open`] is the gate of a node that is not steered, [`Steered`](crate::steered::Steered) that of one that is.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, Envelope, Input, LocalEvent, LocalKind, NodeId};
use host_model::scenario::Network;

use crate::carried::Fork;
use crate::time::Time;

/// An event that a node is about to handle.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// The protocol state before it, as [`of_local_state`](host_model::contract::fingerprint::of_local_state) has it.
    pub state: Fingerprint,
    /// Its cause.
    pub cause: Cause<'e>,
    /// Whether the connection may be broken in place of a message that has an order.
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

/// What takes the place of an event that is filtered. Each is something that the network or the scheduler may do at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Substitute {
    /// The message is dropped, as on a link without an order it may be.
    Drop,
    /// The connection is broken, and both ends are told.
    Break,
    /// The timer is armed again.
    Postpone,
    /// The call of the application waits, and is never lost.
    Delay,
}

impl Substitute {
    /// The sound one for a cause; none for a step that the protocol takes by itself, which nothing in its contract lets wait.
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
    /// What can take its place. To break a connection is more than to refuse an event: that is left to the protocol, unless it may be.
    pub fn substitute(&self) -> Option<Substitute> {
        Substitute::of(self.cause).filter(|substitute| *substitute != Substitute::Break || self.may_break)
    }
}

/// What the properties read of a node, by property.
pub type Views = Vec<Option<Vec<u8>>>;

/// A side of a handler that has run, with all its effects still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The node as it was before the event.
    Before,
    /// The node as it is after it.
    After,
}

/// Whether something is wrong where the node is as on a side of its handler and the others are like this: a property that is to hold
/// always does not, or cannot be evaluated. `V` is what tells the states of a node apart that a property can tell apart. Nodes of which
/// nothing is known have nothing, and what is said of the node itself does not count. Asked of the node after an event, it may leave out
/// what reads the same of it before. Nothing is read of the node, which takes time, before it is asked.
pub type Judge<'j, V = Views> = dyn FnMut(Side, &[Option<V>]) -> bool + 'j;

/// The answer of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The event is handled; or its effects leave.
    Pass,
    /// The substitute takes its place: the handler does not run; or its effects are discarded and the state before is restored.
    Instead(Substitute),
}

/// An event that has happened at a node, `init` included: its handler has run, and nothing undoes it but a crash.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'h> {
    /// What the handler ran with.
    pub input: Input<'h>,
    /// The answers that it was given.
    pub choices: &'h [Choice],
    /// What it has sent.
    pub sent: &'h [Envelope],
    /// The protocol state after it, as [`of_local_state`](host_model::contract::fingerprint::of_local_state) has it.
    pub state: Fingerprint,
    /// The record that has to be on the disk before any effect of the event leaves the node: the tickets of a start are counted from 1.
    pub ticket: u64,
}

/// What a node asks.
pub trait Gate<V = Views> {
    /// Whether it ever judges. One that does not is not asked after events.
    fn judges(&self) -> bool {
        true
    }

    /// Whether connections may be broken in place of messages that have an order, but for that of a node with itself.
    fn breaks(&self) -> bool {
        false
    }

    /// Whether an event is handled.
    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict;

    /// Whether the effects of a handler leave that has led to another state.
    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_, V>) -> Verdict;

    /// Whether it ever looks ahead from an event whose effects are held. One that does not is not asked, and nothing is noted for it.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Whether the effects of a handler leave that has passed [`after`](Self::after), by what is about to go wrong there. The fork is made
    /// where it is asked for; none if too little is known of the others.
    fn ahead(&mut self, _now: Time, _event: &Event<'_>, _fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        Verdict::Pass
    }

    /// An event has happened. For gates that take notes.
    fn happened(&mut self, _happened: &Happened<'_>) {}
}

/// The gate of a node that is not steered.
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

/// A gate that a node may have, and is open where it has none.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No event may be lost but a message that the network may lose, and no step that the protocol takes by itself can wait.
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
