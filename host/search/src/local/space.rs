//! The local states that each node can reach when the network keeps every message for ever.
//!
//! An over-approximation: a node may receive any message that any node can send in any of its local states, whether
//! or not the two fit together. It is complete, and small: no state holds messages in flight.
//!
//! | module | what it holds |
//! |---|---|
//! | `bits` | sets of small integers |
//! | `backwards` | the local states from which a local state can be reached |
//! | `path_facts` | facts common to all paths to a local state, and the messages that therefore have no second copy |
//! | `quorums` | the sets of messages that a local state takes together |

use std::ops::Range;

use host_model::contract::MachineError;
use host_model::lts::{LocalStateId, Lts, MessageId, QuorumId, Stepper, Trigger};
use host_model::scenario::{FaultState, Faults, Route};
use host_model::trace::start::Start;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::poll::StopPoll;

pub use self::backwards::FAR;
use self::bits::Bits;

mod backwards;
mod bits;
mod path_facts;
mod quorums;

/// Index of a local state in [`LocalSpace::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Index(pub u32);

/// An edge between local states of one node.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: Index,
    label: Label,
}

/// The event of an edge.
#[derive(Clone, Copy, Debug)]
enum Label {
    /// The message with this index at the node is delivered.
    Message(u32),
    /// Messages are delivered together.
    Quorum(QuorumId),
    /// The local event with this id.
    Local(u32),
    /// A fault.
    Fault,
}

/// The messages of a quorum, by their indices at its node.
struct Slots {
    node: u32,
    slots: Box<[u32]>,
}

/// A local state with the known facts about the paths to it.
#[derive(Debug)]
pub struct Reached {
    /// The local state.
    pub state: LocalStateId,
    /// The node.
    pub node: u32,
    /// Number of events on the path by which it was found.
    pub depth: u32,
    /// The direct predecessors.
    predecessors: Vec<Index>,
    successors: Vec<Edge>,
    /// Messages, by their index at the node, that were executed here.
    executed: Bits,
    /// Quorums that were executed here.
    executed_quorums: FxHashSet<QuorumId>,
    /// Messages, by their index at the node, that every path to this state has consumed.
    consumed: Bits,
    /// Local events, by id, that some path to this state has taken.
    taken: Bits,
    /// Fewest local events on a path to this state.
    local_events: u32,
    local_events_done: bool,
    faults_done: bool,
}

/// A message that some local state of its sender sends.
struct KnownMessage {
    message: MessageId,
    /// The triggers that make the sender send it, without repetitions; at most [`TRIGGERS_MAX`].
    triggers: Vec<Trigger>,
    /// Copies in flight at the start, and the maximum that one handler sends.
    at_start: u32,
    copies: u32,
}

/// Two triggers that send a message already give it a second copy, whatever the others are.
const TRIGGERS_MAX: usize = 2;

/// The index of a local state that is not reached.
const NOWHERE: Index = Index(u32::MAX);

/// The local spaces of all nodes.
pub struct LocalSpace<'l> {
    lts: &'l Lts<'l>,
    /// All local states, in the order of discovery.
    states: Vec<Reached>,
    /// The index of each local state, by its dense id; `NOWHERE` for those that are not reached.
    index_of: Vec<Index>,
    known: Vec<KnownMessage>,
    known_of: FxHashMap<MessageId, usize>,
    /// For each node the messages to it, as indices into `known`, in the order of discovery.
    inboxes: Vec<Vec<usize>>,
    /// For each node the messages, by their index there, that never have a second copy.
    single: Vec<Bits>,
    /// The messages of the quorums that were executed.
    quorums: FxHashMap<QuorumId, Slots>,
    local_events_max: u32,
    local_events_cut: bool,
    has_faults: bool,
    transitions: u64,
    looks: u64,
    /// The [work](Self::work) at which a pass ends.
    work_max: u64,
    /// The work since the last question whether to continue, in looks.
    unasked: u64,
}

