//! The assumptions of a promise of progress: without them, a trace that breaks one cannot be interpreted.

use serde::{Deserialize, Serialize};

use crate::lts::Trigger;

/// The fairness of executions in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Faults end, and an event that stays possible happens.
    #[default]
    Stable,
    /// Messages can be lost for ever, but one that is in flight again and again is delivered again and again.
    FairLossy,
    /// No event has to happen, and messages can be lost for ever.
    None,
}

impl Fairness {
    /// All assumptions.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timers {
    /// Whenever they are set.
    #[default]
    Free,
    /// Only if no message can be delivered.
    Late,
}

impl Timers {
    /// All assumptions.
    pub const ALL: [Self; 2] = [Self::Free, Self::Late];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Late => "late",
        }
    }
}

/// The events that count as a way back to a kept promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// No fault.
    #[default]
    Events,
    /// Resets as well.
    Resets,
}

impl Recovery {
    /// All rules.
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
    pub fn can_rely_on(self, trigger: Trigger) -> bool {
        let is_reset = || trigger.fault().is_some_and(|fault| fault.peer().is_none());
        trigger.is_delivery() || trigger.local_event().is_some() || (self == Self::Resets && is_reset())
    }
}

/// Whether it is the default.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
