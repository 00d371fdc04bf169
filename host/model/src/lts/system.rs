//! The local transition system of one protocol in one scenario: its tables behind one lock, shared by all workers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use rustc_hash::FxHashMap;

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{
    ClassId, Ignores, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property, PropertyKind, PropertyScope,
};
use crate::lts::idle::IdleMachines;
use crate::lts::ids::{LocalEventId, LocalStateId, MessageId, Trigger};
use crate::lts::snapshots::{Forgetting, SharedSnapshots};
use crate::lts::state::{Evaluated, LocalState, Message};
use crate::lts::tables::Tables;
use crate::scenario::Scenario;
use crate::scenario::fault_state::Rules;

/// The events and messages of a local transition system that have happened in some state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Names of local events that some state offers and that were executed in none, sorted.
    pub events_not_taken: Vec<String>,
    /// Messages that some handler sends and that were delivered in no state.
    pub messages_not_delivered: u64,
    /// Outcomes of all handlers that were executed.
    pub outcomes: u64,
}

/// Sizes of the local transition system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtsCounts {
    /// Distinct local states, over all nodes.
    pub local_states: u64,
    /// Distinct messages.
    pub messages: u64,
    /// Handlers that a machine executed: `init`, and each resolution of the choices of each step; in total for all
    /// [siblings](Lts::sibling).
    pub handler_calls: u64,
    /// Bytes kept for all this, about: snapshots without the pristine image, contents of messages, local events and
    /// views, outcomes. Copies in several steppers count once.
    pub bytes: u64,
}

/// The local transition system of one protocol in one scenario.
pub struct Lts<'f> {
    pub(crate) scenario: Scenario,
    pub(crate) config: String,
    pub(crate) rules: Rules,
    pub(crate) properties: Vec<Property>,
    /// Properties of these kinds are not evaluated.
    left_out: Vec<PropertyKind>,
    pub(crate) factory: &'f dyn MachineFactory,
    pub(crate) idle: IdleMachines,
    pub(crate) tables: RwLock<Tables>,
    pub(crate) handler_calls: Arc<AtomicU64>,
    pub(crate) evaluations: Arc<AtomicU64>,
    /// Verdicts of the properties of node scope on a view, by property and view.
    node_verdicts: Mutex<NodeVerdicts>,
    /// Dropped after the tables.
    snapshots: Forgetting,
}

/// Verdicts of properties of node scope.
type NodeVerdicts = FxHashMap<(u32, Vec<u8>), Evaluated>;

/// A promise of progress: an `eventually` property, of node scope at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Promise {
    /// The `eventually` property.
    pub property: u32,
    /// The node whose promise it is, for a property of node scope.
    pub node: Option<NodeId>,
}

impl<'f> Lts<'f> {
    /// An empty local transition system; gets the properties from the protocol.
    ///
    /// # Errors
    ///
    /// No machine can be made, or the protocol cannot list its properties.
    pub fn new(factory: &'f dyn MachineFactory, scenario: Scenario) -> Result<Self, MachineError> {
        let mut machine = factory.machine()?;
        let properties =
            machine.properties().map_err(|fault| MachineError::Host(format!("cannot list the properties: {fault}")))?;
        let config = scenario.config();
        let idle = IdleMachines::default();
        idle.put([machine]);
        let snapshots = SharedSnapshots::default();
        let takes_quorums = vec![false; scenario.nodes as usize];
        Ok(Self {
            rules: Rules::new(&scenario, factory.hears_errors()),
            tables: RwLock::new(Tables::new(properties.len(), takes_quorums, snapshots.clone())),
            scenario,
            config,
            properties,
            left_out: Vec::new(),
            factory,
            idle,
            handler_calls: Arc::default(),
            evaluations: Arc::default(),
            node_verdicts: Mutex::default(),
            snapshots: Forgetting(snapshots),
        })
    }

    /// The same, but a node breaks the connection to the sender in place of a message that it does not take, if messages have an order
    /// between the two and connections can break in the scenario. To be called before the first use.
    #[must_use]
    pub fn breaking(mut self, ignores: Arc<dyn Ignores>) -> Self {
        self.rules.ignores = Some(ignores);
        self
    }

