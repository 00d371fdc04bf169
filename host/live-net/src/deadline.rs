//! A time at which a round of a checker ends that takes too long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use host_live::time::Time;
use host_model::contract::{Stop, Stopped};

/// A time at which to stop.
#[derive(Debug)]
pub(crate) struct Deadline {
    /// What times are counted from.
    origin: Instant,
    /// A [`Time`] since then.
    at: AtomicU64,
}

impl Deadline {
    /// One that has arrived.
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now(), at: AtomicU64::new(0) }
    }

    /// The time since it was made.
    pub(crate) fn now(&self) -> Time {
        Time(0).after(self.origin.elapsed())
    }

    /// Comes in so much time from now.
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

    /// An hour of patience is more than this test takes.
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
