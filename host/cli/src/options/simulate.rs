//! The options of `host simulate`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use host_live::simulator::{Conditions, Delays, Partitions};
use host_live::time::{Range, Share};
use host_live::world::{Trouble, Troubles};
use host_session::base::{Failure, units};
use host_session::search::script;
use host_session::search::simulation::{SimulationSpec, WatchSpec};

use crate::options::values::SourceArguments;

/// `host simulate`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("nodes").args(["runtime", "watch"]).multiple(true)))]
pub struct SimulateArguments {
    /// A component; the folder of a plugin, which is built first; or a scenario (.toml), which provides the cluster
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub plugin: PathBuf,
    /// The seed of the first run; each further run has the next seed. Equal seeds give equal runs
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Runs")]
    pub seed: u64,
    /// Maximum number of runs; the first violation ends them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value_t = 100, help_heading = "Runs")]
    pub runs: u64,
    /// Duration of a run, in virtual time
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "1h", help_heading = "Runs")]
    pub time: Duration,
    /// Maximum number of events of a run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value_t = 1_000_000, help_heading = "Runs")]
    pub events: u64,
    /// Continue a run after a violation, and count the states that violate a property
    #[arg(long, help_heading = "Runs")]
    pub go_on: bool,
    /// Latency of messages
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "1ms..50ms", help_heading = "Conditions")]
    pub latency: Range,
    /// Latency of messages from a node to itself; they are never lost then [default: like any other]
    #[arg(long, value_name = "RANGE", value_parser = units::range, help_heading = "Conditions")]
    pub loopback: Option<Range>,
    /// Share of messages lost, on links without an order
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "0%", help_heading = "Conditions")]
    pub loss: Share,
    /// Share of messages delivered again, on duplicating links
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "0%", help_heading = "Conditions")]
    pub duplicate: Share,
    /// Rate of node restarts: `1/m` is one per minute on average, a random node each; intervals are uniform up to twice the average [default: none]
    #[arg(long, value_name = "RATE", value_parser = units::rate, help_heading = "Conditions")]
    pub churn: Option<Duration>,
    /// Rate of partitions, from the end of one to the next: messages between the parts are lost, or delayed on ordered links
    /// [default: none]
    #[arg(long, value_name = "RATE", value_parser = units::rate, help_heading = "Conditions")]
    pub partition: Option<Duration>,
    /// Duration of a partition
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "10s", help_heading = "Conditions")]
    pub partition_time: Duration,
    /// Duration of a timer
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "100ms..1s", help_heading = "Conditions")]
    pub timers: Range,
    /// Delay of a call of the application once it is possible
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "1ms..10s", help_heading = "Conditions")]
    pub application: Range,
    /// Delay of an internal step of the protocol
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "1ms..10ms", help_heading = "Conditions")]
    pub internal: Range,
    /// A file with the phases of each run: nodes cut off, called or reset, and messages lost
    #[arg(long, value_name = "FILE", help_heading = "Conditions")]
    pub script: Option<PathBuf>,
    /// Simulate the nodes that ship: those of `host live` in virtual time, with their frames, timers and restarts. With --watch they
    /// always are; without it, the default is the model, which is six to ten times as fast
    #[arg(long, conflicts_with = "duplicate", help_heading = "Nodes")]
    pub runtime: bool,
    /// Simulate the model, which is the default without --watch: a message arrives, and a handler takes no time
    #[arg(long, conflicts_with_all = ["runtime", "down", "one_way", "pause", "clock_jump"], help_heading = "Nodes")]
    pub model: bool,
    /// How long a process is down that --churn has killed [default: it restarts at once]
    #[arg(long, value_name = "RANGE", value_parser = units::range, requires_all = ["nodes", "churn"], help_heading = "Nodes")]
    pub down: Option<Range>,
    /// Rate of one-way cuts: one node does not reach another one for --partition-time [default: none]
    #[arg(long, value_name = "RATE", value_parser = units::rate, requires = "nodes", help_heading = "Nodes")]
    pub one_way: Option<Duration>,
    /// Rate of pauses: a process does nothing for a while, and its inputs wait [default: none]
    #[arg(long, value_name = "RATE", value_parser = units::rate, requires = "nodes", help_heading = "Nodes")]
    pub pause: Option<Duration>,
    /// Duration of a pause
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "100ms..2s", help_heading = "Nodes")]
    pub pause_time: Range,
    /// Rate of clock jumps, ahead or back, at a random node each [default: none]
    #[arg(long, value_name = "RATE", value_parser = units::rate, requires = "nodes", help_heading = "Nodes")]
    pub clock_jump: Option<Duration>,
    /// How far a clock jumps
    #[arg(long, value_name = "RANGE", value_parser = units::range, default_value = "1s..1m", help_heading = "Nodes")]
    pub clock_jump_time: Range,
    /// A checker for each node: `observe` reports its predictions, `steer` prevents them as well. A violation then does not end
    /// the runs, and each has a control run with the same seed and without steering. The nodes that ship are simulated
    #[arg(long, value_name = "MODE", value_parser = ["observe", "steer"], help_heading = "Checkers")]
    pub watch: Option<String>,
    /// How long checkers take: `ours`, or as long as those of the thesis did, `thesis`
    #[arg(long, value_name = "PROFILE", value_parser = ["ours", "thesis"], default_value = "ours", requires = "watch", hide = true, help_heading = "Checkers")]
    pub profile: String,
    /// Minimum time between two rounds of a checker [default: that of the profile]
    #[arg(long, value_name = "TIME", value_parser = units::duration, requires = "watch", help_heading = "Checkers")]
    pub interval: Option<Duration>,
    /// Maximum number of events of the unfolding in a round [default: 4000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch", help_heading = "Checkers")]
    pub ahead: Option<u64>,
    /// Random walks of up to 200 events in a round without another finding [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch", help_heading = "Checkers")]
    pub walks: Option<u64>,
    /// Skip promises of progress: none is predicted to be dead, and filters may make one dead
    #[arg(long, requires = "watch", help_heading = "Checkers")]
    pub safety_only: bool,
    /// Steer also by breaking connections: instead of filtering or refusing a message on an ordered link, the connection to its sender
    /// breaks, and both ends are notified; without nodes that are cut off
    #[arg(long, requires = "watch", conflicts_with_all = ["partition", "script"], help_heading = "Checkers")]
    pub break_connections: bool,
    /// Steer also by looking ahead from each event of a node while its effects are held, N events far [default of N: 2000]; on links
    /// without an order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), num_args = 0..=1, require_equals = true, default_missing_value = "2000", requires = "watch", help_heading = "Checkers")]
    pub hold: Option<u64>,
    /// The folder for the trace of a violation [default: one in ./out]
    #[arg(long, short, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Options of `host run` that define the cluster, such as --nodes 5 --set bug=last-response; --time and --memory there bound the
    /// process
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

