//! The assumptions of a verdict.

use std::collections::BTreeMap;

use host_model::scenario::{Link, Network, Scenario};
use host_model::trace::Placement;
use host_search::strategy::bdfs;
use serde::Serialize;

use crate::base::text::count;
use crate::report::run::FinishedRun;
use crate::spec::limits;

/// What a verdict holds under.
#[derive(Debug, Serialize)]
pub struct Assumed {
    /// Number of nodes.
    pub nodes: u32,
    /// The nodes that differ from the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// All of them, those with default values too.
    pub parameters: BTreeMap<String, String>,
    /// How messages travel where no link says something else.
    pub network: Network,
    /// The links where they travel in another way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Where messages have an order.
    #[serde(skip)]
    pub order: OrderedLinks,
    /// How often what goes wrong may go wrong.
    pub faults: FaultBudgets,
    /// The limits of the plugin that differ from the defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// What makes two local states the same.
    pub identity: &'static str,
    /// The odds that some two of the visited global states were taken for one; null where none is told apart by a
    /// shortened fingerprint.
    pub collision_odds: Option<f64>,
    /// Where the search began, if not after `init`.
    pub prefix: Option<Prefix>,
    /// Whether what cannot matter to any property was left out.
    pub reduced: bool,
    /// What was asked for; null is without bound.
    pub bounds: Bounds,
}

/// Budgets of faults.
#[derive(Debug, Serialize)]
pub struct FaultBudgets {
    /// Resets of each node.
    pub resets: u32,
    /// How often a message is delivered again.
    pub duplicates: u32,
    /// Breaks of connections that each node begins.
    pub breaks: u32,
    /// Messages of each node that are refused.
    pub refusals: u32,
    /// Nodes that stop and never come back.
    pub crashes: u32,
    /// Partitions; the breaks of their connections are among the breaks.
    pub partitions: u32,
}

/// Where messages have an order.
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
    /// That of a cluster.
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
    /// For people.
    pub fn text(&self, order: OrderedLinks) -> String {
        let mut parts = Vec::new();
        if self.resets > 0 {
            parts.push(format!("{} per node", count(self.resets.into(), "reset")));
        }
        if self.breaks > 0 {
            parts.push(format!("{} per node", count(self.breaks.into(), "broken connection")));
        }
        if self.refusals > 0 {
            parts.push(format!("{} per node", count(self.refusals.into(), "refused message")));
        }
        if self.duplicates > 0 {
            parts.push(format!("{} a message", count(self.duplicates.into(), "duplicate")));
        }
        if self.crashes > 0 {
            parts.push(count(self.crashes.into(), "crashed node"));
        }
        if self.partitions > 0 {
            parts.push(count(self.partitions.into(), "partition"));
        }
        // Where it has an order, a message is lost only with its connection.
        match (parts.is_empty(), order) {
            (true, OrderedLinks::Everywhere) => "none".to_owned(),
            (true, OrderedLinks::Somewhere) => "none but lost messages on links without order".to_owned(),
            (true, OrderedLinks::Nowhere) => "none but lost messages".to_owned(),
            (false, order) => {
                let lost = match order {
                    OrderedLinks::Everywhere => "messages of broken connections",
                    OrderedLinks::Somewhere => {
                        "lost messages on links without order, on others those of broken connections"
                    }
                    OrderedLinks::Nowhere => "lost messages",
                };
                format!("at most {}; {lost}", parts.join(", "))
            }
        }
    }
}

/// A trace after which a search began.
#[derive(Debug, Serialize)]
pub struct Prefix {
    /// The file, as the user named it.
    pub trace: String,
    /// Its events.
    pub steps: usize,
}

/// The bounds of a search.
#[derive(Debug, Serialize)]
pub struct Bounds {
    /// Events on a path.
    pub depth: Option<u32>,
    /// Local events of each node on a path.
    pub local_events: Option<u32>,
    /// States, or what the strategy counts instead.
    pub states: Option<u64>,
    /// What random walks depend on besides the system.
    pub seed: Option<u64>,
    /// How many random walks.
    pub walks: Option<u64>,
    /// How likely random walks take events of each kind.
    pub weights: Option<String>,
    /// Time for the search.
    pub time_seconds: Option<f64>,
    /// Memory of the process.
    pub memory_bytes: Option<u64>,
}

impl Assumed {
    /// The assumptions of a run.
    pub fn new(run: &FinishedRun<'_>) -> Self {
        let (spec, search) = (run.spec, &run.spec.search);
        let scenario = run.lts.scenario();
        let prefix = spec.cluster.prefix.as_ref();
        Self {
            nodes: scenario.nodes,
            placements: run.cluster.placements().to_vec(),
            parameters: run.cluster.plugin.effective_parameters(scenario),
            network: scenario.network,
            links: scenario.links.clone(),
            order: OrderedLinks::of(scenario),
            faults: FaultBudgets {
                resets: scenario.faults.resets,
                duplicates: scenario.faults.duplicates,
                breaks: scenario.faults.breaks,
                refusals: scenario.faults.refusals,
                crashes: scenario.faults.crashes,
                partitions: spec.cluster.faults.partitions.unwrap_or(0),
            },
            limits: limits::changed(&run.cluster.plugin.limits),
            identity: "serialized",
            collision_odds: run.outcome.report.fingerprints.map(bdfs::collision_odds),
            prefix: prefix.map(|path| Prefix { trace: path.display().to_string(), steps: run.cluster.prefix_steps() }),
            reduced: search.reduce,
            bounds: Bounds {
                depth: search.depth,
                local_events: search.local_events,
                states: search.states,
                seed: search.seed,
                walks: search.walks,
                weights: search.weights.map(|weights| weights.to_string()),
                time_seconds: spec.process.time.map(|time| time.as_secs_f64()),
                memory_bytes: spec.process.memory,
            },
        }
    }
}
