//! Tables of all interned items. Ids are dense and given in the order of first arrival.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{ClassId, LocalEvent, NodeId, Quorum, Role, Snapshot, ViewId};
use crate::lts::ids::{KindId, LocalEventId, LocalStateId, MessageId, ProtocolStateId, QuorumId, Trigger};
use crate::lts::own_faults::OwnFaults;
use crate::lts::protocol_step::{ProtocolOutcome, ProtocolStep};
use crate::lts::snapshots::SharedSnapshots;
use crate::lts::state::{LocalState, Message, Outcome, ProtocolState};
use crate::scenario::fault_state::Rules;
use crate::scenario::{FaultState, Route};

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) states: Vec<Arc<LocalState>>,
    pub(crate) state_ids: FxHashMap<Fingerprint, LocalStateId>,
    pub(crate) protocol_states: Vec<Arc<ProtocolState>>,
    pub(crate) protocol_state_ids: FxHashMap<Fingerprint, ProtocolStateId>,
    /// The states from elsewhere that were adopted, by node and hash of the exported state.
    pub(crate) adopted: FxHashMap<(NodeId, [u8; 32]), ProtocolStateId>,
    /// Handler executions that another local state with the same protocol state can request.
    pub(crate) protocol_steps: FxHashMap<ProtocolStep, Arc<[ProtocolOutcome]>>,
    protocol_steps_bytes: u64,
    pub(crate) messages: Vec<Arc<Message>>,
    message_ids: FxHashMap<Fingerprint, MessageId>,
    /// For each node whether it takes quorums.
    pub(crate) takes_quorums: Vec<bool>,
    pub(crate) quorums: Vec<Arc<[MessageId]>>,
    quorum_ids: FxHashMap<Arc<[MessageId]>, QuorumId>,
    pub(crate) kinds: Vec<Arc<Quorum>>,
    kind_ids: FxHashMap<Arc<Quorum>, KindId>,
    /// The roles of messages that are not taken by themselves.
    pub(crate) roles: Vec<((LocalStateId, MessageId), Role<KindId>)>,
    /// The same by protocol state.
    pub(crate) protocol_roles: FxHashMap<ProtocolStep, Role<KindId>>,
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
    pub(crate) journal: Vec<(LocalStateId, Trigger)>,
    bytes: u64,
    snapshots: SharedSnapshots,
}

/// Bytes per entry of the tables, without its content: its slots in a list, in a hash table, and in the copy of a stepper.
const ENTRY_BYTES: usize = 96;

impl Tables {
    /// Empty tables for this many properties, and for nodes that may take quorums, that share snapshots with other tables.
    pub(crate) fn new(properties: usize, takes_quorums: Vec<bool>, snapshots: SharedSnapshots) -> Self {
        let mut tables = Self { takes_quorums, snapshots, ..Self::default() };
        // Class 0 is "no node of this state can matter to any property", so that the search can test for it.
        tables.intern_class(vec![None; properties]);
        // Class 1 is the class of nodes that are stuck, which have no views.
        tables.classes.push(vec![None; properties].into());
        tables
    }

