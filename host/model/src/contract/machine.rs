//! The boundary between the search and whatever executes a protocol.
//!
//! A [`Machine`] runs the handlers of one protocol and can be put back into any
//! local state it was in before. The sandbox implements it with WebAssembly
//! instances; tests implement it natively.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::draws::Draws;
use crate::contract::error::{MachineError, TransferError};
use crate::contract::event::{Envelope, LocalEvent, NodeId};
use crate::contract::fault::Fault;
use crate::contract::live::{Aside, Request, Response, Span};

/// The claim of a property about the reachable states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Always,
    /// Holds in at least one reachable state.
    Sometimes,
    /// Holds again and again in every fair execution.
    Eventually,
}

/// The part of a global state that a property reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyScope {
    /// The view of one node; checked for each node by itself.
    Node,
    /// The views of all nodes together.
    System,
}

/// A claim about the reachable states, named by the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Property {
    /// Its name for people, such as `agreement`.
    pub name: String,
    /// Its claim.
    pub kind: PropertyKind,
    /// The part of a global state that it reads.
    pub scope: PropertyScope,
}

/// One answer of the host to a handler: to `choose` or `choose-weighted`, or to the question whether the transport takes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The answer; smaller than `alternatives`.
    pub picked: u32,
    /// How many answers there were; at least 1.
    pub alternatives: u32,
    /// The destination if the question was about a message. There are two answers then: 0, it is taken; 1, it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<NodeId>,
}

impl Choice {
    /// An answer to `choose`.
    pub fn among(alternatives: u32, picked: u32) -> Self {
        Self { picked, alternatives, to: None }
    }

    /// Whether the transport takes a message to a node; 1 for no.
    pub fn sending(to: NodeId, picked: u32) -> Self {
        Self { picked, alternatives: 2, to: Some(to) }
    }

    /// Whether a message was refused.
    pub fn is_refusal(&self) -> bool {
        self.to.is_some() && self.picked > 0
    }
}

/// How likely an outcome is in a random walk: the product over the handler's choices of the share that the answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Likelihood(u64);

impl Likelihood {
    /// That of a handler that makes no choice. Shares are rounded down, but not to nothing: 64 choices of little weight would
    /// leave none.
    pub const CERTAIN: Self = Self(1 << 48);

    /// That of an outcome after one more answer, which has so much of the sum of all weights.
    ///
    /// # Panics
    ///
    /// The sum is 0.
    #[must_use]
    pub fn and(self, weight: u64, sum: u64) -> Self {
        let share = u128::from(self.0) * u128::from(weight) / u128::from(sum);
        // At most what it was, since a weight is at most the sum.
        Self(u64::try_from(share).unwrap_or(self.0).max(u64::from(self.0 > 0 && weight > 0)))
    }

    /// In parts of [`CERTAIN`](Self::CERTAIN); 0 if no walk draws it.
    pub fn parts(self) -> u64 {
        self.0
    }
}

impl Default for Likelihood {
    fn default() -> Self {
        Self::CERTAIN
    }
}

/// Messages that a node takes together: as many as `size`, each from another sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quorum {
    /// Its name, for people.
    pub name: String,
    /// How many messages; at least 1.
    pub size: u32,
}

/// How a node takes a message in some local state; `Q` says which quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role<Q> {
    /// By itself.
    Alone,
    /// Not now: it stays in flight.
    Held,
    /// Only together with others.
    Member(Q),
}

/// The input of a handler.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The first event of a node, or the first one after a reset.
    Init {
        /// Which node this machine becomes.
        node: NodeId,
        /// Number of nodes in the cluster.
        nodes: u32,
        /// One `key=value` a line, sorted by key.
        config: &'a str,
        /// The result of `persist` before a reset; none at the first start.
        durable: Option<&'a [u8]>,
    },
    /// Delivery of a message.
    Message {
        /// The sender.
        src: NodeId,
        /// The content.
        payload: &'a [u8],
    },
    /// Delivery of a quorum, which every message of it is a [member](Role::Member) of in this state.
    Quorum {
        /// The name of the quorum.
        name: &'a str,
        /// Sender and content of each message, in the order of the senders.
        messages: &'a [(NodeId, Vec<u8>)],
    },
    /// A local event that `local_events` listed in this state.
    Local(&'a LocalEvent),
    /// A connection is broken; only for a protocol that [hears of it](MachineFactory::hears_errors).
    TransportError {
        /// The node at the other end.
        peer: NodeId,
    },
}

