//! The command line: what can be asked for, and the help that explains it.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{ArgPredicate, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use host_inspect::minimize::WORK_MAX;
use host_model::audit::Mode;
use host_model::machine::NodeId;
use host_model::scenario::{Faults, Network};
use host_search::table::{self, STRATEGIES, Strategy};
use host_search::weights::Weights;

use crate::exit;
use crate::expectation::Expectation;
use crate::limits::{self, LimitArguments};
use crate::links::{self, LinkOption};
use crate::placement::{self, PlacementArguments};
use crate::plugin_source::NODES_MAX;
use crate::units;

/// Checks distributed protocols that are compiled to WebAssembly components.
///
/// A protocol is a plugin: a component that handles messages and local events of one node. `host` runs its handlers in
/// a sandbox, explores the states that a cluster of such nodes can reach, and reports a violated property with a trace
/// that replays.
#[derive(Debug, Parser)]
#[command(name = "host", version, max_term_width = 110, after_help = OVERVIEW, after_long_help = long_overview())]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Of each kind of fault.
const FAULTS_MAX: i64 = Faults::MAX as i64;

const OVERVIEW: &str = "Begin with: host run plugins/paxos";

fn long_overview() -> String {
    let examples = "Examples:\n  \
        host run plugins/paxos                                   check Paxos by local model checking\n  \
        host run plugins/paxos --set bug=last-response --set proposers=2\n                                                           \
        find out why a proposer must not trust the last answer\n  \
        host replay out/paxos-lmc-opt-1a2b3c4d/trace.json        see each step of what was found\n  \
        host list                                                strategies, their guarantees, and the plugins here";
    format!("{examples}\n\n{}", exit::help())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore the states of a protocol and check its properties
    #[command(after_help = RUN_EXAMPLES, after_long_help = run_long_help())]
    Run(Box<RunArguments>),
    /// Make a folder with a protocol to begin from: one that builds and runs, with tests and scenarios
    New(NewArguments),
    /// Build the plugin in a folder and print where it is
    ///
    /// Finds a toolchain or installs one, and says what it does. Does next to nothing if nothing changed. The last line on
    /// standard output is the path of the component. Then the component is examined for a moment, as `host doctor` does at
    /// length; ends with 14 if it is unfit for a search.
    Build(BuildArguments),
    /// Show what a plugin is made of, what it promises, and what is kept in a snapshot of it
    Inspect(InspectArguments),
    /// Run a plugin for a while and say whether it can be searched: is it deterministic, and can its state be captured
    ///
    /// Every step is executed in one instance, again after a restore, in a second instance, and at last from start to end
    /// without snapshots. Ends with 0 if all agree, and with 14 if they do not or a handler ends in a fault.
    Doctor(DoctorArguments),
    /// Run a trace again and show each step: what was received, sent and logged, and what changed
    ///
    /// Ends with the exit code of what the trace shows at its end, or with 0 if that is nothing.
    #[command(after_help = REPLAY_EXAMPLES, after_long_help = replay_long_help())]
    Replay(ReplayArguments),
    /// Make a trace short: leave out all events that what it shows does not need
    ///
    /// Parts of the events are executed until nothing more can be left out; what remains is put into an order that changes
    /// less often between nodes. The result shows a violation of the same property, was run again in fresh instances, and
    /// is never longer. `host run` does this by itself.
    #[command(after_help = MINIMIZE_EXAMPLES)]
    Minimize(MinimizeArguments),
    /// Draw a trace: nodes as columns, time downwards, messages as arrows
    ///
    /// The SVG has a tooltip for each event and message. Squares are local events, dots are
    /// deliveries, dashed arrows with a cross were never delivered. A red ring marks a step that changed what the violated
    /// property reads.
    #[command(after_help = DRAW_EXAMPLES)]
    Draw(DrawArguments),
    /// Write a trace in the format of another tool
    ///
    /// `itf` is the Informal Trace Format of Apalache and Quint (name it *.itf.json), with `mbt::actionTaken` and
    /// `mbt::nondetPicks`. `shiviz` is a log with vector clocks, for the parser that ShiViz has by default. Where a trace is
    /// taken, an *.itf.json that `host` wrote is taken, too.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArguments),
    /// Step through a trace, forwards and backwards, and try other events
    ///
    /// Commands are read from standard input: with history and completion on a terminal, else one per line, so that a session
    /// can be a script. `help` lists them. A script ends with exit code 1 if one of its commands was not understood.
    #[command(after_help = DEBUG_EXAMPLES)]
    Debug(DebugArguments),
    /// Run the scenarios and saved traces of a folder and compare with the expected results
    ///
    /// Tests are: files *.toml and *.json in folders named `scenarios`; *.scenario.toml and trace*.json anywhere below the
    /// paths; and files that are named. A scenario passes if its expected result comes out, or, if it expects nothing, if
    /// nothing is violated. A trace passes if it replays and shows what it recorded. The exit code is 0 or 1.
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArguments),
    /// Compare one protocol in many languages: toolchain, build time, size, state outside memory, step cost, snapshots, counts
    ///
    /// Builds each plugin again, examines it and explores its states. Ends with 0 if verdicts and counts are equal and every
    /// plugin is fit for a search, with 1 otherwise. A language whose toolchain is missing is left out with a note.
    Languages(LanguagesArguments),
    /// List the strategies with their guarantees, and the plugins in ./plugins
    List(ListArguments),
}

