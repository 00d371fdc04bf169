//! Machines whose host runs out of memory: the guest is not blamed for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_model::audit::{AuditedFactory, Mode};
use host_model::contract::{
    Aspect, AspectName, Effects, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, MachineFactory, Property,
    Snapshot,
};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use host_search::strategy::bdfs;

/// Machines of a toy that get no more memory after some calls, from any caller.
struct Starving {
    toy: Arc<Toy>,
    calls_left: Arc<AtomicU64>,
}

struct StarvingMachine {
    machine: Box<dyn Machine>,
    calls_left: Arc<AtomicU64>,
}

impl MachineFactory for Starving {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(StarvingMachine { machine: self.toy.machine()?, calls_left: Arc::clone(&self.calls_left) }))
    }
}

impl StarvingMachine {
    /// A call: a guest without memory traps, for every observer.
    fn call(&self) -> Result<(), Fault> {
        let left = self.calls_left.load(Ordering::Relaxed);
        self.calls_left.store(left.saturating_sub(1), Ordering::Relaxed);
        match left {
            0 => Err(Fault::new(FaultKind::Trap, "no memory")),
            _ => Ok(()),
        }
    }
}

impl Machine for StarvingMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.confirm_fault()?;
        self.machine.restore(snapshot)
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        match self.calls_left.load(Ordering::Relaxed) {
            0 => Err(MachineError::Host("this machine has no memory".into())),
            _ => Ok(()),
        }
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        self.call()?;
        self.machine.handle(input, script, effects)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.call()?;
        self.machine.serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.call()?;
        self.machine.local_events()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.call()?;
        self.machine.view(property)
    }

    fn capture(&mut self) -> Snapshot {
        self.machine.capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.machine.properties()
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.call()?;
        self.machine.invariant(property, views)
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        self.machine.aspect(name).filter(|_| name == AspectName::Logging)
    }
}

/// Wherever the memory runs out, the audit ends with the host's error, and reports no contract violation.
#[test]
fn an_audit_without_memory_blames_no_plugin() {
    let (mut starved, mut seed) = (0, 0);
    while starved < 1_000 {
        seed += 1;
        let calls_left = Arc::new(AtomicU64::new(u64::MAX));
        let toy = Arc::new(Toy::random(seed, 2));
        let nodes = toy.nodes;
        let factory = Starving { toy, calls_left: Arc::clone(&calls_left) };
        let machines = AuditedFactory::new(&factory, Mode::Full);
        let lts = Lts::new(&machines, Scenario::new(nodes)).expect("properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
        let bounds = SearchBounds { depth: Some(3), ..SearchBounds::default() };
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        bdfs::run(&search).expect("nothing is amiss yet");
        // One step in three, since all of the audit would be tens of thousands of audits.
        for calls in (1..).step_by(3).take(400) {
            calls_left.store(calls, Ordering::Relaxed);
            match machines.check(lts.properties()) {
                Err(MachineError::Host(_)) => starved += 1,
                Ok(audited) => {
                    assert!(audited.broken.is_empty(), "seed {seed}, after {calls} calls: {:?}", audited.broken);
                    assert!(calls_left.load(Ordering::Relaxed) > 0, "seed {seed}: all of {calls} calls were made");
                    break;
                }
                Err(MachineError::Stopped(why)) => panic!("no stop was requested: {why}"),
            }
        }
    }
}
