//! The options of `host live`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use host_inspect::escape::guarded;
use host_live::time::Share;
use host_live_net::stamp;
use host_session::base::units;
use host_session::cluster::Watching;
use host_session::spec::limits;

use serde_json::json;

use crate::options::values::{LimitArguments, SourceArguments};

/// `host live`.
#[derive(Debug, Args)]
pub struct LiveArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: LiveCommand,
}

/// What can be done with a cluster that runs.
#[derive(Debug, Subcommand)]
pub enum LiveCommand {
    /// Start all nodes of a cluster, each as a process, restart killed ones, and end them together
    #[command(after_long_help = limits::help())]
    Up(UpArguments),
    /// Run a node of a cluster until a signal ends it
    #[command(after_long_help = limits::help())]
    Node(NodeArguments),
    /// Write the state of a node, which may be running, to a file
    Backup(BackupArguments),
    /// Make the data of a new cluster, whose nodes all begin with the state in a backup
    #[command(after_long_help = limits::help())]
    Restore(RestoreArguments),
    /// Show which nodes of a cluster run, whether they are ready, and what the protocol says; exits with 1 unless all of them run
    Status(StatusArguments),
    /// Replay what nodes have recorded, compare two versions of a component on it, or write it as a log
    #[command(after_long_help = limits::help())]
    Replay(LiveReplayArguments),
}

/// The recordings of the nodes.
#[derive(Clone, Debug, Args)]
pub struct RecordArguments {
    /// Record what each node handles, in segments in this folder, for `host live replay`
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Maximum size of the recording of a node, about; its oldest segments go
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1GB", requires = "record")]
    pub record_size: u64,
}

/// `host live replay`.
#[derive(Debug, Args)]
pub struct LiveReplayArguments {
    /// The folder of the recording, or one of its segments (.rec)
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// The component that was recorded, or the folder of its plugin, which is built first
    #[arg(long, value_name = "PLUGIN")]
    pub plugin: PathBuf,
    /// Another version of it: show the first event of each node on which it does something else
    #[arg(long, value_name = "PLUGIN")]
    pub against: Option<PathBuf>,
    /// Replay a single node
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,
    /// Write the events of all nodes as a log for `host follow`
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Limits that a recording raises, or others than it has.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Options that load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host live up`.
#[derive(Debug, Args)]
pub struct UpArguments {
    /// The cluster (.toml): its plugin, parameters, addresses and data
    #[arg(value_name = "CLUSTER")]
    pub cluster: PathBuf,
    /// Take over the data of a node that was written under another build of the component, other parameters, another network or another size
    /// of the cluster; once, as they are those of this cluster from then on
    #[arg(long)]
    pub take_data: bool,
    /// End all nodes when one is killed, instead of restarting it
    #[arg(long)]
    pub no_restart: bool,
    /// The form of the lines on standard error
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub log: LogForm,
    /// Whether the nodes are recorded.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Whether the nodes are watched.
    #[command(flatten)]
    pub watch: WatchArguments,
    /// The limits of the plugin at each node.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host live node`.
#[derive(Debug, Args)]
pub struct NodeArguments {
    /// The cluster (.toml): its plugin, parameters, addresses and data
    #[arg(value_name = "CLUSTER")]
    pub cluster: PathBuf,
    /// The number of the node
    #[arg(long, value_name = "N")]
    pub id: u32,
    /// End at the end of standard input, which closes when the parent process ends
    #[arg(long, hide = true)]
    pub until_stdin_ends: bool,
    /// The form of the lines on standard error, but for an error that ends the node
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub log: LogForm,
    /// Start even if the other nodes know of a later start of the node than its data: what it has acknowledged since then is lost
    #[arg(long)]
    pub rejoin: bool,
    /// Take over the data of a node that was written under another build of the component, other parameters, another network or another size
    /// of the cluster; once, as they are those of this cluster from then on
    #[arg(long)]
    pub take_data: bool,
    /// Whether the nodes are recorded.
    #[command(flatten)]
    pub recording: RecordArguments,
    /// Whether the nodes are watched.
    #[command(flatten)]
    pub watch: WatchArguments,
    /// The limits of the plugin.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host live backup`.
#[derive(Debug, Args)]
pub struct BackupArguments {
    /// The cluster (.toml)
    #[arg(value_name = "CLUSTER")]
    pub cluster: PathBuf,
    /// The file to write; it must not exist
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The number of the node [default: the running node with the most progress, by [operations] of the cluster]
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,
}

/// `host live restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The cluster (.toml), which has no data
    #[arg(value_name = "CLUSTER")]
    pub cluster: PathBuf,
    /// The backup
    #[arg(value_name = "FILE")]
    pub backup: PathBuf,
    /// Restore a state that was written under another build of the component, other parameters, another network or another size of the
    /// cluster
    #[arg(long)]
    pub take_data: bool,
    /// The limits of the plugin.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// The form of the lines that nodes write on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// A line of text
    #[default]
    Text,
    /// A JSON object per line
    Json,
}

impl LogForm {
    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// A line of the cluster, at the present time.
    pub fn line(self, words: &str) -> String {
        match self {
            Self::Text => format!("{} {words}", stamp()),
            Self::Json => self.of(&stamp(), None, None, words, 0),
        }
    }

