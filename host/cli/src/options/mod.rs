//! The command line: its commands and options, and their help.
//!
//! | module | what it holds |
//! |---|---|
//! | `values` | values of options, and the options that several commands have |
//! | `placement` | options for clusters whose nodes differ |
//! | `faults` | options for what can go wrong |
//! | `run` | the options of `host run` |
//! | `after_dashes` | those of them that stand after `--` in other commands |
//! | `tips` | what to type instead of a command line that is not understood |
//! | `simulate` | the options of `host simulate` |
//! | `swarm` | the options of `host swarm` |
//! | `live` | the options of `host live` |
//! | `plugins` | the options of commands about plugins |
//! | `traces` | the options of commands about traces |
//! | `histories` | the options of commands about histories |
//! | `logs` | the options of `host follow` |
//! | `refinement` | the options of `host refine` |

pub mod after_dashes;
pub mod faults;
pub mod histories;
pub mod live;
pub mod logs;
pub mod placement;
pub mod plugins;
pub mod refinement;
pub mod run;
pub mod simulate;
pub mod swarm;
pub mod tips;
pub mod traces;
pub mod values;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use host_session::base::exit;
use host_session::spec::limits;

use crate::options::histories::LinearizableArguments;
use crate::options::live::LiveArguments;
use crate::options::logs::FollowArguments;
use crate::options::plugins::{
    BuildArguments, CacheArguments, DoctorArguments, GraphArguments, InspectArguments, LanguagesArguments,
};
use crate::options::plugins::{
    CompletionsArguments, ListArguments, ManArguments, NewArguments, SchemaArguments, TestArguments,
};
use crate::options::refinement::RefineArguments;
use crate::options::run::RunArguments;
use crate::options::simulate::SimulateArguments;
use crate::options::swarm::SwarmArguments;
use crate::options::traces::{
    DebugArguments, DrawArguments, ExploreArguments, ExportArguments, MinimizeArguments, ReplayArguments,
};

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

/// Reads a command line, the name of the program first.
///
/// # Errors
///
/// The command line is not understood, or asks for help or the version.
pub fn parse(words: &[OsString]) -> Result<Command, clap::Error> {
    // The error for `--depth -1` has to name the values of `--depth`, not an unknown option `-1`.
    let takes_numbers = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    let mut command = command().mut_subcommands(|command| command.mut_args(takes_numbers));
    let mut matches = command.try_get_matches_from_mut(words).map_err(|error| tips::pointed(error, words, &command))?;
    Arguments::from_arg_matches_mut(&mut matches)
        .map(|parsed| parsed.command)
        .map_err(|error| error.format(&mut command))
}

const OVERVIEW: &str = "Begin with: host run plugins/paxos";

