//! The bounds of a command that need a clock, a process or a user: time, memory, the first interrupt.
//!
//! One object answers for all phases. A search asks it through its monitor, and everything that calls a guest before the next
//! call, see [`host_model::contract::Stop`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use host_model::contract::{Stop, Stopped};
use host_sandbox::{bytes_in, process_bytes};

use crate::base::context::{Clock, Context};

/// The interval between two readings of the memory of the process, which can grow by some megabytes meanwhile.
const MEMORY_INTERVAL: Duration = Duration::from_millis(10);

/// The share of the available memory that a search may use by default: one part in this many.
const MEMORY_SHARE: u64 = 2;

/// Grace for the work after a search that was stopped: most findings are confirmed in a fraction of it.
const GRACE: Duration = Duration::from_secs(1);

/// Likewise of memory: a confirmation runs one instance per node; most take less than 100 KiB.
const GRACE_BYTES: u64 = 64 << 20;

/// The last part of the time and of the memory, for the work after a search: confirming, shortening, witnesses.
const CLOSING_SHARE: u64 = 10;

/// The maximum growth of the process where the allocator keeps freed memory, since not all of it is of use.
const SPARE_MORE: u64 = 16 << 20;

/// The phase of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Building, loading and everything else that is not a search: only an interrupt ends it.
    Open,
    /// From `init` to the end of the search: all bounds.
    Searching,
    /// Writing down the findings: no guest runs, and nothing ends it.
    Recording,
    /// Confirming, minimising and auditing: time, memory, and an interrupt that came later.
    Closing,
}

/// The bounds after which a command stops.
pub struct Bounds {
    clock: Clock,
    interrupted: Arc<AtomicBool>,
    phase: AtomicU8,
    /// Whether the search was interrupted; the work after it then has its moment of grace.
    was_interrupted: AtomicBool,
    /// The times at which the search began, is to end, and must end, in nanoseconds of the clock.
    began: AtomicU64,
    search_end: AtomicU64,
    deadline: AtomicU64,
    memory_max: AtomicU64,
    /// The time of the next reading of the memory of the process, and the result of the last one.
    next_memory: AtomicU64,
    process_bytes: AtomicU64,
    /// Bytes that a search has given up, and bytes of the process that do not count for it.
    freed: AtomicU64,
    spare: AtomicU64,
}

impl Bounds {
    /// No bound but an interrupt by the user.
    pub fn new(context: &Context<'_>) -> Self {
        Self {
            clock: Arc::clone(context.clock),
            interrupted: Arc::clone(context.interrupted),
            phase: AtomicU8::new(Phase::Open as u8),
            was_interrupted: AtomicBool::new(false),
            began: AtomicU64::new(0),
            search_end: AtomicU64::new(u64::MAX),
            deadline: AtomicU64::new(u64::MAX),
            memory_max: AtomicU64::new(u64::MAX),
            next_memory: AtomicU64::new(0),
            process_bytes: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            spare: AtomicU64::new(0),
        }
    }

    /// The search begins, with `init`. Without a bound on memory it may use half of what is available now. It ends before the last
    /// tenth of the time and the memory.
    pub fn search(&self, time_max: Option<Duration>, memory_max: Option<u64>) {
        let now = self.now();
        self.began.store(now, Ordering::Relaxed);
        let end = |time: Option<u64>| time.map_or(u64::MAX, |time| now.saturating_add(time));
        let time_max = time_max.map(nanos);
        self.search_end.store(end(time_max.map(without_closing)), Ordering::Relaxed);
        self.deadline.store(end(time_max), Ordering::Relaxed);
        self.memory_max.store(memory_max.or_else(default_memory).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.enter(Phase::Searching);
    }

    /// The search is over, and its findings are written down.
    pub fn record(&self) {
        self.was_interrupted.store(self.is_interrupted(), Ordering::Relaxed);
        self.enter(Phase::Recording);
    }

    /// Findings are confirmed, shortened and audited: in the remaining time and memory, in a tenth of all time or at least a second, and
    /// in some megabytes.
    pub fn close(&self) {
        let (now, deadline) = (self.now(), self.deadline.load(Ordering::Relaxed));
        let last = deadline.saturating_sub(self.began.load(Ordering::Relaxed)) / CLOSING_SHARE;
        let deadline = match (self.was_interrupted.load(Ordering::Relaxed), deadline) {
            (true, _) => now.saturating_add(nanos(GRACE)),
            (false, u64::MAX) => u64::MAX,
            (false, deadline) => deadline.max(now.saturating_add(nanos(GRACE).max(last))),
        };
        self.deadline.store(deadline, Ordering::Relaxed);
        // The search has freed its memory by now.
        let process = process_bytes("VmRSS:").unwrap_or(0);
        self.process_bytes.store(process, Ordering::Relaxed);
        self.memory_max.fetch_max(process.saturating_add(GRACE_BYTES), Ordering::Relaxed);
        self.enter(Phase::Closing);
    }

    /// The time since the search began.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.began.load(Ordering::Relaxed)))
    }

