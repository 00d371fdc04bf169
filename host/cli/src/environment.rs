//! The environment of a command: streams, folders, the user's request to stop.

use std::io::{BufRead, ErrorKind, Sink, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_inspect::escape::guarded;
use host_inspect::explain::Paint;
use host_session::base::context::{Builds, Clock};
use host_session::base::{Context, Failure};

/// Everything outside a command that it uses, so that tests can run commands in their own process.
pub struct Environment<'a> {
    /// Results.
    pub stdout: &'a mut dyn Write,
    /// Progress, steps of builds, errors.
    pub stderr: &'a mut (dyn Write + Send),
    /// Input of the user, or of a program in their place.
    pub stdin: &'a mut dyn BufRead,
    /// Whether standard input is a terminal: a debugger then offers history and completion.
    pub stdin_is_terminal: bool,
    /// Whether results may be coloured: `stdout` is a terminal, and its user does not forbid it.
    pub colours: bool,
    /// The width of the terminal behind `stderr`: progress is redrawn there. None if it is no terminal.
    pub stderr_columns: Option<usize>,
    /// The base of relative paths; empty for the working directory of the process.
    pub directory: PathBuf,
    /// The folder of compiled code and of the standard library for guests; none if no folder is usable.
    pub cache: Option<PathBuf>,
    /// Set from outside, by a signal for example, to end a search with its results so far.
    pub interrupted: Arc<AtomicBool>,
    /// The clock for `--time`.
    pub clock: Clock,
    /// The builds and loaded plugins of this command.
    pub builds: Builds,
}

impl Environment<'_> {
    /// A path that the user gave.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// The part of it that a session uses.
    pub fn context(&mut self) -> Context<'_> {
        Context {
            log: &mut *self.stderr,
            columns: self.stderr_columns,
            directory: &self.directory,
            cache: self.cache.as_deref(),
            interrupted: &self.interrupted,
            clock: &self.clock,
            builds: &self.builds,
        }
    }

    /// The same for a run without a terminal.
    pub fn silent<'c>(&'c mut self, log: &'c mut Sink) -> Context<'c> {
        Context { log, columns: None, ..self.context() }
    }

    /// The colours of results.
    pub fn paint(&self) -> Paint {
        if self.colours { Paint::Coloured } else { Paint::Plain }
    }

    /// Writes a result. A closed pipe is no failure: the reader needed no more.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written: the disk is full, say.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_commands(&guarded(text, self.colours))
    }

    /// The same for lines that are commands to the reader of the log; the caller has escaped their parameters.
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

    /// Writes a line for the user. A failure to write it is not reported: no other stream is left.
    pub fn tell(&mut self, line: &str) {
        self.context().tell(line);
    }

    /// Prints why a command failed.
    pub fn fail(&mut self, failure: &Failure) {
        // A compiler's message has several lines; the mark keeps any of them from passing for a line of the host.
        let marked = |text: &str| text.replace('\n', "\n  | ");
        self.tell(&format!("error: {}", marked(&failure.message)));
        if let Some(help) = &failure.help {
            self.tell(&format!("help: {}", marked(help)));
        }
    }
}

#[cfg(test)]
mod tests {
    use host_session::base::context::system_clock;
    use host_session::base::exit::Exit;

    use super::*;

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
            stderr_columns: None,
            directory: PathBuf::new(),
            cache: None,
            interrupted: Arc::default(),
            clock: system_clock(),
            builds: Builds::default(),
        };
        environment.tell("a message without a reader");
        environment.print("nor this")
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is_one() {
        assert_eq!(print_to(ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(print_to(ErrorKind::StorageFull).map_err(|failure| failure.exit), Err(Exit::System));
    }
}
