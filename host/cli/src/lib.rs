//! The command line of the model checker.
//!
//! [`run`] is the program without its process: tests call it with their own streams. Options and streams of the process
//! live in this crate and nowhere below it.
//!
//! Imports point upwards in this table:
//!
//! | module | what it holds |
//! |---|---|
//! | `environment` | streams, folders and the request to stop, as values |
//! | `standard_input` | standard input that an interrupt ends |
//! | `options` | options and their help |
//! | `output` | the result of a run for people, and the files that it leaves behind |
//! | `commands` | a file or folder for each command |
#![forbid(unsafe_code)]

mod commands;
mod environment;
mod options;
mod output;
mod standard_input;

use std::ffi::OsString;

use host_session::base::Failure;
use host_session::base::text::json_text;
use host_session::report::result::RESULT_VERSION;
use serde_json::json;

pub use crate::environment::Environment;
pub use crate::standard_input::StandardInput;
pub use host_build::default_cache;
pub use host_session::base::context::{Clock, system_clock};
pub use host_session::base::exit;

use crate::exit::Exit;

/// Runs one command line, the name of the program first; returns the exit code. See [`exit::TABLE`].
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &mut Environment<'_>) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    // The command line may be invalid, but this word of it is clear.
    let wants_json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let command = match options::parse(&words) {
        Ok(command) => command,
        Err(message) => return explain(&message, wants_json, environment).code(),
    };
    match commands::execute(&command, &words, environment) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            if wants_json {
                // The error below says the same to people.
                let _ = environment.print(&error_object(&failure));
            }
            environment.fail(&failure);
            failure.exit.code()
        }
    }
}

/// Prints the help, the version or the error of the command line.
fn explain(message: &clap::Error, wants_json: bool, environment: &mut Environment<'_>) -> Exit {
    let text = options::tips::worded(&message.render().to_string());
    if message.use_stderr() {
        if wants_json {
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

/// The output of `--json` without a result.
fn error_object(failure: &Failure) -> String {
    let error = json!({ "message": failure.message, "help": failure.help });
    json_text(
        &json!({ "result_version": RESULT_VERSION, "result": "error", "exit_code": failure.exit.code(), "error": error }),
    )
}
