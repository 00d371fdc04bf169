//! The enabled event of a recorded step in a global state.

use crate::contract::{Fault, LocalEvent, MachineError, NodeId, Role};
use crate::lts::{AsMessage, LocalEventId, LocalStateId, MessageId, Stepper, Trigger};
use crate::scenario::{FaultEvent, InFlight, Network, Route};
use crate::trace::document::{TraceEvent, TraceStep};

/// An event that is enabled at a node: `T` is an item in flight, and `L` a local event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enabled<T, L = LocalEventId> {
    /// The delivery of a message, or of a notice of a break.
    Deliver(T),
    /// The delivery of several messages together.
    Quorum(Vec<T>),
    /// A local event.
    Local(L),
    /// A fault of the node.
    Fault(FaultEvent),
    /// The loss of a message.
    Lose(T),
}

impl<T, L> Enabled<T, L> {
    /// The items taken out of flight.
    pub fn taken(&self) -> &[T] {
        match self {
            Self::Deliver(item) | Self::Lose(item) => std::slice::from_ref(item),
            Self::Quorum(items) => items,
            Self::Local(_) | Self::Fault(_) => &[],
        }
    }
}

impl<T: AsMessage> Enabled<T> {
    /// The messages among the items taken.
    pub fn messages(&self) -> Vec<MessageId> {
        self.taken().iter().map(AsMessage::message).collect()
    }

    /// The event as the local transition system knows it.
    pub fn trigger(&self, stepper: &mut Stepper<'_>) -> Trigger {
        match self {
            Self::Deliver(item) => Trigger::deliver(item.message()),
            Self::Quorum(_) => Trigger::deliver_quorum(stepper.quorum(&self.messages())),
            Self::Local(event) => Trigger::local(*event),
            Self::Fault(fault) => Trigger::from(*fault),
            Self::Lose(item) => Trigger::lose(item.message()),
        }
    }
}

/// An item in flight that a step takes.
#[derive(Clone, Copy, Debug)]
pub struct WantedMessage<'w> {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The content of a message; none for a notice.
    pub payload: Option<&'w [u8]>,
}

impl WantedMessage<'_> {
    /// Whether an item with this route and content is wanted.
    pub fn is(&self, route: &Route, payload: &[u8]) -> bool {
        let is_alike = self.payload.map_or(route.is_notice, |wanted| !route.is_notice && wanted == payload);
        (route.from, route.to) == (self.from, self.to) && is_alike
    }
}

/// The part of a global state that decides which events are enabled.
pub trait Situation {
    /// An item in flight.
    type Item;
    /// A local event.
    type Local;

    /// Number of nodes.
    fn nodes(&self) -> usize;

    /// The first node that is stuck in a fault, if there is one: the execution ended there.
    fn stuck(&self) -> Option<(NodeId, &Fault)>;

    /// The first wanted item that can be taken next.
    fn find(&self, wanted: &WantedMessage<'_>) -> Option<Self::Item>;

    /// Whether messages from one node to another have an order.
    fn is_in_order(&self, from: NodeId, to: NodeId) -> bool;

    /// Whether the node takes an item by itself.
    fn is_alone(&mut self, node: NodeId, item: &Self::Item) -> Result<bool, MachineError>;

    /// Whether the node takes these items together as a quorum of this name.
    fn is_quorum(&mut self, node: NodeId, name: &str, items: &[Self::Item]) -> Result<bool, MachineError>;

    /// The local event, if it is possible at the node.
    fn local_event(&mut self, node: NodeId, event: &LocalEvent) -> Option<Self::Local>;

    /// Whether a fault is possible at the node.
    fn can_meet(&self, node: NodeId, fault: FaultEvent) -> bool;
}

/// The reason why a recorded step is not enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// It cannot happen there: a lower-case phrase with the reason.
    #[error("{0}")]
    NotEnabled(String),
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// The event of a recorded step, if it is enabled.
///
/// # Errors
///
/// It is not enabled; or the host cannot provide an instance.
pub fn resolve<S: Situation>(situation: &mut S, step: &TraceStep) -> Result<Enabled<S::Item, S::Local>, Unresolved> {
    let node = step.node;
    let refuse = |why: String| Err(Unresolved::NotEnabled(why));
    if node as usize >= situation.nodes() {
        return refuse(format!("there is no node {node}"));
    }
    if let Some((node, fault)) = situation.stuck() {
        return refuse(format!("node {node} is stuck in a fault: {fault}"));
    }
    match &step.event {
        TraceEvent::Deliver { from, payload } => {
            let item = find_message(situation, *from, node, &payload.0)?;
            if !situation.is_alone(node, &item)? {
                return refuse(format!("node {node} does not take this message by itself there"));
            }
            Ok(Enabled::Deliver(item))
        }
        TraceEvent::Quorum { name, messages } => {
            let found = messages.iter().map(|message| find_message(situation, message.from, node, &message.payload.0));
            let items = found.collect::<Result<Vec<_>, _>>()?;
            if !situation.is_quorum(node, name, &items)? {
                return refuse(format!("node {node} does not take these messages together as `{name}` there"));
            }
            Ok(Enabled::Quorum(items))
        }
        TraceEvent::TransportError { peer, .. } => {
            match situation.find(&WantedMessage { from: *peer, to: node, payload: None }) {
                Some(notice) => Ok(Enabled::Deliver(notice)),
                None => refuse(format!("node {peer} has not broken its connection to node {node}")),
            }
        }
        TraceEvent::Fault { event, .. } => match situation.can_meet(node, *event) {
            true => Ok(Enabled::Fault(*event)),
            false => refuse(refusal(node, *event)),
        },
        // It makes no difference whether the node would take it.
        TraceEvent::Lose { from, payload } => Ok(Enabled::Lose(find_message(situation, *from, node, &payload.0)?)),
        TraceEvent::Local { name, cause, payload } => {
            let event = LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() };
            match situation.local_event(node, &event) {
                Some(event) => Ok(Enabled::Local(event)),
                None => refuse(format!("the local event `{name}` is not possible at node {node} there")),
            }
        }
    }
}

