//! Medians, shares, and rows of tables.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The quantile of the values at this part.
pub(crate) fn at(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len().saturating_sub(1) as f64 * part) as usize).copied().unwrap_or_default()
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    at(values, 0.5)
}

/// The processor time of this thread, or of the whole process.
pub(crate) fn processor(who: UsageWho) -> Duration {
    let usage = getrusage(who).expect("the system counts it");
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(microseconds).unwrap_or_default())
}

/// The processor time of the running threads of this process with this name.
pub(crate) fn processor_of_threads(name: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let text = |file| std::fs::read_to_string(task.path().join(file)).ok();
        let is_one = text("comm")?.trim() == name;
        let nanoseconds = text("schedstat")?.split(' ').next()?.parse().ok()?;
        is_one.then(|| Duration::from_nanos(nanoseconds))
    };
    tasks.filter_map(of).sum()
}
