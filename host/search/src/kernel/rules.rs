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
    /// A mistake made on purpose, for a test that notices. Without the feature `canary` there is none.
    pub mutant: Option<Mutant>,
}

impl Rules {
    /// Those that a trace says.
    pub fn of(promise: &BrokenPromise) -> Self {
        let BrokenPromise { fairness, timers, recovery, .. } = *promise;
        Self { fairness, timers, recovery, mutant: None }
    }

    /// Whether a mistake is made on purpose.
    pub(crate) fn makes(&self, mutant: Mutant) -> bool {
        cfg!(feature = "canary") && self.mutant == Some(mutant)
    }
}

/// A mistake made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// What a bound suppresses counts as not possible.
    NotSuppressed,
    /// An action is taken also on edges that leave the component.
    OuterComponent,
    /// Messages are lost in cycles, whatever the fairness.
    LossInCycles,
    /// The cycle is any way through the component and back.
    AnyCycle,
    /// States with unknown successors count as if all were known.
    Closed,
    /// A delivery that is possible again and again, and not all the time, need not happen, whatever the fairness.
    WeakDelivery,
    /// A timer that waits for deliveries counts as not possible.
    TimersUnarmed,
}
