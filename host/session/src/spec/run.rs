//! The specification of a run: the cluster, the search, and options of the process that runs it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use host_model::audit::Mode;
use host_model::scenario::{Network, OutageWrites, faults};
use host_model::trace::Expressed;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::kernel::schedule::Schedule;
use host_search::kernel::weights::Weights;
use host_search::strategy::{Strategy, find};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::spec::links::LinkOption;
use crate::spec::placement::PlacementSpec;
use crate::spec::source::Source;
use crate::spec::values;

/// The default strategy.
const STRATEGY: &str = "auto";

/// A run. A part that is `None`, empty or false is unset: a layer below, the plugin, or a default sets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// The cluster.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// The search in it.
    #[serde(default)]
    pub search: SearchSpec,
    /// Settings of the process and of its output: another process can have
    /// others and still continue the same search.
    #[serde(skip)]
    pub process: ProcessSpec,
}

/// The cluster, and the start of the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterSpec {
    /// A component, or the folder of a plugin, which is built first.
    pub plugin: PathBuf,
    /// Number of nodes.
    pub nodes: Option<u32>,
    /// Parameters of the protocol.
    pub parameters: Vec<(String, String)>,
    /// The network.
    pub network: Option<Network>,
    /// Links with a network of their own.
    pub links: Vec<LinkOption>,
    /// The budgets of faults by name.
    #[serde(deserialize_with = "budgets")]
    pub faults: BTreeMap<String, u32>,
    /// The unsynced writes that an outage can lose.
    pub outage_writes: Option<OutageWrites>,
    /// Nodes that differ from the others.
    pub placement: PlacementSpec,
    /// The limits of the plugin, by name.
    pub limits: BTreeMap<String, u64>,
    /// A trace, after which the search begins.
    pub prefix: Option<PathBuf>,
    /// Whether the prefix may come from another build of the plugin, or another plugin.
    pub any_plugin: bool,
    /// Properties from outside.
    pub expressed: Vec<Expressed>,
    /// Specifications from outside: components, or folders, which are built first.
    pub specs: Vec<PathBuf>,
    /// The names of the properties that are judged; all if there are none.
    pub property: Vec<String>,
    /// The names of properties that are not judged.
    pub ignore: Vec<String>,
}

/// The search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SearchSpec {
    /// The strategy.
    pub algo: Option<Algo>,
    /// Reduce the state space by facts that are proven for all properties.
    pub reduce: bool,
    /// Distinguish states that differ only in the names of interchangeable nodes.
    pub no_symmetry: bool,
    /// Search for deadlocks.
    pub deadlock: bool,
    /// Count system states also where that takes extra work.
    pub count_system_states: bool,
    /// The maximum number of events on a path.
    pub depth: Option<u32>,
    /// The maximum number of local events of each node on a path.
    pub local_events: Option<u32>,
    /// The maximum number of states, or of the strategy's own unit.
    pub states: Option<u64>,
    /// Number of random walks.
    pub walks: Option<u64>,
    /// Seed of random walks.
    pub seed: Option<u64>,
    /// Weights of the kinds of events in random walks.
    #[serde(with = "as_text")]
    pub weights: Option<Weights>,
    /// The rule by which random walks choose their events.
    #[serde(with = "as_text")]
    pub schedule: Option<Schedule>,
    /// Names of `sometimes` properties that guided walks are to reach in this order.
    pub goal: Vec<String>,
    /// Names of `sometimes` properties where guided walks end.
    pub avoid: Vec<String>,
    /// The fairness of events in the long run, for `eventually` properties.
    #[serde(with = "fairness")]
    pub fairness: Option<Fairness>,
    /// The rule for timers in the long run.
    #[serde(with = "timers")]
    pub timers: Option<Timers>,
    /// The events that count as a recovery of a promise.
    #[serde(with = "recovery")]
    pub recover_by: Option<Recovery>,
    /// Leave `eventually` properties unchecked.
    pub safety_only: bool,
    /// Continue after a violation.
    #[serde(rename = "continue")]
    pub continues: bool,
    /// Continue after a violation until there is this number.
    pub max_violations: Option<u64>,
}

