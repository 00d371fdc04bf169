//! The local transition system: every local state, message and handler execution, once.
//!
//! A handler depends only on the local state of its node and on the event, so its outcomes are computed once for
//! each pair and kept. What is computed lives here, behind one lock, shared by all workers; who computes it is
//! `Stepper`.
//!
//! Ids are dense and given in the order of first arrival, which does not depend on the number of workers (see
//! `Stepper::prepare`), so they may break ties. They depend on the strategy, so no id may reach
//! an output: reports are sorted by content, and fingerprints are made of contents.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use rustc_hash::FxHashMap;

use crate::audit::{Audit, Audited, Mode};
use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{
    Choice, ClassId, Fault, Judgement, Likelihood, LocalEvent, MachineError, MachineFactory, NodeId, Property, Quorum,
    Role, Snapshot, ViewId,
};
use crate::lts::ids::{KindId, LocalEventId, LocalStateId, MessageId, QuorumId, Trigger};
use crate::lts::protocol_step::{Bare, BareKey};
use crate::scenario::fault_state::Rules;
use crate::scenario::{Route, Scenario, Standing};

/// What of all that a local transition system has met has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Names of local events that some state offers and that were executed in none, sorted.
    pub events_not_taken: Vec<String>,
    /// Messages that some handler sends and that were delivered in no state.
    pub messages_not_delivered: u64,
    /// Outcomes of all handlers that were executed.
    pub outcomes: u64,
}

/// A local state and all that the host knows about it.
#[derive(Debug)]
pub struct LocalState {
    /// The node whose state this is.
    pub node: NodeId,
    /// Made of the node and the canonical encoding.
    pub fingerprint: Fingerprint,
    /// Length of the canonical encoding in bytes.
    pub encoding_bytes: usize,
    /// The local events possible here, without repetitions, in the guest's order.
    pub local_events: Box<[LocalEventId]>,
    /// What can go wrong here. A reset that would change nothing is among them; it has no outcomes.
    pub faults: Box<[Trigger]>,
    /// What the properties of system scope read of this state.
    pub class: ClassId,
    /// What the properties of node scope say about this state, and whether it is a fault.
    pub judgements: Box<[Judgement]>,
    /// How to get back here; none in a state that is a fault.
    pub snapshot: Option<Snapshot>,
    /// What the protocol knows of this state, see [`Standing`]; of no use where nothing can go wrong.
    pub(crate) content: u32,
    /// What has gone wrong at the node.
    pub standing: Standing,
}

impl LocalState {
    /// Bytes that are kept of it, without the snapshot.
    fn bytes(&self) -> usize {
        let lists = size_of_val(&*self.local_events) + size_of_val(&*self.faults) + size_of_val(&*self.judgements);
        size_of::<Self>() + lists
    }

    /// The fault, if the node is stuck in one.
    pub fn fault(&self) -> Option<&Fault> {
        self.judgements.iter().find_map(|judgement| match judgement {
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
    /// How often the connection was broken before, see [`Route`].
    pub incarnation: u32,
    /// Whether it tells the destination that the connection is broken.
    pub is_notice: bool,
    /// Made of all that.
    pub fingerprint: Fingerprint,
    /// See [`Route`]; 0 on a network without any order, too.
    pub(crate) lane: u32,
    /// The first message with this sender, destination and content.
    pub(crate) content: MessageId,
}

impl Message {
    /// Where it travels.
    pub fn route(&self) -> Route {
        let Self { from, to, incarnation, is_notice, lane, .. } = *self;
        Route { from, to, incarnation, is_notice, lane }
    }
}

/// One way that a handler can end: each resolution of its calls of `choose` is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The local state afterwards.
    pub next: LocalStateId,
    /// The messages sent, in order.
    pub sent: Box<[MessageId]>,
    /// The answers to `choose`, in order.
    pub choices: Box<[Choice]>,
    /// How likely they are in a random walk.
    pub likelihood: Likelihood,
    /// What the step adds to the fingerprint of a global state, delivery included. On links with an order that fingerprint
    /// depends on the queues as well; there this number only distinguishes the outcomes of one trigger.
    pub delta: Fingerprint,
    /// Whether a connection is broken and the protocol does not hear of it: no handler was executed.
    pub is_lost: bool,
}

/// One event of a path: which trigger, where, and which outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The node where it happens.
    pub node: NodeId,
    /// What happens.
    pub trigger: Trigger,
    /// Index into the outcomes of the trigger in the node's state.
    pub outcome: u32,
}

/// Sizes of the local transition system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtsCounts {
    /// Distinct local states, over all nodes.
    pub local_states: u64,
    /// Distinct messages.
    pub messages: u64,
    /// Handlers that a machine executed: `init`, and each resolution of the choices of each step.
    pub handler_calls: u64,
    /// Bytes that are kept of all this, about: snapshots without the pristine image, contents of messages, local events and
    /// views, outcomes. Copies of stepper after stepper are counted once.
    pub bytes: u64,
}

