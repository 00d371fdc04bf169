//! The findings of an audit.

use serde::Serialize;

use crate::audit::notes::Kept;
use crate::contract::{Machine, MachineError, Snapshot, Stopped};

/// A plugin breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContractViolation {
    /// The demand of the contract, in a phrase.
    pub promise: &'static str,
    /// The function of the plugin.
    pub function: String,
    /// The node, the state and the argument.
    pub place: String,
    /// Its result one time.
    pub one: String,
    /// Its result another time.
    pub other: String,
    /// The probable mistake.
    pub cause: &'static str,
    /// The two states that behave differently, if the demand concerns two.
    #[serde(skip)]
    pub(crate) pair: Option<[Kept; 2]>,
}

impl ContractViolation {
    /// The two states with the same bytes that behave differently; none for other violations.
    pub fn states(&self) -> Option<[&Snapshot; 2]> {
        self.pair.as_ref().map(|pair| pair.each_ref().map(|kept| &kept.0))
    }
}

/// The extent of an audit, and its findings: at most one contract violation per kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// The reason why it ended early: unchecked demands may be broken all the same. None if it checked everything.
    pub stopped: Option<Stopped>,
    /// Number of local states.
    pub states: usize,
    /// Of these, states that were reached with different memories.
    pub ambiguous: usize,
    /// The contract violations.
    pub broken: Vec<ContractViolation>,
}

impl Audited {
    /// Adds the finding of a check, unless there is one of its kind. A consequence of a host without memory breaks no promise, and
    /// keeps none.
    pub(crate) fn add(
        &mut self,
        machine: &mut dyn Machine,
        check: impl FnOnce(&mut dyn Machine) -> Result<Option<ContractViolation>, MachineError>,
    ) -> Result<(), MachineError> {
        let found = check(machine)?;
        machine.confirm_fault()?;
        if let Some(broken) = found
            && !self.broken.iter().any(|known| known.promise == broken.promise)
        {
            self.broken.push(broken);
        }
        Ok(())
    }
}
