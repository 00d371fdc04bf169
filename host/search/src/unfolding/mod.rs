//! The causal unfolding of a distributed system: events with their causes.
//!
//! | module | what it holds |
//! |---|---|
//! | `roots` | the roots of an unfolding, and the messages in flight at the start |
//! | `growth` | the events of the next size: extensions compete, and survivors become events |
//! | `scheduling` | extensions that can follow an event, queued by the size of the event that they make |
//! | `instances` | the messages that an event sends, each with the one to be consumed before it |
//! | `view` | the unfolding as workers read it: extensions of an event, and their results |
//! | `adequate_order` | which of several events with one global state survives |
//! | `chains` | the tree of events of each node: ancestors, compatible pasts, joins |
//! | `configurations` | all configurations of an unfolding, one by one |
//! | `reachable_tuples` | the tuples of view classes that an unfolding reaches |
//! | `deadlocks` | the smallest deadlocks in an unfolding |
//! | `smallest_violations` | the smallest violations of unfoldings, over all start states |
//!
//! An event is one execution of a handler together with everything that had to happen before it. Its past is a
//! configuration: for each node a chain of events, given by the last one, so a past is a vector with one event per
//! node. The events of a node form a tree, whose branches exclude each other. Two pasts are compatible when for every
//! node one of the two entries is an ancestor of the other, and then their join, which takes the later entries, is a
//! configuration too. Configurations are exactly the executions of the system up to the order of independent events,
//! so every set of compatible events is reachable. An event that delivers a quorum has several senders, whose
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

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, MachineError};
use host_model::lts::{LocalStateId, Step, Stepper};
use host_model::trace::start::Start;

pub use crate::unfolding::chains::EventId;
pub use crate::unfolding::growth::Grown;

use crate::global::state::Budgets;
use crate::global::visited::Visited;
use crate::kernel::SearchBounds;
use crate::unfolding::chains::Chains;
use crate::unfolding::view::{ChannelFrontier, Consumed, Extension, Instance, InstanceId, NONE, UnfoldingView};

pub(crate) mod adequate_order;
pub(crate) mod chains;
pub(crate) mod configurations;
pub(crate) mod deadlocks;
mod growth;
mod instances;
pub(crate) mod reachable_tuples;
mod roots;
mod scheduling;
pub(crate) mod smallest_violations;
pub(crate) mod view;

/// An event without its past.
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
    /// One bit per class that this event or one below it begins; the last bit stands for all further classes.
    pub classes_below: u64,
    /// The trigger and the outcome; meaningless for a root.
    pub(crate) step: Step,
    /// The instances consumed; meaningless for a root.
    pub(crate) consumed: Consumed,
    pub(crate) first_child: u32,
    pub(crate) next_sibling: u32,
    /// Local events on the chain.
    pub(crate) local_events: u32,
    /// The instances sent, as a half-open range.
    pub(crate) sent: (u32, u32),
    /// The summand of the chain in the fingerprint of a global state.
    pub(crate) chain: Fingerprint,
}

/// The local states that an unfolding may enter; a restriction by a caller that knows which ones can matter.
pub trait Relevance {
    /// Whether an event that ends in this local state is relevant.
    fn is_relevant(&self, state: LocalStateId) -> bool;
}

/// All local states are relevant.
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
    bounds: SearchBounds,
    nodes: usize,
    base: Fingerprint,
    /// On an ordered network, the part of the fingerprint for messages in flight on links without order.
    unordered_base: Fingerprint,
    budgets: Budgets,
    chains: Chains,
    events: Vec<Event>,
    /// The pasts, a vector of `nodes` entries for each event; its own entry is the event itself.
    pasts: Vec<EventId>,
    instances: Vec<Instance>,
    /// The quorums that extensions consume.
    quorums: Vec<Box<[InstanceId]>>,
    /// On an ordered network, the knowledge of each event about the channels of its node: `nodes` entries; else none.
    frontiers: Vec<ChannelFrontier>,
    /// For each event the instances that can be consumed right after it, or once an older one is, in the order of their ids.
    candidates: Vec<Vec<InstanceId>>,
    /// Number of candidates for which there is room.
    candidate_room: usize,
    /// Bytes of temporary data while the unfolding grows.
    at_hand: usize,
    /// The extensions by the size of the event that they make.
    queue: Vec<Vec<Extension>>,
    queued: u64,
    size: usize,
    seen: Visited,
    /// Executed extensions, cut-off events included.
    executed: u64,
    /// See [`steps`](Self::steps).
    steps: u64,
    /// Whether the bound on local events left out some event.
    local_events_cut: bool,
}

impl<'u, 'l> Unfolding<'u, 'l> {
    /// An unfolding with only the roots, and the extensions possible at the start.
    pub fn new(
        stepper: &'u mut Stepper<'l>,
        start: &Start,
        bounds: SearchBounds,
        relevance: &'u dyn Relevance,
    ) -> Result<Self, MachineError> {
        let nodes = start.locals.len();
        let mut unfolding = Self {
            stepper,
            relevance,
            bounds,
            nodes,
            base: 0,
            unordered_base: 0,
            budgets: Budgets::new(nodes, &bounds),
            chains: Chains::default(),
            events: Vec::new(),
            pasts: Vec::new(),
            instances: Vec::new(),
            quorums: Vec::new(),
            frontiers: Vec::new(),
            candidates: Vec::new(),
            candidate_room: 0,
            at_hand: 0,
            queue: Vec::new(),
            queued: 0,
            size: 0,
            seen: Visited::new(),
            executed: 0,
            steps: 0,
            local_events_cut: false,
        };
        unfolding.plant(start)?;
        Ok(unfolding)
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

    /// The work so far to find the successors of new events: candidates, and events that messages are offered to.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Extensions that are not executed yet.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// The size of the events made last.
    pub fn size(&self) -> u32 {
        self.size as u32
    }

    /// Whether an event exceeds the bound on depth, as far as known yet.
    pub fn depth_cut(&self) -> bool {
        let larger = self.bounds.depth.and_then(|depth| self.queue.get(depth as usize + 1..));
        larger.is_some_and(|queues| queues.iter().any(|extensions| !extensions.is_empty()))
    }

    /// Whether the bound on local events left out some event.
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
            + self.frontiers.capacity() * size_of::<ChannelFrontier>()
            + self.at_hand
            + candidates;
        each as u64 + self.chains.bytes() + self.queued * size_of::<Extension>() as u64 + self.seen.bytes()
    }

    /// The worker that executes the handlers.
    pub fn stepper(&mut self) -> &mut Stepper<'l> {
        self.stepper
    }

    /// The parts that workers read while the unfolding does not change.
    pub(crate) fn view(&self) -> UnfoldingView<'_> {
        UnfoldingView {
            nodes: self.nodes,
            known: self.stepper.known(),
            chains: &self.chains,
            events: &self.events,
            pasts: &self.pasts,
            instances: &self.instances,
            quorums: &self.quorums,
            candidates: &self.candidates,
            frontiers: &self.frontiers,
            unordered_base: self.unordered_base,
            keeps_idle: self.stepper.known().is_ordered() || self.bounds.deadlock,
        }
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

/// The bit of a class in [`Event::classes_below`].
pub fn class_bit(class: ClassId) -> u64 {
    1 << class.0.min(63)
}