fn long_overview() -> String {
    let examples = "Examples:\n  \
        host run plugins/paxos                                   check Paxos\n  \
        host run plugins/paxos --set bug=last-response --set proposers=2\n                                                           \
        find out why a proposer must not trust the last answer\n  \
        host replay out/paxos-auto-1a2b3c4d/trace.json           see each step of what was found\n  \
        host list                                                strategies, their guarantees, and the plugins here";
    format!("{examples}\n\n{}", exit::help())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore the states of a protocol and check its properties
    #[command(visible_alias = "check", after_help = short_help(RUN_EXAMPLES, "run"), after_long_help = run_long_help())]
    Run(Box<RunArguments>),
    /// Make a folder with a protocol to begin from: one that builds and runs, with tests and scenarios
    New(NewArguments),
    /// Build the plugin in a folder and print the path of the component
    ///
    /// Finds or installs a toolchain, and reports each step. Does almost nothing if nothing changed. The last line on
    /// standard output is the path of the component. Then the component is examined briefly, as `host doctor` does at
    /// length; exits with 14 if it is unfit for a search.
    #[command(after_long_help = limits::help())]
    Build(BuildArguments),
    /// Show the parts, parameters, properties and snapshots of a plugin
    #[command(after_long_help = limits::help())]
    Inspect(InspectArguments),
    /// Check whether a plugin is fit for a search: whether it is deterministic, and its state can be captured
    ///
    /// Every step is executed in one instance, again after a restore, in a second instance, and finally from start to end
    /// without snapshots. Exits with 0 if all agree, and with 14 if they differ or a handler ends in a fault.
    #[command(after_long_help = limits::help())]
    Doctor(DoctorArguments),
    /// Execute a trace again and show each step: messages received and sent, log lines, and changes of state
    ///
    /// Exits with the code of the trace's violation, or with 0 if it has none. Another build of the plugin than the recorded one
    /// follows the same events, even if they act differently there: the violation still exists, it is gone, or some event
    /// cannot happen.
    #[command(after_help = REPLAY_EXAMPLES, after_long_help = replay_long_help())]
    Replay(ReplayArguments),
    /// Shorten a trace: remove all events that its violation does not need
    ///
    /// Parts of the events are executed until no more can be removed; the rest is ordered so that the node changes less
    /// often. The result violates the same property, is confirmed in fresh instances, and is never longer. `host run` does
    /// this by itself.
    #[command(after_help = MINIMIZE_EXAMPLES, after_long_help = with_limits(MINIMIZE_EXAMPLES))]
    Minimize(MinimizeArguments),
    /// Draw a trace: nodes as columns, time downwards, messages as arrows
    ///
    /// The SVG has a tooltip for each event and message. Squares are local events, dots are
    /// deliveries, dashed arrows with a cross were never delivered. A red ring marks a step that changed what the violated
    /// property reads.
    #[command(after_help = DRAW_EXAMPLES, after_long_help = with_limits(DRAW_EXAMPLES))]
    Draw(DrawArguments),
    /// Draw the reachable states of a small cluster, and the events between them
    ///
    /// States are in rows by their distance from the start. The drawing marks start states, violations, terminal states without
    /// possible events, and states left unexplored by a bound. Hover texts have the whole states and the messages in
    /// flight. Exits with 0 in any case: `host run` gives a verdict.
    #[command(after_help = GRAPH_EXAMPLES)]
    Graph(GraphArguments),
    /// Run a cluster as in operation, in virtual time: latency, loss, churn, partitions, from a seed
    ///
    /// A simulation executes one long run after the other and proves nothing; `host run` explores. It finds violations that need
    /// thousands of events. The first violation is minimised and written as a trace, like those of `host run`. `eventually`
    /// properties are not judged. Exits with the code of the violation, or with 0 if there is none.
    #[command(after_help = short_help(SIMULATE_EXAMPLES, "simulate"), after_long_help = SIMULATE_EXAMPLES)]
    Simulate(Box<SimulateArguments>),
    /// Run many seeds of a search, in processes here and on other machines, and merge what they find
    ///
    /// A job is `host run` with one seed, for each plugin and each point of --over. A job that died runs again, and a swarm that was
    /// stopped continues where it was: repeat its command. The report does not depend on where and when the jobs ran, unless they are
    /// bounded by time. Exits with the code of the first job with a finding, or with 0 if there is none.
    #[command(after_help = SWARM_EXAMPLES)]
    Swarm(Box<SwarmArguments>),
    /// Run the component as a real cluster: over TCP, with or without TLS, or UDP, with files, and clients over HTTP
    ///
    /// The nodes run the component that `host run` checks: timer durations and client requests are the plugin's, and nothing
    /// leaves a node before the state that it depends on is on disk. Nodes on several machines authenticate by the certificates
    /// that the cluster file names under `[tls]`; without it, only loopback addresses are allowed.
    #[command(after_help = LIVE_EXAMPLES)]
    Live(LiveArguments),
    /// Judge whether histories of clients are linearizable, of any system: Jepsen's, or a line of JSON per event
    ///
    /// Each line or map is an event of a client: `process`, `type`, `f`, `value`, and `key` where a process calls several
    /// objects. `invoke` begins a call, and one of these ends it: `ok` (it happened, with this value), `fail` (it did not happen),
    /// `info` (it may have happened, or happen at any later time, or never). A call without an end counts as `info`. Lines of the
    /// process `nemesis` are ignored. Instead of two events, a line of JSON can be a whole operation with the times `call` and
    /// `return`, and its `result`.
    ///
    /// A history that is not linearizable is explained: the first operation at whose return no order of the operations explains
    /// all results so far, the values that were possible there, and an order of all that had returned before. Exits with 0 if all
    /// histories are linearizable, with 12 if one is not, and otherwise with 130 if a bound left one undecided.
    #[command(after_help = LINEARIZABLE_EXAMPLES)]
    Linearizable(LinearizableArguments),
    /// Find an execution of a plugin that explains a log of a running cluster, or the line that none explains
    ///
    /// A log has a JSON object per line: the `node` that wrote it, and what it knows of an event, such as `event`, `from`, `message`
    /// and `state`. Fields, lines and whole nodes can be missing. The order of lines of different nodes counts only where messages,
    /// or `after` in a line, say so. Events without a line are hidden: --missing says how many there can be.
    ///
    /// An explanation is an execution as a trace (--out). A refusal names the line, and for each event that was possible there the first
    /// field in which it differs. Exits with 0 if the log is explained, with 12 if it is refused, or explained by an execution that
    /// violates an `always` property, and with 130 if a bound left it undecided.
    #[command(after_help = FOLLOW_EXAMPLES)]
    Follow(FollowArguments),
    /// Compare two components: whether each sequence of views of the new one is one of the old one
    ///
    /// The view of a state consists of the descriptions of all nodes, or of the fields in --fields. A view that does not change counts
    /// once, so the new component may take more or fewer events between two views. Both run with the same nodes, network, faults and
    /// parameters, but for --set-new and --set-old. Messages are not compared.
    ///
    /// A difference is a shortest execution of the new component whose views the old one cannot show (--out). Exits with 0 if there
    /// is none, with 12 if there is one, and with 130 if a bound left it undecided. Swap the components for the other direction.
    #[command(after_help = REFINE_EXAMPLES)]
    Refine(RefineArguments),
    /// Write a trace in the format of another tool
    ///
    /// `itf` is the Informal Trace Format of Apalache and Quint (name it *.itf.json), with `mbt::actionTaken` and
    /// `mbt::nondetPicks`. `shiviz` is a log with vector clocks, for ShiViz's default parser. Commands that take a trace also
    /// take an *.itf.json that `host` wrote.
    #[command(after_help = EXPORT_EXAMPLES, after_long_help = with_limits(EXPORT_EXAMPLES))]
    Export(ExportArguments),
    /// Step through a trace, forwards and backwards, and try other events
    ///
    /// Commands are read from standard input: with history and completion on a terminal, otherwise one per line, so that a session
    /// can be a script. `help` lists them. A script exits with 1 if one of its commands was not understood.
    #[command(after_help = DEBUG_EXAMPLES, after_long_help = with_limits(DEBUG_EXAMPLES))]
    Debug(DebugArguments),
    /// Show a cluster on a page in the browser: step through it, branch, look for the reason, search from here
    ///
    /// Prints the address of the page, and serves it until Ctrl-C, which ends the session with 0. The address is one of this machine
    /// alone, with a token that no other page knows. The page needs no network and no other program. Nothing is written unless a moment
    /// is saved as a trace.
    #[command(after_help = EXPLORE_EXAMPLES, after_long_help = with_limits(EXPLORE_EXAMPLES))]
    Explore(ExploreArguments),
    /// Run the scenarios and saved traces of a folder and compare with the expected results
    ///
    /// Tests are: files *.toml and *.json in folders `scenarios`, and *.scenario.toml, anywhere below the paths; files given as
    /// arguments; and trace*.json in a folder given as argument that is not a plugin's. Traces that a run left elsewhere are no tests. A
    /// scenario passes if it gives its expected result or, without one, if nothing is violated. A trace passes if its events, in
    /// this build of the plugin, lead to its violation; for a broken promise, if a search from there finds it broken. After
    /// a violation is mended, a file next to it with `trace = "NAME.json"` and `expect = "gone"` guards that, or `expect = "impossible"`
    /// if some event can no longer happen. The exit code is 0 or 1.
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArguments),
    /// Compare one protocol in many languages: toolchain, build time, size, state outside memory, step cost, snapshots, counts
    ///
    /// Builds each plugin again, examines it and explores its states. Ends with 0 if verdicts and counts are equal and every
    /// plugin is fit for a search, with 1 otherwise. A language whose toolchain is missing is left out with a note.
    #[command(hide = true, after_long_help = limits::help())]
    Languages(LanguagesArguments),
    /// List the strategies with their guarantees, and the plugins in ./plugins
    List(ListArguments),
    /// Show what is kept between runs, machine code, crates and toolchains: locations, sizes, and numbers of files
    ///
    /// Machine code of components, libraries and functions is kept so that only edited parts are compiled again; it takes at most 1 GiB,
    /// and the least recently used goes first. Crates are those shared by plugins in Rust: each is compiled once, and all are
    /// removed before they take more than 4 GiB. Toolchains are those that `host build` has installed.
    #[command(after_help = CACHE_EXAMPLES)]
    Cache(CacheArguments),
    /// Print the completions of commands and options for a shell
    ///
    /// For bash: host completions bash > ~/.local/share/bash-completion/completions/host
    Completions(CompletionsArguments),
    /// Print the JSON Schema of a scenario, of the file of a cluster, of a result or of a trace
    ///
    /// For an editor: host schema scenario > scenario.schema.json
    Schema(SchemaArguments),
    /// Print the manual page, or write the pages of all commands into a folder
    Man(ManArguments),
}

