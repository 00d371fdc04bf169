//! Nodes, parameters, networks and faults: from the plugin's defaults, the request, and the prefix.

use std::collections::BTreeMap;

use host_model::scenario::faults::{FaultId, Loses, PARTITIONS, Scope, partitions_are_counted_in};
use host_model::scenario::{Faults, Link, Network, OutageWrites, Scenario, ScenarioError};
use host_model::trace::{Flight, Trace};
use host_sandbox::AboutNetwork;
use host_search::strategy::STRATEGIES;

use crate::base::Failure;
use crate::base::names::known_names;
use crate::base::text::count;
use crate::cluster::numbered;
use crate::cluster::placement::Components;
use crate::cluster::plugin_source::LoadedPlugin;
use crate::spec::links;
use crate::spec::values::NODES_MAX;
use crate::spec::{ClusterSpec, RunSpec};

/// The cluster of a run.
///
/// # Errors
///
/// An option does not fit the plugin or contradicts the prefix.
pub fn scenario(
    spec: &RunSpec,
    loaded: &LoadedPlugin,
    components: &Components,
    prefix: Option<&Trace>,
) -> Result<Scenario, Failure> {
    let asked = &spec.cluster;
    let nodes = nodes(asked, loaded, components, prefix)?;
    if !(1..=NODES_MAX).contains(&nodes) {
        return Err(Failure::configuration(format_args!("with its twins the cluster has more than {NODES_MAX} nodes")));
    }
    let network = network(asked, loaded, prefix)?;
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in &asked.parameters {
        if given.insert(key.clone(), value.clone()).is_some() {
            let what = format_args!("`--set {key}` is given twice; keep one");
            return Err(Failure::configuration(what).about(format_args!("set {key}")));
        }
    }
    check_keys(loaded, components, given.keys())?;
    let mut parameters = given;
    if let Some(trace) = prefix {
        check_keys(loaded, components, trace.scenario.parameters.keys())?;
        // Exported states belong to the parameters of their nodes. A path after `init` is executed again, see `prefix`.
        let recorded = loaded.effective_parameters(&trace.scenario);
        let mut other = parameters.iter().filter(|(key, value)| recorded.get(*key) != Some(*value));
        if let Some((key, value)) = other.next().filter(|_| trace.beginning.is_some()) {
            let there = recorded.get(key).map_or("leaves it out".to_owned(), |there| format!("has {key}={there}"));
            return Err(contradiction(&format!("--set {key}={value}"), &there).about(format_args!("set {key}")));
        }
        parameters = trace.scenario.parameters.clone().into_iter().chain(parameters).collect();
    }
    // A default value adds nothing; without it, equal clusters have equal scenarios.
    let all = || std::iter::once(loaded).chain(components.loaded());
    parameters.retain(|key, value| all().any(|loaded| loaded.default_value(key) != Some(value)));
    let numbered = || numbered::with_names_of(loaded, nodes - components.twins(), &parameters);
    let links = links(asked, components, nodes, network, prefix, numbered)?;
    let mut scenario = Scenario { parameters, network, links, ..Scenario::new(nodes) };
    scenario.absent = prefix.map(|trace| trace.scenario.absent.clone()).unwrap_or_default();
    scenario.faults = faults(&asked.faults, &scenario, prefix);
    let recorded = prefix.map(|trace| trace.scenario.outage_writes);
    scenario.outage_writes = asked.outage_writes.or(recorded).unwrap_or_default();
    check_beginning(&scenario, prefix)?;
    check_outage_writes(spec, &scenario)?;
    check_outages(&scenario, all().any(|loaded| loaded.plugin.has_sync()), loaded)?;
    check_faults(spec, &scenario)?;
    Ok(scenario)
}

