//! Running a program to its end, with its resource usage.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

/// The output of a finished process, and its resource usage.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Standard output. Standard error goes where that of this process goes.
    pub stdout: String,
    /// The exit code; -1 if a signal ended it.
    pub exit_code: i32,
    /// From start to end.
    pub wall_seconds: f64,
    /// User and system time of the process and its threads.
    pub cpu_seconds: f64,
    /// Largest resident set.
    pub peak_bytes: u64,
}

/// Starts a program, reads its output, and waits for its end.
///
/// # Errors
///
/// It cannot be started; the text names it.
pub fn run(command: &mut Command) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut bytes = Vec::new();
    child.stdout.take().expect("it is piped").read_to_end(&mut bytes).map_err(failed)?;
    let used = child.wait4().map_err(failed)?;
    Ok(Finished {
        stdout: String::from_utf8_lossy(&bytes).into_owned(),
        exit_code: used.status.code().unwrap_or(-1),
        wall_seconds: began.elapsed().as_secs_f64(),
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
    })
}

/// The middle value, or the mean of the two in the middle.
///
/// # Panics
///
/// There is no value.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn a_process_is_measured() {
        let done = run(Command::new("sh").args(["-c", "echo hello; exit 3"])).expect("there is a shell");
        assert_eq!((done.stdout.as_str(), done.exit_code), ("hello\n", 3));
        assert!(done.peak_bytes > 0);
        let error = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert!(error.starts_with("no-such-program: "), "{error}");
    }
}
