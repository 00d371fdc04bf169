//! The deadline of a round of a checker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use host_live::time::Time;
use host_model::contract::{Stop, Stopped};

/// A time at which a search stops.
#[derive(Debug)]
pub(crate) struct Deadline {
    /// The origin of times.
    origin: Instant,
    /// The deadline, as a [`Time`] since the origin.
    at: AtomicU64,
}

impl Deadline {
    /// A deadline that has passed.
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now(), at: AtomicU64::new(0) }
    }

    /// The time since it was made.
    pub(crate) fn now(&self) -> Time {
        Time(0).after(self.origin.elapsed())
    }

    /// Sets the deadline to this time from now.
    pub(crate) fn set(&self, time: Duration) {
        self.at.store(self.now().after(time).0, Ordering::Relaxed);
    }
}

impl Stop for Deadline {
    fn reason(&self) -> Option<Stopped> {
        (self.now().0 >= self.at.load(Ordering::Relaxed)).then_some(Stopped::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// An hour is longer than this test takes.
    #[test]
    fn a_deadline_comes_when_it_was_set_to() {
        let deadline = Deadline::new();
        assert_eq!(deadline.reason(), Some(Stopped::Time));
        for (time, expected) in [(SECOND * 3_600, None), (Duration::ZERO, Some(Stopped::Time)), (Duration::MAX, None)] {
            deadline.set(time);
            assert_eq!(deadline.reason(), expected);
        }
    }
}
