//! The local states that each node can reach when the network keeps every message for ever.
//!
//! An over-approximation: a node may receive any message that any node can send in any of its local states, whether
//! the two fit together or not. It is complete, and small: no state holds messages in flight.

use std::ops::Range;

use host_model::contract::MachineError;
use host_model::lts::quorum::for_each_set;
use host_model::lts::{LocalStateId, Lts, MessageId, QuorumId, Stepper, Trigger};
use host_model::scenario::{FaultEvent, Faults, Route, Standing};
use host_model::trace::start::Start;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::quorums::items;

/// Index of a local state in [`LocalSpace::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Index(pub u32);

/// A set of small integers. Those below 64, all there are in most systems, take no memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Bits {
    low: u64,
    high: Vec<u64>,
}

impl Bits {
    fn insert(&mut self, bit: usize) {
        if self.high.len() < bit / 64 {
            self.high.resize(bit / 64, 0);
        }
        *self.word_mut(bit / 64).expect("there is room now") |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        if let Some(word) = self.word_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
        }
    }

    fn contains(&self, bit: usize) -> bool {
        self.word(bit / 64) >> (bit % 64) & 1 == 1
    }

    fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.low,
            Some(index) => self.high.get(index).copied().unwrap_or(0),
        }
    }

    fn word_mut(&mut self, index: usize) -> Option<&mut u64> {
        match index.checked_sub(1) {
            None => Some(&mut self.low),
            Some(index) => self.high.get_mut(index),
        }
    }

    /// Keeps what is also in `other`, or in `extra`; whether that took something away.
    fn intersect(&mut self, other: &Self, extra: &[u32]) -> bool {
        let mut changed = false;
        let words = std::iter::once(&mut self.low).chain(&mut self.high);
        for (index, word) in words.enumerate() {
            let extra = extra.iter().filter(|bit| (**bit / 64) as usize == index);
            let extra = extra.fold(0, |bits, bit| bits | 1 << (bit % 64));
            let kept = *word & (other.word(index) | extra);
            changed |= kept != *word;
            *word = kept;
        }
        changed
    }

    /// Adds what is in `other`, and `extra`; whether that added something.
    fn unite(&mut self, other: &Self, extra: Option<usize>) -> bool {
        let mut changed = extra.is_some_and(|bit| !self.contains(bit));
        if let Some(bit) = extra {
            self.insert(bit);
        }
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        let words = std::iter::once(&mut self.low).chain(&mut self.high);
        for (index, word) in words.enumerate() {
            let united = *word | other.word(index);
            changed |= united != *word;
            *word = united;
        }
        changed
    }
}

/// An edge between local states of one node.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: Index,
    label: Label,
}

/// What happens along an edge.
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

/// The messages of a quorum by their indices at its node.
struct Slots {
    node: u32,
    slots: Box<[u32]>,
}

/// A local state with what is known of the paths to it.
#[derive(Debug)]
pub struct Reached {
    /// The local state.
    pub state: LocalStateId,
    /// The node.
    pub node: u32,
    /// Events on the path by which it was found.
    pub depth: u32,
    /// The states right before it.
    predecessors: Vec<Index>,
    successors: Vec<Edge>,
    /// Messages, by their index at the node, that were executed here.
    executed: Bits,
    /// Quorums that were executed here.
    executed_quorums: FxHashSet<QuorumId>,
    /// Messages, by their index at the node, that every path to here has consumed.
    consumed: Bits,
    /// Local events, by id, that some path to here has taken.
    taken: Bits,
    /// Fewest local events on a path to here.
    local_events: u32,
    local_events_done: bool,
    faults_done: bool,
}

/// A message that some local state of its sender sends.
struct Known {
    message: MessageId,
    /// What makes the sender send it, without repetitions.
    triggers: Vec<Trigger>,
    /// Copies in flight at the start, and the most that one handler sends.
    at_start: u32,
    copies: u32,
}

/// Of a local state that is not reached.
const NOWHERE: Index = Index(u32::MAX);

/// The local spaces of all nodes.
pub struct LocalSpace<'l> {
    lts: &'l Lts<'l>,
    /// All local states, in the order of discovery.
    states: Vec<Reached>,
    /// By the id of a local state, which is dense; `NOWHERE` for those that are not reached.
    index_of: Vec<Index>,
    known: Vec<Known>,
    known_of: FxHashMap<MessageId, usize>,
    /// For each node the messages to it, as indices into `known`, in the order of discovery.
    inboxes: Vec<Vec<usize>>,
    /// For each node the messages, by their index there, of which there is never a second copy.
    single: Vec<Bits>,
    /// What the quorums that were executed consist of.
    quorums: FxHashMap<QuorumId, Slots>,
    local_events_max: u32,
    local_events_cut: bool,
    transitions: u64,
    visits: u64,
    /// The transitions at which to ask whether to go on.
    next_question: u64,
}

