//! The result of an audit.

use host_model::audit::{Audited, Broken};
use serde::Serialize;

/// What was audited.
#[derive(Debug, Serialize)]
pub struct AuditReport {
    /// Whether it looked at all that it was to look at.
    pub finished: bool,
    pub states: usize,
    pub ambiguous_states: usize,
    pub broken: Vec<BrokenReport>,
}

#[derive(Debug, Serialize)]
pub struct BrokenReport {
    pub promise: &'static str,
    pub function: String,
    pub place: String,
    pub one: String,
    pub other: String,
    pub cause: &'static str,
}

impl From<&Audited> for AuditReport {
    fn from(audited: &Audited) -> Self {
        let broken = audited.broken.iter().cloned();
        let broken = broken.map(|Broken { promise, function, place, one, other, cause }| BrokenReport {
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
