//! Machines around other machines: they forward all calls, those of aspects included, and do something in addition.

use crate::contract::aspects::{Aspect, AspectName, Judging, Listening, Transfer, Views};
use crate::contract::error::{MachineError, TransferError};
use crate::contract::event::{LocalEvent, NodeId};
use crate::contract::exchange::{Arrival, Effects, Input, Property, Snapshot, StateOwner};
use crate::contract::fault::Fault;
use crate::contract::machine::Machine;

/// A wrapper around a machine: what it does in addition to forwarding; nothing by default.
pub(crate) trait Wrap: Send {
    /// Asks whether to continue, also before the machine goes to another state.
    fn ask_stop(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// See [`Machine::confirm_fault`].
    fn confirm_fault(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// See [`Listening::arrive`].
    fn arrive(&self, machine: &mut dyn Machine, arrival: &Arrival<'_>) {
        let _ = (machine, arrival);
    }

    /// See [`Listening::stand_at`].
    fn stand_at(&mut self, node: NodeId) {
        let _ = node;
    }

    /// Whether the node takes what comes without a change, and without running its handler.
    fn ignores(&self, machine: &mut dyn Machine, input: Input<'_>) -> Result<bool, Fault> {
        let _ = (machine, input);
        Ok(false)
    }

    /// The local events that can happen, of all.
    fn local_events(&self, machine: &mut dyn Machine, all: Vec<LocalEvent>) -> Result<Vec<LocalEvent>, Fault> {
        let _ = machine;
        Ok(all)
    }

    /// A property is going to be evaluated, see [`Machine::invariant`].
    fn evaluate(&self, property: u32, views: &[Option<&[u8]>]) {
        let _ = (property, views);
    }

    /// The properties that are shown, of all.
    fn properties(&self, all: Vec<Property>) -> Vec<Property> {
        all
    }

    /// The index of a property that is shown among all.
    fn index(&self, property: u32) -> u32 {
        property
    }

    /// Whether a property that is shown holds where this is the machine's answer.
    fn verdict(&self, verdict: Result<(), String>) -> Result<(), String> {
        verdict
    }

    /// See [`Machine::view`].
    fn view(&self, machine: &mut dyn Machine, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        machine.view(self.index(property))
    }

    /// See [`Machine::invariant`].
    fn invariant(
        &self,
        machine: &mut dyn Machine,
        property: u32,
        views: &[Option<&[u8]>],
    ) -> Result<Result<(), String>, Fault> {
        let verdict = machine.invariant(self.index(property), views)?;
        Ok(self.verdict(verdict))
    }

    /// See [`Views::describe_view`].
    fn describe_view(&self, machine: &mut dyn Machine, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        machine.describe_view(self.index(property), view)
    }
}

/// A machine with something around it.
pub(crate) struct Wrapped<W> {
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) wrap: W,
}

impl<W: Wrap> Machine for Wrapped<W> {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.wrap.ask_stop()?;
        self.machine.restore(snapshot)
    }

    fn ask_stop(&self) -> Result<(), MachineError> {
        self.wrap.ask_stop()?;
        self.machine.ask_stop()
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.wrap.confirm_fault()?;
        self.machine.confirm_fault()
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        if self.wrap.ignores(&mut *self.machine, input)? {
            *effects = Effects::default();
            return Ok(());
        }
        self.machine.handle(input, script, effects)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.machine.serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let all = self.machine.local_events()?;
        self.wrap.local_events(&mut *self.machine, all)
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.wrap.view(&mut *self.machine, property)
    }

    fn capture(&mut self) -> Snapshot {
        self.machine.capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        Ok(self.wrap.properties(self.machine.properties()?))
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.wrap.evaluate(property, views);
        self.wrap.invariant(&mut *self.machine, property, views)
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Views => Some(Aspect::Views(self)),
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            AspectName::Judging => Some(Aspect::Judging(self)),
            AspectName::Listening => Some(Aspect::Listening(self)),
            as_inside => self.machine.aspect(as_inside),
        }
    }
}

impl<W: Wrap> Views for Wrapped<W> {
    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        self.wrap.describe_view(&mut *self.machine, property, view)
    }
}

impl<W: Wrap> Transfer for Wrapped<W> {
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        self.wrap.ask_stop()?;
        self.machine.export(snapshot, owner)
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        self.wrap.ask_stop()?;
        self.machine.import(exported, owner)
    }
}

impl<W: Wrap> Judging for Wrapped<W> {
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        self.wrap.ask_stop()?;
        self.machine.restore_to_judge()
    }

    fn is_read(&mut self) -> Result<bool, Fault> {
        self.machine.is_read()
    }
}

impl<W: Wrap> Listening for Wrapped<W> {
    fn stand_at(&mut self, node: NodeId) {
        self.wrap.stand_at(node);
        self.machine.stand_at(node);
    }

    fn arrive(&mut self, arrival: &Arrival<'_>) {
        self.wrap.arrive(&mut *self.machine, arrival);
        self.machine.arrive(arrival);
    }
}