    /// See [`LtsCounts::bytes`](crate::lts::LtsCounts::bytes).
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.protocol_steps_bytes
    }

    /// Counts an entry that keeps this many bytes.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.bytes += (ENTRY_BYTES + bytes) as u64;
    }

    pub(crate) fn add_adopted(&mut self, key: (NodeId, [u8; 32]), state: ProtocolStateId) {
        self.grow(size_of_val(&key));
        self.adopted.insert(key, state);
    }

    pub(crate) fn add_step(&mut self, pair: (LocalStateId, Trigger), outcomes: Arc<[Outcome]>) {
        self.grow(outcomes.iter().map(Outcome::bytes).sum());
        self.steps.insert(pair, outcomes);
        self.journal.push(pair);
    }

    /// The id of a protocol state; `state` is kept if it is the first with its fingerprint.
    pub(crate) fn intern_protocol_state(&mut self, mut state: ProtocolState) -> ProtocolStateId {
        let next = ProtocolStateId(next_id(self.protocol_states.len()));
        let id = *self.protocol_state_ids.entry(state.fingerprint).or_insert(next);
        if id == next {
            // A snapshot counts only in the table that has it first.
            let is_counted = !self.snapshots.share(state.fingerprint, &mut state.snapshot);
            let snapshot = state.snapshot.as_ref().filter(|_| !is_counted).map_or(0, Snapshot::bytes);
            self.grow(state.bytes() - snapshot);
            self.protocol_states.push(Arc::new(state));
        }
        id
    }

    /// The id of the local state with this protocol state and fault state.
    pub(crate) fn intern_local_state(
        &mut self,
        rules: &Rules,
        protocol_id: ProtocolStateId,
        fault_state: FaultState,
    ) -> LocalStateId {
        let protocol = &self.protocol_states[protocol_id.0 as usize];
        let fingerprint = match fault_state.is_fresh() {
            true => protocol.fingerprint,
            false => fingerprint::of_fault_state(protocol.fingerprint, &fault_state.words()),
        };
        let next = LocalStateId(next_id(self.states.len()));
        let id = *self.state_ids.entry(fingerprint).or_insert(next);
        if id == next {
            let protocol = Arc::clone(protocol);
            // No event happens at a node that is stuck in a fault of the guest.
            let faults = match protocol.snapshot {
                Some(_) => {
                    let listed = rules.faults(protocol.node, &fault_state).into_iter().map(Trigger::from);
                    let losses = rules.losses_of_writes(protocol.node, &fault_state);
                    OwnFaults::new(listed.collect(), losses, rules.outage_writes)
                }
                None => OwnFaults::default(),
            };
            let can_lose = protocol.snapshot.is_some() && rules.can_lose(&fault_state);
            let state = LocalState { protocol, fault_state, fingerprint, faults, can_lose, protocol_id };
            self.grow(state.bytes());
            self.states.push(Arc::new(state));
        }
        id
    }

    /// Keeps the executions of a handler.
    pub(crate) fn add_protocol_step(&mut self, step: ProtocolStep, outcomes: Vec<ProtocolOutcome>) {
        let bytes = outcomes.iter().map(|outcome| ENTRY_BYTES + outcome.bytes());
        self.protocol_steps_bytes += bytes.sum::<usize>() as u64;
        self.protocol_steps.insert(step, outcomes.into());
    }

    /// Forgets all executions of handlers.
    pub(crate) fn forget_protocol_steps(&mut self) {
        self.protocol_steps.clear();
        self.protocol_steps_bytes = 0;
    }

    pub(crate) fn intern_message(&mut self, route: Route, payload: &[u8]) -> MessageId {
        self.intern_hashed(route, payload, fingerprint::of_message(route.from, route.to, payload))
    }

    /// The same, for a message whose content has this fingerprint.
    pub(crate) fn intern_hashed(&mut self, route: Route, payload: &[u8], of_content: Fingerprint) -> MessageId {
        let Route { from, to, incarnation, is_notice, .. } = route;
        let fingerprint = match (incarnation, is_notice) {
            (0, false) => of_content,
            _ => fingerprint::of_tagged(of_content, incarnation, is_notice),
        };
        let next = MessageId(next_id(self.messages.len()));
        let id = *self.message_ids.entry(fingerprint).or_insert(next);
        if id == next {
            let content = if is_notice { next } else { *self.content_messages.entry(of_content).or_insert(next) };
            let payload = payload.to_vec();
            // A message of a link without order is identified by its content alone.
            let channel_class = if route.is_unordered() { 1 + id.0 } else { 0 };
            self.grow(size_of::<Message>() + payload.len());
            let message = Message { from, to, payload, incarnation, is_notice, fingerprint, channel_class, content };
            self.messages.push(Arc::new(message));
        }
        id
    }

    /// The id of a set of messages, which must be sorted.
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
        // Twice, since the key is a copy.
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
}

/// The next dense id; half a billion distinct contents do not fit in memory, so running out is a broken invariant.
fn next_id(len: usize) -> u32 {
    let id = u32::try_from(len).unwrap_or(u32::MAX);
    assert!(id < Trigger::ID_MAX, "more than half a billion distinct contents");
    id
}
