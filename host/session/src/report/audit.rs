//! The result of an audit.

use host_model::audit::{Audited, ContractViolation};
use serde::Serialize;

/// The extent of an audit.
#[derive(Debug, Serialize)]
pub struct AuditReport {
    /// Whether it looked at all that it was to look at.
    pub finished: bool,
    /// How many local states were looked at.
    pub states: usize,
    /// How many of them have the encoding of another one.
    pub ambiguous_states: usize,
    /// The promises that do not hold.
    pub broken: Vec<ContractViolation>,
}

impl From<&Audited> for AuditReport {
    fn from(audited: &Audited) -> Self {
        Self {
            finished: audited.stopped.is_none(),
            states: audited.states,
            ambiguous_states: audited.ambiguous,
            broken: audited.broken.clone(),
        }
    }
}