/// The local transition system of one protocol in one scenario.
pub struct Lts<'f> {
    pub(crate) scenario: Scenario,
    pub(crate) config: String,
    pub(crate) rules: Rules,
    pub(crate) properties: Vec<Property>,
    pub(crate) factory: &'f dyn MachineFactory,
    pub(crate) tables: RwLock<Tables>,
    pub(crate) handler_calls: AtomicU64,
    /// What the properties of node scope say about a view, by property and view.
    node_verdicts: Mutex<NodeVerdicts>,
    pub(crate) audit: Audit,
}

/// Verdicts of properties of node scope.
type NodeVerdicts = FxHashMap<(u32, Vec<u8>), Option<Judgement>>;

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) states: Vec<Arc<LocalState>>,
    pub(crate) state_ids: FxHashMap<Fingerprint, LocalStateId>,
    /// Where something can go wrong, what the protocol knows of the states, and the handler executions; else empty.
    pub(crate) contents: Vec<Arc<LocalState>>,
    pub(crate) content_ids: FxHashMap<Fingerprint, u32>,
    pub(crate) bare: FxHashMap<BareKey, Arc<[Bare]>>,
    pub(crate) messages: Vec<Arc<Message>>,
    message_ids: FxHashMap<Fingerprint, MessageId>,
    /// For each node whether it takes quorums.
    pub(crate) takes_quorums: Vec<bool>,
    pub(crate) quorums: Vec<Arc<[MessageId]>>,
    quorum_ids: FxHashMap<Arc<[MessageId]>, QuorumId>,
    pub(crate) kinds: Vec<Arc<Quorum>>,
    kind_ids: FxHashMap<Arc<Quorum>, KindId>,
    /// How messages are taken where that is not by themselves.
    pub(crate) roles: Vec<((LocalStateId, MessageId), Role<KindId>)>,
    /// The same by content, where something can go wrong; else empty.
    pub(crate) bare_roles: FxHashMap<BareKey, Role<KindId>>,
    /// The first message with each content.
    content_messages: FxHashMap<Fingerprint, MessageId>,
    pub(crate) local_events: Vec<Arc<LocalEvent>>,
    local_event_ids: FxHashMap<LocalEvent, LocalEventId>,
    pub(crate) views: Vec<Arc<[u8]>>,
    view_ids: FxHashMap<Arc<[u8]>, ViewId>,
    pub(crate) classes: Vec<Arc<[Option<ViewId>]>>,
    class_ids: FxHashMap<Arc<[Option<ViewId>]>, ClassId>,
    pub(crate) steps: FxHashMap<(LocalStateId, Trigger), Arc<[Outcome]>>,
    /// The keys of `steps` in the order in which they were executed, on which all ids depend.
    journal: Vec<(LocalStateId, Trigger)>,
    /// See [`LtsCounts::bytes`].
    bytes: u64,
}

/// Bytes that the tables keep for an entry besides what it holds: its places in a list, in a hash table, and in the copy of a
/// stepper.
const ENTRY_BYTES: usize = 96;