impl SimulateArguments {
    /// The runs as data; a relative path begins in the directory.
    ///
    /// # Errors
    ///
    /// The script cannot be read, or is none.
    pub fn spec(&self, directory: &Path) -> Result<SimulationSpec, Failure> {
        let lasting = self.partition_time;
        let conditions = Conditions {
            latency: self.latency,
            loopback: self.loopback,
            loss: self.loss,
            duplicates: self.duplicate,
            churn: self.churn,
            partitions: self.partition.map(|every| Partitions { every, lasting }),
            delays: Delays { timer: self.timers, application: self.application, internal: self.internal },
            time: self.time,
            events_max: self.events,
            continues: self.go_on,
        };
        let thesis = self.profile == "thesis";
        let watch = self.watch.as_ref().map(|mode| WatchSpec {
            steers: mode == "steer",
            thesis,
            safety_only: self.safety_only,
            interval: self.interval,
            ahead: self.ahead,
            walks: self.walks,
            breaks: self.break_connections,
            hold: self.hold,
        });
        let script = self.script.as_deref().map_or_else(|| Ok(Vec::new()), |path| script::read(path, directory))?;
        let has_nodes = self.runtime || (self.watch.is_some() && !self.model);
        let runtime = has_nodes.then(|| self.troubles());
        Ok(SimulationSpec { seed: self.seed, runs: self.runs, conditions, script, watch, runtime })
    }

    /// What goes wrong with running nodes, beyond the conditions.
    fn troubles(&self) -> Troubles {
        let trouble = |every: Option<Duration>, lasting: Range| every.map(|every| Trouble { every, lasting });
        Troubles {
            down: self.down.unwrap_or(Troubles::default().down),
            cuts: trouble(self.one_way, Range { from: self.partition_time, to: self.partition_time }),
            pauses: trouble(self.pause, self.pause_time),
            jumps: trouble(self.clock_jump, self.clock_jump_time),
        }
    }
}
