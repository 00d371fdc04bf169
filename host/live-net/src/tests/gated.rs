//! Steps that wait for a report of a checker: [`Gate`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use host_live::checker::Round;
use host_model::contract::aspects::{Aspect, AspectName};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property, Snapshot,
};
use host_model::toys::{Toy, ToyState};

/// A step of a toy by its timer that has no effect until a checker reports a certain round. The timer fires again and again meanwhile, so a
/// test depends on the report, and not on the time until then.
pub(super) struct Gate {
    /// The node of the step, and its state before the step.
    node: NodeId,
    state: ToyState,
    /// The node of the checker, and the rounds that open the gate.
    checker: NodeId,
    opens: Box<dyn Fn(&Round) -> bool + Send + Sync>,
    is_open: AtomicBool,
    waited: AtomicU64,
}

impl Gate {
    /// A gate before the step of a node from a state, until the checker of another node, or the same one, reports such a round.
    pub(super) fn new(
        node: NodeId,
        state: ToyState,
        checker: NodeId,
        opens: impl Fn(&Round) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (is_open, waited) = Default::default();
        Arc::new(Self { node, state, checker, opens: Box::new(opens), is_open, waited })
    }

    /// The number of events that had no effect.
    pub(super) fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// A checker has reported a round, after it has passed views and filters to its node.
    pub(super) fn report(&self, checker: NodeId, round: &Round) {
        if self.checker == checker && (self.opens)(round) {
            self.is_open.store(true, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} events waited at node {} in {}", self.waited(), self.node, self.state)
    }
}

/// A toy with gates.
pub(super) struct Gated {
    pub(super) toy: Arc<Toy>,
    pub(super) gates: Vec<Arc<Gate>>,
}

impl MachineFactory for Gated {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(GatedMachine { machine: self.toy.machine()?, gates: self.gates.clone() }))
    }

    fn hears_errors(&self) -> bool {
        self.toy.hears_errors()
    }
}

struct GatedMachine {
    machine: Box<dyn Machine>,
    gates: Vec<Arc<Gate>>,
}

impl GatedMachine {
    /// The closed gate before the next step.
    fn gate(&mut self) -> Option<&Gate> {
        let at = self.machine.capture();
        let is_at = |gate: &Gate| at.words() == [u64::from(gate.node), u64::from(gate.state)];
        let closed = |gate: &&Arc<Gate>| is_at(gate) && !gate.is_open.load(Ordering::Relaxed);
        self.gates.iter().find(closed).map(|gate| &**gate)
    }
}

impl Machine for GatedMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.machine.restore(snapshot)
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        if matches!(input, Input::Local(_))
            && let Some(gate) = self.gate()
        {
            gate.waited.fetch_add(1, Ordering::Relaxed);
            *effects = Effects::default();
            return Ok(());
        }
        self.machine.handle(input, script, effects)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.machine.serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.machine.local_events()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.machine.view(property)
    }

    fn capture(&mut self) -> Snapshot {
        self.machine.capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.machine.properties()
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.machine.invariant(property, views)
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        self.machine.aspect(name)
    }
}
