//! What a promise of progress relies on.

use host_model::trace::BrokenPromise;
pub use host_model::trace::{Fairness, Recovery, Timers};

/// What a promise of progress relies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What happens in the long run.
    pub fairness: Fairness,
    /// When timers fire in the long run.
    pub timers: Timers,
    /// What counts as a way back.
    pub recovery: Recovery,
}

impl Rules {
    /// Those that a trace says.
    pub fn of(promise: &BrokenPromise) -> Self {
        let BrokenPromise { fairness, timers, recovery, .. } = *promise;
        Self { fairness, timers, recovery }
    }
}
