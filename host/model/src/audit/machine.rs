//! Machines that take notes of their calls.

use std::sync::Arc;

use crate::audit::findings::Audited;
use crate::audit::notes::{Audit, Mode};
use crate::contract::{Arrival, Machine, MachineError, MachineFactory, Property, Wrap, Wrapped};

/// Machines of another factory that all take notes for the same audit.
pub struct AuditedFactory<'f> {
    factory: &'f dyn MachineFactory,
    audit: Arc<Audit>,
}

impl<'f> AuditedFactory<'f> {
    /// The machines of `factory`, with notes for an audit.
    pub fn new(factory: &'f dyn MachineFactory, mode: Mode) -> Self {
        Self { factory, audit: Arc::new(Audit::new(mode)) }
    }

    /// Repeats the noted calls in other ways: does the protocol, which has these properties, keep the contract?
    pub fn check(&self, properties: &[Property]) -> Result<Audited, MachineError> {
        self.audit.check(self.factory, properties)
    }
}

impl MachineFactory for AuditedFactory<'_> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        let machine = self.factory.machine()?;
        Ok(match self.audit.mode() {
            Mode::Off => machine,
            Mode::Sampled | Mode::Full => Box::new(Wrapped { machine, wrap: Notes(Arc::clone(&self.audit)) }),
        })
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

/// A machine that takes notes.
struct Notes(Arc<Audit>);

impl Wrap for Notes {
    fn arrive(&self, machine: &mut dyn Machine, arrival: &Arrival<'_>) {
        if self.0.wants(arrival.fingerprint) {
            self.0.note(arrival, machine.capture());
        }
    }

    fn evaluate(&self, property: u32, views: &[Option<&[u8]>]) {
        self.0.ask(property, views);
    }
}
