//! Scenarios below the options of a command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::base::environment::Environment;
use crate::base::failure::Failure;
use crate::base::files;
use crate::options::run::RunArguments;
use crate::options::{Arguments, Command, links};
use crate::scenario_file::content::{Given, ScenarioFile};
use crate::scenario_file::owner::owner;
use crate::scenario_file::reader::{one_line, parse, wrong};
use crate::scenario_file::trust;

/// Bytes of a scenario file at most.
const BYTES_MAX: u64 = 1 << 20;

/// Whether a path is that of a scenario and not of a plugin.
pub fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// `host run` with a scenario in place of the plugin: the arguments as if its options stood on the command line, below
/// those that do. Also says where to look for what is wrong with them.
///
/// # Errors
///
/// The file cannot be read, or a key or value in it is wrong. The sentence names file, line and key.
pub fn merge(
    arguments: &RunArguments,
    matches: &ArgMatches,
    words: &[OsString],
    environment: &mut Environment<'_>,
) -> Result<(RunArguments, Origin), Failure> {
    let path = &arguments.plugin;
    let file = read(path, environment)?;
    let is_typed = |option: &Given| {
        let given = |id: &str| matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
        match (option.option, &option.key) {
            ("set", Some(key)) => arguments.set.iter().any(|(typed, _)| typed == key),
            ("node" | "adversary", Some(key)) => {
                let placement = &arguments.placement;
                placement.node.iter().chain(&placement.adversary).any(|(typed, _)| typed.to_string() == *key)
            }
            ("set-on", Some(key)) => {
                let typed = arguments.placement.set_on.iter().map(|(node, name, _)| format!("{node}:{name}"));
                typed.into_iter().any(|typed| typed == *key)
            }
            ("link", Some(key)) => {
                let typed = arguments.link.iter().flat_map(|link| &link.ways);
                typed.into_iter().any(|(from, to)| links::way(*from, *to) == *key)
            }
            ("limit", Some(key)) => arguments.limits.limit.iter().any(|(typed, _)| typed == key),
            (name, _) => given(&name.replace('-', "_")),
        }
    };
    if arguments.resume.is_none() || arguments.named_again {
        trust::check_builds(&file, path, &is_typed, environment)?;
    }
    trust::tell_limits(&file, path, &is_typed, arguments.source.quiet, environment);
    let (program, rest) = words.split_at(2.min(words.len()));
    let added = file.options.iter().filter(|option| !is_typed(option)).map(Given::word);
    let all: Vec<OsString> = program.iter().cloned().chain(added).chain(rest.iter().cloned()).collect();
    // As on the command line of a resumed search: what comes last counts.
    let command = Arguments::command().mut_subcommand("run", |run| run.args_override_self(arguments.resume.is_some()));
    let parsed = command.try_get_matches_from(all).and_then(|matches| Arguments::from_arg_matches(&matches));
    let parsed = parsed.map_err(|error| wrong(path, None, &one_line(&error)))?;
    let Command::Run(mut merged) = parsed.command else { unreachable!("the words begin with `run`") };
    merged.plugin = file.plugin.clone().map_or_else(|| default_plugin(path, environment), Ok)?;
    merged.expect = Some(file.expect);
    merged.file = Some(path.clone());
    merged.words.clone_from(&arguments.words);
    merged.options.clone_from(&arguments.options);
    merged.resume.clone_from(&arguments.resume);
    merged.named_again = arguments.named_again;
    merged.source.finished = arguments.source.finished;
    if merged.resume.is_some() {
        merged.keep_last_parameters();
    }
    Ok((
        *merged,
        Origin {
            path: path.clone(),
            lines: file.options.into_iter().map(|given| (names(&given), given.line)).collect(),
        },
    ))
}

/// How messages name an option of a scenario.
fn names(given: &Given) -> Vec<String> {
    let option =
        given.key.as_ref().map_or_else(|| format!("--{}", given.option), |key| format!("--{} {key}", given.option));
    let key = given.key.iter().map(|key| format!("`{key}`"));
    std::iter::once(option).chain(key).collect()
}

/// Where the options of a scenario stand, to point there when one of them turns out not to fit.
pub struct Origin {
    path: PathBuf,
    lines: Vec<(Vec<String>, usize)>,
}

impl Origin {
    /// Names the file in a failure, and the line if it is about an option that the file gives.
    pub fn locate(&self, mut failure: Failure) -> Failure {
        let is_named = |names: &&(Vec<String>, usize)| names.0.iter().any(|name| failure.message.contains(name));
        let line = self.lines.iter().find(is_named).map(|(_, line)| format!(":{line}")).unwrap_or_default();
        failure.message = format!("{}{line}: {}", self.path.display(), failure.message);
        failure
    }
}

/// The folder around `scenarios`.
fn default_plugin(path: &Path, environment: &Environment<'_>) -> Result<PathBuf, Failure> {
    owner(path, environment).ok_or_else(|| {
        let failure = wrong(path, None, "it does not say which plugin it is for");
        failure.help("add `plugin = \"…\"`, a path from the scenario's folder; only in `scenarios` of a plugin it can be left out")
    })
}

/// Reads a scenario.
fn read(path: &Path, environment: &Environment<'_>) -> Result<ScenarioFile, Failure> {
    let cannot_read = |cause: &dyn std::fmt::Display| {
        Failure::configuration(format_args!("cannot read the scenario {}: {cause}", path.display()))
    };
    let absolute = environment.path(path);
    let text = files::read_text_bounded(&absolute, BYTES_MAX).map_err(|error| cannot_read(&error))?;
    parse(&text, path)
}
