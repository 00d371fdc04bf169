//! Time as the driver passes it in: this crate reads no clock.

use std::time::Duration;

use host_search::kernel::dice::below;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the beginning of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    /// The last instant.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// The instant after a duration; saturates at the last instant.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time since the beginning.
    pub fn since_start(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

/// A range of durations with a uniform distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The shortest one.
    pub from: Duration,
    /// The longest one.
    pub to: Duration,
}

impl Range {
    /// A range in milliseconds.
    pub const fn milliseconds(from: u64, to: u64) -> Self {
        Self { from: Duration::from_millis(from), to: Duration::from_millis(to) }
    }

    /// Draws a duration; the shortest one if the range is empty.
    pub(crate) fn draw(self, dice: &mut ChaCha8Rng) -> Duration {
        let width = u64::try_from(self.to.saturating_sub(self.from).as_nanos()).unwrap_or(u64::MAX - 1);
        self.from + Duration::from_nanos(below(dice, width.saturating_add(1)))
    }
}

/// A share of all cases, in parts per million; at most [`ALL`](Self::ALL).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share(pub u32);

impl Share {
    /// Every case.
    pub const ALL: Self = Self(1_000_000);
}