const RUN_EXAMPLES: &str = "Examples:\n  \
    host run plugins/paxos --algo bdfs --set proposers=2 --depth 12 --time 60s\n  \
    host run paxos.wasm --nodes 5 --json --require-complete\n  \
    host run plugins/fanout --network ordered --link 0-2=unordered\n  \
    host run plugins/paxos/scenarios/one-proposal.toml --algo unfold\n  \
    host run plugins/paxos --prefix live.json --out found";

fn run_long_help() -> String {
    format!("{RUN_EXAMPLES}\n\n{}\n{}", limits::help(), exit::help())
}

const TEST_EXAMPLES: &str = "Examples:\n  \
    host test plugins\n  \
    host test plugins/paxos out --junit results.xml";

const REPLAY_EXAMPLES: &str = "Examples:\n  \
    host replay out/paxos-bdfs-1a2b3c4d/trace.json --plugin plugins/paxos\n  \
    host replay trace.json --plugin fixed.wasm --any-plugin";

const MINIMIZE_EXAMPLES: &str = "Examples:\n  \
    host minimize out/paxos-walk-1a2b3c4d/found.json --plugin plugins/paxos\n  \
    host minimize trace.json --keep 9 --out short.json";

const DRAW_EXAMPLES: &str = "Examples:\n  \
    host draw trace.json\n  \
    host draw trace.json --plugin plugins/paxos --out trace.svg --out trace.mmd";

const EXPORT_EXAMPLES: &str = "Examples:\n  \
    host export trace.json --format itf --out trace.itf.json\n  \
    host export trace.json --plugin plugins/paxos --format shiviz > trace.log";

const DEBUG_EXAMPLES: &str = "Examples:\n  \
    host debug trace.json --plugin plugins/paxos\n  \
    host debug plugins/paxos -- --set bug=last-response --set proposers=2\n  \
    host debug trace.json < session.txt";

fn replay_long_help() -> String {
    format!("{REPLAY_EXAMPLES}\n\n{}\n{}", limits::help(), exit::help())
}

/// How a plugin is found and loaded.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct SourceArguments {
    /// Install no toolchain when a folder has to be built; say what is missing instead
    #[arg(long)]
    pub no_install: bool,
    /// Keep standard error for errors: neither steps of the build nor progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Take components as they were built: the user has not named what would be built
    #[arg(skip)]
    pub finished: bool,
}