/// Refuses faults and reductions that the networks do not have.
fn check_faults(spec: &RunSpec, scenario: &Scenario) -> Result<(), Failure> {
    scenario.check().map_err(|misfit| {
        let failure = |option: &str| Failure::configuration(format_args!("`--{option}`: {misfit}")).about(option);
        let give = |network: Network| format!("give --network {network}, too, or --link A-B={network}");
        match misfit {
            ScenarioError::NoNetwork { kind, need, .. } => failure(kind).help(give(need.network)),
            ScenarioError::OneWay { kind, from, to } => {
                failure(kind).help(format_args!("give both ways the same network: --link {from}-{to}=KIND"))
            }
            ScenarioError::TooMany { kind, .. } => {
                let is_of_partitions = partitions_are_counted_in(kind) && spec.cluster.faults.contains_key(PARTITIONS);
                failure(if is_of_partitions { PARTITIONS } else { kind })
            }
            ScenarioError::Absent { .. } => failure("prefix"),
            ScenarioError::NoNode { .. } | ScenarioError::Twice { .. } | ScenarioError::Unsorted { .. } => {
                failure("link")
            }
        }
    })?;
    check_losses(spec, scenario)?;
    if !scenario.has_network(Network::Ordered) {
        return Ok(());
    }
    let ordered = if scenario.links.is_empty() { "on the network ordered" } else { "on ordered links" };
    if spec.search.reduce {
        let why = "`--reduce` takes it that a message in flight is in the way of no other, which is wrong";
        let failure = Failure::configuration(format_args!("{why} {ordered}"));
        return Err(failure.help("leave it out, or use --algo unfold").about("reduce"));
    }
    Ok(())
}

/// Refuses messages that are lost on any network, where the search has no event for it.
fn check_losses(spec: &RunSpec, scenario: &Scenario) -> Result<(), Failure> {
    let strategy = spec.strategy();
    let loses = |fault: FaultId| fault.description().budget.loses == Some(Loses::Any);
    let Some((fault, _)) = scenario.faults.iter().find(|(fault, number)| *number > 0 && loses(*fault)) else {
        return Ok(());
    };
    let name = fault.name();
    if spec.search.reduce {
        let why = "`--reduce` keeps only states with the most messages in flight, and a loss takes one away";
        let failure = Failure::configuration(format_args!("`--{name}`: {why}"));
        return Err(failure.help("leave one of the two out").about(name));
    }
    if strategy.loses_messages {
        return Ok(());
    }
    let others = STRATEGIES.iter().filter(|strategy| strategy.loses_messages).map(|strategy| strategy.name);
    let why = format_args!("`--{name}`: the strategy {} has no event for a lost message", strategy.name);
    let others = others.collect::<Vec<_>>().join(", ");
    let help =
        "leave it out: on links without order it makes no difference to `always` and `sometimes`; or use one that has";
    Err(Failure::configuration(why).help(format_args!("{help}: {others}")).about(name))
}

/// Refuses outages that are resets.
fn check_outages(scenario: &Scenario, has_sync: bool, loaded: &LoadedPlugin) -> Result<(), Failure> {
    if scenario.faults.outages == 0 || has_sync {
        return Ok(());
    }
    let name = &loaded.reference.name;
    let why = format_args!(
        "`--outages`: {name} does not call `sync`, so what a handler writes is durable, and an outage is a reset"
    );
    Err(Failure::configuration(why).help("use --resets").about("outages"))
}

/// Refuses outages that lose any unsynced writes where there are none, and where the search takes them for those of a log.
fn check_outage_writes(spec: &RunSpec, scenario: &Scenario) -> Result<(), Failure> {
    if scenario.outage_writes == OutageWrites::Prefix {
        return Ok(());
    }
    let option = format!("`--outage-writes {}`", scenario.outage_writes.name());
    let refuse = |why: &str, help: &str| {
        Err(Failure::configuration(format_args!("{option}: {why}")).help(help).about("outage-writes"))
    };
    match (scenario.faults.outages, spec.search.reduce && !spec.search.no_symmetry) {
        (0, _) => refuse("no node loses power", "give --outages N, too"),
        (_, true) => refuse(
            "`--reduce` numbers the disks of interchangeable nodes by their keys, which name nodes",
            "give --no-symmetry, too",
        ),
        _ => Ok(()),
    }
}