/// Local states whose handlers are executed together: enough for many workers, few enough to keep the results small.
const BLOCK: u32 = 256;

/// Handlers that are executed together at most, for each of which there can be thousands of results.
const BATCH: usize = 1_024;

/// Transitions between two questions whether to go on.
const QUESTION_STEPS: u64 = 1_024;

impl<'l> LocalSpace<'l> {
    /// The start state alone, with the messages in flight there.
    pub fn new(stepper: &mut Stepper<'l>, start: &Start, local_events_max: u32) -> Self {
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
            transitions: 0,
            visits: 0,
            next_question: QUESTION_STEPS,
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
        self.states.push(Reached::new(state, node, depth, local_events));
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

    /// Visits of local states so far, most of which find nothing new to execute there.
    pub fn visits(&self) -> u64 {
        self.visits
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

    /// One pass over all local states: executes every message and local event that was not executed there yet.
    /// Returns false when there was none, so the space is complete. `go_on` is asked every now and then; if it says no, the pass
    /// ends early, and so returns true.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn pass(
        &mut self,
        stepper: &mut Stepper<'l>,
        go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<bool, MachineError> {
        self.find_single();
        self.local_events_cut = false;
        let before = self.transitions;
        let states = self.states.len() as u32;
        for block in (0..states).step_by(BLOCK as usize) {
            let block = block..states.min(block + BLOCK);
            self.visits += u64::from(block.end - block.start);
            let mut is_going = self.prepare(stepper, block.clone(), go_on)?;
            for index in block {
                is_going = is_going && self.expand(stepper, Index(index), go_on)?;
            }
            if !is_going || !go_on(self) {
                return Ok(true);
            }
        }
        Ok(self.transitions > before)
    }

    /// Asks `go_on` if it was not asked for a while.
    fn may_go_on(&mut self, go_on: &mut dyn FnMut(&Self) -> bool) -> bool {
        if self.transitions < self.next_question {
            return true;
        }
        self.next_question = self.transitions + QUESTION_STEPS;
        go_on(self)
    }

    /// Has the handlers executed that [`expand`](Self::expand) is going to ask for, by all workers together. What one
    /// state adds for another one of the block is executed when it is asked for. Returns whether to go on.
    fn prepare(
        &self,
        stepper: &mut Stepper<'l>,
        block: Range<u32>,
        go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<bool, MachineError> {
        let mut pairs = Vec::new();
        for reached in &self.states[block.start as usize..block.end as usize] {
            let local_state = stepper.state(reached.state);
            if local_state.snapshot.is_none() {
                continue;
            }
            for (slot, known) in self.inboxes[reached.node as usize].iter().enumerate() {
                let is_spent = reached.consumed.contains(slot) && self.single[reached.node as usize].contains(slot);
                let message = self.known[*known].message;
                let can_take = self.can_take(&local_state.standing, &stepper.message(message).route());
                if !reached.executed.contains(slot) && !is_spent && can_take {
                    pairs.push((reached.state, Trigger::deliver(message)));
                }
            }
            if !reached.local_events_done && reached.local_events < self.local_events_max {
                let events = local_state.local_events.iter();
                pairs.extend(events.map(|event| (reached.state, Trigger::local(*event))));
            }
            if !reached.faults_done {
                pairs.extend(local_state.faults.iter().map(|fault| (reached.state, *fault)));
            }
        }
        for batch in pairs.chunks(BATCH) {
            stepper.prepare(batch)?;
            if pairs.len() > BATCH && !go_on(self) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a node of this standing can take a message, as far as the node knows: what is lost for good is known here,
    /// the order of messages is left to the verification.
    ///
    /// Every break of a connection is one of its two nodes' breaks and resets. So a node that is told of more of them than
    /// it has begun itself and the peer has the budget for is told of something that never happens; without this, local
    /// states that do not fit together would tell each other of ever more breaks.
    fn can_take(&self, standing: &Standing, route: &Route) -> bool {
        let Faults { resets, breaks, .. } = self.lts.scenario().faults;
        standing.can_take(route) && route.incarnation <= standing.resets + standing.breaks + resets + breaks
    }

    /// Executes all that was not executed in a local state yet. Returns whether to go on.
    fn expand(
        &mut self,
        stepper: &mut Stepper<'l>,
        index: Index,
        go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<bool, MachineError> {
        let at = index.0 as usize;
        let Reached { state, node, .. } = self.states[at];
        let local_state = stepper.state(state).clone();
        if local_state.snapshot.is_none() {
            // Nothing happens any more at a node that is stuck in a fault.
            return Ok(true);
        }
        for slot in 0..self.inboxes[node as usize].len() {
            let reached = &self.states[at];
            let is_spent = reached.consumed.contains(slot) && self.single[node as usize].contains(slot);
            let message = self.known[self.inboxes[node as usize][slot]].message;
            let can_take = self.can_take(&local_state.standing, &stepper.message(message).route());
            if !reached.executed.contains(slot) && !is_spent && can_take {
                self.states[at].executed.insert(slot);
                self.execute(stepper, index, Trigger::deliver(message), Label::Message(slot as u32))?;
                if !self.may_go_on(go_on) {
                    return Ok(false);
                }
            }
        }
        if stepper.known().takes_quorums(node) && !self.expand_quorums(stepper, index, go_on)? {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.states[at].faults_done, true) {
            for fault in &local_state.faults {
                self.execute(stepper, index, *fault, Label::Fault)?;
            }
        }
        if local_state.local_events.is_empty() || self.states[at].local_events_done {
            return Ok(true);
        }
        if self.states[at].local_events >= self.local_events_max {
            self.local_events_cut = true;
            return Ok(true);
        }
        self.states[at].local_events_done = true;
        for event in &local_state.local_events {
            self.execute(stepper, index, Trigger::local(*event), Label::Local(event.0))?;
            if !self.may_go_on(go_on) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Executes the quorums of all messages that a local state may receive, unless that was done before. Returns whether to go
    /// on.
    fn expand_quorums(
        &mut self,
        stepper: &mut Stepper<'l>,
        index: Index,
        go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<bool, MachineError> {
        let Reached { state, node, ref consumed, .. } = self.states[index.0 as usize];
        let mut members = Vec::new();
        for (slot, known) in self.inboxes[node as usize].iter().enumerate() {
            let is_spent = consumed.contains(slot) && self.single[node as usize].contains(slot);
            if !is_spent {
                members.extend(stepper.member(state, self.known[*known].message, slot as u32)?);
            }
        }
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for_each_set(&members, &|_, _| true, &mut |set| sets.push(items(set)));
        for slots in sets {
            let message = |slot: &u32| self.known[self.inboxes[node as usize][*slot as usize]].message;
            let messages: Vec<MessageId> = slots.iter().map(message).collect();
            let quorum = stepper.quorum(&messages);
            if self.states[index.0 as usize].executed_quorums.insert(quorum) {
                self.quorums.entry(quorum).or_insert_with(|| Slots { node, slots: slots.into() });
                self.execute(stepper, index, Trigger::deliver_quorum(quorum), Label::Quorum(quorum))?;
                if !self.may_go_on(go_on) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn execute(
        &mut self,
        stepper: &mut Stepper<'l>,
        from: Index,
        trigger: Trigger,
        label: Label,
    ) -> Result<(), MachineError> {
        let Reached { state, node, depth, local_events, .. } = self.states[from.0 as usize];
        let row = stepper.step(state, trigger)?;
        let local_events = local_events + u32::from(trigger.local_event().is_some());
        for outcome in stepper.outcomes(row) {
            self.transitions += 1;
            // What is sent before a trap is never delivered: the execution is over.
            let is_over = stepper.state(outcome.next).snapshot.is_none();
            for message in outcome.sent.iter().filter(|_| !is_over) {
                let copies = outcome.sent.iter().filter(|other| *other == message).count() as u32;
                let known = self.know(stepper, *message);
                let known = &mut self.known[known];
                known.copies = known.copies.max(copies);
                if !known.triggers.contains(&trigger) {
                    known.triggers.push(trigger);
                }
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
            self.propagate(from, edge);
        }
        Ok(())
    }

    /// Brings what is known of the paths to a state up to date with a new edge to it, and that of its successors.
    fn propagate(&mut self, from: Index, edge: Edge) {
        let mut changed = Vec::new();
        if self.relax(from, edge) {
            changed.push(edge.to);
        }
        while let Some(from) = changed.pop() {
            for index in 0..self.states[from.0 as usize].successors.len() {
                let edge = self.states[from.0 as usize].successors[index];
                if self.relax(from, edge) {
                    changed.push(edge.to);
                }
            }
        }
    }

    /// Takes the paths through one edge into account; whether that told something new about its head.
    fn relax(&mut self, from: Index, edge: Edge) -> bool {
        let Edge { to, label } = edge;
        let event = if let Label::Local(event) = label { Some(event as usize) } else { None };
        let ends = self.states.get_disjoint_mut([from.0 as usize, to.0 as usize]);
        let Ok([source, target]) = ends else {
            // Whoever comes back has consumed no less than before, and has taken this event, if it is one.
            let state = &mut self.states[to.0 as usize];
            let is_new = |event: &usize| !state.taken.contains(*event);
            let new = event.filter(is_new);
            new.iter().for_each(|event| state.taken.insert(*event));
            return new.is_some();
        };
        let local_events = source.local_events + u32::from(event.is_some());
        let mut is_changed = target.consumed.intersect(&source.consumed, slots(&label, &self.quorums));
        is_changed |= target.taken.unite(&source.taken, event);
        is_changed |= local_events < target.local_events;
        target.local_events = target.local_events.min(local_events);
        is_changed
    }

    /// The index of a message in `known`.
    fn know(&mut self, stepper: &Stepper<'l>, message: MessageId) -> usize {
        let next = self.known.len();
        let known = *self.known_of.entry(message).or_insert(next);
        if known == next {
            let to = stepper.message(message).to;
            self.inboxes[to as usize].push(next);
            self.known.push(Known { message, triggers: Vec::new(), at_start: 0, copies: 0 });
        }
        known
    }

    /// Finds the messages of which no execution ever has a second copy: a path that has consumed such a message need
    /// not try it again.
    ///
    /// There is one copy at the start and nothing sends another; or only one trigger sends it, one copy at a time, and
    /// that trigger never happens twice: a single message, a quorum with one, or a local event that no path can repeat. A message found
    /// single for want of knowledge is corrected by a later pass, before the space is declared complete. Taken
    /// together the claims are sound: the first second copy in an execution would need a second occurrence of its
    /// trigger, hence an earlier second copy.
    fn find_single(&mut self) {
        let mut repeatable: FxHashSet<usize> = FxHashSet::default();
        for reached in &self.states {
            let state = self.lts.state(reached.state);
            let events = state.local_events.iter().map(|event| event.0 as usize);
            repeatable.extend(events.filter(|event| reached.taken.contains(*event)));
        }
        let mut is_single = vec![true; self.known.len()];
        loop {
            let mut changed = false;
            for known in 0..self.known.len() {
                if is_single[known] && !self.happens_once(known, &is_single, &repeatable) {
                    is_single[known] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for (inbox, single) in self.inboxes.iter().zip(&mut self.single) {
            for (slot, known) in inbox.iter().enumerate() {
                if is_single[*known] { single.insert(slot) } else { single.remove(slot) }
            }
        }
    }

    fn happens_once(&self, known: usize, is_single: &[bool], repeatable: &FxHashSet<usize>) -> bool {
        let Known { triggers, at_start, copies, .. } = &self.known[known];
        let max = *at_start as usize + triggers.len() * *copies as usize;
        let happens_once = |trigger: &Trigger| match (trigger.message(), trigger.local_event()) {
            (Some(message), _) => is_single[self.known_of[&message]],
            (_, Some(event)) => !repeatable.contains(&(event.0 as usize)),
            _ => match (trigger.quorum(), trigger.fault()) {
                (Some(quorum), _) => {
                    let Slots { node, slots } = &self.quorums[&quorum];
                    slots.iter().any(|slot| is_single[self.inboxes[*node as usize][*slot as usize]])
                }
                (None, Some(FaultEvent::Break(_))) => self.lts.scenario().faults.breaks <= 1,
                (None, _) => self.lts.scenario().faults.resets <= 1,
            },
        };
        max <= 1 && triggers.iter().all(happens_once)
    }

    /// The states from which one of `targets` can be reached on its node, the targets included.
    pub fn ancestors(&self, targets: impl Iterator<Item = Index>) -> FxHashSet<LocalStateId> {
        let mut found = FxHashSet::default();
        let mut stack: Vec<Index> = targets.collect();
        while let Some(index) = stack.pop() {
            let reached = &self.states[index.0 as usize];
            if found.insert(reached.state) {
                stack.extend(&reached.predecessors);
            }
        }
        found
    }
}

/// The messages that are consumed along an edge, by their indices at the node.
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