impl SearchSpec {
    /// The rules by which `eventually` properties are decided.
    pub fn rules(&self) -> Rules {
        Rules {
            fairness: self.fairness.unwrap_or_default(),
            timers: self.timers.unwrap_or_default(),
            recovery: self.recover_by.unwrap_or_default(),
        }
    }

    /// The first given option that is for `eventually` properties alone.
    pub fn option_for_promises(&self) -> Option<&'static str> {
        self.option_for_cycles().or(self.recover_by.map(|_| "recover-by"))
    }

    /// The first given option that is for infinite executions.
    pub fn option_for_cycles(&self) -> Option<&'static str> {
        self.fairness.map(|_| "fairness").or(self.timers.map(|_| "timers"))
    }
}

/// A strategy, which is compared and written by its name.
#[derive(Clone, Copy, Debug)]
pub struct Algo(pub &'static Strategy);

impl PartialEq for Algo {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Serialize for Algo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.name.serialize(serializer)
    }
}

impl<'d> Deserialize<'d> for Algo {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        values::strategy(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

/// Settings of the process, and of its output at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSpec {
    /// Time for the search.
    pub time: Option<Duration>,
    /// Memory of the process, in bytes.
    pub memory: Option<u64>,
    /// Threads; one per core by default.
    pub workers: Option<NonZeroUsize>,
    /// Whether the plugin's promises are checked.
    pub audit: Option<Mode>,
    /// Show violations as the search found them.
    pub no_minimize: bool,
    /// Whether an incomplete search is a failure.
    pub require_complete: bool,
    /// The settings of checkpoints, if they are kept.
    pub keep: Option<Keep>,
    /// The way to load plugins.
    pub source: Source,
}

/// Checkpoints of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Keep {
    /// The folder.
    pub folder: PathBuf,
    /// Time between two of them.
    pub every: Duration,
    /// Whether the search resumes from the one that is there.
    pub resumes: bool,
    /// The request as a checkpoint keeps it: a scenario, where there is one, stands in it in place of the plugin, and
    /// is read again.
    pub asked: Box<RunSpec>,
}

impl RunSpec {
    /// The strategy.
    pub fn strategy(&self) -> &'static Strategy {
        let default = || find(STRATEGY).expect("the table has the strategy that is the default");
        self.search.algo.map_or_else(default, |algo| algo.0)
    }

    /// Whether the search resumes from a checkpoint.
    pub fn resumes(&self) -> bool {
        self.process.keep.as_ref().is_some_and(|keep| keep.resumes)
    }

    /// The same without the settings of the process.
    pub fn of_the_search(&self) -> Self {
        Self { process: ProcessSpec::default(), ..self.clone() }
    }

    /// Refuses options that contradict each other, whatever their source.
    ///
    /// # Errors
    ///
    /// A lower-case sentence, and the option to leave out.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { cluster, search, process } = self;
        let starts_checkpoints = process.keep.as_ref().is_some_and(|keep| !keep.resumes);
        let exclude = [
            ("reduce", search.reduce, "depth", search.depth.is_some()),
            ("deadlock", search.deadlock, "reduce", search.reduce),
            ("checkpoint", starts_checkpoints, "reduce", search.reduce),
        ];
        if let Some((one, _, other, _)) = exclude.into_iter().find(|(_, one, _, other)| *one && *other) {
            return Err((one, format!("the argument '--{one}' cannot be used with '--{other}'")));
        }
        let need = [
            ("no-symmetry", search.no_symmetry, "reduce", search.reduce),
            ("any-plugin", cluster.any_plugin, "prefix", cluster.prefix.is_some()),
        ];
        match need.into_iter().find(|(_, is_given, _, is_there)| *is_given && !is_there) {
            Some((one, _, other, _)) => Err((one, format!("the argument '--{one}' needs '--{other}'"))),
            None => Ok(()),
        }
    }
}

