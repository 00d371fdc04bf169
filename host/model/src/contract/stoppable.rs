//! Machines that can be stopped between two calls of a guest.

use std::sync::Arc;

use crate::contract::error::MachineError;
use crate::contract::machine::{Machine, MachineFactory};
use crate::contract::stop::Stop;
use crate::contract::wrapper::{Wrap, Wrapped};

/// Machines that ask a [`Stop`] before they are restored, and at `ask_stop`.
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
        Ok(Box::new(Wrapped { machine: self.factory.machine()?, wrap: Stopping(Arc::clone(&self.stop)) }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

fn ask(stop: &dyn Stop) -> Result<(), MachineError> {
    stop.reason().map_or(Ok(()), |reason| Err(MachineError::Stopped(reason)))
}

/// Asks before a machine goes to another state, and at `ask_stop`.
struct Stopping(Arc<dyn Stop>);

impl Wrap for Stopping {
    fn ask_stop(&self) -> Result<(), MachineError> {
        ask(&*self.0)
    }
}
