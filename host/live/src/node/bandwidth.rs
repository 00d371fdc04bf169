//! How much of the network checkpoints take, and how nodes that want more of them wait.

use std::time::Duration;

use crate::time::Time;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// How many times longer a node waits between two snapshots, at most.
const LONGER_MAX: u32 = 64;

/// A token bucket: this many bytes per second, and those of a second at once. What is longer than what is left is sent all the same, and
/// paid for afterwards: else it would never be.
#[derive(Debug)]
pub(super) struct Bucket {
    bytes_per_second: i128,
    /// What is left, in billionths of a byte; below zero after what was longer.
    left: i128,
    at: Time,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(bytes_per_second: u64, now: Time) -> Self {
        let bytes_per_second = i128::from(bytes_per_second);
        Self { bytes_per_second, left: bytes_per_second * SECOND, at: now }
    }

    /// Takes this many bytes; whether it has them.
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

/// How much longer than it wants to a node waits until it asks for the next snapshot, since others send it none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff(u32);

impl Default for Backoff {
    fn default() -> Self {
        Self(1)
    }
}

impl Backoff {
    /// A node has said that it sends no more for now: twice as long.
    pub fn capped(&mut self) {
        self.0 = (self.0 * 2).min(LONGER_MAX);
    }

    /// A snapshot is complete: half as long.
    pub fn complete(&mut self) {
        self.0 = (self.0 / 2).max(1);
    }

    /// How long the node waits that wants to wait so long.
    pub fn wait(self, every: Duration) -> Duration {
        every.saturating_mul(self.0)
    }

    /// How long it waits at most.
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

    /// 1,000 bytes per second: those of the first second are there at once, then one comes each millisecond.
    #[test]
    fn a_bucket_has_what_has_come_and_no_more_than_that_of_a_second() {
        let mut bucket = Bucket::new(1_000, at(0));
        assert!(bucket.take(at(0), 600) && bucket.take(at(0), 400) && !bucket.take(at(0), 1));
        assert!(bucket.take(at(1), 1) && !bucket.take(at(1), 1));
        // Time that goes backwards brings nothing, and neither does the same time again.
        assert!(!bucket.take(at(0), 1) && !bucket.take(at(1), 1));
        assert!(bucket.take(at(3_600_000), 1_000) && !bucket.take(at(3_600_000), 1));
        // What is longer than all that can be there leaves a debt: 2,500 of them are paid after 2,500 ms.
        assert!(bucket.take(at(3_601_000), 3_500));
        assert!(!bucket.take(at(3_603_500), 1) && bucket.take(at(3_603_501), 1));
    }

    /// In any time, what is sent is at most what comes in it, what is there at once, and the last frame.
    #[test]
    fn a_bucket_keeps_its_rate() {
        let mut bucket = Bucket::new(10_000, at(0));
        let sent: u64 = (0..60_000).map(|millisecond| if bucket.take(at(millisecond), 700) { 700 } else { 0 }).sum();
        assert!((600_000..=610_000 + 700).contains(&sent), "{sent}");
        let mut fast = Bucket::new(u64::MAX, at(0));
        assert!((0..9).all(|hour| fast.take(Time(hour << 60), usize::MAX)));
    }

    #[test]
    fn who_is_refused_waits_longer_and_comes_back() {
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