impl<'f> Lts<'f> {
    /// An empty local transition system; asks the protocol for its properties.
    ///
    /// # Errors
    ///
    /// No machine can be made, or the protocol cannot list its properties.
    pub fn new(factory: &'f dyn MachineFactory, scenario: Scenario) -> Result<Self, MachineError> {
        let mut machine = factory.machine()?;
        let properties =
            machine.properties().map_err(|fault| MachineError::Host(format!("cannot list the properties: {fault}")))?;
        let config = scenario.config();
        let lts = Self {
            rules: Rules::new(&scenario, factory.hears_errors()),
            scenario,
            config,
            properties,
            factory,
            tables: RwLock::default(),
            handler_calls: AtomicU64::new(0),
            node_verdicts: Mutex::default(),
            audit: Audit::new(Mode::Off),
        };
        // Class 0 is "no node of this state can matter to any property", so that the search can test for it.
        lts.write().intern_class(vec![None; lts.properties.len()]);
        // Class 1 is that of nodes that are stuck, which have no views.
        lts.write().classes.push(vec![None; lts.properties.len()].into());
        lts.write().takes_quorums = vec![false; lts.scenario.nodes as usize];
        Ok(lts)
    }

    /// The same with notes for an audit. Has no effect on what was executed before.
    #[must_use]
    pub fn audited(mut self, mode: Mode) -> Self {
        self.audit = Audit::new(mode);
        self
    }

    /// Tries what was noted during a search in other ways: whether the protocol keeps its promises.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn check_promises(&self) -> Result<Audited, MachineError> {
        self.audit.check(self.factory, &self.properties)
    }

    /// The cluster.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The properties in the protocol's order.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The current sizes.
    pub fn counts(&self) -> LtsCounts {
        let tables = self.read();
        LtsCounts {
            local_states: tables.states.len() as u64,
            messages: tables.messages.len() as u64,
            handler_calls: self.handler_calls.load(Ordering::Relaxed),
            bytes: tables.bytes,
        }
    }

    /// What of all that was met has happened somewhere.
    pub fn coverage(&self) -> Coverage {
        let tables = self.read();
        let taken = tables.journal.iter().filter_map(|(_, trigger)| trigger.local_event());
        let name = |id: LocalEventId| tables.local_events[id.0 as usize].name.as_str();
        let taken: BTreeSet<&str> = taken.map(name).collect();
        let offered: BTreeSet<&str> = tables.local_events.iter().map(|event| event.name.as_str()).collect();
        let mut is_delivered = vec![false; tables.messages.len()];
        for (_, trigger) in &tables.journal {
            let together = trigger.quorum().map_or(&[][..], |quorum| &tables.quorums[quorum.0 as usize]);
            for message in trigger.message().iter().chain(together) {
                is_delivered[message.0 as usize] = true;
            }
        }
        let messages = tables.messages.iter().zip(is_delivered);
        Coverage {
            events_not_taken: offered.difference(&taken).map(|name| (*name).to_owned()).collect(),
            messages_not_delivered: messages
                .filter(|(message, is_delivered)| !is_delivered && !message.is_notice)
                .count() as u64,
            outcomes: tables.journal.iter().map(|step| tables.steps[step].len() as u64).sum(),
        }
    }

    /// The steps executed so far, in their order. Executing them again in this order gives everything the same id.
    pub fn journal(&self) -> Vec<(LocalStateId, Trigger)> {
        self.read().journal.clone()
    }

    /// The quorums interned so far, in their order: one gets its id when it is met, and not when a step is executed.
    pub fn quorums(&self) -> Vec<Arc<[MessageId]>> {
        self.read().quorums.clone()
    }

    /// A fingerprint of all local states and messages with their ids: two local transition systems with the same one
    /// can exchange ids.
    pub fn contents(&self) -> Fingerprint {
        let tables = self.read();
        let states = tables.states.iter().map(|state| state.fingerprint);
        let messages = tables.messages.iter().map(|message| message.fingerprint);
        let lens = [tables.states.len() as Fingerprint, tables.messages.len() as Fingerprint];
        let all = lens.into_iter().chain(states).chain(messages);
        all.fold(0, |sum: Fingerprint, part| sum.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(part))
    }

    /// A local state by id.
    pub fn state(&self, id: LocalStateId) -> Arc<LocalState> {
        Arc::clone(&self.read().states[id.0 as usize])
    }

    /// A message by id.
    pub fn message(&self, id: MessageId) -> Arc<Message> {
        Arc::clone(&self.read().messages[id.0 as usize])
    }

    /// A local event by id.
    pub fn local_event(&self, id: LocalEventId) -> Arc<LocalEvent> {
        Arc::clone(&self.read().local_events[id.0 as usize])
    }

    /// Numbers of local states, messages and local events.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        let tables = self.read();
        (tables.states.len(), tables.messages.len(), tables.local_events.len())
    }

    /// What a property of system scope reads of a tuple of classes.
    pub(crate) fn views_of(&self, classes: &[ClassId], property: u32) -> Vec<Option<Arc<[u8]>>> {
        let tables = self.read();
        let view = |class: &ClassId| tables.classes[class.0 as usize][property as usize];
        classes.iter().map(|class| Some(Arc::clone(&tables.views[view(class)?.0 as usize]))).collect()
    }

    pub(crate) fn node_verdicts(&self) -> MutexGuard<'_, NodeVerdicts> {
        self.node_verdicts.lock().expect("a worker panicked while it held the verdicts")
    }

    pub(crate) fn read(&self) -> std::sync::RwLockReadGuard<'_, Tables> {
        self.tables.read().expect("a worker panicked while it held the tables")
    }

    pub(crate) fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables> {
        self.tables.write().expect("a worker panicked while it held the tables")
    }
}