/// Polled regularly whether to continue.
type MayContinue<'g, 'l> = dyn FnMut(&LocalSpace<'l>) -> bool + 'g;

/// Local states whose handlers are executed together: enough for many workers, few enough to keep the results small.
const BLOCK: u32 = 256;

/// Maximum number of handlers executed together; each can have thousands of results.
const BATCH: usize = 1_024;

/// Looks between two questions whether to continue; also the looks that a transition counts as, without its handler.
const LOOKS_PER_QUESTION: u64 = 4_096;
const LOOKS_PER_TRANSITION: u64 = 4;

/// The number of looks in a unit of [work](LocalSpace::work).
const LOOKS_PER_WORK: u64 = 16;

impl<'l> LocalSpace<'l> {
    /// The start state alone, with the messages in flight there.
    pub fn new(stepper: &mut Stepper<'l>, start: &Start, local_events_max: u32) -> Self {
        Self::of(stepper, start, local_events_max, true)
    }

    /// The same, with faults or without them.
    pub fn of(stepper: &mut Stepper<'l>, start: &Start, local_events_max: u32, has_faults: bool) -> Self {
        let nodes = start.locals.len();
        let mut space = Self {
            lts: stepper.lts(),
            states: Vec::new(),
            index_of: Vec::new(),
            known: Vec::new(),
            known_of: FxHashMap::default(),
            inboxes: vec![Vec::new(); nodes],
            single: vec![Bits::default(); nodes],
            quorums: FxHashMap::default(),
            local_events_max,
            local_events_cut: false,
            has_faults,
            transitions: 0,
            looks: 0,
            work_max: u64::MAX,
            unasked: 0,
        };
        for (node, state) in (0u32..).zip(&start.locals) {
            space.enter(*state, node, 0, 0);
        }
        for message in &start.in_flight {
            let known = space.know(stepper, *message);
            space.known[known].at_start += 1;
        }
        space
    }

    /// The same with a limit on work, exceeded by one handler at most: a space that needs more is not complete.
    pub fn with_work_max(self, work_max: u64) -> Self {
        Self { work_max, ..self }
    }

    /// The index of a local state, and whether it is new.
    fn enter(&mut self, state: LocalStateId, node: u32, depth: u32, local_events: u32) -> (Index, bool) {
        let at = state.0 as usize;
        if self.index_of.len() <= at {
            self.index_of.resize((at + 1).next_power_of_two(), NOWHERE);
        }
        let known = self.index_of[at];
        if known != NOWHERE {
            return (known, false);
        }
        let next = Index(self.states.len() as u32);
        self.index_of[at] = next;
        let faults_done = !self.has_faults;
        self.states.push(Reached { faults_done, ..Reached::new(state, node, depth, local_events) });
        (next, true)
    }

    /// All local states, in the order of discovery; the first ones are those of the start.
    pub fn states(&self) -> &[Reached] {
        &self.states
    }

    /// Edges executed so far.
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// The work so far, in transitions. A look is a fraction of one: a visit of a local state, even if nothing new is to be executed
    /// there; an edge that may add a fact; a set of messages that may be a quorum.
    pub fn work(&self) -> u64 {
        self.transitions + self.looks / LOOKS_PER_WORK
    }

    /// Distinct messages so far.
    pub fn messages(&self) -> u64 {
        self.known.len() as u64
    }

    /// Whether some local event was left out by the bound.
    pub fn local_events_cut(&self) -> bool {
        self.local_events_cut
    }

    /// Bytes kept, roughly.
    pub fn bytes(&self) -> u64 {
        // Each state has three small sets and about as many edges as executed messages.
        let each = size_of::<Reached>() + 3 * 16 + 32;
        self.states.len() as u64 * each as u64 + self.transitions * (size_of::<Edge>() + size_of::<Index>()) as u64
    }

    /// Makes one pass over all local states: executes every message and local event that was not executed there yet.
    /// Returns false if there was none, so the space is complete. The pass ends early, and returns true, once `may_continue`, which it
    /// calls regularly, returns false, or the bound on work is reached.
    pub fn pass(
        &mut self,
        stepper: &mut Stepper<'l>,
        may_continue: &mut MayContinue<'_, 'l>,
    ) -> Result<bool, MachineError> {
        if !self.find_single(may_continue) {
            return Ok(true);
        }
        self.local_events_cut = false;
        let before = self.transitions;
        let states = self.states.len() as u32;
        for block in (0..states).step_by(BLOCK as usize) {
            let block = block..states.min(block + BLOCK);
            self.looks += u64::from(block.end - block.start);
            let mut is_going = self.prepare(stepper, block.clone(), may_continue)?;
            for index in block {
                is_going = is_going && self.expand(stepper, Index(index), may_continue)?;
            }
            if !is_going || !may_continue(self) {
                return Ok(true);
            }
        }
        Ok(self.transitions > before)
    }

    /// Whether to continue after this many more looks: within the bound on work, and as long as `may_continue`, called once per
    /// [`LOOKS_PER_QUESTION`], agrees.
    fn may_continue(&mut self, looks: u64, may_continue: &mut MayContinue<'_, 'l>) -> bool {
        if self.work() >= self.work_max {
            return false;
        }
        self.unasked += looks;
        if self.unasked < LOOKS_PER_QUESTION {
            return true;
        }
        self.unasked = 0;
        may_continue(self)
    }

    /// Executes, by all workers, the handlers that [`expand`](Self::expand) needs for a block. Messages that one state of the block
    /// adds for another one are left to `expand`. Returns whether to continue.
    fn prepare(
        &self,
        stepper: &mut Stepper<'l>,
        block: Range<u32>,
        may_continue: &mut MayContinue<'_, 'l>,
    ) -> Result<bool, MachineError> {
        let mut pairs = Vec::new();
        let mut ask = |_| may_continue(self);
        let mut poll = StopPoll::new(&mut ask);
        for reached in &self.states[block.start as usize..block.end as usize] {
            let local_state = stepper.state(reached.state);
            if local_state.is_stuck() {
                continue;
            }
            let inbox = &self.inboxes[reached.node as usize];
            if poll.is_over_after(inbox.len() as u32) {
                return Ok(false);
            }
            for (slot, known) in inbox.iter().enumerate() {
                let is_spent = reached.consumed.contains(slot) && self.single[reached.node as usize].contains(slot);
                let message = self.known[*known].message;
                let can_take = self.can_take(&local_state.fault_state, &stepper.message(message).route());
                if !reached.executed.contains(slot) && !is_spent && can_take {
                    pairs.push((reached.state, Trigger::deliver(message)));
                }
            }
            if !reached.local_events_done && reached.local_events < self.local_events_max {
                let events = local_state.protocol.local_events.iter();
                pairs.extend(events.map(|event| (reached.state, Trigger::local(*event))));
            }
            if !reached.faults_done {
                pairs.extend(local_state.faults.iter().map(|fault| (reached.state, fault)));
            }
        }
        // Executes no more than the bound on work admits.
        pairs.truncate(usize::try_from(self.work_max.saturating_sub(self.work())).unwrap_or(usize::MAX));
        for batch in pairs.chunks(BATCH) {
            stepper.prepare(batch)?;
            if pairs.len() > BATCH && !may_continue(self) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a node in this fault state can take a message, as far as the node knows: lost messages are excluded here,
    /// but the order of messages is left to the verification.
    ///
    /// Every break of a connection is a fault of one of its two nodes. So a node that learns of more breaks than
    /// it has begun itself and the peer has the budget for learns of one that never happens; without this check, local
    /// states that do not fit together would tell each other of ever more breaks.
    fn can_take(&self, fault_state: &FaultState, route: &Route) -> bool {
        let breaks = |faults: &Faults| faults.breaks_of_connections();
        let max = || breaks(&fault_state.counts) + breaks(&self.lts.scenario().faults);
        fault_state.can_take(route) && (route.incarnation == 0 || route.incarnation <= max())
    }

    /// Executes everything in a local state that was not executed there yet. Returns whether to continue.
    fn expand(
        &mut self,
        stepper: &mut Stepper<'l>,
        index: Index,
        may_continue: &mut MayContinue<'_, 'l>,
    ) -> Result<bool, MachineError> {
        let at = index.0 as usize;
        let Reached { state, node, .. } = self.states[at];
        let local_state = stepper.state(state).clone();
        if local_state.is_stuck() {
            // No event happens at a node that is stuck in a fault.
            return Ok(true);
        }
        let inbox = self.inboxes[node as usize].len();
        if !self.may_continue(inbox as u64, may_continue) {
            return Ok(false);
        }
        for slot in 0..inbox {
            let reached = &self.states[at];
            let is_spent = reached.consumed.contains(slot) && self.single[node as usize].contains(slot);
            let message = self.known[self.inboxes[node as usize][slot]].message;
            let can_take = self.can_take(&local_state.fault_state, &stepper.message(message).route());
            if !reached.executed.contains(slot) && !is_spent && can_take {
                self.states[at].executed.insert(slot);
                let label = Label::Message(slot as u32);
                if !self.execute(stepper, index, Trigger::deliver(message), label, may_continue)? {
                    return Ok(false);
                }
            }
        }
        if stepper.known().takes_quorums(node) && !self.expand_quorums(stepper, index, may_continue)? {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.states[at].faults_done, true) {
            for fault in local_state.faults.iter() {
                if !self.execute(stepper, index, fault, Label::Fault, may_continue)? {
                    return Ok(false);
                }
            }
        }
        if local_state.protocol.local_events.is_empty() || self.states[at].local_events_done {
            return Ok(true);
        }
        if self.states[at].local_events >= self.local_events_max {
            self.local_events_cut = true;
            return Ok(true);
        }
        self.states[at].local_events_done = true;
        for event in &local_state.protocol.local_events {
            if !self.execute(stepper, index, Trigger::local(*event), Label::Local(event.0), may_continue)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in the outcomes of a handler. Returns whether to continue.
    fn execute(
        &mut self,
        stepper: &mut Stepper<'l>,
        from: Index,
        trigger: Trigger,
        label: Label,
        may_continue: &mut MayContinue<'_, 'l>,
    ) -> Result<bool, MachineError> {
        let Reached { state, node, depth, local_events, .. } = self.states[from.0 as usize];
        let row = stepper.step(state, trigger)?;
        let local_events = local_events + u32::from(trigger.local_event().is_some());
        for outcome in stepper.outcomes(row) {
            self.transitions += 1;
            // Messages sent before a trap are never delivered: the execution is over.
            if !stepper.state(outcome.next).is_stuck() {
                self.send(stepper, trigger, &outcome.sent);
            }
            let (to, is_new) = self.enter(outcome.next, node, depth + 1, local_events);
            if is_new {
                let mut consumed = self.states[from.0 as usize].consumed.clone();
                slots(&label, &self.quorums).iter().for_each(|slot| consumed.insert(*slot as usize));
                self.states[to.0 as usize].consumed = consumed;
            }
            let edge = Edge { to, label };
            self.states[from.0 as usize].successors.push(edge);
            if to != from {
                self.states[to.0 as usize].predecessors.push(from);
            }
            let looks = LOOKS_PER_TRANSITION + outcome.sent.len() as u64;
            if !self.propagate(from, edge, may_continue) || !self.may_continue(looks, may_continue) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes the trigger that makes a node send these messages.
    fn send(&mut self, stepper: &Stepper<'l>, trigger: Trigger, sent: &[MessageId]) {
        let mut copies: FxHashMap<MessageId, u32> = FxHashMap::default();
        for message in sent {
            let copies = copies.entry(*message).or_default();
            *copies += 1;
            let known = self.know(stepper, *message);
            let known = &mut self.known[known];
            known.copies = known.copies.max(*copies);
            if known.triggers.len() < TRIGGERS_MAX && !known.triggers.contains(&trigger) {
                known.triggers.push(trigger);
            }
        }
    }

    /// The index of a message in `known`.
    fn know(&mut self, stepper: &Stepper<'l>, message: MessageId) -> usize {
        let next = self.known.len();
        let known = *self.known_of.entry(message).or_insert(next);
        if known == next {
            let to = stepper.message(message).to;
            self.inboxes[to as usize].push(next);
            self.known.push(KnownMessage { message, triggers: Vec::new(), at_start: 0, copies: 0 });
        }
        known
    }

    /// The index of a local state, if it is reached.
    pub fn find(&self, state: LocalStateId) -> Option<Index> {
        self.index_of.get(state.0 as usize).copied().filter(|index| *index != NOWHERE)
    }
}

/// The messages that an edge consumes, by their indices at the node.
fn slots<'s>(label: &'s Label, quorums: &'s FxHashMap<QuorumId, Slots>) -> &'s [u32] {
    match label {
        Label::Message(slot) => std::slice::from_ref(slot),
        Label::Quorum(quorum) => &quorums[quorum].slots,
        Label::Local(_) | Label::Fault => &[],
    }
}

impl Reached {
    fn new(state: LocalStateId, node: u32, depth: u32, local_events: u32) -> Self {
        Self {
            state,
            node,
            depth,
            predecessors: Vec::new(),
            successors: Vec::new(),
            executed: Bits::default(),
            executed_quorums: FxHashSet::default(),
            consumed: Bits::default(),
            taken: Bits::default(),
            local_events,
            local_events_done: false,
            faults_done: false,
        }
    }
}