/// Existing budgets of faults; one that is null is unset.
fn budgets<'d, D: Deserializer<'d>>(deserializer: D) -> Result<BTreeMap<String, u32>, D::Error> {
    let given = BTreeMap::<String, Option<u32>>::deserialize(deserializer)?;
    match given.keys().find(|name| faults::budgets().all(|(budget, _)| budget != **name)) {
        Some(name) => Err(D::Error::custom(format_args!("there is no budget `{name}`"))),
        None => Ok(given.into_iter().filter_map(|(name, number)| Some((name, number?))).collect()),
    }
}

/// Options that are written as the name of a value.
macro_rules! by_name {
    ($($module:ident: $kind:ident),+) => {$(
        mod $module {
            use host_search::kernel::rules::$kind;
            use serde::de::Error;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            use crate::spec::values;

            pub fn serialize<S: Serializer>(value: &Option<$kind>, serializer: S) -> Result<S::Ok, S::Error> {
                value.map($kind::name).serialize(serializer)
            }

            pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<$kind>, D::Error> {
                let name = Option::<String>::deserialize(deserializer)?;
                name.map(|name| values::$module(&name).map_err(D::Error::custom)).transpose()
            }
        }
    )+};
}

by_name!(fairness: Fairness, timers: Timers, recovery: Recovery);

/// Values as they are written.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(T::to_string).serialize(serializer)
    }

    pub fn deserialize<'d, T: FromStr<Err: Display>, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_is_data_and_leaves_the_process_out() {
        let mut spec = RunSpec::default();
        spec.cluster.parameters = vec![("bug".to_owned(), "none".to_owned())];
        spec.cluster.faults = [("resets".to_owned(), 1)].into();
        spec.search.algo = find("bdfs").map(Algo);
        spec.search.weights = Some("timer=3".parse().expect("weights"));
        spec.search.schedule = Some("pct:5".parse().expect("a schedule"));
        (spec.search.timers, spec.search.recover_by) = (Some(Timers::Late), Some(Recovery::Resets));
        spec.process.memory = Some(1);
        let text = serde_json::to_string(&spec).expect("plain data");
        let read: RunSpec = serde_json::from_str(&text).expect("the same data");
        assert_eq!(read, spec.of_the_search());
        assert_ne!(read, spec);
        // Earlier versions wrote unset budgets, too.
        let null = r#"{"cluster":{"faults":{"resets":1,"breaks":null}}}"#;
        assert_eq!(serde_json::from_str::<RunSpec>(null).expect("a specification").cluster.faults, spec.cluster.faults);
        let wrong_fault = r#"{"cluster":{"faults":{"fires":1}}}"#;
        for wrong in [
            wrong_fault,
            r#"{"search":{"algo":"magic"}}"#,
            r#"{"search":{"depths":1}}"#,
            r#"{"search":{"timers":"x"}}"#,
        ] {
            assert!(serde_json::from_str::<RunSpec>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let check = |change: &dyn Fn(&mut RunSpec)| {
            let mut spec = RunSpec::default();
            change(&mut spec);
            spec.check().err().map(|(option, _)| option)
        };
        assert_eq!(check(&|spec| spec.search.reduce = true), None);
        assert_eq!(check(&|spec| (spec.search.reduce, spec.search.depth) = (true, Some(1))), Some("reduce"));
        assert_eq!(check(&|spec| (spec.search.reduce, spec.search.deadlock) = (true, true)), Some("deadlock"));
        assert_eq!(check(&|spec| spec.search.no_symmetry = true), Some("no-symmetry"));
        assert_eq!(check(&|spec| spec.cluster.any_plugin = true), Some("any-plugin"));
    }
}
