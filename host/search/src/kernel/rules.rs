//! What a promise of progress relies on.

use host_model::lts::Trigger;

/// What happens in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fairness {
    /// Faults come to an end, and what stays possible happens.
    #[default]
    Stable,
    /// Messages can be lost for ever, but one that is in flight again and again is delivered again and again.
    FairLossy,
    /// Nothing has to happen, and messages can be lost for ever.
    None,
}

impl Fairness {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stable, Self::FairLossy, Self::None];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::FairLossy => "fair-lossy",
            Self::None => "none",
        }
    }
}

/// When timers fire in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timers {
    /// Whenever they are set.
    #[default]
    Free,
    /// Only where nothing can be delivered.
    Late,
}

impl Timers {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Free, Self::Late];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Late => "late",
        }
    }
}

/// What counts as a way back to a kept promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// No fault does.
    #[default]
    Events,
    /// Resets do.
    Resets,
}

impl Recovery {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Events, Self::Resets];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Resets => "resets",
        }
    }

    /// Whether a way back may take this step: no fault, unless it is a reset and resets are a way back.
    #[inline]
    pub(crate) fn can_rely_on(self, trigger: Trigger) -> bool {
        let is_reset = || trigger.fault().is_some_and(|fault| fault.peer().is_none());
        trigger.is_delivery() || trigger.local_event().is_some() || (self == Self::Resets && is_reset())
    }
}

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
    /// States of which not all successors are known count as if all were.
    Closed,
    /// A delivery that is possible again and again, and not all the time, need not happen, whatever the fairness.
    WeakDelivery,
    /// A timer that waits for deliveries counts as not possible.
    TimersUnarmed,
}