impl Outcome {
    /// Bytes that are kept of it, with the copy of a stepper.
    fn bytes(&self) -> usize {
        2 * (size_of::<Self>() + size_of_val(&*self.sent)) + size_of_val(&*self.choices)
    }
}

impl Tables {
    /// Counts an entry that keeps so many bytes.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.bytes += (ENTRY_BYTES + bytes) as u64;
    }

    pub(crate) fn add_step(&mut self, pair: (LocalStateId, Trigger), outcomes: Arc<[Outcome]>) {
        self.grow(outcomes.iter().map(Outcome::bytes).sum());
        self.steps.insert(pair, outcomes);
        self.journal.push(pair);
    }

    /// The id of a state; `state` is kept if it is the first with its fingerprint.
    pub(crate) fn intern_state(&mut self, state: LocalState) -> LocalStateId {
        let next = LocalStateId(next_id(self.states.len()));
        let id = *self.state_ids.entry(state.fingerprint).or_insert(next);
        if id == next {
            // Where there are contents, the snapshot is that of the content.
            let is_own = self.contents.is_empty();
            let own = state.snapshot.as_ref().filter(|_| is_own);
            self.grow(state.bytes() + own.map_or(0, Snapshot::bytes));
            self.states.push(Arc::new(state));
        }
        id
    }

    /// The index of a content; `state` is kept if it is the first with its fingerprint.
    pub(crate) fn intern_content(&mut self, state: LocalState) -> u32 {
        let next = next_id(self.contents.len());
        let id = *self.content_ids.entry(state.fingerprint).or_insert(next);
        if id == next {
            self.grow(state.bytes() + state.snapshot.as_ref().map_or(0, Snapshot::bytes));
            self.contents.push(Arc::new(state));
        }
        id
    }

    /// An outcome with what it adds to the fingerprint of a global state, `before` taken away.
    pub(crate) fn outcome(
        &self,
        before: Fingerprint,
        next: LocalStateId,
        sent: Box<[MessageId]>,
        (choices, likelihood): (Box<[Choice]>, Likelihood),
    ) -> Outcome {
        let sum = |sum: Fingerprint, id: &MessageId| sum.wrapping_add(self.messages[id.0 as usize].fingerprint);
        let after = self.states[next.0 as usize].fingerprint.wrapping_add(sent.iter().fold(0, sum));
        Outcome { next, sent, choices, likelihood, delta: after.wrapping_sub(before), is_lost: false }
    }

    pub(crate) fn intern_message(&mut self, route: Route, payload: &[u8]) -> MessageId {
        let Route { from, to, incarnation, is_notice, .. } = route;
        let of_content = fingerprint::of_message(from, to, payload);
        let fingerprint = match (incarnation, is_notice) {
            (0, false) => of_content,
            _ => fingerprint::of_tagged(of_content, incarnation, is_notice),
        };
        let next = MessageId(next_id(self.messages.len()));
        let id = *self.message_ids.entry(fingerprint).or_insert(next);
        if id == next {
            let content = if is_notice { next } else { *self.content_messages.entry(of_content).or_insert(next) };
            let payload = payload.to_vec();
            // A message of a link without order is known by its content alone.
            let lane = if route.is_loose() { 1 + id.0 } else { 0 };
            self.grow(size_of::<Message>() + payload.len());
            let message = Message { from, to, payload, incarnation, is_notice, fingerprint, lane, content };
            self.messages.push(Arc::new(message));
        }
        id
    }

    /// The id of a set of messages, which are sorted.
    pub(crate) fn intern_quorum(&mut self, messages: &[MessageId]) -> QuorumId {
        if let Some(id) = self.quorum_ids.get(messages) {
            return *id;
        }
        let id = QuorumId(next_id(self.quorums.len()));
        let messages: Arc<[MessageId]> = messages.into();
        self.grow(size_of_val(&*messages));
        self.quorums.push(Arc::clone(&messages));
        self.quorum_ids.insert(messages, id);
        id
    }

    /// The role with its quorum interned; none if the message is taken by itself.
    pub(crate) fn intern_role(&mut self, role: Role<Quorum>) -> Option<Role<KindId>> {
        let quorum = match role {
            Role::Alone => return None,
            Role::Held => return Some(Role::Held),
            Role::Member(quorum) => Arc::new(quorum),
        };
        let next = KindId(next_id(self.kinds.len()));
        let id = *self.kind_ids.entry(Arc::clone(&quorum)).or_insert(next);
        if id == next {
            self.kinds.push(quorum);
        }
        Some(Role::Member(id))
    }

    pub(crate) fn intern_local_event(&mut self, event: &LocalEvent) -> LocalEventId {
        if let Some(id) = self.local_event_ids.get(event) {
            return *id;
        }
        let id = LocalEventId(next_id(self.local_events.len()));
        // Twice: the key is a copy.
        self.grow(2 * (size_of::<LocalEvent>() + event.name.len() + event.payload.len()));
        self.local_events.push(Arc::new(event.clone()));
        self.local_event_ids.insert(event.clone(), id);
        id
    }

    pub(crate) fn intern_view(&mut self, view: &[u8]) -> ViewId {
        if let Some(id) = self.view_ids.get(view) {
            return *id;
        }
        let id = ViewId(next_id(self.views.len()));
        let view: Arc<[u8]> = view.into();
        self.grow(view.len());
        self.views.push(Arc::clone(&view));
        self.view_ids.insert(view, id);
        id
    }

    pub(crate) fn intern_class(&mut self, views: Vec<Option<ViewId>>) -> ClassId {
        let views: Arc<[Option<ViewId>]> = views.into();
        if let Some(id) = self.class_ids.get(&views) {
            return *id;
        }
        let id = ClassId(next_id(self.classes.len()));
        self.grow(size_of_val(&*views));
        self.classes.push(Arc::clone(&views));
        self.class_ids.insert(views, id);
        id
    }

    /// Looks a local event up without making one.
    pub(crate) fn find_local_event(&self, event: &LocalEvent) -> Option<LocalEventId> {
        self.local_event_ids.get(event).copied()
    }
}

/// The next dense id; half a billion distinct contents do not fit in memory, so running out is a broken invariant.
fn next_id(len: usize) -> u32 {
    let id = u32::try_from(len).unwrap_or(u32::MAX);
    assert!(id < Trigger::ID_MAX, "more than half a billion distinct contents");
    id
}