const RUN_EXAMPLES: &str = "Examples:\n  \
    host run plugins/paxos --algo bdfs --set proposers=2 --depth 12 --time 60s\n  \
    host run paxos.wasm --nodes 5 --json --require-complete\n  \
    host run plugins/fanout --network ordered --link 0-2=unordered\n  \
    host run plugins/paxos/scenarios/one-proposal.toml --algo unfold\n  \
    host run plugins/paxos --prefix live.json --out found\n  \
    host run plugins/paxos --depth 8 --watch";

/// The commands with many options, and those that `-h` shows; `--help` shows all.
const FIRST: [(&str, &[&str]); 2] = [
    ("run", &["nodes", "set", "network", "algo", "losses", "resets", "depth", "time", "out", "json", "watch"]),
    (
        "simulate",
        &[
            "seed",
            "runs",
            "time",
            "latency",
            "loss",
            "churn",
            "partition",
            "application",
            "runtime",
            "model",
            "watch",
            "out",
            "json",
        ],
    ),
];

fn short_help(examples: &str, command: &str) -> String {
    format!("{examples}\n\nThese options are the first to know; `host {command} --help` lists all.")
}

/// The command line; `-h` of commands with many options shows those that matter first.
fn command() -> clap::Command {
    FIRST.into_iter().fold(Arguments::command(), |all, (name, first)| {
        let shown = move |argument: clap::Arg| {
            let is_first = argument.get_long().is_none_or(|option| first.contains(&option));
            argument.hide_short_help(!is_first)
        };
        all.mut_subcommand(name, |command| command.mut_args(shown))
    })
}

