//! The options of `host run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use host_model::audit::Mode;
use host_model::contract::PropertyKind;
use host_model::scenario::{Network, OutageWrites};
use host_model::trace::Expressed;
use host_search::kernel::rules::{Fairness, Recovery, Timers};
use host_search::kernel::schedule::Schedule;
use host_search::kernel::weights::Weights;
use host_session::base::units;
use host_session::scenario_file::VIOLATIONS_MAX;
use host_session::scopes::{self, Range};
use host_session::spec::links::{self, LinkOption};
use host_session::spec::values::{NODES_MAX, assignment, expressed};
use host_session::spec::{Algo, ClusterSpec, Keep, ProcessSpec, RunSpec, SearchSpec};

use crate::options::faults::FaultArguments;
use crate::options::placement::PlacementArguments;
use crate::options::values::{
    LimitArguments, SourceArguments, audits, fairness, networks, outage_writes, recovery, strategies, timers,
};

/// `host run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A component; the folder of a plugin, which is built first; or a scenario (.toml) [default: the current folder]
    #[arg(value_name = "PLUGIN")]
    pub plugin: Option<PathBuf>,

    /// The strategy; `lmc` is short for lmc-opt [default: auto, a portfolio]
    #[arg(long, short, value_name = "NAME", value_parser = strategies(), help_heading = "What to explore")]
    pub algo: Option<Algo>,
    /// Number of nodes of the cluster [default: the plugin's]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)), help_heading = "What to explore")]
    pub nodes: Option<u32>,
    /// A parameter of the protocol; can be repeated. `host inspect` lists them [default: the plugin's]
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = assignment, help_heading = "What to explore")]
    pub set: Vec<(String, String)>,
    /// Search scopes of growing size, the smallest first: all values of a parameter, a budget of faults, `nodes` or
    /// `local-events`, in all combinations with those of other ranges, such as elections=1..6,resets=0..1; can be repeated. Scopes take
    /// turns, at first of one second, until one has a finding, all are decided, or --time is up
    #[arg(long, value_name = "KEY=FROM..TO", value_parser = scopes::range, value_delimiter = ',', conflicts_with_all = ["resume", "checkpoint", "out"], help_heading = "What to explore")]
    pub grow: Vec<Range>,
    /// The network of the cluster [default: the plugin's]
    #[arg(long, value_name = "KIND", value_parser = networks(), help_heading = "What to explore")]
    pub network: Option<Network>,
    /// The network between these nodes, overriding --network; A>B for messages from A to B only; can be repeated
    #[arg(long, value_name = "A-B=KIND", value_parser = links::link, help_heading = "What to explore")]
    pub link: Vec<LinkOption>,
    /// What can go wrong.
    #[command(flatten)]
    pub faults: FaultArguments,
    /// The writes that an outage can lose, of those since the last `sync` [default: prefix]
    #[arg(long, value_name = "WHICH", value_parser = outage_writes(), help_heading = "Faults")]
    pub outage_writes: Option<OutageWrites>,
    /// Reduce the state space, provably for all properties: drop dead messages, defer commuting deliveries, keep only states with
    /// the most messages in flight. For `bdfs`; paths become shorter, so --depth is refused
    #[arg(long, conflicts_with = "depth", help_heading = "What to explore")]
    pub reduce: bool,
    /// A property from outside, in addition to those of the component: an expression that holds in every state. It reads
    /// `node`, each node alone, or `nodes`, all of them, as the component describes them; `host replay` shows the descriptions.
    /// Fields: node.term, has(node.leader). Lists: nodes.all(n, ...), exists, exists_one, filter, map, each also with the place,
    /// nodes.all(i, n, ...). Operators: == != < <= > >= in && || ! + - * / % and ?:. Functions: size, unique, flatten, prefix, keys,
    /// values, min, max, closure(i, x, nodes[x].parent). At most 4096 characters, 50 levels and 1000000 steps of an evaluation.
    /// Can be repeated
    #[arg(long, value_name = "NAME=EXPR", value_parser = expressed, help_heading = "Properties from outside")]
    pub always: Vec<(String, String)>,
    /// The same, for an expression that holds in at least one state
    #[arg(long, value_name = "NAME=EXPR", value_parser = expressed, help_heading = "Properties from outside")]
    pub sometimes: Vec<(String, String)>,
    /// The same, for an expression that holds again and again in every fair execution
    #[arg(long, value_name = "NAME=EXPR", value_parser = expressed, help_heading = "Properties from outside")]
    pub eventually: Vec<(String, String)>,
    /// A component with properties from outside, or its folder, which is built first; it exports `outside` of the contract; can be
    /// repeated
    #[arg(long, value_name = "SPEC", help_heading = "Properties from outside")]
    pub spec: Vec<PathBuf>,
    /// Check only this property; can be repeated. `host inspect` lists the properties
    #[arg(long, value_name = "NAME", help_heading = "What to explore")]
    pub property: Vec<String>,
    /// Do not check this property; can be repeated. The report says so
    #[arg(long, value_name = "NAME", help_heading = "What to explore")]
    pub ignore: Vec<String>,
    /// Count the distinct system states (tuples of local states) even at extra cost: with `unfold` and with `bdfs --reduce`, which do
    /// not visit each of them
    #[arg(long, help_heading = "What to explore")]
    pub count_system_states: bool,
    /// Search for deadlocks: states without messages in flight and without local events, in which a node is not done
    /// (`completion` in the contract). A fault that is still possible does not prevent a deadlock
    #[arg(long, conflicts_with = "reduce", help_heading = "What to explore")]
    pub deadlock: bool,
    /// The fairness assumed for `eventually` properties. stable: faults end, and what stays possible happens (weak fairness).
    /// fair-lossy: losses never end, and a message in flight infinitely often is delivered infinitely often (with `--losses unlimited`).
    /// none: no event has to happen. For `bdfs`, which decides these properties, also within `auto` [default: stable]
    #[arg(long, value_name = "KIND", value_parser = fairness(), help_heading = "What must happen")]
    pub fairness: Option<Fairness>,
    /// When timers fire in a cycle: whenever they are set, or only when no message can be delivered [default: free]
    #[arg(long, value_name = "WHEN", value_parser = timers(), help_heading = "What must happen")]
    pub timers: Option<Timers>,
    /// The events that can restore an `eventually` property: those of the protocol, or resets too [default: events]
    #[arg(long, value_name = "WHAT", value_parser = recovery(), help_heading = "What must happen")]
    pub recover_by: Option<Recovery>,
    /// Skip `eventually` properties: search only for states that must not be reached, without storing edges
    #[arg(long, help_heading = "What must happen")]
    pub safety_only: bool,
    /// Distinguish states that differ only in the names of interchangeable nodes, as the plugin declares them
    #[arg(long, requires = "reduce", help_heading = "What to explore")]
    pub no_symmetry: bool,
    /// Begin in the state after this trace, in the cluster in which it was recorded
    #[arg(long, value_name = "TRACE", help_heading = "What to explore")]
    pub prefix: Option<PathBuf>,
    /// Accept a prefix that was recorded with another build of the plugin, or another plugin
    #[arg(long, requires = "prefix", help_heading = "What to explore")]
    pub any_plugin: bool,

    /// Events on a path, counted from the start of the search [default: no bound; 1000 for `dpor` and `walk`]
    #[arg(long, short, value_name = "N", help_heading = "Bounds")]
    pub depth: Option<u32>,
    /// Local events of each node on a path [default: no bound]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub local_events: Option<u32>,
    /// States, or events of `unfold`, either for each member of `auto`, executions of `dpor` [default: no bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Bounds")]
    pub states: Option<u64>,
    /// Number of random walks [default: 1000, or with --time as many as fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Random walks")]
    pub walks: Option<u64>,
    /// The seed of random walks; equal seeds give equal walks on every machine [default: 0]
    #[arg(long, value_name = "N", help_heading = "Random walks")]
    pub seed: Option<u64>,
    /// Weights of the kinds of events, such as deliver=4,timer=0 [default: 1 for deliver, timer, application, internal, fault]
    #[arg(long, value_name = "KIND=N,...", help_heading = "Random walks")]
    pub weights: Option<Weights>,
    /// How random walks choose events: uniform, pct, pct:DEPTH, pos, fresh, swarm, phases, mix [default: uniform; mix in `auto` and `guided`]
    #[arg(long, value_name = "SCHEDULE", help_heading = "Random walks")]
    pub schedule: Option<Schedule>,
    /// With `auto` and `guided`: a `sometimes` property that walks are to reach; given several times, in this order
    #[arg(long, value_name = "NAME", help_heading = "Random walks")]
    pub goal: Vec<String>,
    /// With `guided`: a `sometimes` property where a walk ends; can be repeated
    #[arg(long, value_name = "NAME", help_heading = "Random walks")]
    pub avoid: Vec<String>,
    /// Time limit of the search from `init` on, with a unit: 500ms, 60s, 5m, 2h [default: no bound]
    #[arg(long, short, value_name = "TIME", value_parser = units::duration, help_heading = "Bounds")]
    pub time: Option<Duration>,
    /// Memory limit of the process, with a unit: 800MB, 512MiB, 4GiB [default: half of the available memory]
    #[arg(long, short, value_name = "SIZE", value_parser = units::size, help_heading = "Bounds")]
    pub memory: Option<u64>,
    /// End with exit code 152 if a bound ended the search; otherwise an incomplete search ends with 0
    #[arg(long, help_heading = "Bounds")]
    pub require_complete: bool,

    /// Keep a checkpoint of a long search in this folder, which `host run --resume DIR` resumes. For `bdfs` without
    /// --reduce, and `consequence`
    #[arg(long, value_name = "DIR", conflicts_with = "reduce", group = "kept", help_heading = "Long runs")]
    pub checkpoint: Option<PathBuf>,
    /// Time between checkpoints, with a unit; a final one is written when a bound on time or memory, or Ctrl-C, ends the search
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "60s", requires = "kept", help_heading = "Long runs")]
    pub every: Duration,
    /// Resume from the checkpoint in this folder, with all parameters of its run, and keep later checkpoints there. Options that
    /// identify the search cannot change; --time, --memory, --workers, --every, --audit and output options can. Components are
    /// taken as they were built; only a PLUGIN given again is built
    #[arg(long, value_name = "DIR", conflicts_with = "checkpoint", group = "kept", help_heading = "Long runs")]
    pub resume: Option<PathBuf>,

    /// Threads that search and execute handlers; the result does not depend on it [default: auto, one per core]
    #[arg(long, short, value_name = "N|auto", value_parser = units::workers, default_value = "auto", hide_default_value = true, help_heading = "Speed")]
    pub workers: NonZeroUsize,

    /// Check the plugin's duties, such as determinism: on no local state, on 128 of them, on all [default: sampled]
    #[arg(long, value_name = "MODE", value_parser = audits(), help_heading = "What to explore")]
    pub audit: Option<Mode>,

    /// Continue after a violation and collect others: up to 100 kinds, distinguished by property and words without values, and the
    /// first 8 of each kind. --max-violations bounds their total instead. Variants are reported as one
    #[arg(long = "continue", id = "continue", help_heading = "Output")]
    pub continues: bool,
    /// Continue after a violation until there are N [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(VIOLATIONS_MAX)), help_heading = "Output")]
    pub max_violations: Option<u64>,
    /// Show the violation as found, without minimising its trace
    #[arg(long, help_heading = "Output")]
    pub no_minimize: bool,
    /// Show all counts, including those specific to the strategy
    #[arg(long, short, help_heading = "Output")]
    pub verbose: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Folder for the trace of a violation [default: out/PLUGIN-ALGO-HASH]
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write a sketch of what was seen into the folder of --out, for the report of `host swarm`
    #[arg(long, requires = "out", hide = true, help_heading = "Output")]
    pub sketch: bool,
    /// Show progress as one line per second if standard error is no terminal [default: one per minute]
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub progress: bool,

    /// Run again whenever the sources of the plugin, or the named component or scenario, change; until Ctrl-C
    #[arg(long, conflicts_with_all = ["resume", "checkpoint", "json", "out"], help_heading = "Output")]
    pub watch: bool,

    /// Nodes that differ from the others.
    #[command(flatten)]
    pub placement: PlacementArguments,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

