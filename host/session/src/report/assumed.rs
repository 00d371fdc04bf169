//! The assumptions of a verdict.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use host_model::scenario::faults::{Budget, Loses, PARTITIONS, Scope, budget, budgets};
use host_model::scenario::{Faults, Link, Network, OutageWrites, Scenario};
use host_model::trace::{Placement, PluginRef};
use host_sandbox::AboutIdentity;
use host_search::kernel::rules::{Fairness, Rules};
use host_search::strategy::bdfs;
use serde::{Serialize, Serializer};

use crate::base::text::count;
use crate::cluster::plugin_source::LoadedPlugin;
use crate::report::run::FinishedRun;
use crate::spec::limits;

/// The assumptions of a verdict.
#[derive(Debug, Serialize)]
pub struct Assumed {
    /// Number of nodes.
    pub nodes: u32,
    /// The nodes without a known state.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<NodeId>,
    /// The nodes that differ from the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The specifications from outside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<PluginRef>,
    /// All parameters, those with default values included.
    pub parameters: BTreeMap<String, String>,
    /// The network of all links without one of their own.
    pub network: Network,
    /// The links with a network of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The links on which messages have an order.
    #[serde(skip)]
    pub order: OrderedLinks,
    /// The budgets of faults.
    pub faults: FaultBudgets,
    /// The unsynced writes that an outage can lose, where these are not the latest ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage_writes: Option<&'static str>,
    /// The limits of the plugin that differ from the defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// The identity of local states, on the nodes that run the plugin.
    pub identity: &'static str,
    /// The same on each node that runs another component, where it differs; a twin is a node of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub identity_on: BTreeMap<NodeId, &'static str>,
    /// The relevant properties of the plugin's build: a phrase each, such as that the clock stands still.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platform: Vec<String>,
    /// The odds that some two of the visited global states were taken for one; null where none is distinguished by a
    /// shortened fingerprint.
    pub collision_odds: Option<f64>,
    /// The start of the search, if not after `init`.
    pub prefix: Option<Prefix>,
    /// The rules by which `eventually` properties were decided; none where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressRules>,
    /// Whether states and events that cannot matter to any property were left out.
    pub reduced: bool,
    /// The requested bounds; null is without bound.
    pub bounds: Bounds,
}

/// Budgets of faults by name, in the order of their table; the breaks of partitions are among the breaks.
#[derive(Debug)]
pub struct FaultBudgets(Vec<(&'static str, &'static Budget, u32)>);

impl Serialize for FaultBudgets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// A budget as it is written.
        #[derive(Serialize)]
        struct Written(#[serde(with = "budget")] u32);
        serializer.collect_map(self.0.iter().map(|(name, _, number)| (name, Written(*number))))
    }
}

/// The links on which messages have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedLinks {
    /// Nowhere.
    Nowhere,
    /// On some links.
    Somewhere,
    /// On all of them.
    Everywhere,
}

impl OrderedLinks {
    /// The ordered links of a cluster.
    fn of(scenario: &Scenario) -> Self {
        let has_other = scenario.has_network(Network::Unordered) || scenario.has_network(Network::UnorderedDuplicating);
        match (scenario.has_network(Network::Ordered), has_other) {
            (false, _) => Self::Nowhere,
            (true, true) => Self::Somewhere,
            (true, false) => Self::Everywhere,
        }
    }
}

impl FaultBudgets {
    /// The budgets of a cluster, and of the requested partitions.
    fn new(faults: &Faults, partitions: u32) -> Self {
        let numbers = faults.iter().map(|(_, number)| number).chain([partitions]);
        Self(budgets().zip(numbers).map(|((name, budget), number)| (name, budget, number)).collect())
    }

    /// Whether a message can be lost, rather than delayed for ever.
    pub fn can_lose(&self, order: OrderedLinks) -> bool {
        self.lose(Loses::Any) || (order != OrderedLinks::Nowhere && self.lose(Loses::OfConnections))
    }

    /// Whether a fault that may happen loses such messages.
    fn lose(&self, loses: Loses) -> bool {
        self.0.iter().any(|(_, budget, number)| *number > 0 && budget.loses == Some(loses))
    }

    /// The budgets in words; `arrives` says whether, for `eventually` properties, each message that is not lost arrives.
    pub fn text(&self, order: OrderedLinks, arrives: bool) -> String {
        let mut given: Vec<_> = self.0.iter().filter(|(_, _, number)| *number > 0).collect();
        given.sort_by_key(|(_, budget, _)| budget.scope);
        let (unlimited, counted): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|(_, _, number)| *number == Faults::UNLIMITED);
        let part = |(_, budget, number): &&(&str, &Budget, u32)| {
            let each = match budget.scope {
                Scope::Node => " per node",
                Scope::Message => " a message",
                Scope::Cluster => "",
            };
            count((*number).into(), budget.one) + each
        };
        let parts: Vec<String> = counted.iter().map(part).collect();
        let mut words: Vec<String> = Vec::new();
        words.extend((!parts.is_empty()).then(|| format!("at most {}", parts.join(", "))));
        words.extend(unlimited.iter().map(|(_, budget, _)| format!("any number of {}s", budget.one)));
        let words = if words.is_empty() { "none".to_owned() } else { words.join("; ") };
        // Where it has an order, a message is lost only with its connection, unless losses are events. Elsewhere a message that never
        // arrives stays in flight: that is no fault, and does not excuse the nodes from their promises.
        let place = match order {
            _ if self.lose(Loses::Any) => return words,
            OrderedLinks::Nowhere => Some(""),
            OrderedLinks::Somewhere => Some("on links without order "),
            OrderedLinks::Everywhere => None,
        };
        let scope = if arrives { "for always and sometimes properties, " } else { "" };
        let late = place.map(|place| format!("; {scope}{place}a message may never arrive")).unwrap_or_default();
        let breaks = order != OrderedLinks::Nowhere && self.lose(Loses::OfConnections);
        let lost = if breaks { "; messages of broken connections do not arrive" } else { "" };
        words + &late + lost
    }
}

