//! The command line of the model checker.
//!
//! [`run`] is the program without its process: tests call it with streams of their own. Clocks, files and signals live
//! in this crate and nowhere below it, the sandbox and the build apart.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | options and their help |
//! | `environment` | streams, folders and the request to stop, as values |
//! | `run_command` | `host run` |
//! | `new_command` | `host new` |
//! | `build_command` | `host build` |
//! | `inspect_command` | `host inspect` |
//! | `doctor_command` | `host doctor` |
//! | `examination` | the check of `host doctor`: every step in several ways that must not differ |
//! | `replay_command` | `host replay` |
//! | `minimize_command` | `host minimize`, and the same for the findings of a run |
//! | `draw_command` | `host draw` |
//! | `export_command` | `host export` |
//! | `debug_command` | `host debug` |
//! | `line_editor` | lines with history and completion, from a terminal or from a script |
//! | `artefacts` | the files that a run leaves behind |
//! | `trace_source` | from the path of a trace to the trace and its plugin |
//! | `languages_command` | `host languages`: one protocol in many languages, side by side |
//! | `list_command` | `host list` |
//! | `plugin_source` | from a path to a loaded plugin |
//! | `test_command` | `host test` |
//! | `junit` | results of `host test` for other programs |
//! | `scenario_file` | scenarios in files: a key for each option |
//! | `expectation` | the expected result of a scenario |
//! | `scenario_choice` | cluster and bounds, from defaults, options and prefix |
//! | `links` | links with a network of their own: options, and their effect on a cluster |
//! | `limits` | `--limit`: names, values and units |
//! | `identity` | what a search is about, as facts that can be compared |
//! | `checkpoint` | checkpoints in files, and the command line that resumes one |
//! | `placement` | the component of each node: options, checks, traces |
//! | `mixed` | a cluster of several components as one factory of machines; twins |
//! | `bounds` | time, memory and the first interrupt, for all phases of a command |
//! | `monitor` | progress of a search, and its end by such a bound |
//! | `finding` | from a finding of a search to a confirmed one |
//! | `files` | files from anywhere, read within bounds; files written as a whole or not at all |
//! | `trace_file` | reading, checking and writing traces |
//! | `report` | the result of a run |
//! | `exit` | the table of exit codes |
//! | `failure` | a command that cannot continue: sentence, help, exit code |
//! | `text` | numbers, tables, quoting |
//! | `units` | times and sizes with units |
#![forbid(unsafe_code)]

mod args;
mod artefacts;
mod bounds;
mod build_command;
mod checkpoint;
mod debug_command;
mod doctor_command;
mod draw_command;
mod environment;
mod examination;
pub mod exit;
mod expectation;
mod export_command;
mod failure;
mod files;
mod finding;
mod identity;
mod inspect_command;
mod junit;
mod languages_command;
mod limits;
mod line_editor;
mod links;
mod list_command;
mod minimize_command;
mod mixed;
mod monitor;
mod new_command;
mod placement;
mod plugin_source;
mod replay_command;
mod report;
mod run_command;
mod scenario_choice;
mod scenario_file;
mod test_command;
mod text;
mod trace_file;
mod trace_source;
mod units;

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use host_inspect::escape;
use serde_json::json;

pub use crate::environment::{Clock, Environment, default_cache, system_clock};

use crate::args::{Arguments, Command, RunArguments};
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs one command line, the name of the program first; returns the exit code. See [`exit::TABLE`].
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &mut Environment<'_>) -> u8 {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().map_or_else(|| "host".to_owned(), |name| name.to_string_lossy().into_owned());
    let parsed = Arguments::command().try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (mut parsed, mut matches) = match parsed {
        Ok(parsed) => parsed,
        Err(message) => return explain(&message, &arguments, environment).code(),
    };
    if let Command::Run(run) = &parsed.command
        && let RunArguments { resume: Some(folder), json, .. } = &**run
    {
        let (folder, json) = (folder.clone(), *json);
        let beside = of_run(&matches);
        let named_again = checkpoint::named_plugin(beside).is_some();
        arguments = match checkpoint::command_line(&folder, &arguments[0], beside, environment) {
            Ok(resumed) => resumed,
            Err(failure) => return refuse(&failure, json, environment),
        };
        // What stands beside `--resume` comes last and counts.
        let command = Arguments::command().mut_subcommand("run", |run| run.args_override_self(true));
        let again = command.try_get_matches_from(&arguments);
        (parsed, matches) = match again.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches))) {
            Ok(parsed) => parsed,
            Err(message) => return refuse(&checkpoint::misfit(&folder, &message), json, environment),
        };
        if let Command::Run(run) = &mut parsed.command {
            (run.resume, run.named_again, run.source.finished) = (Some(folder), named_again, !named_again);
            run.keep_last_parameters();
        }
    }
    if let Command::Run(run) = &mut parsed.command {
        (run.words, run.options) = (words_of(&arguments), checkpoint::options(of_run(&matches)));
    }
    let wants_json = match &parsed.command {
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
    };
    let result = match &parsed.command {
        Command::Run(run) if scenario_file::is_scenario(&run.plugin) => {
            scenario_file::merge(run, of_run(&matches), &arguments, environment).and_then(|(run, origin)| {
                run_command::run(&run, &program, environment).map_err(|failure| origin.locate(failure))
            })
        }
        Command::Run(arguments) => run_command::run(arguments, &program, environment),
        Command::Languages(arguments) => languages_command::run(arguments, &program, environment),
        Command::New(arguments) => new_command::run(arguments, environment),
        Command::Build(arguments) => build_command::run(arguments, environment),
        Command::Inspect(arguments) => inspect_command::run(arguments, environment),
        Command::Doctor(arguments) => doctor_command::run(arguments, environment),
        Command::Replay(arguments) => replay_command::run(arguments, environment),
        Command::Export(arguments) => export_command::run(arguments, environment),
        Command::Debug(arguments) => debug_command::run(arguments, environment),
        Command::Draw(arguments) => draw_command::run(arguments, environment),
        Command::Minimize(arguments) => minimize_command::run(arguments, &program, environment),
        Command::Test(arguments) => test_command::run(arguments, &program, environment),
        Command::List(arguments) => list_command::run(arguments, environment),
    };
    match result {
        Ok(exit) => exit.code(),
        Err(failure) => refuse(&failure, wants_json, environment),
    }
}

/// What was given after `run`.
fn of_run(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand_matches("run").expect("the command is `run`")
}

/// The words after the command.
fn words_of(arguments: &[OsString]) -> Vec<String> {
    arguments.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Says why a command cannot do what it was asked to do.
fn refuse(failure: &Failure, wants_json: bool, environment: &mut Environment<'_>) -> u8 {
    if wants_json {
        // The error below says the same to people.
        let _ = environment.print(&error_object(failure));
    }
    environment.fail(failure);
    failure.exit.code()
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

/// A value as it is printed: indented, with a line break at the end.
pub(crate) fn json_text(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("keys are strings, and nothing else can fail in memory");
    escape::json(&text) + "\n"
}
