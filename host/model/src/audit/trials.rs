//! Repeats all recorded calls.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use crate::audit::behaviour::{ambiguous, impure, repeated};
use crate::audit::findings::Audited;
use crate::audit::growth::growing;
use crate::audit::notes::{Audit, Mode};
use crate::audit::reading::writing;
use crate::contract::{MachineError, MachineFactory, Property};

/// Handlers of a sample that are repeated for growth.
const HANDLERS: usize = 32;

impl Audit {
    /// Repeats all recorded calls.
    pub(crate) fn check(&self, factory: &dyn MachineFactory, properties: &[Property]) -> Result<Audited, MachineError> {
        let mut audited = Audited::default();
        match self.try_all(factory, properties, &mut audited) {
            Err(MachineError::Stopped(stopped)) => audited.stopped = Some(stopped),
            result => result?,
        }
        Ok(audited)
    }

    fn try_all(
        &self,
        factory: &dyn MachineFactory,
        properties: &[Property],
        audited: &mut Audited,
    ) -> Result<(), MachineError> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut machine = factory.machine()?;
        let machine = &mut *machine;
        let messages = notes.messages();
        let none = BTreeSet::new();
        for state in notes.states.values() {
            audited.ambiguous += usize::from(state.least != state.greatest);
            let messages = messages.get(&state.node).unwrap_or(&none);
            audited.add(machine, |machine| repeated(machine, state))?;
            audited.add(machine, |machine| ambiguous(machine, state, messages, properties.len()))?;
            audited.add(machine, |machine| writing(machine, state, messages, properties.len()))?;
            audited.states += 1;
        }
        let handlers = if self.mode() == Mode::Sampled { HANDLERS } else { usize::MAX };
        audited.add(machine, |machine| growing(machine, notes.states.values(), handlers))?;
        for (property, views) in &notes.questions {
            for state in notes.states.values().take(4) {
                audited.add(machine, |machine| impure(machine, state, *property, views, properties))?;
            }
        }
        Ok(())
    }
}