/// A trace after which a search began.
#[derive(Debug, Serialize)]
pub struct Prefix {
    /// The file, as the user named it.
    pub trace: String,
    /// Its events.
    pub steps: usize,
    /// Whether it begins in exported states, not after `init`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_states: bool,
}

/// The rules by which `eventually` properties were decided, by name.
#[derive(Debug, Serialize)]
pub struct ProgressRules {
    /// The fairness of events in the long run.
    pub fairness: &'static str,
    /// The rule for timers in the long run.
    pub timers: &'static str,
    /// The events that count as a recovery.
    pub recover_by: &'static str,
}

impl ProgressRules {
    /// Whether each message that is not lost arrives.
    pub fn each_message_arrives(&self) -> bool {
        self.fairness == Fairness::Stable.name()
    }
}

impl From<Rules> for ProgressRules {
    fn from(rules: Rules) -> Self {
        Self { fairness: rules.fairness.name(), timers: rules.timers.name(), recover_by: rules.recovery.name() }
    }
}

/// The bounds of a search.
#[derive(Debug, Serialize)]
pub struct Bounds {
    /// The maximum number of events on a path.
    pub depth: Option<u32>,
    /// The maximum number of local events of each node on a path.
    pub local_events: Option<u32>,
    /// The maximum number of states, or of the strategy's own unit.
    pub states: Option<u64>,
    /// The seed of random walks.
    pub seed: Option<u64>,
    /// The number of random walks.
    pub walks: Option<u64>,
    /// The weights of the kinds of events in random walks.
    pub weights: Option<String>,
    /// The rule by which random walks choose their events.
    pub schedule: Option<String>,
    /// The properties that guided walks are to reach in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<String>,
    /// The properties where guided walks end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<String>,
    /// Time for the search.
    pub time_seconds: Option<f64>,
    /// Memory of the process.
    pub memory_bytes: Option<u64>,
}

/// The identity of the local states of a component.
fn identity(loaded: &LoadedPlugin) -> &'static str {
    match loaded.plugin.about().map(|about| about.identity) {
        Some(AboutIdentity::Memory) => "memory",
        _ => "serialized",
    }
}

impl Assumed {
    /// The assumptions of a run.
    pub fn new(run: &FinishedRun<'_>) -> Self {
        let (spec, search) = (run.spec, &run.spec.search);
        let scenario = run.lts.scenario();
        let prefix = spec.cluster.prefix.as_ref();
        let own = identity(&run.cluster.plugin);
        Self {
            nodes: scenario.nodes,
            absent: scenario.absent.clone(),
            placements: run.cluster.placements().to_vec(),
            specs: run.cluster.spec_references(),
            parameters: run.cluster.plugin.effective_parameters(scenario),
            network: scenario.network,
            links: scenario.links.clone(),
            order: OrderedLinks::of(scenario),
            faults: FaultBudgets::new(
                &scenario.faults,
                spec.cluster.faults.get(PARTITIONS).copied().unwrap_or_default(),
            ),
            outage_writes: (scenario.outage_writes != OutageWrites::default()).then(|| scenario.outage_writes.name()),
            limits: limits::changed(&run.cluster.plugin.limits),
            identity: own,
            identity_on: run
                .cluster
                .placed()
                .map(|(node, loaded)| (node, identity(loaded)))
                .filter(|on| on.1 != own)
                .collect(),
            platform: run.cluster.plugin.plugin.inspect().assumed.clone(),
            collision_odds: run.outcome.report.fingerprints.map(bdfs::collision_odds),
            prefix: prefix.map(|path| Prefix {
                trace: path.display().to_string(),
                steps: run.cluster.prefix_steps(),
                from_states: run.cluster.prefix.as_ref().is_some_and(|trace| trace.beginning.is_some()),
            }),
            // The rules do not matter to walks.
            progress: run.outcome.report.promises.iter().any(|it| it.sampled.is_none()).then(|| search.rules().into()),
            reduced: run.outcome.report.is_reduced(search.reduce),
            bounds: Bounds {
                depth: search.depth,
                local_events: search.local_events,
                states: search.states,
                seed: search.seed,
                walks: search.walks,
                weights: search.weights.map(|weights| weights.to_string()),
                schedule: search.schedule.map(|schedule| schedule.to_string()),
                goal: search.goal.clone(),
                avoid: search.avoid.clone(),
                time_seconds: spec.process.time.map(|time| time.as_secs_f64()),
                memory_bytes: spec.process.memory,
            },
        }
    }
}
