//! `host completions`.

use clap::CommandFactory;
use clap_complete::Shell;
use host_session::base::{Exit, Failure};

use crate::environment::Environment;
use crate::options::Arguments;

/// Prints the completions of a shell for all commands and options.
pub fn run(shell: Shell, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "host", &mut script);
    // The script contains nothing of a plugin, and a shell has to read it unchanged.
    environment.print_commands(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