impl RunArguments {
    /// The request as data. A scenario takes the place of the plugin.
    pub fn spec(&self) -> RunSpec {
        let cluster = ClusterSpec {
            plugin: self.plugin(),
            nodes: self.nodes,
            parameters: self.set.clone(),
            network: self.network,
            links: self.link.clone(),
            faults: self.faults.0.clone(),
            outage_writes: self.outage_writes,
            placement: self.placement.spec(),
            limits: self.limits.given(),
            prefix: self.prefix.clone(),
            any_plugin: self.any_plugin,
            expressed: self.expressed(),
            specs: self.spec.clone(),
            property: self.property.clone(),
            ignore: self.ignore.clone(),
        };
        RunSpec { cluster, search: self.search(), process: self.process() }
    }

    /// The plugin: the working directory if none is given, and nothing if a checkpoint knows it.
    fn plugin(&self) -> PathBuf {
        let here = || if self.resume.is_some() { PathBuf::new() } else { PathBuf::from(".") };
        self.plugin.clone().unwrap_or_else(here)
    }

    /// The properties from outside.
    fn expressed(&self) -> Vec<Expressed> {
        let kinds = [
            (PropertyKind::Always, &self.always),
            (PropertyKind::Sometimes, &self.sometimes),
            (PropertyKind::Eventually, &self.eventually),
        ];
        let all = kinds.into_iter().flat_map(|(kind, all)| all.iter().cloned().map(move |one| (kind, one)));
        all.map(|(kind, (name, expression))| Expressed { name, kind, expression }).collect()
    }