fn run_long_help() -> String {
    format!("{RUN_EXAMPLES}\n\n{}\n{}", limits::help(), exit::help())
}

const TEST_EXAMPLES: &str = "Examples:\n  \
    host test plugins\n  \
    host test plugins/paxos out/paxos-bdfs-1a2b3c4d --junit results.xml";

const REPLAY_EXAMPLES: &str = "Examples:\n  \
    host replay out/paxos-bdfs-1a2b3c4d/trace.json --plugin plugins/paxos\n  \
    host replay trace.json --plugin fixed.wasm";

const MINIMIZE_EXAMPLES: &str = "Examples:\n  \
    host minimize out/paxos-walk-1a2b3c4d/found.json --plugin plugins/paxos\n  \
    host minimize trace.json --keep 9 --out short.json";

const DRAW_EXAMPLES: &str = "Examples:\n  \
    host draw trace.json\n  \
    host draw trace.json --format html\n  \
    host draw trace.json --plugin plugins/paxos --out trace.svg --out trace.mmd";

const GRAPH_EXAMPLES: &str = "Examples:\n  \
    host graph plugins/lock --local\n  \
    host graph plugins/query --out query.dot -- --depth 4\n  \
    host graph plugins/register/scenarios/one-read.toml --states 50";

const SIMULATE_EXAMPLES: &str = "Examples:\n  \
    host simulate plugins/paxos --seed 1 --runs 1000 --loss 1% -- --set bug=last-response --set proposers=2\n  \
    host simulate plugins/rand-tree --time 90m --churn 1/m -- --nodes 25\n  \
    host simulate plugins/paxos --partition 4/m --partition-time 20s --json";

const SWARM_EXAMPLES: &str = "Examples:\n  \
    host swarm plugins/paxos --seeds 8 --out paxos-swarm -- --algo walk --walks 200 --set bug=last-response --set proposers=2\n  \
    host swarm plugins/raft --seeds 10000 --out night --hosts hosts.toml --first -- --algo guided --walks 100000\n  \
    host swarm merge night";

const LIVE_EXAMPLES: &str = "Examples:\n  \
    host live up plugins/raft-kv/cluster.toml\n  \
    host live up plugins/raft-kv/cluster.toml --watch steer --every 500ms\n  \
    host live node plugins/raft-kv/cluster.toml --id 0\n  \
    host live status plugins/raft-kv/cluster.toml";

const LINEARIZABLE_EXAMPLES: &str = "Examples:\n  \
    host linearizable store/latest/history.edn --model cas-register --independent\n  \
    host linearizable clients.ndjson --model kv --initial '\"\"' --time 10m\n  \
    cat client-*.ndjson | host linearizable - --model queue --order time --json";

const FOLLOW_EXAMPLES: &str = "Examples:\n  \
    host follow cluster.ndjson --against plugins/paxos\n  \
    host follow node0.ndjson node1.ndjson --against plugins/raft-kv --missing 2 --out trace.json -- --nodes 3 --resets 1";

const REFINE_EXAMPLES: &str = "Examples:\n  \
    host refine plugins/register-go plugins/register\n  \
    host refine plugins/paxos plugins/paxos --set-new bug=last-response -- --set proposers=2";

