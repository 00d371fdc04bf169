//! The command line of the model checker.
//!
//! [`run`] is the program without its process: tests call it with streams of their own. Clocks, files and signals live
//! in this crate and nowhere below it, the sandbox and the build apart.
//!
//! Imports point upwards in this table:
//!
//! | module | what it holds |
//! |---|---|
//! | `base` | streams, folders, files, failures, exit codes, text |
//! | `options` | options and their help |
//! | `setup` | from options and files to a cluster that is ready to run |
//! | `scenario_file` | scenarios in files: a key for each option |
//! | `searching` | a search and what surrounds it: progress, checkpoints, findings |
//! | `report` | the result of a run, and the files that it leaves behind |
//! | `commands` | a file or folder for each command |
#![forbid(unsafe_code)]

mod base;
mod commands;
mod options;
mod report;
mod scenario_file;
mod searching;
mod setup;

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use serde_json::json;

pub use crate::base::environment::{Clock, Environment, default_cache, system_clock};
pub use crate::base::exit;

use crate::base::exit::Exit;
use crate::base::failure::Failure;
use crate::base::text::json_text;
use crate::options::{Arguments, Command};
use crate::searching::checkpoint;

/// Runs one command line, the name of the program first; returns the exit code. See [`exit::TABLE`].
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &mut Environment<'_>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().map_or_else(|| "host".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut line = match Line::new(arguments) {
        Ok(line) => line,
        Err((message, arguments)) => return explain(&message, &arguments, environment).code(),
    };
    let wants_json = wants_json(&line.parsed.command);
    let result = line.resumed(environment).and_then(|()| execute(&line, &program, environment));
    match result {
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

/// A command line that is understood.
struct Line {
    words: Vec<OsString>,
    parsed: Arguments,
    matches: ArgMatches,
}

impl Line {
    /// A command line from its words, which the error gives back.
    fn new(words: Vec<OsString>) -> Result<Self, (clap::Error, Vec<OsString>)> {
        let matches = Arguments::command().try_get_matches_from(&words);
        match matches.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches))) {
            Ok((parsed, matches)) => Ok(Self { words, parsed, matches }),
            Err(message) => Err((message, words)),
        }
    }

    /// Puts the options of a checkpoint below those that are given beside `--resume`, and notes which options there are.
    fn resumed(&mut self, environment: &Environment<'_>) -> Result<(), Failure> {
        if let Command::Run(run) = &self.parsed.command
            && let Some(folder) = run.resume.clone()
        {
            let beside = of_run(&self.matches);
            let named_again = checkpoint::named_plugin(beside).is_some();
            let words = checkpoint::command_line(&folder, &self.words[0], beside, environment)?;
            // What stands beside `--resume` comes last and counts.
            let command = Arguments::command().mut_subcommand("run", |run| run.args_override_self(true));
            let again = command.try_get_matches_from(&words);
            let again = again.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
            let (parsed, matches) = again.map_err(|message| checkpoint::misfit(&folder, &message))?;
            *self = Self { words, parsed, matches };
            if let Command::Run(run) = &mut self.parsed.command {
                (run.resume, run.named_again, run.source.finished) = (Some(folder), named_again, !named_again);
                run.keep_last_parameters();
            }
        }
        if let Command::Run(run) = &mut self.parsed.command {
            (run.words, run.options) = (words_of(&self.words), checkpoint::options(of_run(&self.matches)));
        }
        Ok(())
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

fn execute(line: &Line, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    match &line.parsed.command {
        Command::Run(run) if scenario_file::is_scenario(&run.plugin) => {
            let (run, origin) = scenario_file::merge(run, of_run(&line.matches), &line.words, environment)?;
            commands::run::run(&run, program, environment).map_err(|failure| origin.locate(failure))
        }
        Command::Run(arguments) => commands::run::run(arguments, program, environment),
        Command::Languages(arguments) => commands::languages::run(arguments, program, environment),
        Command::New(arguments) => commands::new::run(arguments, environment),
        Command::Build(arguments) => commands::build::run(arguments, environment),
        Command::Inspect(arguments) => commands::inspect::run(arguments, environment),
        Command::Doctor(arguments) => commands::doctor::run(arguments, environment),
        Command::Replay(arguments) => commands::replay::run(arguments, environment),
        Command::Export(arguments) => commands::export::run(arguments, environment),
        Command::Debug(arguments) => commands::debug::run(arguments, environment),
        Command::Draw(arguments) => commands::draw::run(arguments, environment),
        Command::Minimize(arguments) => commands::minimize::run(arguments, program, environment),
        Command::Test(arguments) => commands::test::run(arguments, program, environment),
        Command::List(arguments) => commands::list::run(arguments, environment),
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