/// The effects of a handler besides changing its state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Messages in the order of sending.
    pub sent: Vec<Envelope>,
    /// The calls of `choose`, `choose-weighted` and `can-send` in order.
    pub choices: Vec<Choice>,
    /// How likely these answers are in a random walk.
    pub likelihood: Likelihood,
    /// Which of them were drawn by weights.
    pub draws: Draws,
    /// The lines given to `log` in order; empty unless the machine was asked to keep them.
    pub log: Vec<String>,
    /// What matters only where the protocol runs.
    pub aside: Aside,
    /// Whether the node does not take this quorum: nothing has happened, and the state that the machine is in means nothing.
    pub is_declined: bool,
}

/// A local state that a handler has led to.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The node.
    pub node: NodeId,
    /// The canonical encoding.
    pub encoding: &'a [u8],
    /// Made of both, see [`fingerprint`](crate::contract::fingerprint).
    pub fingerprint: u128,
    /// Where the handler began; none before `init`.
    pub from: Option<&'a Snapshot>,
    /// The input that it ran with.
    pub input: Input<'a>,
    /// The answers to `choose` that it was given.
    pub script: &'a [u32],
}

/// Whose state leaves a machine or enters one: what `init` tells a node of itself.
#[derive(Clone, Copy, Debug)]
pub struct StateOwner<'c> {
    /// The node.
    pub node: NodeId,
    /// Number of nodes of its cluster.
    pub nodes: u32,
    /// Its parameters, one `key=value` a line.
    pub config: &'c str,
}

/// A captured local state, shared and immutable. What the words mean is up to the machine that made it; it and its
/// siblings from the same factory can restore it.
#[derive(Clone)]
pub struct Snapshot(Arc<[u64]>);

impl Snapshot {
    /// Keeps what a machine wants back.
    pub fn new(words: &[u64]) -> Self {
        Self(words.into())
    }

    /// The content, in words.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Whether this is the same snapshot, and not only an equal one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether there is a second handle to it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Bytes kept for this snapshot alone, what it shares with others apart.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} bytes)", self.bytes())
    }
}

/// Runs the handlers of one protocol, one local state at a time.
///
/// # Determinism duty
///
/// The outcome of every method is a function of the state restored last, the inputs since,
/// and the script of choices. It does not depend on what the machine did before the last
/// [`restore`](Machine::restore), nor on which of several machines of one factory is asked.
///
/// # Errors
///
/// A [`Fault`] is the guest's. A method that returns one leaves the machine in no state at all: the next call must
/// be [`restore`](Machine::restore), which makes it usable again.
pub trait Machine: Send {
    /// Goes to a captured state, or with `None` to the state before `init`.
    ///
    /// # Errors
    ///
    /// The host cannot provide a fresh instance where it needs one, or work is to [stop](crate::contract::stop::Stop).
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError>;