/// Refuses budgets with which the states of a prefix would have been exported differently: exports contain how often a message in
/// flight can be delivered, and, only where connections can break, which connections were used.
fn check_beginning(scenario: &Scenario, prefix: Option<&Trace>) -> Result<(), Failure> {
    let Some((trace, beginning)) = prefix.and_then(|trace| Some((trace, trace.beginning.as_ref()?))) else {
        return Ok(());
    };
    let (now, then) = (scenario.faults, trace.scenario.faults);
    let is_repeated = |flight: &Flight| scenario.network_of(flight.from, flight.to) == Network::UnorderedDuplicating;
    let differing = now.iter().filter(|(fault, number)| *number != then.of(*fault));
    let mut of_messages = differing.filter(|(fault, _)| fault.description().budget.scope == Scope::Message);
    if let Some((fault, number)) = of_messages.next().filter(|_| beginning.in_flight.iter().any(is_repeated)) {
        let copies = count(then.of(fault).into(), fault.description().budget.one);
        let there = format!("begins with messages in flight that were exported with {copies} each");
        return Err(contradiction(&format!("--{} {number}", fault.name()), &there).about(fault.name()));
    }
    if now.outages > 0 && then.outages == 0 {
        let there = "begins in states that were exported without outages: which writes were synced is not known";
        return Err(contradiction(&format!("--outages {}", now.outages), there).about("outages"));
    }
    if now.outages > 0 && scenario.outage_writes != trace.scenario.outage_writes {
        let there = format!("begins in states that were exported with {}", trace.scenario.outage_writes.name());
        return Err(
            contradiction(&format!("--outage-writes {}", scenario.outage_writes.name()), &there).about("outage-writes")
        );
    }
    let can_break = |faults: Faults| faults.breaks_of_connections() > 0;
    if scenario.has_network(Network::Ordered) && can_break(now) != can_break(then) {
        let there = "begins in states that were exported with other connections: with resets or breaks of connections it has to \
                     be known which were used, without them it must not be";
        let breaking = now.iter().filter(|(fault, number)| fault.breaks_connections() && *number != then.of(*fault));
        let (fault, number) = breaking.last().expect("a number differs, or both could break or neither");
        return Err(contradiction(&format!("--{} {number}", fault.name()), there).about(fault.name()));
    }
    Ok(())
}

/// The links that differ from the network: the given ones, or those of the prefix.
fn links(
    asked: &ClusterSpec,
    components: &Components,
    nodes: u32,
    network: Network,
    prefix: Option<&Trace>,
    numbered: impl FnOnce() -> String,
) -> Result<Vec<Link>, Failure> {
    let own = nodes - components.twins();
    let given = links::resolve(&asked.links, network, own, components.have_twins(), numbered)?;
    let Some(trace) = prefix else { return Ok(given) };
    for option in &asked.links {
        for (from, to) in &option.ways {
            let there = trace.scenario.network_of(*from, *to);
            if there != option.network {
                let words = format!("--link {}={}", option.place, option.network);
                let there = format!("has {there} from node {from} to node {to}");
                return Err(contradiction(&words, &there).about(option.id()));
            }
        }
    }
    Ok(trace.scenario.links.clone())
}

/// The budgets of faults: the given ones, or those of the prefix. A prefix records past faults, not future ones, so the
/// given budgets can be larger.
fn faults(asked: &BTreeMap<String, u32>, scenario: &Scenario, prefix: Option<&Trace>) -> Faults {
    let by_default = || Faults::by_default(|network| scenario.has_network(network));
    let mut faults = prefix.map_or_else(by_default, |trace| trace.scenario.faults);
    for (fault, _) in Faults::default().iter() {
        if let Some(budget) = asked.get(fault.name()) {
            *faults.of_mut(fault) = *budget;
        }
    }
    if let Some(partitions) = asked.get(PARTITIONS).filter(|_| scenario.has_network(Network::Ordered)) {
        faults.add_partitions(*partitions, scenario.nodes);
    }
    faults
}

