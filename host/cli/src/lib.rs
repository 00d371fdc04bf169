//! The command line of the model checker.
//!
//! [`run`] is the program without its process: tests call it with streams of their own. Clocks, files and signals live
//! in this crate and nowhere below it, the sandbox and the build apart.
//!
//! Imports point upwards in this table:
//!
//! | module | what it holds |
//! |---|---|
//! | `environment` | streams, folders and the request to stop, as values |
//! | `options` | options and their help |
//! | `output` | the result of a run for people, and the files that it leaves behind |
//! | `commands` | a file or folder for each command |
#![forbid(unsafe_code)]

mod commands;
mod environment;
mod options;
mod output;

use std::ffi::OsString;

use clap::Parser;
use host_session::base::failure::Failure;
use host_session::base::text::{json_text, shell_quoted};
use serde_json::json;

pub use crate::environment::Environment;
pub use host_session::base::context::{Clock, default_cache, system_clock};
pub use host_session::base::exit;

use crate::exit::Exit;
use crate::options::{Arguments, Command};

/// Runs one command line, the name of the program first; returns the exit code. See [`exit::TABLE`].
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &mut Environment<'_>) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let command = match Arguments::try_parse_from(&words) {
        Ok(parsed) => parsed.command,
        Err(message) => return explain(&message, &words, environment).code(),
    };
    match execute(&command, &words, environment) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            if wants_json(&command) {
                // The error below says the same to people.
                let _ = environment.print(&error_object(&failure));
            }
            environment.fail(&failure);
            failure.exit.code()
        }
    }
}

/// Whether a command prints JSON, and so does its failure.
fn wants_json(command: &Command) -> bool {
    match command {
        Command::Run(arguments) => arguments.json,
        Command::Inspect(arguments) => arguments.json,
        Command::Doctor(arguments) => arguments.json,
        Command::Replay(arguments) => arguments.json,
        Command::Minimize(arguments) => arguments.json,
        Command::List(arguments) => arguments.json,
        Command::Languages(arguments) => arguments.json,
        Command::Build(_)
        | Command::New(_)
        | Command::Draw(_)
        | Command::Export(_)
        | Command::Debug(_)
        | Command::Test(_) => false,
    }
}

fn execute(command: &Command, words: &[OsString], environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = words.first().map_or("host", String::as_str);
    match command {
        Command::Run(arguments) => {
            let line = words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ");
            commands::run::run(arguments, (program, line), environment)
        }
        Command::Languages(arguments) => commands::languages::run(arguments, environment),
        Command::New(arguments) => commands::new::run(arguments, environment),
        Command::Build(arguments) => commands::build::run(arguments, environment),
        Command::Inspect(arguments) => commands::inspect::run(arguments, environment),
        Command::Doctor(arguments) => commands::doctor::run(arguments, environment),
        Command::Replay(arguments) => commands::replay::run(arguments, environment),
        Command::Export(arguments) => commands::export::run(arguments, environment),
        Command::Debug(arguments) => commands::debug::run(arguments, environment),
        Command::Draw(arguments) => commands::draw::run(arguments, environment),
        Command::Minimize(arguments) => commands::minimize::run(arguments, program, environment),
        Command::Test(arguments) => commands::test::run(arguments, environment),
        Command::List(arguments) => commands::list::run(arguments, environment),
    }
}

/// Prints the help, the version or what is wrong with the command line.
fn explain(message: &clap::Error, arguments: &[OsString], environment: &mut Environment<'_>) -> Exit {
    let text = message.render().to_string();
    if message.use_stderr() {
        // The command line is not understood, but this word of it is.
        if arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
            let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
            let mut failure = Failure::new(Exit::Usage, first.trim_start_matches("error: "));
            failure.help = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
            // The lines below say the same to people.
            let _ = environment.print(&error_object(&failure));
        }
        environment.tell(text.trim_end());
        return Exit::Usage;
    }
    match environment.print(&text) {
        Ok(()) => Exit::Ok,
        Err(failure) => failure.exit,
    }
}

/// What `--json` prints where there is no result.
fn error_object(failure: &Failure) -> String {
    let error = json!({ "message": failure.message, "help": failure.help });
    json_text(&json!({ "result": "error", "exit_code": failure.exit.code(), "error": error }))
}
