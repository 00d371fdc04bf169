//! The options of commands about plugins, scenarios and languages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use host_model::contract::NodeId;
use host_session::spec::Algo;
use host_session::spec::values::{NODES_MAX, assignment};

use crate::options::values::{LimitArguments, SourceArguments, strategies};

/// `host new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// rust, c, go, typescript, python or text; cpp, zig or assemblyscript, which the community maintains; or wrap, for a wrapper of a library in Rust or, with --go, in Go
    #[arg(value_name = "LANGUAGE", required_unless_present = "update")]
    pub language: Option<String>,
    /// The name of the protocol, of the folder and of its files: small letters, digits and hyphens; with wrap, CRATE@VERSION, or with --go
    /// the path by which the package is imported
    #[arg(value_name = "NAME", required_unless_present = "update")]
    pub name: Option<String>,
    /// One message, one field, one property, in place of a register kept by a majority
    #[arg(long)]
    pub bare: bool,
    /// With wrap, the name of the folder and of the wrapper in it [default: that of the crate or package and `-checked`]
    #[arg(long = "name", value_name = "NAME")]
    pub name_of_wrapper: Option<String>,
    /// With wrap, the library is a package in Go, such as go.etcd.io/etcd/raft, that is installed from Debian
    #[arg(long)]
    pub go: bool,
    /// With --go, where modules lie in folders of their paths [default: /usr/share/gocode/src, where Debian installs them]
    #[arg(long, value_name = "FOLDER", requires = "go")]
    pub from: Option<PathBuf>,
    /// Replace the SDK in a folder that an earlier host made; files that were edited stay, and then everything does
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".")]
    #[arg(conflicts_with_all = ["language", "name", "bare", "name_of_wrapper", "go"])]
    pub update: Option<PathBuf>,
}

/// `host build`.
#[derive(Debug, Args)]
pub struct BuildArguments {
    /// The folder of a plugin
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
    /// Only build, without examining the component like `host doctor`
    #[arg(long)]
    pub no_examine: bool,
    /// What the plugin may use up while it is examined.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How it is built.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A component, or the folder of a plugin, which is built first
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub plugin: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host graph`.
#[derive(Debug, Args)]
pub struct GraphArguments {
    /// A component, or the folder of a plugin, which is built first; or a scenario (.toml)
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub plugin: PathBuf,
    /// Draw the local states of each node separately, instead of those of the cluster
    #[arg(long)]
    pub local: bool,
    /// Draw only the local states of this node
    #[arg(long, value_name = "N")]
    pub node: Option<NodeId>,
    /// Maximum number of global states; the drawing notes what is missing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), default_value = "500")]
    pub states: u64,
    /// The file, by its ending .svg or .dot; can be repeated [default: graph.svg]
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// The format, regardless of the ending
    #[arg(long, value_name = "FORMAT", value_parser = ["svg", "dot"])]
    pub format: Option<String>,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Options of `host run` that define the cluster, such as --set bug=last-response --nodes 2
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// `host doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// A component, or the folder of a plugin, which is built first
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub plugin: PathBuf,
    /// Number of nodes of the cluster [default: the plugin's]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)))]
    pub nodes: Option<u32>,
    /// A parameter of the protocol; can be repeated [default: the plugin's]
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Maximum number of handlers executed
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: u64,
    /// Search for two local states of a node with the same description that count as different: print their first difference and a
    /// shortest path to each. Exits with 1 if there are two
    #[arg(long, conflicts_with = "steps")]
    pub why_different: bool,
    /// Maximum number of global states explored for it; the result notes if there are more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), default_value = "10000")]
    #[arg(requires = "why_different")]
    pub states: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host test`.
#[derive(Debug, Args)]
pub struct TestArguments {
    /// Folders with scenarios, or single scenarios and traces. Traces below a folder are tests if they lie in `scenarios`
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Skip tests with this text in their path; can be repeated. A text that matches no path is refused
    #[arg(long, value_name = "TEXT")]
    pub skip: Vec<String>,
    /// The plugin of the traces, except for those in `scenarios` of a plugin [default: plugins/NAME]
    #[arg(long, value_name = "PLUGIN")]
    pub plugin: Option<PathBuf>,
    /// Print failures as annotations, too: `github` shows them at the files in pull requests
    #[arg(long, value_name = "FORMAT", value_parser = ["github"])]
    pub annotations: Option<String>,
    /// Write the results as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the failures as SARIF 2.1.0, too, for code scanning; violations of scenarios have their events as a code flow
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Keep the output of `host run --out` for each scenario, in a folder of its name below this one
    #[arg(long, short, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// How plugins are loaded.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host languages`.
#[derive(Debug, Args)]
pub struct LanguagesArguments {
    /// Folders of plugins with the same protocol [default: plugins/register*]
    #[arg(value_name = "PLUGIN")]
    pub plugins: Vec<PathBuf>,
    /// A parameter of the protocol; can be repeated [default: the plugin's]
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// The strategy
    #[arg(long, value_name = "NAME", default_value = "bdfs", value_parser = strategies())]
    pub algo: Algo,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What each plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How plugins are built.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host cache`.
#[derive(Debug, Args)]
pub struct CacheArguments {
    /// Remove all machine code; toolchains stay
    #[arg(long)]
    pub clear: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `host completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `host schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// The kind of document
    #[arg(value_name = "OF")]
    pub of: SchemaOf,
}

/// A kind of document with a JSON Schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario, in TOML
    Scenario,
    /// A cluster of running nodes, in TOML
    Cluster,
    /// The output of `host run --json`
    Result,
    /// A trace
    Trace,
}

/// `host man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The folder for the pages of all commands, such as ~/.local/share/man/man1
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `host list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
