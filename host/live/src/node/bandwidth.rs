//! The rate limit for checkpoints, and the back-off of nodes that ask for more of them.

use std::time::Duration;

use crate::time::Time;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// The largest factor by which a node extends its interval between two snapshots.
const LONGER_MAX: u32 = 64;

/// A token bucket with a rate in bytes per second and the capacity of one second. A frame longer than the tokens left is sent anyway and
/// leaves a debt: otherwise a frame longer than the capacity would never be sent.
#[derive(Debug)]
pub(super) struct Bucket {
    bytes_per_second: i128,
    /// The tokens left, in billionths of a byte; negative after a frame that was longer.
    left: i128,
    at: Time,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(bytes_per_second: u64, now: Time) -> Self {
        let bytes_per_second = i128::from(bytes_per_second);
        Self { bytes_per_second, left: bytes_per_second * SECOND, at: now }
    }

    /// Takes the tokens for a frame. Returns whether it may be sent.
    pub(super) fn take(&mut self, now: Time, bytes: usize) -> bool {
        let come = self.bytes_per_second.saturating_mul(now.0.saturating_sub(self.at.0).into());
        self.left = self.left.saturating_add(come).min(self.bytes_per_second * SECOND);
        self.at = self.at.max(now);
        let is_there = self.left > 0;
        if is_there {
            self.left -= i128::try_from(bytes).unwrap_or(i128::MAX / SECOND) * SECOND;
        }
        is_there
    }
}

/// The factor by which a node extends its interval between snapshots, because other nodes send no checkpoints for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff(u32);

impl Default for Backoff {
    fn default() -> Self {
        Self(1)
    }
}

impl Backoff {
    /// Doubles the interval: a node has answered that it sends no more for now.
    pub fn capped(&mut self) {
        self.0 = (self.0 * 2).min(LONGER_MAX);
    }

    /// Halves the interval: a snapshot is complete.
    pub fn complete(&mut self) {
        self.0 = (self.0 / 2).max(1);
    }

    /// The extended interval.
    pub fn wait(self, every: Duration) -> Duration {
        every.saturating_mul(self.0)
    }

    /// The longest extended interval.
    pub fn longest(every: Duration) -> Duration {
        Self(LONGER_MAX).wait(every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time(milliseconds * 1_000_000)
    }

    /// 1,000 bytes per second: the tokens of the first second are available at once, then one per millisecond.
    #[test]
    fn a_bucket_refills_at_its_rate_up_to_one_second() {
        let mut bucket = Bucket::new(1_000, at(0));
        assert!(bucket.take(at(0), 600) && bucket.take(at(0), 400) && !bucket.take(at(0), 1));
        assert!(bucket.take(at(1), 1) && !bucket.take(at(1), 1));
        // Time that goes backwards or stands still adds no tokens.
        assert!(!bucket.take(at(0), 1) && !bucket.take(at(1), 1));
        assert!(bucket.take(at(3_600_000), 1_000) && !bucket.take(at(3_600_000), 1));
        // A frame longer than the capacity leaves a debt: 2,500 bytes are paid back after 2,500 ms.
        assert!(bucket.take(at(3_601_000), 3_500));
        assert!(!bucket.take(at(3_603_500), 1) && bucket.take(at(3_603_501), 1));
    }

    /// In any period, the bytes sent are at most the rate times its length, one capacity, and the last frame.
    #[test]
    fn a_bucket_keeps_its_rate() {
        let mut bucket = Bucket::new(10_000, at(0));
        let sent: u64 = (0..60_000).map(|millisecond| if bucket.take(at(millisecond), 700) { 700 } else { 0 }).sum();
        assert!((600_000..=610_000 + 700).contains(&sent), "{sent}");
        let mut fast = Bucket::new(u64::MAX, at(0));
        assert!((0..9).all(|hour| fast.take(Time(hour << 60), usize::MAX)));
    }

    #[test]
    fn the_interval_doubles_when_capped_and_halves_when_complete() {
        let (mut backoff, every) = (Backoff::default(), Duration::from_secs(1));
        let waits = [0; 8].map(|_| {
            backoff.capped();
            backoff.wait(every).as_secs()
        });
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 64, 64]);
        let waits = [0; 8].map(|_| {
            backoff.complete();
            backoff.wait(every).as_secs()
        });
        assert_eq!(waits, [32, 16, 8, 4, 2, 1, 1, 1]);
    }
}
