//! The result of an audit.

use host_model::audit::{Audited, ContractViolation};
use serde::Serialize;

/// What was audited.
#[derive(Debug, Serialize)]
pub struct AuditReport {
    /// Whether it looked at all that it was to look at.
    pub finished: bool,
    /// How many local states were looked at.
    pub states: usize,
    /// How many of them have the encoding of another one.
    pub ambiguous_states: usize,
    /// What does not hold.
    pub broken: Vec<BrokenReport>,
}

/// A promise that the plugin breaks.
#[derive(Debug, Serialize)]
pub struct BrokenReport {
    /// The promise.
    pub promise: &'static str,
    /// The function that breaks it.
    pub function: String,
    /// Where.
    pub place: String,
    /// What one call said.
    pub one: String,
    /// What another one said.
    pub other: String,
    /// What is probably the cause.
    pub cause: &'static str,
}

impl From<&Audited> for AuditReport {
    fn from(audited: &Audited) -> Self {
        let broken = audited.broken.iter().cloned();
        let broken = broken.map(|ContractViolation { promise, function, place, one, other, cause }| BrokenReport {
            promise,
            function,
            place,
            one,
            other,
            cause,
        });
        Self {
            finished: audited.stopped.is_none(),
            states: audited.states,
            ambiguous_states: audited.ambiguous,
            broken: broken.collect(),
        }
    }
}