/// `host run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A component, or the folder of a plugin, which is built first; or a scenario (.toml)
    #[arg(
        value_name = "PLUGIN",
        required = false,
        required_unless_present = "resume",
        default_value_if("resume", ArgPredicate::IsPresent, "-"),
        hide_default_value = true
    )]
    pub plugin: PathBuf,
    /// The words of the command line after `run`
    #[arg(skip)]
    pub words: Vec<String>,
    /// Its options, those of the process left out
    #[arg(skip)]
    pub options: Vec<OsString>,
    /// The scenario, where the plugin was given by one
    #[arg(skip)]
    pub file: Option<PathBuf>,
    /// Whether a resumed search was given its plugin or scenario once more, which may then be built
    #[arg(skip)]
    pub named_again: bool,
    /// What should come out, where the plugin was given by a scenario
    #[arg(skip)]
    pub expect: Option<Expectation>,

    /// The strategy; `lmc` is short for lmc-opt
    #[arg(long, value_name = "NAME", default_value = "lmc", value_parser = strategies(), help_heading = "What to explore")]
    pub algo: &'static Strategy,
    /// Number of nodes of the cluster [default: the plugin's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)), help_heading = "What to explore")]
    pub nodes: Option<u32>,
    /// A parameter of the protocol; can be repeated. `host inspect` lists them [default: the plugin's]
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, help_heading = "What to explore")]
    pub set: Vec<(String, String)>,
    /// The network of the cluster [default: the plugin's]
    #[arg(long, value_name = "KIND", value_parser = networks(), help_heading = "What to explore")]
    pub network: Option<Network>,
    /// The network between these nodes, whatever --network says; A>B for messages from A to B alone; can be repeated
    #[arg(long, value_name = "A-B=KIND", value_parser = links::link, help_heading = "What to explore")]
    pub link: Vec<LinkOption>,
    /// Resets of each node: at any moment it can lose its state, except for durable state, and begin anew [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub resets: Option<u32>,
    /// How often a message can be delivered again [default: 1 where a network is unordered-duplicating, else 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub duplicates: Option<u32>,
    /// Breaks of connections that each node begins, where a network is ordered: messages in flight are lost, and each end gets a
    /// transport error, which can be lost, too [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub breaks: Option<u32>,
    /// Messages of each node that its transport refuses because its buffers are full, among those for which the protocol
    /// asks it (`can-send` in the contract) [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub refusals: Option<u32>,
    /// Nodes that stop and never come back. Only --deadlock depends on it: every state that is reached with a crash is reached
    /// without one, too, by an execution that ends there [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub crashes: Option<u32>,
    /// Partitions that heal: messages between the parts are late or lost, which is explored in any case; where a network is
    /// ordered connections break as well, for each partition one less of each node than there are nodes, in addition to
    /// --breaks [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=FAULTS_MAX), help_heading = "Faults")]
    pub partitions: Option<u32>,
    /// Reduce the state space, by facts that are proven for all properties: drop dead messages, defer commuting deliveries, keep
    /// only states with the most messages in flight. For `bdfs`; paths get shorter, so not with --depth
    #[arg(long, conflicts_with = "depth", help_heading = "What to explore")]
    pub reduce: bool,
    /// Count the distinct system states (tuples of local states) also where that takes extra work: with `unfold` and with
    /// `bdfs --reduce`, which do not go through each of them
    #[arg(long, help_heading = "What to explore")]
    pub count_system_states: bool,
    /// Search for deadlocks: states without messages in flight and without local events, in which a node is not done
    /// (`completion` in the contract). A fault that is still possible does not prevent a deadlock
    #[arg(long, conflicts_with = "reduce", help_heading = "What to explore")]
    pub deadlock: bool,
    /// Distinguish states that differ only in the names of nodes which the plugin declares to be interchangeable
    #[arg(long, requires = "reduce", help_heading = "What to explore")]
    pub no_symmetry: bool,
    /// Begin in the state after this trace, in the cluster in which it was recorded
    #[arg(long, value_name = "TRACE", help_heading = "What to explore")]
    pub prefix: Option<PathBuf>,
    /// Accept a prefix that was recorded with another build of the plugin, or another plugin
    #[arg(long, requires = "prefix", help_heading = "What to explore")]
    pub any_plugin: bool,

    /// Events on a path, counted from the start of the search [default: no bound; 1000 for `dpor` and `walk`]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub depth: Option<u32>,
    /// Local events of each node on a path [default: no bound]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub local_events: Option<u32>,
    /// States, or events of `unfold`, system states of `lmc-gen`, executions of `dpor` [default: no bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Bounds")]
    pub states: Option<u64>,
    /// Number of random walks [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Random walks")]
    pub walks: Option<u64>,
    /// Another seed gives other random walks, the same one the same walks on every machine [default: 0]
    #[arg(long, value_name = "N", help_heading = "Random walks")]
    pub seed: Option<u64>,
    /// Weights of the kinds of events, such as deliver=4,timer=0 [default: 1 for deliver, timer, application, internal, fault]
    #[arg(long, value_name = "KIND=N,...", help_heading = "Random walks")]
    pub weights: Option<Weights>,
    /// Time for the search from `init` on, with a unit: 500ms, 60s, 5m, 2h [default: no bound]
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Bounds")]
    pub time: Option<Duration>,
    /// Memory of the process, with a unit: 800MB, 512MiB, 4GiB [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Bounds")]
    pub memory: Option<u64>,
    /// End with exit code 152 if a bound ended the search; otherwise an incomplete search ends with 0
    #[arg(long, help_heading = "Bounds")]
    pub require_complete: bool,

    /// Keep a checkpoint of a long search in this folder, which `host run --resume DIR` resumes. For `bdfs` without
    /// --reduce
    #[arg(long, value_name = "DIR", conflicts_with = "reduce", help_heading = "Long runs")]
    pub checkpoint: Option<PathBuf>,
    /// Time between checkpoints, with a unit; there is one more when a bound on time or memory, or Ctrl-C, ends the search
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "60s", help_heading = "Long runs")]
    pub every: Duration,
    /// Resume from the checkpoint in this folder, with all parameters of the run that made it; keeps the next ones there,
    /// too. What says which search it is cannot change; --time, --memory, --workers, --every, --audit and options for output
    /// can. Components are taken as they were built; only a PLUGIN that is given again is built
    #[arg(long, value_name = "DIR", conflicts_with = "checkpoint", help_heading = "Long runs")]
    pub resume: Option<PathBuf>,

    /// Threads that search and execute handlers; the result does not depend on it [default: auto, one per core]
    #[arg(long, value_name = "N|auto", value_parser = units::workers, default_value = "auto", hide_default_value = true, help_heading = "Speed")]
    pub workers: NonZeroUsize,

    /// Check whether the plugin keeps its promises: on no local state, 128 of them, all
    #[arg(long, value_name = "MODE", default_value = "sampled", value_parser = audits(), help_heading = "What to explore")]
    pub audit: Mode,

    /// Continue after a violation and collect others, 100 at most unless --max-violations says otherwise. Of those that end in
    /// the same way, one is reported
    #[arg(long = "continue", id = "continue", help_heading = "Output")]
    pub go_on: bool,
    /// Continue after a violation until there are N [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Output")]
    pub max_violations: Option<u64>,
    /// Show a violation as the search found it, without minimising its trace
    #[arg(long, help_heading = "Output")]
    pub no_minimize: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Folder for the trace of a violation [default: out/PLUGIN-ALGO-HASH]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Show progress, one line per second, also where standard error is no terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub progress: bool,

    /// Nodes that differ from the others.
    #[command(flatten)]
    pub placement: PlacementArguments,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How the plugin is loaded.
    #[command(flatten)]
    pub source: SourceArguments,
}