    /// The time until the end of the search; none without a bound.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.search_end.load(Ordering::Relaxed);
        (deadline != u64::MAX).then(|| Duration::from_nanos(deadline.saturating_sub(self.now())))
    }

    /// The memory of the process at the last reading, in bytes.
    pub fn process_bytes(&self) -> u64 {
        self.process_bytes.load(Ordering::Relaxed)
    }

    /// The number of bytes at which a search ends; none without a bound.
    pub fn memory_max(&self) -> Option<u64> {
        let max = self.memory_max.load(Ordering::Relaxed);
        (max != u64::MAX).then(|| without_closing(max))
    }

    /// Whether this number of bytes is too much: a search leaves the last part of the memory to the work after it.
    pub fn is_too_much(&self, bytes: u64) -> bool {
        let max = self.memory_max.load(Ordering::Relaxed);
        bytes >= if self.is_in(Phase::Closing) || max == u64::MAX { max } else { without_closing(max) }
    }

    /// Whether the process would take too much memory with this number of bytes more.
    pub fn process_takes_too_much(&self, more: u64) -> bool {
        let spare = self.spare.load(Ordering::Relaxed);
        self.is_too_much(self.process_bytes().saturating_add(more).saturating_sub(spare))
    }

    /// Notes that this number of bytes is free. The part that the allocator keeps is reused later, and does not count.
    pub fn frees(&self, bytes: u64) {
        let process = process_bytes("VmRSS:").unwrap_or(0);
        self.process_bytes.store(process, Ordering::Relaxed);
        let freed = self.freed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let above = self.memory_max().filter(|max| process >= *max).map_or(0, |max| process - max + SPARE_MORE);
        self.spare.store(freed.min(above), Ordering::Relaxed);
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u8
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        nanos((self.clock)())
    }

    /// Reads the memory of the process if the last reading was some time ago.
    fn look_at_memory(&self, now: u64) {
        let due = self.next_memory.load(Ordering::Relaxed);
        let next = now.saturating_add(nanos(MEMORY_INTERVAL));
        // One worker reads, the others continue.
        if now >= due && self.next_memory.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.process_bytes.store(process_bytes("VmRSS:").unwrap_or(0), Ordering::Relaxed);
        }
    }
}

impl Stop for Bounds {
    fn reason(&self) -> Option<Stopped> {
        let now = self.now();
        if self.is_in(Phase::Recording) {
            return None;
        }
        let was_interrupted = self.was_interrupted.load(Ordering::Relaxed);
        if self.is_interrupted() && !was_interrupted {
            return Some(Stopped::Interrupted);
        }
        let is_searching = self.is_in(Phase::Searching);
        let deadline = if is_searching { &self.search_end } else { &self.deadline };
        if now >= deadline.load(Ordering::Relaxed) {
            return Some(if was_interrupted { Stopped::Interrupted } else { Stopped::Time });
        }
        if is_searching || self.is_in(Phase::Closing) {
            self.look_at_memory(now);
            // Between two calls of a guest all of it counts: a search that polls more often ends before.
            let spare = if is_searching { self.spare.load(Ordering::Relaxed) } else { 0 };
            let kept = self.process_bytes().saturating_sub(spare);
            return (kept >= self.memory_max.load(Ordering::Relaxed)).then_some(Stopped::Memory);
        }
        None
    }
}

