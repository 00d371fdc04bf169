//! Machines that no stepper uses at the moment.

use std::sync::{Arc, Mutex};

use crate::contract::Machine;

/// Machines that no stepper uses at the moment, each in any state. Making one takes longer than most handlers.
#[derive(Clone, Default)]
pub(crate) struct IdleMachines(Arc<Mutex<Vec<Box<dyn Machine>>>>);

impl IdleMachines {
    pub(crate) fn take(&self) -> Option<Box<dyn Machine>> {
        self.0.lock().expect("no thread panics while it holds the lock").pop()
    }

    pub(crate) fn put(&self, machines: impl IntoIterator<Item = Box<dyn Machine>>) {
        self.0.lock().expect("no thread panics while it holds the lock").extend(machines);
    }
}
