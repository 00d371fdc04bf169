//! The causal unfolding of a distributed system: events with their causes.
//!
//! | module | what it holds |
//! |---|---|
//! | `view` | the unfolding as workers read it: extensions of an event, and their results |
//! | `adequate_order` | which of several events with one global state survives |
//! | `chains` | the tree of events of each node: ancestors, compatible pasts, joins |
//! | `configurations` | all configurations of an unfolding, one by one |
//! | `reachable_tuples` | the tuples of view classes that an unfolding reaches |
//! | `deadlocks` | the smallest deadlocks in an unfolding |
//! | `smallest_violations` | the smallest violations of unfoldings, over all start states |
//!
//! An event is one execution of a handler together with everything that had to happen before it. Its past is a
//! configuration: for each node a chain of events, given by the last one, so a past is a vector with one event a
//! node. The events of a node form a tree, whose branches exclude each other. Two pasts are compatible when for every
//! node one of the two entries is an ancestor of the other, and then their join, which takes the later entries, is a
//! configuration too. Configurations are exactly the executions of the system up to the order of independent events,
//! so whatever is built from compatible events is reachable. An event that delivers a quorum has several senders, whose
//! pasts are compatible with each other.
//!
//! Events are made in the order of the size of their pasts. An event whose past ends in the same global state as an
//! earlier one is cut off: nothing new follows it. Among events of one size that reach the same global state the least
//! by the local words of their pasts survives, and of identical messages of one sender the oldest is consumed first;
//! both are needed for completeness.
//!
//! Source: McMillan, "Using unfoldings to avoid the state explosion problem", CAV 1992; Esparza, Römer, Vogler, "An
//! improvement of McMillan's unfolding algorithm", TACAS 1996. Differs in: works on messages and local states instead
//! of Petri nets, and a past is a vector, since each node's events form a tree.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, MachineError, Role};
use host_model::lts::{LocalStateId, MessageId, Step, Stepper, Trigger};
use host_model::scenario::Route;
use host_model::trace::start::Start;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use crate::unfolding::adequate_order::Order;
pub use crate::unfolding::chains::EventId;

use crate::global::state::{Budgets, GlobalState};
use crate::global::visited::Visited;
use crate::kernel::Limits;
use crate::unfolding::chains::Chains;
use crate::unfolding::view::{Consumed, Ends, Extension, Instance, InstanceId, NONE, Offer, Staged, Trees};

pub(crate) mod adequate_order;
pub(crate) mod chains;
pub(crate) mod configurations;
pub(crate) mod deadlocks;
pub(crate) mod reachable_tuples;
pub(crate) mod smallest_violations;
pub(crate) mod view;

/// What an event is, besides its past.
#[derive(Clone, Debug)]
pub struct Event {
    /// The node where it happens.
    pub node: u32,
    /// The local state afterwards.
    pub state: LocalStateId,
    /// The class of that state.
    pub class: ClassId,
    /// Number of events in the past, this one included.
    pub size: u32,
    /// Classes that this event or one below it begins, a bit each; the last bit stands for all further classes.
    pub classes_below: u64,
    /// The trigger and the outcome; meaningless for a root.
    pub(crate) step: Step,
    /// The instances consumed; meaningless for a root.
    pub(crate) consumed: Consumed,
    pub(crate) first_child: u32,
    pub(crate) next_sibling: u32,
    /// Local events on the chain.
    pub(crate) local_events: u32,
    /// The instances sent: from the first up to, not including, the second.
    pub(crate) sent: (u32, u32),
    /// What the chain adds to the fingerprint of a global state.
    pub(crate) chain: Fingerprint,
}

/// What [`Unfolding::grow`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// There may be larger events.
    More,
    /// There are no larger events.
    Complete,
    /// It was told to stop.
    Stopped,
}

/// How many extensions or events are worked on between two questions whether to go on.
const PART: usize = 16_384;

/// How many events the first part has whose results take an amount of memory that is not known before.
const FIRST_PART: usize = 64;

/// Bytes that the results of a part may take, about: the next part is shorter or longer by them.
const PART_BYTES: usize = 16 << 20;

/// How many extensions a worker takes at a time.
const GRAIN: usize = 256;

/// Which local states an unfolding may enter; a restriction by a caller that knows which ones can matter.
pub trait Relevance {
    /// Whether an event that ends in this local state is of interest.
    fn is_relevant(&self, state: LocalStateId) -> bool;
}

