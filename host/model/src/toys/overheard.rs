//! Machines that note a broken property.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::contract::{Fault, Machine, MachineError, MachineFactory, Wrap, Wrapped};

/// Machines of another factory with only `always` properties, and whether one of these was evaluated as broken.
pub struct Overheard<F> {
    factory: F,
    has_heard: Arc<AtomicBool>,
}

impl<F: MachineFactory> Overheard<F> {
    /// The machines of `factory`; no broken property was noted yet.
    pub fn new(factory: F) -> Self {
        Self { factory, has_heard: Arc::default() }
    }

    /// Whether a property was evaluated as broken.
    pub fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }
}

impl<F: MachineFactory> MachineFactory for Overheard<F> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Wrapped { machine: self.factory.machine()?, wrap: Hearing(Arc::clone(&self.has_heard)) }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

/// Notes verdicts.
struct Hearing(Arc<AtomicBool>);

impl Wrap for Hearing {
    fn invariant(
        &self,
        machine: &mut dyn Machine,
        property: u32,
        views: &[Option<&[u8]>],
    ) -> Result<Result<(), String>, Fault> {
        let verdict = machine.invariant(property, views);
        if !matches!(verdict, Ok(Ok(()))) {
            self.0.store(true, Ordering::Relaxed);
        }
        verdict
    }
}
