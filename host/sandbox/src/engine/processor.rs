//! Processor time of the threads that compile.
//!
//! A wall clock also counts other programs on the same machine, and the processor time of the process also counts its other threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The threads of one compilation.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<Vec<Thread>>);

/// A thread, with its time at the last reading: the time of a thread that has ended cannot be read.
#[derive(Debug)]
struct Thread {
    /// None if the system does not report the time of threads.
    file: Option<PathBuf>,
    spent: Duration,
}

impl Threads {
    /// Counts the calling thread from now on.
    pub(crate) fn join(&self) {
        let file =
            fs::read_link("/proc/thread-self").ok().map(|thread| Path::new("/proc").join(thread).join("schedstat"));
        let file = file.filter(|file| read(file).is_some());
        self.threads().push(Thread { file, spent: Duration::ZERO });
    }

    /// The processor time of all of them, including those that have ended; none if the system does not report it.
    pub(crate) fn spent(&self) -> Option<Duration> {
        let mut sum = Duration::ZERO;
        for thread in self.threads().iter_mut() {
            if let Some(spent) = read(thread.file.as_ref()?) {
                thread.spent = thread.spent.max(spent);
            }
            sum += thread.spent;
        }
        Some(sum)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Thread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first number is the nanoseconds that a thread has run.
fn read(schedstat: &Path) -> Option<Duration> {
    fs::read_to_string(schedstat).ok()?.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Barrier;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    /// Processor time of the calling thread, from another source.
    fn own() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("less than a second"))
    }

    #[test]
    fn threads_that_work_count_and_threads_that_wait_do_not() {
        const WORK: Duration = Duration::from_millis(60);
        /// The kernel updates the number at least once in this time while a thread runs, and whenever it stops.
        const TICK: Duration = Duration::from_millis(20);
        let (threads, done) = (Threads::default(), Barrier::new(3));
        let spin = |work: Duration| {
            threads.join();
            while own() < work {
                std::hint::spin_loop();
            }
            done.wait();
            done.wait();
        };
        std::thread::scope(|scope| {
            scope.spawn(|| spin(WORK));
            scope.spawn(|| spin(Duration::ZERO));
            done.wait();
            let spent = threads.spent().expect("linux tells it");
            assert!(spent + TICK >= WORK, "{spent:?}");
            // A sleeping thread: whatever the wall clock shows, its time does not grow.
            std::thread::sleep(Duration::from_millis(100));
            let later = threads.spent().expect("linux tells it");
            assert!(later - spent < TICK, "{spent:?}, {later:?}");
            done.wait();
        });
        let after = threads.spent().expect("both are remembered");
        assert!(after + TICK >= WORK, "{after:?}");
    }
}