fn nodes(
    asked: &ClusterSpec,
    loaded: &LoadedPlugin,
    components: &Components,
    prefix: Option<&Trace>,
) -> Result<u32, Failure> {
    let twins = components.twins();
    if let Some(nodes) = asked.nodes.filter(|nodes| !(1..=NODES_MAX).contains(nodes)) {
        let what = format_args!("`--nodes {nodes}`: a cluster has between 1 and {NODES_MAX} nodes");
        return Err(Failure::configuration(what).about("nodes"));
    }
    match (prefix, asked.nodes, loaded.plugin.about()) {
        (Some(trace), Some(nodes), _) if nodes + twins != trace.scenario.nodes => {
            Err(contradiction(&format!("--nodes {nodes}"), &format!("has {}", trace.scenario.nodes)).about("nodes"))
        }
        (Some(trace), _, _) => Ok(trace.scenario.nodes),
        (None, Some(nodes), _) => Ok(nodes + twins),
        (None, None, Some(about)) if (1..=NODES_MAX).contains(&about.nodes) => Ok(about.nodes + twins),
        (None, None, Some(about)) => Err(Failure::configuration(format_args!(
            "{} wants {} nodes by default, which is not between 1 and {NODES_MAX}; give --nodes",
            loaded.reference.name, about.nodes
        ))),
        (None, None, None) => {
            let name = &loaded.reference.name;
            Err(Failure::configuration(format_args!("{name} does not say how many nodes it wants; give --nodes")))
        }
    }
}

fn network(asked: &ClusterSpec, loaded: &LoadedPlugin, prefix: Option<&Trace>) -> Result<Network, Failure> {
    let by_default = match loaded.plugin.about().map(|about| about.network) {
        None | Some(AboutNetwork::Unordered) => Network::Unordered,
        Some(AboutNetwork::UnorderedDuplicating) => Network::UnorderedDuplicating,
        Some(AboutNetwork::Ordered) => Network::Ordered,
    };
    match (prefix, asked.network, by_default) {
        (Some(trace), Some(network), _) if network != trace.scenario.network => {
            Err(contradiction(&format!("--network {network}"), &format!("has {}", trace.scenario.network))
                .about("network"))
        }
        (Some(trace), _, _) => Ok(trace.scenario.network),
        (None, Some(network), _) | (None, None, network) => Ok(network),
    }
}

/// Refuses keys that neither the plugin nor the component of another node lists. Without a list, its `init` decides.
///
/// # Errors
///
/// The first such key.
pub fn check_keys<'a>(
    loaded: &LoadedPlugin,
    components: &Components,
    keys: impl Iterator<Item = &'a String>,
) -> Result<(), Failure> {
    let Some(about) = loaded.plugin.about() else { return Ok(()) };
    let knows = |loaded: &LoadedPlugin, key: &String| {
        loaded.plugin.about().is_none_or(|about| about.parameters.iter().any(|parameter| parameter.name == *key))
    };
    for key in keys {
        if knows(loaded, key) || components.loaded().iter().any(|other| knows(other, key)) {
            continue;
        }
        let name = &loaded.reference.name;
        let what = format_args!("{name} has no parameter `{key}`");
        let failure = Failure::configuration(what).about(format_args!("set {key}"));
        let known: Vec<&str> = about.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        return Err(match known.is_empty() {
            true => failure.help("it has no parameters at all"),
            false => failure.help(known_names(key, &known)),
        });
    }
    Ok(())
}

fn contradiction(option: &str, there: &str) -> Failure {
    let failure = Failure::configuration(format_args!("`{option}` contradicts the prefix, which {there}"));
    failure.help("a prefix brings its cluster along; leave the option out")
}