    fn search(&self) -> SearchSpec {
        SearchSpec {
            algo: self.algo,
            reduce: self.reduce,
            no_symmetry: self.no_symmetry,
            deadlock: self.deadlock,
            count_system_states: self.count_system_states,
            depth: self.depth,
            local_events: self.local_events,
            states: self.states,
            walks: self.walks,
            seed: self.seed,
            weights: self.weights,
            schedule: self.schedule,
            goal: self.goal.clone(),
            avoid: self.avoid.clone(),
            fairness: self.fairness,
            timers: self.timers,
            recover_by: self.recover_by,
            safety_only: self.safety_only,
            continues: self.continues,
            max_violations: self.max_violations,
        }
    }

    fn process(&self) -> ProcessSpec {
        let keep = |folder: &PathBuf| Keep {
            folder: folder.clone(),
            every: self.every,
            resumes: self.resume.is_some(),
            asked: Box::default(),
        };
        ProcessSpec {
            time: self.time,
            memory: self.memory,
            workers: Some(self.workers),
            audit: self.audit,
            no_minimize: self.no_minimize,
            require_complete: self.require_complete,
            keep: self.resume.as_ref().or(self.checkpoint.as_ref()).map(keep),
            source: self.source.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use host_session::scenario_file::keys;

    use crate::options::Arguments;

    /// The help explains each key of a scenario, under the same name.
    #[test]
    fn every_key_of_a_scenario_is_the_name_of_an_option() {
        let command = Arguments::command();
        let run = command.find_subcommand("run").expect("the command is there");
        for (_, key, _) in keys() {
            assert!(run.get_arguments().any(|argument| argument.get_long() == Some(key)), "{key}");
        }
    }
}
