//! What a command touches outside of itself: streams, folders, the user's wish to stop.

use std::io::{BufRead, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host_inspect::escape::guarded;
use host_inspect::explain::Paint;

use crate::base::failure::Failure;
use crate::base::text::without_controls;

/// What a command touches outside of itself, so that tests can run commands in their own process.
pub struct Environment<'a> {
    /// Results.
    pub stdout: &'a mut dyn Write,
    /// Progress, steps of builds, errors.
    pub stderr: &'a mut (dyn Write + Send),
    /// What the user types, or what a program says in their place.
    pub stdin: &'a mut dyn BufRead,
    /// Whether a person types it: a debugger then offers history and completion.
    pub stdin_is_terminal: bool,
    /// Whether results may be coloured: a person watches `stdout` and has nothing against it.
    pub colours: bool,
    /// Whether a person watches `stderr`: progress is shown then.
    pub stderr_is_terminal: bool,
    /// Where relative paths begin; empty for the working directory of the process.
    pub directory: PathBuf,
    /// Where compiled code and the standard library for guests are kept; none if there is no place.
    pub cache: Option<PathBuf>,
    /// Set from outside, by a signal for example, to end a search with what it has.
    pub interrupted: Arc<AtomicBool>,
    /// What `--time` is measured with.
    pub clock: Clock,
}

/// Tells the time since some moment in the past. Asked before every call of a guest.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The clock of this machine.
pub fn system_clock() -> Clock {
    let began = Instant::now();
    Arc::new(move || began.elapsed())
}

impl Environment<'_> {
    /// A path that the user gave.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// How results are written.
    pub fn paint(&self) -> Paint {
        if self.colours { Paint::Coloured } else { Paint::Plain }
    }

    /// Writes a result. A reader that went away is no failure: it has seen what it wanted.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written: the disk is full, say.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_commands(&guarded(text, self.colours))
    }

    /// The same with lines that are commands to who reads the log; their parameters have to be escaped by then.
    ///
    /// # Errors
    ///
    /// As for [`Environment::print`].
    pub fn print_commands(&mut self, text: &str) -> Result<(), Failure> {
        let result = self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush());
        match result {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::system(format_args!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line for the user. There is nobody left to tell if that fails.
    pub fn tell(&mut self, line: &str) {
        let _ = writeln!(self.stderr, "{}", without_controls(line));
    }

    /// Stops a build when the user says so.
    pub fn stops_builds(&self) -> host_build::Stop {
        let interrupted = Arc::clone(&self.interrupted);
        host_build::Stop::new(move || interrupted.load(Ordering::Relaxed))
    }

    /// Says why a command cannot do what it was asked to do.
    pub fn fail(&mut self, failure: &Failure) {
        // What a compiler says has several lines; whatever stands in them, they are none of ours.
        let marked = |text: &str| text.replace('\n', "\n  | ");
        self.tell(&format!("error: {}", marked(&failure.message)));
        if let Some(help) = &failure.help {
            self.tell(&format!("help: {}", marked(help)));
        }
    }
}

/// `host` in the user's folder for caches: `$XDG_CACHE_HOME`, or `.cache` at home.
pub fn default_cache() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(caches.join("host"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::exit::Exit;

    struct Refusing(ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn print_to(kind: ErrorKind) -> Result<(), Failure> {
        let (mut stdout, mut stderr) = (Refusing(kind), Refusing(kind));
        let mut environment = Environment {
            stdout: &mut stdout,
            stderr: &mut stderr,
            stdin: &mut std::io::empty(),
            stdin_is_terminal: false,
            colours: false,
            stderr_is_terminal: false,
            directory: PathBuf::new(),
            cache: None,
            interrupted: Arc::default(),
            clock: system_clock(),
        };
        environment.tell("nobody reads this");
        environment.print("nor this")
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is_one() {
        assert_eq!(print_to(ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(print_to(ErrorKind::StorageFull).map_err(|failure| failure.exit), Err(Exit::System));
    }
}
