//! The assumptions of a promise of progress.

use host_model::trace::BrokenPromise;
pub use host_model::trace::{Fairness, Recovery, Timers};

/// The assumptions of a promise of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The fairness of executions in the long run.
    pub fairness: Fairness,
    /// When timers fire in the long run.
    pub timers: Timers,
    /// The events that count as a way back.
    pub recovery: Recovery,
}

impl Rules {
    /// The rules of a trace.
    pub fn of(promise: &BrokenPromise) -> Self {
        let BrokenPromise { fairness, timers, recovery, .. } = *promise;
        Self { fairness, timers, recovery }
    }
}
