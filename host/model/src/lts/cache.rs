//! A lock-free copy of the local transition system per stepper, which many workers can read at once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{ClassId, Fault, Judgement, NodeId, Quorum, Role};
use crate::lts::ids::{KindId, LocalStateId, MessageId, QuorumId, Trigger};
use crate::lts::state::{LocalState, Message, Outcome};
use crate::lts::tables::Tables;

/// A reference to the outcomes of one pair of local state and trigger in a stepper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomesRef(u32);

impl OutcomesRef {
    /// The number of the row, in the order of requests.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The effect of an outcome on a global state.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The change of the fingerprint of a global state by the step, delivery included.
    pub delta: Fingerprint,
    /// The local state afterwards.
    pub next: LocalStateId,
    /// The index of the first of its messages among all sent ones, and their number.
    sent: (u32, u32),
}

impl Edge {
    /// Number of messages that the step sends.
    #[inline]
    pub fn sent_len(&self) -> usize {
        self.sent.1 as usize
    }
}

/// The part of a local state that a global search reads at every step.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// See [`LocalState::fingerprint`].
    pub fingerprint: Fingerprint,
    /// The class of its views for the properties of system scope.
    pub class: ClassId,
    /// Whether the node is stuck in a fault.
    pub is_stuck: bool,
    /// Whether a property of node scope, or a fault, yields a judgement of it.
    pub is_judged: bool,
    /// Whether local events or faults are possible.
    pub has_own_events: bool,
    /// Whether a message to the node can be lost.
    pub can_lose: bool,
}

/// The part of the local transition system that a `Stepper` has asked for.
#[derive(Default)]
pub struct LtsCache {
    is_ordered: bool,
    rows: FxHashMap<(LocalStateId, Trigger), OutcomesRef>,
    outcomes: Vec<Arc<[Outcome]>>,
    states: Vec<Arc<LocalState>>,
    messages: Vec<Arc<Message>>,
    /// The outcomes again, row after row: small and side by side, because a global search reads some at every step.
    edges: Vec<Edge>,
    /// The start of each row, and the end of the last one.
    edge_bounds: Vec<u32>,
    sent: Vec<MessageId>,
    briefs: Vec<Brief>,
    takes_quorums: Vec<bool>,
    quorums: Vec<Arc<[MessageId]>>,
    quorum_ids: FxHashMap<Arc<[MessageId]>, QuorumId>,
    kinds: Vec<Arc<Quorum>>,
    roles: FxHashMap<(LocalStateId, MessageId), Role<KindId>>,
    /// Number of copied roles.
    roles_len: usize,
    destinations: Vec<NodeId>,
    verdicts: FxHashMap<Box<[ClassId]>, Arc<[Judgement]>>,
    verdict_bytes: u64,
    has_traps: bool,
    has_losses: bool,
}

/// Bytes of a verdict without its classes and judgements: its slot in a hash table, and two allocations.
const VERDICT_BYTES: usize = 96;

impl LtsCache {
    pub(crate) fn new(is_ordered: bool) -> Self {
        Self { is_ordered, edge_bounds: vec![0], ..Self::default() }
    }

    /// Whether messages in flight have an order, see [`InFlight`](crate::scenario::InFlight).
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// A local state by id.
    #[inline]
    pub fn state(&self, id: LocalStateId) -> &Arc<LocalState> {
        &self.states[id.0 as usize]
    }