/// Everything is of interest.
pub struct Everything;

impl Relevance for Everything {
    fn is_relevant(&self, _state: LocalStateId) -> bool {
        true
    }
}

/// The unfolding from one start state, explored size by size.
pub struct Unfolding<'u, 'l> {
    stepper: &'u mut Stepper<'l>,
    relevance: &'u dyn Relevance,
    limits: Limits,
    order: Order,
    nodes: usize,
    base: Fingerprint,
    /// On an ordered network, the part of it that is in flight on links without order.
    loose_base: Fingerprint,
    budgets: Budgets,
    chains: Chains,
    events: Vec<Event>,
    /// The pasts, a vector of `nodes` entries for each event; its own entry is the event itself.
    pasts: Vec<EventId>,
    instances: Vec<Instance>,
    /// The quorums that extensions consume.
    quorums: Vec<Box<[InstanceId]>>,
    /// On an ordered network, what each event knows of the channels of its node: `nodes` entries; else none.
    ends: Vec<Ends>,
    /// For each event the instances that can be consumed right after it, or once an older one is.
    candidates: Vec<Vec<InstanceId>>,
    /// For how many candidates there is room.
    candidate_room: usize,
    /// Bytes of what is worked on while the unfolding grows.
    at_hand: usize,
    /// The extensions by the size of the event that they make.
    queue: Vec<Vec<Extension>>,
    queued: u64,
    size: usize,
    seen: Visited,
    /// Executed extensions, cut-off events included.
    executed: u64,
    /// Some event was left out by the bound on local events.
    local_events_cut: bool,
}

