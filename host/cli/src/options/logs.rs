//! The options of `host follow`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use host_session::base::units;

use crate::options::values::SourceArguments;

/// The largest bound on hidden events.
const HIDDEN_MAX: u32 = 10_000;

/// `host follow`.
#[derive(Debug, Args)]
pub struct FollowArguments {
    /// A log, in one file or in several, for example one of each node; `-` is standard input
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// A component, or the folder of a plugin, which is built first; or a scenario (.toml)
    #[arg(long, value_name = "PLUGIN", required = true)]
    pub against: PathBuf,
    /// Assume that a node has at most N events without a line between two of its lines, before the first and after the last; 0 says
    /// that the log has a line of each event [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(HIDDEN_MAX)))]
    pub missing: Option<u32>,
    /// Maximum number of such events that are tried; if that explains nothing and leaves some out, the log is undecided
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Bounds")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(HIDDEN_MAX)))]
    pub hidden: u32,
    /// Maximum time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration, help_heading = "Bounds")]
    pub time: Duration,
    /// Maximum memory for the log and the search [default: half of the memory available]
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Bounds")]
    pub memory: Option<u64>,
    /// Write the execution as a trace; if the log is not explained, that of the first candidate that came furthest
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Options that load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Options of `host run` that define the cluster, such as --nodes 3 --resets 1 --set bug=last-response
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}
