//! Interned items: protocol states, local states, messages, and the outcomes of handlers.

use std::sync::Arc;

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{Choice, ClassId, Draws, Fault, Judgement, Likelihood, NodeId, Snapshot};
use crate::lts::ids::{LocalEventId, LocalStateId, MessageId, ProtocolStateId, Trigger};
use crate::lts::own_faults::OwnFaults;
use crate::scenario::{FaultState, Route};

/// A protocol state: the state that the protocol of a node keeps, with the answers to all of the host's questions about it.
#[derive(Debug)]
pub struct ProtocolState {
    /// The node whose state this is.
    pub node: NodeId,
    /// The hash of the node and the canonical encoding.
    pub fingerprint: Fingerprint,
    /// Length of the canonical encoding in bytes.
    pub encoding_bytes: usize,
    /// The local events possible here, without repetitions, in the guest's order.
    pub local_events: Box<[LocalEventId]>,
    /// The class of its views for the properties of system scope.
    pub class: ClassId,
    /// The judgements of the properties of node scope on this state, and whether it is a fault.
    pub judgements: Box<[Judgement]>,
    /// The `eventually` properties of node scope that do not hold in this state.
    pub owed: Box<[u32]>,
    /// The snapshot that restores this state; none in a state that is a fault.
    pub snapshot: Option<Snapshot>,
}

impl ProtocolState {
    /// Bytes kept for it.
    pub(crate) fn bytes(&self) -> usize {
        let lists = size_of_val(&*self.local_events) + size_of_val(&*self.judgements) + size_of_val(&*self.owed);
        size_of::<Self>() + lists + self.snapshot.as_ref().map_or(0, Snapshot::bytes)
    }
}

/// A local state: the protocol state of a node and its fault state.
#[derive(Debug)]
pub struct LocalState {
    /// The state as the protocol knows it.
    pub protocol: Arc<ProtocolState>,
    /// The faults of the node so far.
    pub fault_state: FaultState,
    /// The hash of both; that of the protocol state if there was no fault.
    pub fingerprint: Fingerprint,
    /// The faults that can happen here. One that would change nothing is included, but has no outcomes.
    pub faults: OwnFaults,
    /// Whether a message to the node can be lost here.
    pub can_lose: bool,
    /// The id of the protocol state.
    pub(crate) protocol_id: ProtocolStateId,
}

impl LocalState {
    /// Bytes kept for it, without the protocol state.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.faults.bytes() + self.fault_state.own_bytes()
    }

    /// Whether the node is stuck in a fault: no event happens there any more.
    #[inline]
    pub fn is_stuck(&self) -> bool {
        self.protocol.snapshot.is_none()
    }

    /// The fault, if the node is stuck in one.
    pub fn fault(&self) -> Option<&Fault> {
        self.protocol.judgements.iter().find_map(|judgement| match judgement {
            Judgement::Fault(fault) => Some(fault),
            _ => None,
        })
    }
}

/// A message in flight.
#[derive(Debug)]
pub struct Message {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The content; empty for a notice.
    pub payload: Vec<u8>,
    /// The number of earlier breaks of the connection, see [`Route`].
    pub incarnation: u32,
    /// Whether it is a notice that the connection is broken.
    pub is_notice: bool,
    /// The hash of all fields above.
    pub fingerprint: Fingerprint,
    /// See [`Route`]; 0 on a network without any order, too.
    pub(crate) channel_class: u32,
    /// The first message with this sender, destination and content.
    pub(crate) content: MessageId,
}

impl Message {
    /// The route of the message.
    pub fn route(&self) -> Route {
        let Self { from, to, incarnation, is_notice, channel_class, .. } = *self;
        Route { from, to, incarnation, is_notice, channel_class }
    }
}

/// One possible result of a handler: each resolution of its calls of `choose` is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The local state afterwards.
    pub next: LocalStateId,
    /// The messages sent, in order.
    pub sent: Box<[MessageId]>,
    /// The answers to `choose`, in order.
    pub choices: Box<[Choice]>,
    /// Their likelihood in a random walk.
    pub likelihood: Likelihood,
    /// The answers that were drawn by weights.
    pub draws: Draws,
    /// The change of the fingerprint of a global state by the step, delivery included. On links with an order that fingerprint
    /// depends on the queues as well; there this number only distinguishes the outcomes of one trigger.
    pub delta: Fingerprint,
    /// Whether a connection is broken and the protocol is not notified: no handler was executed.
    pub is_lost: bool,
}

impl Outcome {
    /// Whether a message is refused on the way to it, which is a fault.
    pub fn is_refused(&self) -> bool {
        self.choices.iter().any(Choice::is_refusal)
    }

    /// A step that sends nothing and makes no choice; `delta` as in [`Outcome`].
    pub(crate) fn unconditional(next: LocalStateId, delta: Fingerprint) -> Self {
        Self {
            next,
            sent: Box::default(),
            choices: Box::default(),
            likelihood: Likelihood::CERTAIN,
            draws: Draws::default(),
            delta,
            is_lost: false,
        }
    }

    /// Bytes kept for it, including the copy of a stepper.
    pub(crate) fn bytes(&self) -> usize {
        2 * (size_of::<Self>() + size_of_val(&*self.sent)) + size_of_val(&*self.choices)
    }
}

/// The judgements of a property on some views.
#[derive(Clone, Debug)]
pub(crate) struct Evaluated {
    pub(crate) judgement: Option<Judgement>,
    /// Whether it is an `eventually` property, and does not hold there.
    pub(crate) is_owed: bool,
}

/// One event of a path: the node, the trigger and the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The node where it happens.
    pub node: NodeId,
    /// The event.
    pub trigger: Trigger,
    /// Index into the outcomes of the trigger in the node's state.
    pub outcome: u32,
}