fn refusal(node: NodeId, fault: FaultEvent) -> String {
    match fault.peer() {
        Some(peer) => format!("node {node} cannot {} with node {peer}", fault.kind()),
        None if fault.disk() > 0 => format!("no outage of node {node} leaves disk {} there", fault.disk()),
        None if fault.unsynced() > 0 => format!("node {node} cannot lose {} unsynced writes", fault.unsynced()),
        None => format!("no {} of node {node} is left", fault.kind()),
    }
}

fn find_message<S: Situation>(situation: &S, from: NodeId, to: NodeId, payload: &[u8]) -> Result<S::Item, Unresolved> {
    situation.find(&WantedMessage { from, to, payload: Some(payload) }).ok_or_else(|| {
        let next = if situation.is_in_order(from, to) { "next" } else { "in flight" };
        Unresolved::NotEnabled(format!("no such message from node {from} to node {to} is {next}"))
    })
}

/// A global state of the local transition system.
pub struct GlobalSituation<'s, 'l, T> {
    /// The steps of local states.
    pub stepper: &'s mut Stepper<'l>,
    /// The local states, one per node.
    pub locals: &'s [LocalStateId],
    /// The items in flight.
    pub in_flight: &'s InFlight<T>,
}

impl<T: AsMessage> Situation for GlobalSituation<'_, '_, T> {
    type Item = T;
    type Local = LocalEventId;

    fn nodes(&self) -> usize {
        self.locals.len()
    }

    fn stuck(&self) -> Option<(NodeId, &Fault)> {
        self.stepper.known().stuck(self.locals)
    }

    fn find(&self, wanted: &WantedMessage<'_>) -> Option<T> {
        let known = self.stepper.known();
        let mut found = None;
        self.in_flight.for_each_next(&known.links(self.locals), |item| {
            let message = known.message(item.message());
            if found.is_none() && wanted.is(&message.route(), &message.payload) {
                found = Some(*item);
            }
        });
        found
    }

    fn is_in_order(&self, from: NodeId, to: NodeId) -> bool {
        self.stepper.lts().scenario().network_of(from, to) == Network::Ordered
    }

    fn is_alone(&mut self, node: NodeId, item: &T) -> Result<bool, MachineError> {
        Ok(self.stepper.role(self.locals[node as usize], item.message())? == Role::Alone)
    }

    fn is_quorum(&mut self, node: NodeId, name: &str, items: &[T]) -> Result<bool, MachineError> {
        let messages: Vec<MessageId> = items.iter().map(AsMessage::message).collect();
        Ok(self.stepper.as_quorum(self.locals[node as usize], Some(name), &messages)?.is_some())
    }

    fn local_event(&mut self, node: NodeId, event: &LocalEvent) -> Option<LocalEventId> {
        let mut possible = self.stepper.state(self.locals[node as usize]).protocol.local_events.iter().copied();
        possible.find(|id| *self.stepper.lts().local_event(*id) == *event)
    }

    fn can_meet(&self, node: NodeId, fault: FaultEvent) -> bool {
        self.stepper.state(self.locals[node as usize]).faults.iter().any(|trigger| trigger.fault() == Some(fault))
    }
}