impl RunArguments {
    /// Whether checkpoints are kept, from the beginning or from an earlier one on.
    pub fn keeps_checkpoints(&self) -> bool {
        self.checkpoint.is_some() || self.resume.is_some()
    }

    /// Of several values of a parameter, keeps the last: those beside `--resume` stand behind those of the checkpoint.
    pub fn keep_last_parameters(&mut self) {
        let all = std::mem::take(&mut self.set);
        for (index, (key, value)) in all.iter().enumerate() {
            if !all[index + 1..].iter().any(|(later, _)| later == key) {
                self.set.push((key.clone(), value.clone()));
            }
        }
    }
}

/// `host new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// rust, c, cpp, zig, go, assemblyscript, typescript, python or text
    #[arg(value_name = "LANGUAGE")]
    pub language: String,
    /// The name of the protocol, and of the folder: small letters, digits and hyphens
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `host build`.
#[derive(Debug, Args)]
pub struct BuildArguments {
    /// The folder of a plugin
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Only build: do not examine the component as `host doctor` does
    #[arg(long)]
    pub no_examine: bool,
    /// How it is built.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A component, or the folder of a plugin, which is built first
    #[arg(value_name = "PLUGIN")]
    pub plugin: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How the plugin is loaded.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// A component, or the folder of a plugin, which is built first
    #[arg(value_name = "PLUGIN")]
    pub plugin: PathBuf,
    /// Number of nodes of the cluster [default: the plugin's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)))]
    pub nodes: Option<u32>,
    /// How many handlers are executed at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How the plugin is loaded.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// A trace, and the plugin to execute it with.
#[derive(Clone, Debug, Args)]
pub struct TraceArguments {
    /// A trace that `host run` wrote
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The component or plugin folder to run it with [default: plugins/NAME as it was
    /// built, if the trace's plugin is there]
    #[arg(long, value_name = "PLUGIN")]
    pub plugin: Option<PathBuf>,
    /// The component or plugin folder of a node that ran another one; can be repeated [default: plugins/NAME as it was built]
    #[arg(long, value_name = "N=PLUGIN", value_parser = placement::node_path)]
    pub node: Vec<(NodeId, PathBuf)>,
    /// Try it with another build of the plugin, or another plugin, than it was recorded with
    #[arg(long)]
    pub any_plugin: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// How the plugin is loaded.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// What to replay.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `host minimize`.
#[derive(Debug, Args)]
pub struct MinimizeArguments {
    /// What to make shorter.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Leave the first N events as they are, a live state for example
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub keep: usize,
    /// Events that are looked up at most; more make a very long trace shorter
    #[arg(long, value_name = "N", default_value_t = WORK_MAX)]
    pub work: u64,
    /// Where the short trace goes [default: minimized.json beside the trace]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `host draw`.
#[derive(Debug, Args)]
pub struct DrawArguments {
    /// What to draw.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Where the drawing goes; its ending says what it is written in: .svg, .mmd (Mermaid) or .dot (Graphviz); can be
    /// repeated [default: the trace's name with .svg]
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// Mark the first N steps off from the rest, a live state for example
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub prefix: usize,
}

/// `host export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// What to export.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// The format: itf for Apalache and Quint, shiviz for its log, json for ours with all that a replay shows filled in
    #[arg(long, value_name = "FORMAT", value_parser = ["itf", "shiviz", "json"])]
    pub format: String,
    /// Where it goes [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `host debug`.
#[derive(Debug, Args)]
pub struct DebugArguments {
    /// A trace, or the component or folder of a plugin, to begin with a cluster where nothing has happened yet
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Without a trace: options of `host run` that say which cluster, such as --set bug=last-response --nodes 4
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// `host test`.
#[derive(Debug, Args)]
pub struct TestArguments {
    /// Folders with scenarios and traces, or single ones
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The plugin of the traces, except for those in `scenarios` of a plugin [default: plugins/NAME]
    #[arg(long, value_name = "PLUGIN")]
    pub plugin: Option<PathBuf>,
    /// Print failures as annotations, too: `github` shows them beside the files in pull requests
    #[arg(long, value_name = "FORMAT", value_parser = ["github"])]
    pub annotations: Option<String>,
    /// Write the results as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
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
    pub algo: &'static Strategy,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// How plugins are built.
    #[command(flatten)]
    pub source: SourceArguments,
}

/// `host list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

fn strategies() -> impl TypedValueParser<Value = &'static Strategy> {
    let value = |strategy: &Strategy| {
        PossibleValue::new(strategy.name).aliases(strategy.aliases.iter().copied()).help(strategy.summary)
    };
    PossibleValuesParser::new(STRATEGIES.iter().map(value))
        .map(|name| table::find(&name).expect("only names of strategies are possible values"))
}

fn audits() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["off", "sampled", "full"]).map(|mode| match &*mode {
        "off" => Mode::Off,
        "full" => Mode::Full,
        _ => Mode::Sampled,
    })
}

fn networks() -> impl TypedValueParser<Value = Network> {
    let help = |network: Network| match network {
        Network::Unordered => "any message in flight can come next, or never",
        Network::UnorderedDuplicating => "as unordered, and a message can be delivered more than once",
        Network::Ordered => "first in, first out for each sender and destination; connections can break",
    };
    let values = Network::ALL.map(|network| PossibleValue::new(network.name()).help(help(network)));
    PossibleValuesParser::new(values).map(|name| {
        let network = Network::ALL.into_iter().find(|network| network.name() == name);
        network.expect("only names of networks are possible values")
    })
}

/// `key=value` into its parts.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !text.contains(['\n', '\r']) => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE on one line, such as proposers=2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_assignment_has_a_key() {
        assert_eq!(assignment("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(assignment("a="), Ok(("a".to_owned(), String::new())));
        for wrong in ["a", "=a", "a=b\nc=d"] {
            assert!(assignment(wrong).is_err(), "{wrong:?}");
        }
    }
}