    /// A line of a node, or of a process for all of them, that is not in a log; without the time as text.
    pub fn untimed(self, node: Option<u32>, words: &str) -> String {
        match self {
            Self::Text => words.to_owned(),
            Self::Json => self.of(&stamp(), node, None, words, 0),
        }
    }

    /// A JSON object on one line.
    pub fn of(self, time: &str, node: Option<u32>, kind: Option<&str>, message: &str, left_out: u64) -> String {
        let mut line = json!({ "time": time, "message": guarded(message, false) });
        node.into_iter().for_each(|node| line["node"] = node.into());
        kind.into_iter().for_each(|kind| line["kind"] = kind.into());
        if left_out > 0 {
            line["left_out"] = left_out.into();
        }
        line.to_string()
    }
}

/// `host live status`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// The cluster (.toml)
    #[arg(value_name = "CLUSTER")]
    pub cluster: PathBuf,
    /// Show a single node
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,
    /// Exit with 1 also if one of them is not ready
    #[arg(long)]
    pub ready: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The checkers of the nodes.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// A checker for each node: `observe` reports its predictions on standard error, and writes traces of them into the data folder;
    /// `steer` prevents them as well, until there is a file `steering-off` in that folder
    #[arg(long, value_name = "MODE", value_parser = ["observe", "steer"])]
    pub watch: Option<String>,
    /// Minimum time between two snapshots of a node; a snapshot may take as long as its answers
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "1s", requires = "watch")]
    pub every: Duration,
    /// Time limit of a checker's round, half of it for filters when steering; after a truncated round the next ones explore less
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "1s", requires = "watch")]
    pub round_time: Duration,
    /// Share of the time in which a checker may work, on one core; it rests after a longer round
    #[arg(long, value_name = "PERCENT", value_parser = units::share, default_value = "10%", requires = "watch")]
    pub share: Share,
    /// Bytes of checkpoints that a node sends per second, on average; beyond that it declines requests, and the asking nodes wait longer
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MB", requires = "watch")]
    pub bandwidth: u64,
    /// Steer also by looking ahead from each event of a node, while its effects are held for at most 2ms; on links without an order
    #[arg(long, requires = "watch")]
    pub hold: bool,
    /// Steer also by breaking connections: in place of a message on a link with an order, which is filtered or refused, the connection
    /// with its sender breaks, and both ends are notified
    #[arg(long, requires = "watch")]
    pub break_connections: bool,
}

impl WatchArguments {
    /// The mode of the checkers, if there are checkers.
    pub fn watching(&self) -> Option<Watching> {
        let mode = self.watch.as_deref()?;
        Some(Watching { steers: mode == "steer", holds: self.hold, breaks: self.break_connections })
    }
}
