//! A command inside another one.

use std::ffi::OsString;
use std::sync::Arc;

use crate::base::environment::Environment;

/// What a command printed that ran inside another one.
pub struct Printed {
    /// How it ended.
    pub code: u8,
    /// Results.
    pub stdout: Vec<u8>,
    /// Errors.
    pub stderr: String,
}

/// Runs a command line as one of its own, with streams in memory, as a reader of its JSON would.
pub fn inside(words: Vec<OsString>, environment: &Environment<'_>) -> Printed {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut inner = Environment {
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin: &mut std::io::empty(),
        stdin_is_terminal: false,
        colours: false,
        stderr_is_terminal: false,
        directory: environment.directory.clone(),
        cache: environment.cache.clone(),
        interrupted: Arc::clone(&environment.interrupted),
        clock: Arc::clone(&environment.clock),
    };
    let code = crate::run(words, &mut inner);
    Printed { code, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}