    /// A message by id.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Arc<Message> {
        &self.messages[id.0 as usize]
    }

    /// The outcomes of a trigger in a local state, if it was executed.
    #[inline]
    pub fn row(&self, state: LocalStateId, trigger: Trigger) -> Option<OutcomesRef> {
        self.rows.get(&(state, trigger)).copied()
    }

    /// The outcomes behind a reference; at least one, except for a reset that would change nothing, a message that the node does not
    /// take by itself, and a quorum that it does not take.
    #[inline]
    pub fn outcomes(&self, row: OutcomesRef) -> &[Outcome] {
        &self.outcomes[row.0 as usize]
    }

    /// The effects on a global state of the outcomes behind a reference, in the same order.
    #[inline]
    pub fn edges(&self, row: OutcomesRef) -> &[Edge] {
        let row = row.0 as usize;
        &self.edges[self.edge_bounds[row] as usize..self.edge_bounds[row + 1] as usize]
    }

    /// The number of an outcome among those of all rows.
    #[inline]
    pub fn edge_number(&self, row: OutcomesRef, outcome: u32) -> u32 {
        self.edge_bounds[row.0 as usize] + outcome
    }

    /// The messages that a step sends, in order.
    #[inline]
    pub fn sent(&self, edge: &Edge) -> &[MessageId] {
        let (start, len) = edge.sent;
        &self.sent[start as usize..][..len as usize]
    }

    /// A local state by id, in brief.
    #[inline]
    pub fn brief(&self, id: LocalStateId) -> &Brief {
        &self.briefs[id.0 as usize]
    }

    /// Whether some handler is known to end in a fault.
    #[inline]
    pub fn has_traps(&self) -> bool {
        self.has_traps
    }

    /// Whether the execution ended in a global state with these local states: a node is stuck in a fault.
    #[inline]
    pub fn is_over(&self, locals: &[LocalStateId]) -> bool {
        locals.iter().any(|local| self.brief(*local).is_stuck)
    }

    /// The first node that is stuck in a fault, with the fault; none if the execution continues.
    pub fn stuck(&self, locals: &[LocalStateId]) -> Option<(NodeId, &Fault)> {
        (0..).zip(locals).find_map(|(node, local)| Some((node, self.state(*local).fault()?)))
    }

    /// The destination of a message.
    #[inline]
    pub fn destination(&self, id: MessageId) -> NodeId {
        self.destinations[id.0 as usize]
    }

    /// Whether a node ever takes messages together.
    #[inline]
    pub fn takes_quorums(&self, node: NodeId) -> bool {
        self.takes_quorums[node as usize]
    }

    /// The role of a message in a local state, if its delivery was requested there.
    #[inline]
    pub fn role(&self, state: LocalStateId, message: MessageId) -> Role<KindId> {
        self.roles.get(&(state, message)).copied().unwrap_or(Role::Alone)
    }

    /// A name and size of quorums by id.
    #[inline]
    pub fn kind(&self, id: KindId) -> &Arc<Quorum> {
        &self.kinds[id.0 as usize]
    }

    /// Whether a message can be lost anywhere.
    #[inline]
    pub fn has_losses(&self) -> bool {
        self.has_losses
    }

    /// The loss of a message that could be delivered next to its destination in a local state; none if it cannot happen there. Notices of
    /// a broken connection are never lost.
    #[inline]
    pub fn loss(&self, state: LocalStateId, message: MessageId) -> Option<Trigger> {
        let can_lose = self.has_losses && self.brief(state).can_lose && !self.message(message).is_notice;
        can_lose.then(|| Trigger::lose(message))
    }

    /// The messages of a quorum, sorted.
    #[inline]
    pub fn quorum(&self, id: QuorumId) -> &[MessageId] {
        &self.quorums[id.0 as usize]
    }

    /// The id of a quorum of these messages, which must be sorted; none if none was requested.
    #[inline]
    pub fn find_quorum(&self, messages: &[MessageId]) -> Option<QuorumId> {
        self.quorum_ids.get(messages).copied()
    }

    /// The messages of the quorum that a trigger delivers, sorted; none for any other trigger.
    #[inline]
    pub fn taken_together(&self, trigger: Trigger) -> &[MessageId] {
        let quorum = trigger.quorum().and_then(|quorum| self.quorums.get(quorum.0 as usize));
        quorum.map_or(&[], |messages| messages)
    }

    /// The messages that a trigger takes out of flight, sorted.
    #[inline]
    pub fn taken(&self, trigger: Trigger) -> impl Iterator<Item = MessageId> {
        trigger.message().or(trigger.lost()).into_iter().chain(self.taken_together(trigger).iter().copied())
    }

    /// The judgements of the properties of system scope on a tuple of classes, if they were requested before.
    #[inline]
    pub fn verdict(&self, classes: &[ClassId]) -> Option<&Arc<[Judgement]>> {
        self.verdicts.get(classes)
    }

    /// Bytes that it keeps and that [`LtsCounts::bytes`](crate::lts::LtsCounts::bytes) does not count, about: the verdicts
    /// on tuples of classes.
    pub fn own_bytes(&self) -> u64 {
        self.verdict_bytes
    }

    /// Number of pairs of local state and trigger.
    pub fn rows(&self) -> usize {
        self.outcomes.len()
    }

    /// Copies the entries that others have interned since.
    pub(crate) fn catch_up(&mut self, tables: &Tables) {
        self.states.extend_from_slice(&tables.states[self.states.len()..]);
        self.messages.extend_from_slice(&tables.messages[self.messages.len()..]);
        self.takes_quorums.clone_from(&tables.takes_quorums);
        for quorum in &tables.quorums[self.quorums.len()..] {
            self.quorum_ids.insert(Arc::clone(quorum), QuorumId(self.quorums.len() as u32));
            self.quorums.push(Arc::clone(quorum));
        }
        self.kinds.extend_from_slice(&tables.kinds[self.kinds.len()..]);
        self.roles.extend(tables.roles[self.roles_len..].iter().copied());
        self.roles_len = tables.roles.len();
        let briefs_before = self.briefs.len();
        self.briefs.extend(self.states[self.briefs.len()..].iter().map(|state| Brief {
            fingerprint: state.fingerprint,
            class: state.protocol.class,
            is_stuck: state.is_stuck(),
            is_judged: !state.protocol.judgements.is_empty(),
            has_own_events: !state.protocol.local_events.is_empty() || !state.faults.is_empty(),
            can_lose: state.can_lose,
        }));
        self.has_traps |= self.briefs[briefs_before..].iter().any(|brief| brief.is_stuck);
        self.has_losses |= self.briefs[briefs_before..].iter().any(|brief| brief.can_lose);
        self.destinations.extend(self.messages[self.destinations.len()..].iter().map(|message| message.to));
    }

    pub(crate) fn add_row(&mut self, pair: (LocalStateId, Trigger), outcomes: Arc<[Outcome]>) {
        let row = OutcomesRef(u32::try_from(self.outcomes.len()).expect("fewer than four billion steps"));
        for outcome in &*outcomes {
            let start = u32::try_from(self.sent.len()).expect("fewer than four billion messages in steps");
            self.sent.extend_from_slice(&outcome.sent);
            let sent = (start, outcome.sent.len() as u32);
            self.edges.push(Edge { delta: outcome.delta, next: outcome.next, sent });
        }
        self.edge_bounds.push(u32::try_from(self.edges.len()).expect("fewer than four billion outcomes"));
        self.outcomes.push(outcomes);
        self.rows.insert(pair, row);
    }

    pub(crate) fn add_verdict(&mut self, classes: &[ClassId], judgements: Arc<[Judgement]>) {
        // The text is short compared with the entry, and mostly empty.
        self.verdict_bytes += (VERDICT_BYTES + size_of_val(classes) + size_of_val(&*judgements)) as u64;
        self.verdicts.insert(classes.into(), judgements);
    }
}