    /// Leaves out properties of these kinds: no state has a view for them, none is violated, reached or owed, and states that differ only
    /// in their views are one where views are combined. To be called before the first use.
    #[must_use]
    pub fn leaving_out(self, kinds: &[PropertyKind]) -> Self {
        Self { left_out: kinds.to_vec(), ..self }
    }

    /// Whether a property is evaluated.
    pub(crate) fn asks_about(&self, property: &Property) -> bool {
        !self.left_out.contains(&property.kind)
    }

    /// An empty local transition system of the same protocol in the same scenario: a search with bounded memory explores one after
    /// another. All of them count handler calls, and evaluations of properties, together, and share large snapshots.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let Forgetting(snapshots) = &self.snapshots;
        let (snapshots, takes_quorums) = (snapshots.clone(), self.read().takes_quorums.clone());
        Self {
            scenario: self.scenario.clone(),
            config: self.config.clone(),
            rules: self.rules.clone(),
            properties: self.properties.clone(),
            left_out: self.left_out.clone(),
            factory: self.factory,
            idle: self.idle.clone(),
            tables: RwLock::new(Tables::new(self.properties.len(), takes_quorums, snapshots.clone())),
            handler_calls: Arc::clone(&self.handler_calls),
            evaluations: Arc::clone(&self.evaluations),
            node_verdicts: Mutex::default(),
            snapshots: Forgetting(snapshots),
        }
    }

    /// A machine, in any state.
    ///
    /// # Errors
    ///
    /// No machine can be made.
    pub(crate) fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        self.idle.take().map_or_else(|| self.factory.machine(), Ok)
    }

    /// The cluster.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The properties in the protocol's order.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The promises of progress in the cluster: absent nodes promise nothing.
    pub fn promises(&self) -> Vec<Promise> {
        let nodes = 0..self.scenario.nodes;
        let present: Vec<NodeId> = nodes.filter(|node| !self.scenario.absent.contains(node)).collect();
        let mut promises = Vec::new();
        let is_promise = |it: &Property| it.kind == PropertyKind::Eventually && self.asks_about(it);
        for (property, it) in (0..).zip(&self.properties).filter(|(_, it)| is_promise(it)) {
            match it.scope {
                PropertyScope::System => promises.push(Promise { property, node: None }),
                PropertyScope::Node => {
                    promises.extend(present.iter().map(|node| Promise { property, node: Some(*node) }));
                }
            }
        }
        promises
    }

    /// The current sizes.
    pub fn counts(&self) -> LtsCounts {
        let tables = self.read();
        LtsCounts {
            local_states: tables.states.len() as u64,
            messages: tables.messages.len() as u64,
            handler_calls: self.handler_calls(),
            bytes: tables.bytes(),
        }
    }

    /// Number of handlers that a machine executed so far, as in [`LtsCounts`].
    pub fn handler_calls(&self) -> u64 {
        self.handler_calls.load(Ordering::Relaxed)
    }

    /// Whether a node ever takes messages together, as far as nodes have begun.
    pub fn takes_quorums(&self) -> bool {
        self.read().takes_quorums.contains(&true)
    }

    /// Number of properties of system scope that a machine evaluated so far, for all [siblings](Self::sibling). Those of node scope are
    /// evaluated with handlers.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// The events and messages that have happened in some state, of all that were met.
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

    /// The fingerprints of all local states.
    pub fn state_fingerprints(&self) -> Vec<Fingerprint> {
        self.read().states.iter().map(|state| state.fingerprint).collect()
    }

    /// The fingerprints of all messages.
    pub fn message_fingerprints(&self) -> Vec<Fingerprint> {
        self.read().messages.iter().map(|message| message.fingerprint).collect()
    }

    /// The steps executed so far, in their order. Executing them again in this order reproduces all ids.
    pub fn journal(&self) -> Vec<(LocalStateId, Trigger)> {
        self.read().journal.clone()
    }

    /// The quorums interned so far, in their order: a quorum gets its id when it is met, not when a step is executed.
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

    /// The views of a tuple of classes for a property of system scope.
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