const EXPORT_EXAMPLES: &str = "Examples:\n  \
    host export trace.json --format itf --out trace.itf.json\n  \
    host export trace.json --plugin plugins/paxos --format shiviz > trace.log";

const DEBUG_EXAMPLES: &str = "Examples:\n  \
    host debug trace.json --plugin plugins/paxos\n  \
    host debug plugins/paxos -- --set bug=last-response --set proposers=2\n  \
    host debug trace.json < session.txt";

const EXPLORE_EXAMPLES: &str = "Examples:\n  \
    host explore trace.json\n  \
    host explore plugins/paxos/scenarios/last-response.toml\n  \
    host explore plugins/paxos -- --set bug=last-response --set proposers=2";

const CACHE_EXAMPLES: &str = "Examples:\n  \
    host cache\n  \
    host cache --clear                                       the next run compiles all machine code again";

fn with_limits(examples: &str) -> String {
    format!("{examples}\n\n{}", limits::help())
}

fn replay_long_help() -> String {
    format!("{REPLAY_EXAMPLES}\n\n{}\n{}", limits::help(), exit::help())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the options that a help lists.
    fn listed(help: &str) -> Vec<&str> {
        let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let names = lines.filter_map(|line| line.split_once("--").map(|(_, rest)| rest));
        names.map(|rest| rest.split([' ', ',', '[']).next().unwrap_or_default()).collect()
    }

    #[test]
    fn short_helps_have_ten_to_fourteen_options_in_groups_and_long_ones_all() {
        let headings: [&[&str]; 2] = [
            &["What to explore:", "Faults:", "Bounds:", "Output:"],
            &["Runs:", "Conditions:", "Nodes:", "Checkers:", "Output:"],
        ];
        for ((name, first), headings) in FIRST.into_iter().zip(headings) {
            let help = |flag: &str| {
                let words = ["host", name, flag].map(OsString::from);
                parse(&words).expect_err("it is help").render().to_string()
            };
            let (short, long) = (help("-h"), help("--help"));
            let names: std::collections::BTreeSet<&str> = listed(&short).into_iter().collect();
            let expected: std::collections::BTreeSet<&str> = first.iter().copied().chain(["help"]).collect();
            assert_eq!(names, expected, "{short}");
            assert!((10..=14).contains(&names.len()), "{names:?}");
            let lines = short.lines().count();
            assert!(lines < 60 && short.contains(&format!("host {name} --help")), "{lines} lines");
            for heading in headings {
                assert!(short.contains(heading), "{heading}");
            }
            let all = command();
            let described = all.find_subcommand(name).expect("it is a command");
            let shown = listed(&long);
            let visible = described.get_arguments().filter(|argument| !argument.is_hide_set());
            for option in visible.filter_map(clap::Arg::get_long) {
                assert!(shown.contains(&option), "{option} is not in --help");
            }
            assert!(shown.len() > 30, "{} options", shown.len());
        }
    }

    /// Options for the tables of papers work, but no help shows them.
    #[test]
    fn what_only_reproduces_papers_is_out_of_sight() {
        let helps = [&["host", "--help"][..], &["host", "run", "--help"], &["host", "simulate", "--help"]];
        for words in helps {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let help = parse(&words).expect_err("it is help").render().to_string();
            for hidden in ["dpor-ds", "lmc-gen", "thesis", "languages "] {
                assert!(!help.contains(hidden), "{hidden} in {help}");
            }
        }
        let working = [
            &["host", "run", "p", "--algo", "dpor-ds"][..],
            &["host", "run", "p", "--algo", "dpor-ds-tree"],
            &["host", "run", "p", "--algo", "lmc-gen"],
            &["host", "simulate", "p", "--watch", "observe", "--profile", "thesis"],
            &["host", "languages"],
        ];
        for words in working {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(parse(&words).is_ok(), "{words:?}");
        }
    }

    /// Every command that loads a plugin takes limits: itself, behind `--`, or from its file.
    #[test]
    fn what_loads_a_plugin_takes_limits_and_lists_them() {
        let by_file = ["test", "live"];
        let mut loading = 0;
        for command in Arguments::command().get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
            let (loads, limit) = (has("no_install"), has("limit"));
            loading += usize::from(loads);
            if !loads || by_file.contains(&name.as_str()) {
                continue;
            }
            assert!(limit || has("options"), "{name} loads a plugin and takes no --limit");
            let help = command.render_long_help().to_string();
            assert_eq!(limit, help.contains("compile-time="), "{name}: --limit refers to the list in --help");
        }
        assert!(loading > 8, "{loading} commands load plugins");
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
