//! Machines that describe their states, around others that do not.

use std::sync::Arc;

use host_model::contract::aspects::{Aspect, AspectName, Describe};
use host_model::contract::{
    Effects, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, MachineFactory, Property, Snapshot,
};

/// The words in which nodes describe their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The content of the state.
    Everything,
    /// Only whether the state is even, as a text and as a number.
    Parity,
    /// The same, but nodes trap in every third state.
    Traps,
    /// Words that are not JSON.
    Broken,
}

/// Makes machines that describe their states.
pub struct Describing {
    /// Makes the machines that they wrap.
    pub factory: Arc<dyn MachineFactory>,
    /// The words of the nodes.
    pub words: Words,
}

struct DescribingMachine {
    machine: Box<dyn Machine>,
    words: Words,
}

impl MachineFactory for Describing {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(DescribingMachine { machine: self.factory.machine()?, words: self.words }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

impl Machine for DescribingMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.machine.restore(snapshot)
    }

    fn ask_stop(&self) -> Result<(), MachineError> {
        self.machine.ask_stop()
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.machine.confirm_fault()
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
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
        match name {
            AspectName::Describe => Some(Aspect::Describe(self)),
            other => self.machine.aspect(other),
        }
    }
}

impl Describe for DescribingMachine {
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        let state: u64 = self.machine.serialize()?.into_iter().map(u64::from).sum();
        let parity = if state.is_multiple_of(2) { "even" } else { "odd" };
        match self.words {
            Words::Everything => Ok(Some(format!(r#"{{"state":{state},"parity":"{parity}","log":[{state},7]}}"#))),
            Words::Traps if state % 3 == 2 => Err(Fault::new(FaultKind::Trap, "it describes no such state")),
            Words::Parity | Words::Traps => Ok(Some(format!(r#"{{"parity":"{parity}","number":{}}}"#, state % 2))),
            Words::Broken => Ok(Some(format!(r#"{{"state":{state},"#))),
        }
    }

    fn describe_message(&mut self, _: &[u8]) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}
