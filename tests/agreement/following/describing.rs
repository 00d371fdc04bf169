//! Toys that describe themselves.

use std::sync::Arc;

use host_model::contract::aspects::{Aspect, AspectName, Describe, Events};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, Property, Snapshot,
};
use host_model::toys::Toy;

/// Makes toys that describe themselves.
pub struct Described(pub Arc<Toy>);

struct DescribedMachine(Box<dyn Machine>);

impl MachineFactory for Described {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(DescribedMachine(self.0.machine()?)))
    }

    fn hears_errors(&self) -> bool {
        self.0.hears_errors()
    }
}

/// The description of a state.
pub fn of_state(state: u8) -> String {
    format!(r#"{{"number":{state},"parts":{{"half":{},"odd":{}}},"list":[{state},7]}}"#, state / 2, state % 2 == 1)
}

/// The description of a message.
pub fn of_message(content: u8) -> String {
    format!(r#"{{"content":{content},"half":{}}}"#, content / 2)
}

/// The description of a local event.
pub fn of_local(name: u8) -> String {
    format!(r#"{{"name":{name}}}"#)
}

impl Machine for DescribedMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.0.restore(snapshot)
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        self.0.handle(input, script, effects)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.0.serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.0.local_events()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.0.view(property)
    }

    fn capture(&mut self) -> Snapshot {
        self.0.capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.0.properties()
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.0.invariant(property, views)
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Describe => Some(Aspect::Describe(self)),
            AspectName::Events => Some(Aspect::Events(self)),
            other => self.0.aspect(other),
        }
    }
}

impl Describe for DescribedMachine {
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        Ok(self.0.serialize()?.first().map(|state| of_state(*state)))
    }

    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        Ok(payload.first().map(|content| of_message(*content)))
    }
}

impl Events for DescribedMachine {
    fn describe_local(&mut self, event: &LocalEvent) -> Result<Option<String>, Fault> {
        Ok(event.payload.first().map(|name| of_local(*name)))
    }
}