/// All of the time or memory without its last part.
fn without_closing(all: u64) -> u64 {
    all - all / CLOSING_SHARE
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The peak memory of this process, in bytes; none on a system that does not report it.
pub fn peak_bytes() -> Option<u64> {
    process_bytes("VmHWM:")
}

/// The default bound on memory: the memory of the process, and a share of the memory available on the machine and in the container.
#[must_use]
pub fn default_memory() -> Option<u64> {
    let available = bytes_in(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(share_of(available, container_memory(), process_bytes("VmRSS:").unwrap_or(0)))
}

/// The memory of the process, and a share of the free memory of the machine or of the container, whichever has less.
fn share_of(machine: u64, container: Option<u64>, process: u64) -> u64 {
    process + container.map_or(machine, |container| container.min(machine)) / MEMORY_SHARE
}

/// The memory that the container may still use; none without a limit.
fn container_memory() -> Option<u64> {
    let number = |folder: &str, name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse().ok()
    };
    // Version 2 of control groups, then version 1, as a container sees its own.
    let left = |(folder, max, used)| Some(number(folder, max)?.saturating_sub(number(folder, used)?));
    let versions = [
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ];
    versions.into_iter().find_map(left)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Bounds with a clock, in seconds, and an interrupt of our own.
    pub(crate) fn bounds() -> (Bounds, Arc<AtomicU64>, Arc<AtomicBool>) {
        let (seconds, interrupted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let clock = Arc::clone(&seconds);
        let context = Context {
            log: &mut std::io::sink(),
            columns: None,
            directory: std::path::Path::new(""),
            cache: None,
            interrupted: &interrupted,
            clock: &(Arc::new(move || Duration::from_secs(clock.load(Ordering::Relaxed))) as Clock),
            builds: &Default::default(),
        };
        let bounds = Bounds::new(&context);
        (bounds, seconds, interrupted)
    }

    #[test]
    fn the_first_reason_to_stop_counts() {
        let (bounds, seconds, interrupted) = bounds();
        bounds.search(Some(Duration::from_secs(5)), Some(u64::MAX));
        assert_eq!(bounds.reason(), None);
        bounds.search(Some(Duration::from_secs(5)), Some(1));
        assert_eq!(bounds.reason(), Some(Stopped::Memory));
        seconds.store(5, Ordering::Relaxed);
        assert_eq!(bounds.reason(), Some(Stopped::Time));
        interrupted.store(true, Ordering::Relaxed);
        assert_eq!(bounds.reason(), Some(Stopped::Interrupted));
    }

    #[test]
    fn only_an_interrupt_ends_what_is_no_search() {
        let (bounds, seconds, interrupted) = bounds();
        seconds.store(1_000_000, Ordering::Relaxed);
        assert_eq!(bounds.reason(), None);
        interrupted.store(true, Ordering::Relaxed);
        assert_eq!(bounds.reason(), Some(Stopped::Interrupted));
    }

    /// A search has its time and memory but for the last tenth. The work after it has that tenth, and at least a second.
    #[test]
    fn the_last_tenth_belongs_to_what_follows_a_search() {
        for time in [1_u64, 3, 10, 59, 600] {
            let (bounds, seconds, _) = bounds();
            bounds.search(Some(Duration::from_secs(time)), None);
            let until = |from: u64| {
                let end = (from..).find(|now| {
                    seconds.store(*now, Ordering::Relaxed);
                    bounds.reason().is_some()
                });
                end.expect("everything ends")
            };
            let searched = until(0);
            assert_eq!(searched, (time * 9).div_ceil(10), "{time}");
            bounds.record();
            bounds.close();
            let closed = until(searched) - searched;
            assert!(closed * 10 + 9 >= time && closed >= 1 && searched + closed <= time + 1, "{time}: {closed}");
        }
        let (bounds, ..) = bounds();
        bounds.search(None, Some(1_000_000_000_000));
        assert_eq!(bounds.memory_max(), Some(900_000_000_000));
        assert!(bounds.is_too_much(900_000_000_000) && !bounds.is_too_much(899_999_999_999));
        assert_eq!(bounds.reason(), None);
        bounds.record();
        bounds.close();
        assert!(bounds.is_too_much(1_000_000_000_000) && !bounds.is_too_much(999_999_999_999));
    }

    /// The work after a search uses the time that is left. Without any it has a tenth of all time, or a moment, and the interrupt of the
    /// search does not stop it.
    #[test]
    fn what_follows_a_search_has_the_time_that_is_left_or_a_moment() {
        let end = |at: u64, is_interrupted: bool| {
            let (bounds, seconds, interrupted) = bounds();
            bounds.search(Some(Duration::from_secs(10)), None);
            seconds.store(at, Ordering::Relaxed);
            interrupted.store(is_interrupted, Ordering::Relaxed);
            bounds.record();
            assert_eq!(bounds.reason(), None, "nothing ends the writing");
            bounds.close();
            let reasons = (at..at + 20).find_map(|now| {
                seconds.store(now, Ordering::Relaxed);
                bounds.reason().map(|reason| (now, reason))
            });
            reasons.expect("everything ends")
        };
        assert_eq!(end(9, false), (10, Stopped::Time));
        assert_eq!(end(3, false), (10, Stopped::Time));
        assert_eq!(end(10, false), (11, Stopped::Time));
        assert_eq!(end(3, true), (4, Stopped::Interrupted));
    }

    #[test]
    fn what_follows_a_search_has_what_is_left_of_its_memory_or_some_more() {
        let left = |memory_max: u64| {
            let (bounds, ..) = bounds();
            bounds.search(None, Some(memory_max));
            bounds.record();
            bounds.close();
            assert_eq!(bounds.reason(), None, "there is some room in any case");
            (bounds.is_too_much(memory_max.saturating_sub(1)), bounds.is_too_much(u64::MAX))
        };
        // The process has more than a byte, and less than 2^60 of them.
        assert_eq!(left(1), (false, true));
        assert_eq!(left(1 << 60), (false, true));
        let (bounds, ..) = bounds();
        bounds.search(None, Some(1));
        bounds.record();
        bounds.close();
        let bound = bounds.process_bytes() + GRACE_BYTES;
        assert!(bounds.is_too_much(bound) && !bounds.is_too_much(bound - 1), "no more than that");
        bounds.memory_max.store(1, Ordering::Relaxed);
        assert_eq!(bounds.reason(), Some(Stopped::Memory), "it is looked at there, too");
    }

    /// Memory that was freed and is kept by the allocator, and 16 MiB more, do not end a search.
    #[test]
    fn freed_memory_does_not_end_a_search() {
        let (bounds, ..) = bounds();
        bounds.search(None, Some(1 << 20));
        assert_eq!(bounds.reason(), Some(Stopped::Memory), "the process has more");
        bounds.frees(1_000);
        assert_eq!(bounds.reason(), Some(Stopped::Memory), "that is not enough");
        bounds.frees(1 << 40);
        assert_eq!(bounds.reason(), None);
        assert!(!bounds.process_takes_too_much(0) && !bounds.process_takes_too_much(SPARE_MORE / 2));
        assert!(bounds.process_takes_too_much(SPARE_MORE * 2), "no more than that");
        assert!(bounds.is_too_much(1 << 20), "what is counted counts");
    }

    #[test]
    fn an_interrupt_after_the_search_ends_what_follows_at_once() {
        let (bounds, _, interrupted) = bounds();
        bounds.search(None, None);
        bounds.record();
        bounds.close();
        assert_eq!(bounds.reason(), None);
        interrupted.store(true, Ordering::Relaxed);
        assert_eq!(bounds.reason(), Some(Stopped::Interrupted));
    }

    #[test]
    fn half_of_what_is_available_is_the_default() {
        let available = bytes_in(&std::fs::read_to_string("/proc/meminfo").expect("Linux"), "MemAvailable:");
        let (available, default) = (available.expect("Linux"), default_memory().expect("Linux"));
        let container = container_memory();
        let expected = share_of(available, container, process_bytes("VmRSS:").expect("Linux"));
        // Other processes use memory meanwhile.
        let slack = container.map_or(available, |container| container.min(available)) / 10 + (256 << 20);
        assert!(default.abs_diff(expected) <= slack, "{default} and not {expected} of {available}");
    }

    #[test]
    fn the_narrower_of_machine_and_container_is_shared() {
        const GIB: u64 = 1 << 30;
        assert_eq!(share_of(8 * GIB, None, GIB), 5 * GIB);
        assert_eq!(share_of(8 * GIB, Some(2 * GIB), GIB), 2 * GIB, "1 GiB and half of 2");
        // A container can have a limit above the memory of the machine.
        assert_eq!(share_of(8 * GIB, Some(u64::MAX), GIB), 5 * GIB);
        assert_eq!(share_of(0, None, GIB), GIB, "what it has is never taken away");
    }
}