    /// Goes to a state before `init` in which properties are evaluated: the pristine state, or an equivalent one in which evaluation is
    /// faster. No handler runs from there.
    ///
    /// # Errors
    ///
    /// As for [`restore`](Self::restore).
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        self.restore(None)
    }

    /// Asks whether to continue where the next call follows without a [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Work is to [stop](crate::contract::stop::Stop).
    fn ask_stop(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// Asks whether a fault was the guest's, before it is reported.
    ///
    /// # Errors
    ///
    /// It was the host's: the machine could not give the guest what its limits allow. Nothing is known about the guest.
    fn confirm_fault(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// Hears which node the state belongs to that it goes to next. For machines around others that treat one node in another way.
    fn stand_at(&mut self, node: NodeId) {
        let _ = node;
    }

    /// Runs one handler. The first calls of `choose` and `can-send` are answered from `script`, later ones with 0.
    ///
    /// `effects` is cleared first and filled as far as the handler got, also on a fault.
    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault>;

    /// The canonical encoding of the local state: equal bytes, same state.
    fn serialize(&mut self) -> Result<Vec<u8>, Fault>;

    /// Hears that the state it is in was reached by a handler, after [`serialize`](Self::serialize). For machines around
    /// others, which take notes.
    fn arrive(&mut self, arrival: &Arrival<'_>) {
        let _ = arrival;
    }

    /// The events of this state without a message, in the guest's order.
    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault>;

    /// How long it takes from when a local event of this state can happen until it does, where the protocol runs; `None` if the
    /// protocol does not say so.
    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        let _ = event;
        Ok(None)
    }

    /// The local event that a request of a client becomes in this state, which [`local_events`](Self::local_events) need not list; or
    /// an answer at once. `number` names the request: no other request to this node has it.
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        let _ = (number, request);
        Ok(Err(Response::words(501, "this protocol takes no requests\n")))
    }

    /// The nodes whose states matter to what this node does next, where the protocol runs; `None` if the protocol does not say so. A
    /// claim: the nodes may not exist, or come twice.
    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        Ok(None)
    }

    /// Whether this node ever takes messages together: a matter of the configuration. Works in any state after `init`.
    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// How this node takes a message in this state. Asked only if it [takes quorums](Self::takes_quorums).
    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        let _ = (src, payload);
        Ok(Role::Alone)
    }

    /// The durable state, which survives a reset; `None` if there is none.
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }

    /// Whether the node is done where nothing happens to it any more: it waits for nothing. Only asked
    /// where nothing can happen. A protocol that does not say so is never done.
    fn is_done(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// The part of the local state that a property reads; `None` if this node cannot matter to it.
    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault>;

    /// Whether properties read this node at all: not if it is an adversary. Works in any state after `init`.
    fn is_read(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Captures the local state.
    fn capture(&mut self) -> Snapshot;

    /// A captured state of this owner as bytes that a machine of the same protocol [imports](Self::import) in any process. The
    /// next call must be [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// States cannot leave this machine, or the host cannot continue.
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        let _ = (snapshot, owner);
        Err(TransferError::unsupported())
    }

    /// A state that was exported as one of this owner. The bytes may come from anybody. The next call must be
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// The bytes are no state of this protocol or of this owner, or the host cannot continue.
    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let _ = (exported, owner);
        Err(TransferError::unsupported())
    }

    /// The properties of the protocol. Needs no node: works in the state before `init`.
    fn properties(&mut self) -> Result<Vec<Property>, Fault>;

    /// Whether a property holds on these views: one per node in the order of the nodes, or exactly
    /// one for a property of node scope. Works in the state before `init`.
    ///
    /// # Errors
    ///
    /// The guest's fault; a property that does not hold is the inner error with its explanation.
    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault>;

    /// The local state as JSON for people; `None` if the protocol does not describe itself.
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// A message as JSON for people; `None` if the protocol does not describe itself.
    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        let _ = payload;
        Ok(None)
    }

    /// A view of a property as JSON for people; `None` if the protocol does not describe its views. Works in the state before
    /// `init`.
    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        let _ = (property, view);
        Ok(None)
    }

    /// What people call the node, as the protocol says it: not trusted, see [`NodeNames`](crate::scenario::NodeNames). `None` if
    /// it says nothing. Works in any state after `init`.
    fn node_name(&mut self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// The groups of nodes that the protocol declares to be interchangeable; none if it declares nothing. A claim: the
    /// nodes may not exist, or come twice. Works in any state after `init`.
    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        Ok(Vec::new())
    }

    /// The content of a message with each node `i` in it renamed to `renaming[i]`. Works in the state before `init`. Asked
    /// of protocols that declare something only.
    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        let _ = renaming;
        Ok(payload.to_vec())
    }

    /// The same for the argument of a local event.
    fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        let _ = renaming;
        Ok(payload.to_vec())
    }

    /// Whether [`Effects::log`] is filled from now on. Machines start without it.
    fn keep_log(&mut self, keep: bool);
}

/// Makes machines of one protocol: one for each worker.
pub trait MachineFactory: Send + Sync {
    /// A machine in the state before `init`.
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError>;

    /// Whether the protocol has a handler for transport errors.
    fn hears_errors(&self) -> bool {
        false
    }
}