impl<'u, 'l> Unfolding<'u, 'l> {
    /// The roots, and the extensions possible at the start.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(
        stepper: &'u mut Stepper<'l>,
        start: &Start,
        limits: Limits,
        relevance: &'u dyn Relevance,
        order: Order,
    ) -> Result<Self, MachineError> {
        let nodes = start.locals.len();
        let mut unfolding = Self {
            stepper,
            relevance,
            limits,
            order,
            nodes,
            base: 0,
            loose_base: 0,
            budgets: Budgets::new(nodes, &limits),
            chains: Chains::default(),
            events: Vec::new(),
            pasts: Vec::new(),
            instances: Vec::new(),
            quorums: Vec::new(),
            ends: Vec::new(),
            candidates: Vec::new(),
            candidate_room: 0,
            at_hand: 0,
            queue: Vec::new(),
            queued: 0,
            size: 0,
            seen: Visited::new(),
            executed: 0,
            local_events_cut: false,
        };
        unfolding.plant(start)?;
        Ok(unfolding)
    }

    /// Makes the roots and the messages that are in flight at the start, which the roots have sent.
    fn plant(&mut self, start: &Start) -> Result<(), MachineError> {
        let roots: Vec<EventId> = (0..self.nodes).map(|_| self.chains.push_root()).collect();
        for (root, state) in roots.iter().zip(&start.locals) {
            let (class, fingerprint) = {
                let state = self.stepper.state(*state);
                (state.protocol.class, state.fingerprint)
            };
            self.base = self.base.wrapping_add(fingerprint);
            self.events.push(Event {
                node: root.0,
                state: *state,
                class,
                size: 0,
                classes_below: class_bit(class),
                step: Step { node: root.0, trigger: Trigger::deliver(MessageId(0)), outcome: 0 },
                consumed: Consumed::Nothing,
                first_child: NONE,
                next_sibling: NONE,
                local_events: 0,
                sent: (0, start.in_flight.len() as u32),
                chain: 0,
            });
            self.pasts.extend(&roots);
            self.candidates.push(Vec::new());
        }
        if self.stepper.known().is_ordered() {
            return self.plant_in_order(start, &roots);
        }
        let mut older: Option<(MessageId, u32)> = None;
        for message in &start.in_flight {
            let (from, to, fingerprint) = {
                let message = self.stepper.message(*message);
                (message.from, message.to, message.fingerprint)
            };
            self.base = self.base.wrapping_add(fingerprint);
            let instance = self.instances.len() as u32;
            // Equal messages stand side by side, since messages in flight are sorted.
            let before = older.filter(|(other, _)| other == message).map_or(NONE, |(_, instance)| instance);
            let sender = EventId(from);
            self.instances.push(Instance { message: *message, sender, older: before, before: NONE, position: 0 });
            self.candidates[to as usize].push(InstanceId(instance));
            older = Some((*message, instance));
        }
        self.seen.insert(self.base, 0);
        for root in roots {
            self.schedule(root)?;
        }
        Ok(())
    }

    /// The rest on an ordered network.
    fn plant_in_order(&mut self, start: &Start, roots: &[EventId]) -> Result<(), MachineError> {
        for root in roots {
            let mut ends = vec![Ends { last_sent: NONE, taken: 0 }; self.nodes];
            let from = root.0;
            let sent = start.in_flight.iter().filter(|id| self.stepper.message(**id).from == from);
            let sent: Vec<MessageId> = sent.copied().collect();
            let first = self.instances.len() as u32;
            self.post_in_order(*root, &mut ends, &sent);
            self.events[root.0 as usize].sent = (first, self.instances.len() as u32);
            self.ends.extend(ends);
        }
        for index in 0..self.instances.len() {
            let to = self.stepper.message(self.instances[index].message).to;
            self.candidates[to as usize].push(InstanceId(index as u32));
        }
        self.base = GlobalState::new(self.stepper.known(), start).fingerprint;
        self.loose_base = self.trees().loose_delta(&start.in_flight, std::iter::empty());
        self.seen.insert(self.base, 0);
        for root in roots {
            self.schedule(*root)?;
        }
        Ok(())
    }

    /// All events, the roots first. Cut-off events are not among them.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// An event by id.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.0 as usize]
    }

    /// The last event of each node in the past of an event; its own entry is the event itself.
    pub fn past(&self, id: EventId) -> &[EventId] {
        let first = id.0 as usize * self.nodes;
        &self.pasts[first..first + self.nodes]
    }

    /// The chains of the nodes.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// Whether an event is the first on its chain in a class.
    pub fn begins(&self, id: EventId, class: ClassId) -> bool {
        let event = self.event(id);
        let prev = self.chains.prev(id);
        event.class == class && (prev == id || self.event(prev).class != class)
    }

    /// The events right after an event on the same node.
    pub fn children(&self, id: EventId) -> impl Iterator<Item = EventId> {
        let some = |id: u32| (id != NONE).then_some(EventId(id));
        std::iter::successors(some(self.event(id).first_child), move |id| some(self.event(*id).next_sibling))
    }

    /// Executed extensions so far, cut-off events included.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Extensions that are not executed yet.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// The size of the events made last.
    pub fn size(&self) -> u32 {
        self.size as u32
    }

    /// Whether some event is larger than the bound on depth allows, as far as it is known yet.
    pub fn depth_cut(&self) -> bool {
        let larger = self.limits.depth.and_then(|depth| self.queue.get(depth as usize + 1..));
        larger.is_some_and(|queues| queues.iter().any(|extensions| !extensions.is_empty()))
    }

    /// Whether some local event was left out by the bound on them.
    pub fn local_events_cut(&self) -> bool {
        self.local_events_cut
    }

    /// Bytes kept, roughly.
    pub fn bytes(&self) -> u64 {
        let candidates =
            self.candidates.capacity() * size_of::<Vec<InstanceId>>() + self.candidate_room * size_of::<InstanceId>();
        let each = self.events.capacity() * size_of::<Event>()
            + self.pasts.capacity() * size_of::<EventId>()
            + self.instances.capacity() * size_of::<Instance>()
            + self.quorums.iter().map(|quorum| size_of_val(quorum) + size_of_val(&**quorum)).sum::<usize>()
            + self.ends.capacity() * size_of::<Ends>()
            + self.at_hand
            + candidates;
        each as u64 + self.chains.bytes() + self.queued * size_of::<Extension>() as u64 + self.seen.bytes()
    }

    /// The worker that executes the handlers.
    pub fn stepper(&mut self) -> &mut Stepper<'l> {
        self.stepper
    }

    /// Makes all events of the next size that there are; the new ones are the last in [`events`](Self::events).
    /// `may_go_on` is asked every now and then; once it has returned false, the unfolding is of no use but for what it has.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn grow(&mut self, may_go_on: &mut dyn FnMut(&Self) -> bool) -> Result<Grown, MachineError> {
        if cfg!(feature = "canary") && self.order == Order::LargestFirst {
            self.size = self.queue.iter().rposition(|extensions| !extensions.is_empty()).unwrap_or(usize::MAX - 1);
        }
        while self.queue.get(self.size).is_none_or(Vec::is_empty) {
            if self.size >= self.queue.len() {
                return Ok(Grown::Complete);
            }
            self.size += 1;
        }
        if self.limits.depth.is_some_and(|depth| self.size as u32 > depth) {
            return Ok(Grown::Complete);
        }
        let extensions = std::mem::take(&mut self.queue[self.size]);
        self.queued -= extensions.len() as u64;
        self.at_hand = extensions.capacity() * size_of::<Extension>();
        let Some(staged) = self.compete(&extensions, may_go_on)? else { return Ok(Grown::Stopped) };
        drop(extensions);
        self.at_hand = staged.capacity() * size_of::<Staged>();
        let first = self.events.len();
        // A past has an entry per node.
        let part_max = (PART_BYTES / (self.nodes * size_of::<EventId>())).clamp(1, PART);
        for part in staged.chunks(part_max) {
            let trees = self.trees();
            let pasts: Vec<Box<[EventId]>> = part.par_iter().map(|staged| trees.past_of(staged.extension)).collect();
            for (staged, past) in part.iter().zip(pasts) {
                self.seen.insert(staged.fingerprint, 0);
                self.add(staged, &past);
            }
            if staged.len() > part_max && !may_go_on(self) {
                return Ok(Grown::Stopped);
            }
        }
        drop(staged);
        // All events of this size inherit first: an offer must not meet an event that is only half there.
        let added: Vec<EventId> = (first..self.events.len()).map(|id| EventId(id as u32)).collect();
        self.at_hand = added.capacity() * size_of::<EventId>();
        let mut parts = Parts::new(&added);
        while let Some(part) = parts.next_part() {
            let trees = self.trees();
            let inherited: Vec<Vec<InstanceId>> = part.par_iter().map(|id| trees.inherited(*id)).collect();
            let room: usize = inherited.iter().map(Vec::capacity).sum();
            self.candidate_room += room;
            for (id, inherited) in part.iter().zip(inherited) {
                self.candidates[id.0 as usize] = inherited;
                self.schedule(*id)?;
            }
            if parts.is_question_due(room * size_of::<InstanceId>()) && !may_go_on(self) {
                return Ok(Grown::Stopped);
            }
        }
        let mut parts = Parts::new(&added);
        while let Some(part) = parts.next_part() {
            let trees = self.trees();
            let offers: Vec<Vec<Offer>> = part.par_iter().map(|id| trees.offers(*id)).collect();
            let room: usize = offers.iter().map(Vec::capacity).sum();
            for offer in offers.into_iter().flatten() {
                self.accept(offer)?;
            }
            if parts.is_question_due(room * size_of::<Offer>()) && !may_go_on(self) {
                return Ok(Grown::Stopped);
            }
        }
        self.at_hand = 0;
        self.size += 1;
        Ok(Grown::More)
    }

    /// What workers read while nothing changes.
    pub(crate) fn trees(&self) -> Trees<'_> {
        Trees {
            nodes: self.nodes,
            known: self.stepper.known(),
            chains: &self.chains,
            events: &self.events,
            pasts: &self.pasts,
            instances: &self.instances,
            quorums: &self.quorums,
            candidates: &self.candidates,
            ends: &self.ends,
            loose_base: self.loose_base,
            keeps_idle: self.stepper.known().is_ordered() || self.limits.deadlock,
        }
    }

    /// Executes extensions of one size; of those that reach the same global state only the least survives, and none
    /// if a smaller one has reached it. None if it was told to stop.
    fn compete(
        &mut self,
        extensions: &[Extension],
        may_go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<Option<Vec<Staged>>, MachineError> {
        let mut survivors: Vec<Staged> = Vec::new();
        let mut by_state: FxHashMap<Fingerprint, usize> = FxHashMap::default();
        for part in extensions.chunks(PART) {
            let pairs: Vec<_> = part.iter().map(|one| (self.event(one.prev).state, one.trigger)).collect();
            self.stepper.prepare(&pairs)?;
            let (trees, seen) = (self.trees(), &self.seen);
            let mut executed = 0;
            let reached = |part: &[Extension]| {
                let mut staged = Vec::with_capacity(part.len());
                let executed: usize =
                    part.iter().map(|one| trees.execute(*one, self.base, &self.budgets, &mut staged)).sum();
                staged.retain(|staged| !seen.contains(staged.fingerprint));
                (executed, staged)
            };
            let reached: Vec<(usize, Vec<Staged>)> = part.par_chunks(GRAIN).map(reached).collect();
            for (outcomes, staged) in reached {
                executed += outcomes as u64;
                for one in staged {
                    if !self.relevance.is_relevant(one.next) {
                        continue;
                    }
                    match by_state.entry(one.fingerprint) {
                        Entry::Vacant(entry) => {
                            entry.insert(survivors.len());
                            survivors.push(one);
                        }
                        Entry::Occupied(entry) => {
                            let rival = &mut survivors[*entry.get()];
                            let (past, past_of_rival) = (trees.past_of(one.extension), trees.past_of(rival.extension));
                            let (words, words_of_rival) = (one.words(&past), rival.words(&past_of_rival));
                            if words.compare(&words_of_rival, trees.chains, trees.events) == Ordering::Less {
                                *rival = one;
                            }
                        }
                    }
                }
            }
            self.executed += executed;
            if !may_go_on(self) {
                return Ok(None);
            }
        }
        Ok(Some(survivors))
    }

    fn add(&mut self, staged: &Staged, past: &[EventId]) {
        let Staged { extension, outcome, .. } = *staged;
        let id = self.chains.push(extension.prev);
        let prev = self.event(extension.prev).clone();
        let row = self.stepper.step(prev.state, extension.trigger).expect("the step was executed before");
        let executed = self.stepper.outcomes(row)[outcome as usize].clone();
        let is_local = extension.trigger.local_event().is_some();
        let delta = match self.stepper.known().is_ordered() {
            true => {
                let consumed = extension.consumed.instances(&self.quorums).iter();
                let consumed = consumed.map(|instance| self.instances[instance.0 as usize].message);
                self.trees().loose_delta(&executed.sent, consumed)
            }
            false => executed.delta.wrapping_add(self.budgets.of_step(prev.node, extension.trigger)),
        };
        let class = self.stepper.state(executed.next).protocol.class;
        let size = self.chains.config_size(past) + 1;
        let first_sent = self.instances.len() as u32;
        self.events.push(Event {
            node: prev.node,
            state: executed.next,
            class,
            size,
            classes_below: 0,
            step: Step { node: prev.node, trigger: extension.trigger, outcome },
            consumed: extension.consumed,
            first_child: NONE,
            next_sibling: prev.first_child,
            local_events: prev.local_events + u32::from(is_local),
            sent: (first_sent, first_sent + executed.sent.len() as u32),
            chain: prev.chain.wrapping_add(delta),
        });
        self.events[extension.prev.0 as usize].first_child = id.0;
        self.pasts.extend_from_slice(past);
        let own = self.pasts.len() - self.nodes + prev.node as usize;
        self.pasts[own] = id;
        if class != prev.class {
            self.note_class(id, class);
        }
        if self.stepper.known().is_ordered() {
            self.send_in_order(id, extension.prev, extension.consumed, &executed.sent);
            self.candidates.push(Vec::new());
            return;
        }
        for message in &executed.sent {
            let older = self.find_older(id, *message);
            self.instances.push(Instance { message: *message, sender: id, older, before: NONE, position: 0 });
        }
        self.candidates.push(Vec::new());
    }

    /// Notes at the end of an event's chain what the event takes, and sends messages after what the chain has sent.
    fn send_in_order(&mut self, id: EventId, prev: EventId, consumed: Consumed, sent: &[MessageId]) {
        let first = prev.0 as usize * self.nodes;
        let mut ends: Vec<Ends> = self.ends[first..first + self.nodes].to_vec();
        for instance in consumed.instances(&self.quorums) {
            let instance = &self.instances[instance.0 as usize];
            let route = self.stepper.message(instance.message).route();
            if !route.is_loose() {
                ends[route.from as usize].taken = instance.position + 1;
            }
        }
        self.post_in_order(id, &mut ends, sent);
        self.ends.extend(ends);
    }

    /// Sends messages, each after the one sent last to its destination.
    fn post_in_order(&mut self, sender: EventId, ends: &mut [Ends], sent: &[MessageId]) {
        for message in sent {
            let Route { to, is_notice, lane, .. } = self.stepper.message(*message).route();
            if lane > 0 {
                let older = self.find_older(sender, *message);
                self.instances.push(Instance { message: *message, sender, older, before: NONE, position: 0 });
                continue;
            }
            let to = to as usize;
            let before = ends[to].last_sent;
            let position = self.instances.get(before as usize).map_or(0, |instance| instance.position + 1);
            let mut older = before;
            while is_notice && older != NONE {
                let Instance { message, before, .. } = self.instances[older as usize];
                if self.stepper.message(message).is_notice {
                    break;
                }
                older = before;
            }
            ends[to].last_sent = self.instances.len() as u32;
            self.instances.push(Instance { message: *message, sender, older, before, position });
        }
    }

    /// Marks an event and all before it as leading to a class.
    fn note_class(&mut self, event: EventId, class: ClassId) {
        let bit = class_bit(class);
        let mut at = event;
        while self.event(at).classes_below & bit == 0 {
            self.events[at.0 as usize].classes_below |= bit;
            at = self.chains.prev(at);
        }
    }

    /// The last identical message that the sender sent before, in the same event or in an earlier one.
    fn find_older(&self, sender: EventId, message: MessageId) -> u32 {
        let mut at = sender;
        loop {
            let (first, last) = self.event(at).sent;
            let prev = self.chains.prev(at);
            // The sender's last messages may not be there yet.
            let last = last.min(self.instances.len() as u32);
            if let Some(index) = (first..last).rev().find(|index| self.instances[*index as usize].message == message) {
                return index;
            }
            if prev == at {
                return NONE;
            }
            at = prev;
        }
    }

    /// Makes an instance a candidate of an event.
    fn accept(&mut self, Offer { instance, to, size }: Offer) -> Result<(), MachineError> {
        let Instance { message, older, .. } = self.instances[instance.0 as usize];
        // While an older identical message is a candidate, that one goes first.
        let blocked = older != NONE && self.candidates[to.0 as usize].contains(&InstanceId(older));
        let candidates = &mut self.candidates[to.0 as usize];
        let room = candidates.capacity();
        candidates.push(instance);
        self.candidate_room += candidates.capacity() - room;
        let state = self.event(to).state;
        if blocked || self.stepper.state(state).is_stuck() {
            return Ok(());
        }
        match self.stepper.role(state, message)? {
            Role::Alone => {
                let consumed = Consumed::One(instance);
                self.enqueue(size as usize, Extension { prev: to, trigger: Trigger::deliver(message), consumed });
            }
            Role::Held => {}
            Role::Member(_) => self.schedule_quorums(to, Some(instance))?,
        }
        Ok(())
    }

    /// Schedules everything that can follow an event by its candidates and its state.
    fn schedule(&mut self, id: EventId) -> Result<(), MachineError> {
        let Event { state, local_events, size, .. } = *self.event(id);
        let local_state = self.stepper.state(state).clone();
        if local_state.is_stuck() {
            // Nothing happens any more at a node that is stuck in a fault.
            self.candidates[id.0 as usize].clear();
            return Ok(());
        }
        let node = self.event(id).node;
        for index in 0..self.candidates[id.0 as usize].len() {
            let instance = self.candidates[id.0 as usize][index];
            let message = self.instances[instance.0 as usize].message;
            if !self.is_blocked(id, instance) && self.stepper.role(state, message)? == Role::Alone {
                self.schedule_instance(id, instance);
            }
        }
        if self.stepper.known().takes_quorums(node) {
            self.schedule_quorums(id, None)?;
        }
        for fault in &local_state.faults {
            self.enqueue(size as usize + 1, Extension { prev: id, trigger: *fault, consumed: Consumed::Nothing });
        }
        if self.limits.local_events.is_some_and(|max| local_events >= max) {
            self.local_events_cut |= !local_state.protocol.local_events.is_empty();
            return Ok(());
        }
        for event in &local_state.protocol.local_events {
            let extension = Extension { prev: id, trigger: Trigger::local(*event), consumed: Consumed::Nothing };
            self.enqueue(size as usize + 1, extension);
        }
        Ok(())
    }

    /// Whether an older instance of a candidate has to be consumed first.
    fn is_blocked(&self, id: EventId, instance: InstanceId) -> bool {
        let older = self.instances[instance.0 as usize].older;
        older != NONE && self.candidates[id.0 as usize].contains(&InstanceId(older))
    }

    /// Schedules the quorums among the candidates of an event; those with a certain member if it is given.
    fn schedule_quorums(&mut self, prev: EventId, last: Option<InstanceId>) -> Result<(), MachineError> {
        let state = self.event(prev).state;
        let mut members = Vec::new();
        for index in 0..self.candidates[prev.0 as usize].len() {
            let instance = self.candidates[prev.0 as usize][index];
            if !self.is_blocked(prev, instance) {
                let message = self.instances[instance.0 as usize].message;
                members.extend(self.stepper.member(state, message, instance)?);
            }
        }
        for quorum in self.trees().quorums_of(&members, last) {
            let messages: Vec<MessageId> =
                quorum.iter().map(|instance| self.instances[instance.0 as usize].message).collect();
            let trigger = Trigger::deliver_quorum(self.stepper.quorum(&messages));
            let consumed =
                Consumed::Quorum(u32::try_from(self.quorums.len()).expect("fewer than four billion quorums"));
            self.quorums.push(quorum);
            let extension = Extension { prev, trigger, consumed };
            let size = self.chains.config_size(&self.trees().past_of(extension)) + 1;
            self.enqueue(size as usize, extension);
        }
        Ok(())
    }

    fn schedule_instance(&mut self, prev: EventId, instance: InstanceId) {
        let Instance { message, sender, .. } = self.instances[instance.0 as usize];
        let size = self.trees().size_of_join(prev, sender) + 1;
        let extension = Extension { prev, trigger: Trigger::deliver(message), consumed: Consumed::One(instance) };
        self.enqueue(size as usize, extension);
    }

    fn enqueue(&mut self, size: usize, extension: Extension) {
        if self.queue.len() <= size {
            self.queue.resize_with(size + 1, Vec::new);
        }
        self.queue[size].push(extension);
        self.queued += 1;
    }

    /// The events of a configuration in an order in which they can happen.
    pub fn linearise(&self, config: &[EventId]) -> Vec<Step> {
        let chains: Vec<Vec<EventId>> = config.iter().map(|last| self.chains.chain(*last)).collect();
        let mut done = vec![0; chains.len()];
        let mut path = Vec::new();
        loop {
            let mut moved = false;
            for (node, chain) in chains.iter().enumerate() {
                while let Some(event) = chain.get(done[node]) {
                    let event = self.event(*event);
                    let is_sent = event.consumed.instances(&self.quorums).iter().all(|instance| {
                        let sender = self.instances[instance.0 as usize].sender;
                        self.chains.len(sender) as usize <= done[self.event(sender).node as usize]
                    });
                    if !is_sent {
                        break;
                    }
                    path.push(event.step);
                    done[node] += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert_eq!(path.len(), self.chains.config_size(config) as usize, "a configuration can be executed");
        path
    }
}

/// Events in parts of which each takes about as much memory as the others, whatever comes of an event.
struct Parts<'e> {
    events: &'e [EventId],
    len: usize,
    /// Events and bytes since the last question whether to go on.
    events_since: usize,
    bytes_since: usize,
}

impl<'e> Parts<'e> {
    fn new(events: &'e [EventId]) -> Self {
        Self { events, len: FIRST_PART, events_since: 0, bytes_since: 0 }
    }

    fn next_part(&mut self) -> Option<&'e [EventId]> {
        let (part, rest) = self.events.split_at(self.len.min(self.events.len()));
        self.events = rest;
        self.events_since += part.len();
        (!part.is_empty()).then_some(part)
    }

    /// Whether to ask now: after so many events or bytes, and at the end. The last part has taken so many bytes.
    fn is_question_due(&mut self, bytes: usize) -> bool {
        self.len = match bytes {
            0..PART_BYTES => (2 * self.len).min(PART),
            _ => (self.len / 2).max(1),
        };
        self.bytes_since += bytes;
        let is_due = self.events.is_empty() || self.events_since >= PART || self.bytes_since >= PART_BYTES;
        if is_due {
            (self.events_since, self.bytes_since) = (0, 0);
        }
        is_due
    }
}

/// The bit of a class in [`Event::classes_below`].
pub fn class_bit(class: ClassId) -> u64 {
    1 << class.0.min(63)
}
