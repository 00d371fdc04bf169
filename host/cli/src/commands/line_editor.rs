//! Lines that the user types, with history and completion, or lines of a script.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use host_inspect::debug::Console;
use host_session::base::{Failure, files};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

/// The maximum number of lines in the history.
const HISTORY_MAX: usize = 1000;

/// The maximum size in bytes of a history that is read.
const HISTORY_BYTES_MAX: u64 = 16 << 20;

/// The maximum length in bytes of a line of a script.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The source of lines.
pub enum Lines<'i> {
    /// A person at a terminal.
    Terminal(Box<Terminal>),
    /// A file or a pipe.
    Script(&'i mut dyn BufRead),
}

/// A terminal with a history.
pub struct Terminal {
    editor: Editor<Commands, FileHistory>,
    history: Option<PathBuf>,
}

impl<'i> Lines<'i> {
    /// Lines from a terminal, with the history of earlier sessions if there is a folder for it.
    ///
    /// # Errors
    ///
    /// The terminal cannot be used.
    pub fn of_terminal(cache: Option<&Path>) -> Result<Self, Failure> {
        let failure = |error: ReadlineError| Failure::system(format_args!("cannot use the terminal: {error}"));
        let config = Config::builder().max_history_size(HISTORY_MAX).map_err(failure)?.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(Commands));
        let history = cache.map(|cache| cache.join("debug-history"));
        if let Some(history) = &history
            && files::open(history).is_ok_and(|(_, bytes)| bytes <= HISTORY_BYTES_MAX)
        {
            // The first session has no history.
            let _ = editor.load_history(history);
        }
        Ok(Self::Terminal(Box::new(Terminal { editor, history })))
    }

    /// The next line and whether it has to be echoed; none at the end.
    ///
    /// # Errors
    ///
    /// The lines cannot be read.
    pub fn next(&mut self, prompt: &str) -> Result<Option<(String, bool)>, Failure> {
        match self {
            Self::Terminal(terminal) => match terminal.editor.readline(prompt) {
                Ok(line) => Ok(Some((line, false))),
                // Ctrl-C empties the line, Ctrl-D ends the session, as in a shell.
                Err(ReadlineError::Interrupted) => Ok(Some((String::new(), false))),
                Err(ReadlineError::Eof) => Ok(None),
                Err(error) => Err(Failure::system(format_args!("cannot read from the terminal: {error}"))),
            },
            Self::Script(script) => {
                let mut line = String::new();
                let read = std::io::Read::take(&mut **script, LINE_BYTES_MAX).read_line(&mut line);
                match read {
                    Ok(0) => Ok(None),
                    Ok(_) => Ok(Some((line.trim_end_matches(['\n', '\r']).to_owned(), true))),
                    Err(error) => Err(Failure::system(format_args!("cannot read standard input: {error}"))),
                }
            }
        }
    }

    /// Saves the history for the next session.
    pub fn close(self) {
        if let Self::Terminal(mut terminal) = self
            && let Some(history) = &terminal.history
        {
            // A session works without a history.
            let _ = history.parent().map(std::fs::create_dir_all);
            let _ = terminal.editor.save_history(history);
        }
    }
}

/// Completes the names of commands.
struct Commands;

impl Completer for Commands {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = &line[..at];
        let from = begun.rfind(' ').map_or(0, |space| space + 1);
        Ok((from, Console::complete(begun).into_iter().map(str::to_owned).collect()))
    }
}

impl Hinter for Commands {
    type Hint = String;
}

impl Highlighter for Commands {}

impl Validator for Commands {}

impl Helper for Commands {}
