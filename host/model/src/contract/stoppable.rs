//! Machines that can be stopped between two calls of a guest.

use std::sync::Arc;

use crate::contract::error::{MachineError, TransferError};
use crate::contract::machine::{
    Effects, Fault, Input, LocalEvent, Machine, MachineFactory, NodeId, Property, Quorum, Role, Snapshot,
};
use crate::contract::stop::Stop;

/// Machines that ask a [`Stop`] before they are restored, and where they are told to.
pub struct Stoppable<F> {
    factory: F,
    stop: Arc<dyn Stop>,
}

impl<F: MachineFactory> Stoppable<F> {
    /// The machines of `factory`, stopped by `stop`.
    pub fn new(factory: F, stop: Arc<dyn Stop>) -> Self {
        Self { factory, stop }
    }
}

impl<F: MachineFactory> MachineFactory for Stoppable<F> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        ask(&*self.stop)?;
        Ok(Box::new(StoppableMachine { machine: self.factory.machine()?, stop: Arc::clone(&self.stop) }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

fn ask(stop: &dyn Stop) -> Result<(), MachineError> {
    stop.reason().map_or(Ok(()), |reason| Err(MachineError::Stopped(reason)))
}

struct StoppableMachine {
    machine: Box<dyn Machine>,
    stop: Arc<dyn Stop>,
}

impl Machine for StoppableMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        ask(&*self.stop)?;
        self.machine.restore(snapshot)
    }

    fn ask_stop(&self) -> Result<(), MachineError> {
        ask(&*self.stop)
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

    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        self.machine.takes_quorums()
    }

    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        self.machine.role(src, payload)
    }

    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.machine.persist()
    }

    fn is_done(&mut self) -> Result<bool, Fault> {
        self.machine.is_done()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.machine.view(property)
    }

    fn capture(&mut self) -> Snapshot {
        self.machine.capture()
    }

    fn export(&mut self, snapshot: &Snapshot) -> Result<Vec<u8>, TransferError> {
        ask(&*self.stop)?;
        self.machine.export(snapshot)
    }

    fn import(&mut self, exported: &[u8], node: NodeId, nodes: u32) -> Result<Snapshot, TransferError> {
        ask(&*self.stop)?;
        self.machine.import(exported, node, nodes)
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.machine.properties()
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.machine.invariant(property, views)
    }

    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        self.machine.describe_state()
    }

    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        self.machine.describe_message(payload)
    }

    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        self.machine.interchangeable()
    }

    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        self.machine.rename_message(payload, renaming)
    }

    fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        self.machine.rename_local(payload, renaming)
    }

    fn keep_log(&mut self, keep: bool) {
        self.machine.keep_log(keep);
    }
}
