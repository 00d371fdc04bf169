//! Options of `host run` after `--` in other commands.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use host_model::scenario::faults::budgets;
use host_session::base::{Exit, Failure};

use crate::options::run::RunArguments;
use crate::options::tips;

/// The options that define the cluster, except the budgets of faults: all commands with a cluster honour them.
const OF_THE_CLUSTER: [&str; 18] = [
    "nodes",
    "set",
    "network",
    "outage-writes",
    "link",
    "always",
    "sometimes",
    "eventually",
    "spec",
    "property",
    "ignore",
    "prefix",
    "any-plugin",
    "node",
    "adversary",
    "set-on",
    "twin",
    "limit",
];

/// A command that takes options of `host run` after `--`.
pub struct Taker {
    /// Its name.
    pub name: &'static str,
    /// Its action instead of a search with a strategy.
    pub does: &'static str,
    /// The options that it honours in addition to those that define the cluster.
    pub besides: &'static [&'static str],
}

/// The plugin, and options after `--`.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    run: RunArguments,
}

impl Taker {
    /// The options after `--`.
    ///
    /// # Errors
    ///
    /// They are invalid, or the command does not honour one of them: it would be wrong to ignore it.
    pub fn options(&self, plugin: &Path, options: &[String]) -> Result<RunArguments, Failure> {
        let (matches, given) = parsed(plugin, options)?;
        if let Some(option) = given.iter().find(|option| !self.honours(option)) {
            let Self { name, does, besides } = self;
            let what = format_args!("`{name}` {does}: it takes no strategy, and after `--` no `--{option}`");
            let besides: String = besides.iter().map(|option| format!(", --{option}")).collect();
            return Err(Failure::configuration(what).help(format_args!(
                "give options that say which cluster{besides} behind `--`, and those of `{name}` before it"
            )));
        }
        Options::from_arg_matches(&matches).map(|parsed| parsed.run).map_err(|error| refused(&error))
    }

    fn honours(&self, option: &str) -> bool {
        let mut faults = budgets().map(|(name, _)| name);
        OF_THE_CLUSTER.contains(&option) || self.besides.contains(&option) || faults.any(|name| name == option)
    }
}

/// All options of `host run` after `--`, but those that the command gives itself.
///
/// # Errors
///
/// They are invalid, or one of those is among them.
pub fn all_but(name: &str, own: &[&str], plugin: &Path, options: &[String]) -> Result<RunArguments, Failure> {
    let (matches, given) = parsed(plugin, options)?;
    if let Some(option) = given.iter().find(|option| own.contains(&option.as_str())) {
        let what = format_args!("`{name}` gives each run its own `--{option}`, or none");
        return Err(Failure::configuration(what).help(format_args!("leave `--{option}` out after `--`")));
    }
    Options::from_arg_matches(&matches).map(|parsed| parsed.run).map_err(|error| refused(&error))
}

/// The options after `--`, and the names of those that are given.
fn parsed(plugin: &Path, options: &[String]) -> Result<(ArgMatches, Vec<String>), Failure> {
    let words = ["host run".into(), plugin.as_os_str().to_owned()].into_iter();
    let mut command = Options::command();
    let matches = command
        .try_get_matches_from_mut(words.chain(options.iter().map(Into::into)))
        .map_err(|error| refused(&error))?;
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let given = command.get_arguments().filter(|argument| is_given(argument.get_id().as_str()));
    let given = given.filter_map(|argument| argument.get_long().map(str::to_owned)).collect();
    Ok((matches, given))
}

fn refused(error: &clap::Error) -> Failure {
    let text = tips::worded(&error.render().to_string());
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Failure::new(Exit::Usage, first).help("after `--` come options of `host run`; see its `--help`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_which_cluster_is_an_option_of_a_run() {
        let command = Options::command();
        for option in OF_THE_CLUSTER {
            assert!(command.get_arguments().any(|argument| argument.get_long() == Some(option)), "{option}");
        }
    }
}
