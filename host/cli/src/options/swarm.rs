//! The options of `host swarm`.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use host_session::base::units;
use host_session::scopes;

use crate::options::values::SourceArguments;

/// `host swarm`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SwarmArguments {
    /// The results of other swarms.
    #[command(subcommand)]
    pub command: Option<SwarmCommand>,
    /// The jobs.
    #[command(flatten)]
    pub jobs: JobsArguments,
}

/// The other actions of a swarm.
#[derive(Debug, Subcommand)]
pub enum SwarmCommand {
    /// Report on the results in folders of one swarm, such as the parts that a CI system has run
    Merge(MergeArguments),
}

/// `host swarm merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Folders of the same swarm; of a job that is in several, the first result counts
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The jobs of a swarm.
#[derive(Debug, Args)]
pub struct JobsArguments {
    /// Components, folders of plugins, which are built first, or scenarios (.toml) [default: the current folder]
    #[arg(value_name = "PLUGIN")]
    pub plugins: Vec<PathBuf>,
    /// Number of seeds for each of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000), default_value_t = 100)]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=u64::MAX >> 1), default_value_t = 0)]
    pub seed: u64,
    /// All values of a parameter, a budget of faults, `nodes` or `local-events`, in all combinations with those of other ranges, such
    /// as elections=1..6,resets=0..1; can be repeated
    #[arg(long, value_name = "KEY=FROM..TO", value_parser = scopes::range, value_delimiter = ',')]
    pub over: Vec<scopes::Range>,
    /// The folder for the results; a swarm that was stopped continues there
    #[arg(long, short, value_name = "FOLDER", required_unless_present_any = ["command", "matrix"])]
    pub out: Option<PathBuf>,
    /// Number of processes on this machine [default: auto, one per core; none with --hosts]
    #[arg(long, value_name = "N|auto", value_parser = units::workers)]
    pub processes: Option<NonZeroUsize>,
    /// A file with other machines: a table `[[host]]` for each, with its `address` for ssh, `processes` and `program`. The same version of
    /// `host` is installed there; the components are sent
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// End with the first job that finds something: those before it end, those after it do not count
    #[arg(long)]
    pub first: bool,
    /// End after N jobs in a row that saw no new local state and no new message
    #[arg(long, value_name = "N")]
    pub until_flat: Option<NonZeroUsize>,
    /// Run only these jobs of the list, counted from 0: one part of a --matrix
    #[arg(long, value_name = "FROM..TO", value_parser = part, conflicts_with_all = ["first", "until_flat"])]
    pub only: Option<Range<usize>>,
    /// Run nothing; print the jobs in N parts for --only, as JSON for the matrix of a CI system
    #[arg(long, value_name = "N", conflicts_with_all = ["first", "until_flat", "only", "hosts", "processes"])]
    pub matrix: Option<NonZeroUsize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Building and loading.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Options of `host run` for each job, such as --algo walk --walks 1000 --set bug=last-response
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// `0..9`, both ends included, or one number.
fn part(text: &str) -> Result<Range<usize>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.parse::<usize>(), to.parse::<usize>()) {
        (Ok(from), Ok(to)) if from <= to && to < usize::MAX => Ok(from..to + 1),
        _ => Err("expected the first and the last job, such as 0..9, or one of them".to_owned()),
    }
}
