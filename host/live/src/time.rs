//! Time as whoever drives the logic tells it: no clock is read anywhere in this crate.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the beginning of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    /// The instant after a duration; the last one there is if that is later than all.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time since the beginning.
    pub fn since_start(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}
