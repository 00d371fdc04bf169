//! The cluster and the bounds of a run: from the plugin's defaults, the options and the prefix.

use std::collections::BTreeMap;

use host_model::scenario::{Faults, Link, Misfit, Network, Scenario};
use host_model::trace::Trace;
use host_sandbox::AboutNetwork;
use host_search::kernel::Limits;
use host_search::strategy::{Bound, STRATEGIES};

use crate::base::failure::Failure;
use crate::options::links;
use crate::options::run::RunArguments;
use crate::options::values::NODES_MAX;
use crate::setup::plugin_source::Loaded;

/// The cluster that a run is about.
///
/// # Errors
///
/// An option does not fit the plugin or contradicts the prefix.
pub fn scenario(arguments: &RunArguments, loaded: &Loaded, prefix: Option<&Trace>) -> Result<Scenario, Failure> {
    let nodes = nodes(arguments, loaded, prefix)?;
    if !(1..=NODES_MAX).contains(&nodes) {
        return Err(Failure::configuration(format_args!("with its twins the cluster has more than {NODES_MAX} nodes")));
    }
    let network = network(arguments, loaded, prefix)?;
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in &arguments.set {
        if given.insert(key.clone(), value.clone()).is_some() {
            return Err(Failure::configuration(format_args!("`--set {key}` is given twice; keep one")));
        }
    }
    check_keys(loaded, given.keys())?;
    let mut parameters = given;
    if let Some(trace) = prefix {
        check_keys(loaded, trace.scenario.parameters.keys())?;
        let recorded = effective_parameters(loaded, &trace.scenario);
        if let Some((key, value)) = parameters.iter().find(|(key, value)| recorded.get(*key) != Some(*value)) {
            let there = recorded.get(key).map_or("leaves it out".to_owned(), |there| format!("has {key}={there}"));
            return Err(contradiction(&format!("--set {key}={value}"), &there));
        }
        parameters = trace.scenario.parameters.clone();
    }
    // A value that is the default anyway says nothing; without it, equal clusters have equal scenarios.
    let others = loaded.others.loaded();
    parameters.retain(|key, value| {
        default_value(loaded, key) != Some(value) || others.iter().any(|other| default_value(other, key) != Some(value))
    });
    let links = links(arguments, loaded, network, nodes, prefix)?;
    let mut scenario = Scenario { nodes, parameters, network, links, faults: Faults::default() };
    scenario.faults = faults(arguments, &scenario, prefix);
    check_faults(arguments, &scenario)?;
    Ok(scenario)
}

/// Refuses faults and reductions that the networks do not have.
fn check_faults(arguments: &RunArguments, scenario: &Scenario) -> Result<(), Failure> {
    scenario.check().map_err(|misfit| {
        let failure = |option: &str| Failure::configuration(format_args!("`{option}`: {misfit}"));
        let give = |network: Network| format!("give --network {network}, too, or --link A-B={network}");
        match misfit {
            Misfit::NoDuplicates { .. } => failure("--duplicates").help(give(Network::UnorderedDuplicating)),
            Misfit::NoConnections { .. } => failure("--breaks").help(give(Network::Ordered)),
            Misfit::OneWay { from, to } => {
                let option = if scenario.faults.breaks > 0 { "--breaks" } else { "--resets" };
                failure(option).help(format_args!("give both ways the same network: --link {from}-{to}=KIND"))
            }
            Misfit::TooMany { kind: "breaks", .. } if arguments.partitions.is_some() => failure("--partitions"),
            Misfit::TooMany { kind, .. } => failure(&format!("--{kind}")),
            Misfit::NoNode { .. } | Misfit::Twice { .. } | Misfit::Unsorted { .. } => failure("--link"),
        }
    })?;
    if !scenario.has_network(Network::Ordered) {
        return Ok(());
    }
    let ordered = if scenario.links.is_empty() { "on the network ordered" } else { "on ordered links" };
    if arguments.reduce {
        let why = "`--reduce` takes it that a message in flight is in the way of no other, which is wrong";
        let failure = Failure::configuration(format_args!("{why} {ordered}"));
        return Err(failure.help("leave it out, or use --algo unfold"));
    }
    if arguments.keeps_checkpoints() {
        let why = format_args!("`--checkpoint`: no strategy keeps checkpoints {ordered}");
        return Err(Failure::configuration(why).help("leave it out"));
    }
    Ok(())
}

/// The links that differ from the network: those that are given, or those of the prefix.
fn links(
    arguments: &RunArguments,
    loaded: &Loaded,
    network: Network,
    nodes: u32,
    prefix: Option<&Trace>,
) -> Result<Vec<Link>, Failure> {
    let twins = loaded.others.have_twins();
    let given = links::resolve(&arguments.link, network, nodes - loaded.others.twins(), twins)?;
    let Some(trace) = prefix else { return Ok(given) };
    for option in &arguments.link {
        for (from, to) in &option.ways {
            let there = trace.scenario.network_of(*from, *to);
            if there != option.network {
                let option = format!("--link {}={}", option.place, option.network);
                return Err(contradiction(&option, &format!("has {there} from node {from} to node {to}")));
            }
        }
    }
    Ok(trace.scenario.links.clone())
}

/// What can go wrong: budgets that are given, or those of the prefix. A prefix says what has happened, not what still can,
/// so more can be given than it has.
fn faults(arguments: &RunArguments, scenario: &Scenario, prefix: Option<&Trace>) -> Faults {
    let duplicates = u32::from(scenario.has_network(Network::UnorderedDuplicating));
    let usual = Faults { duplicates, ..Faults::default() };
    let recorded = prefix.map_or(usual, |trace| trace.scenario.faults);
    // A partition breaks connections between its parts, of each of which either end may learn first.
    let partitioned = match scenario.has_network(Network::Ordered) {
        true => arguments.partitions.unwrap_or(0).saturating_mul(scenario.nodes - 1),
        false => 0,
    };
    Faults {
        resets: arguments.resets.unwrap_or(recorded.resets),
        duplicates: arguments.duplicates.unwrap_or(recorded.duplicates),
        breaks: arguments.breaks.unwrap_or(recorded.breaks).saturating_add(partitioned),
        refusals: arguments.refusals.unwrap_or(recorded.refusals),
        crashes: arguments.crashes.unwrap_or(recorded.crashes),
    }
}

/// Every parameter with its value: those of the scenario, and the plugin's defaults for the others.
pub fn effective_parameters(loaded: &Loaded, scenario: &Scenario) -> BTreeMap<String, String> {
    let defaults = loaded.plugin.about().map_or(&[][..], |about| &about.parameters).iter();
    let defaults = defaults.map(|parameter| (parameter.name.clone(), parameter.default_value.clone()));
    defaults.chain(scenario.parameters.clone()).collect()
}

/// Violations that `--continue` collects.
const VIOLATIONS_MAX: u64 = 100;

/// The bounds and other options of the search, all of which the strategy honours.
///
/// # Errors
///
/// One that the strategy does not know: it would be wrong to ignore it.
pub fn limits(arguments: &RunArguments) -> Result<Limits, Failure> {
    if arguments.keeps_checkpoints() && !arguments.algo.keeps_checkpoints {
        let names = STRATEGIES.iter().filter(|strategy| strategy.keeps_checkpoints).map(|strategy| strategy.name);
        let failure = Failure::configuration(format_args!("the strategy {} keeps no checkpoints", arguments.algo.name));
        return Err(failure.help(format_args!("use one that does: {}", names.collect::<Vec<_>>().join(", "))));
    }
    if arguments.keeps_checkpoints() && (arguments.go_on || arguments.max_violations.is_some()) {
        let why = "`--checkpoint`: a checkpoint keeps no violations, and --continue collects them";
        return Err(Failure::configuration(why).help("leave one of the two out"));
    }
    let RunArguments {
        depth,
        local_events,
        states,
        reduce,
        deadlock,
        no_symmetry,
        count_system_states,
        seed,
        walks,
        weights,
        ..
    } = *arguments;
    let violations = arguments.max_violations.or(arguments.go_on.then_some(VIOLATIONS_MAX));
    // Where there is a time, walks go on until it is up.
    let is_timed = arguments.time.is_some() && arguments.algo.honours.contains(&Bound::Walks);
    let walks = walks.or(is_timed.then_some(u64::MAX));
    let limits = Limits {
        depth,
        local_events,
        states,
        violations,
        reduce,
        deadlock,
        no_symmetry,
        count_system_states,
        seed,
        walks,
        weights,
    };
    for bound in Bound::ALL {
        if !bound.is_set(&limits) || arguments.algo.honours.contains(&bound) {
            continue;
        }
        let honour = STRATEGIES.iter().filter(|strategy| strategy.honours.contains(&bound));
        let names: Vec<&str> = honour.map(|strategy| strategy.name).collect();
        let (name, option) = (arguments.algo.name, bound.option());
        let failure = Failure::configuration(format_args!("the strategy {name} has no option `--{option}`"));
        return Err(failure.help(format_args!("leave it out, or use one that has: {}", names.join(", "))));
    }
    Ok(limits)
}

fn nodes(arguments: &RunArguments, loaded: &Loaded, prefix: Option<&Trace>) -> Result<u32, Failure> {
    let twins = loaded.others.twins();
    match (prefix, arguments.nodes, loaded.plugin.about()) {
        (Some(trace), Some(nodes), _) if nodes + twins != trace.scenario.nodes => {
            Err(contradiction(&format!("--nodes {nodes}"), &format!("has {}", trace.scenario.nodes)))
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

fn network(arguments: &RunArguments, loaded: &Loaded, prefix: Option<&Trace>) -> Result<Network, Failure> {
    let by_default = match loaded.plugin.about().map(|about| about.network) {
        None | Some(AboutNetwork::Unordered) => Network::Unordered,
        Some(AboutNetwork::UnorderedDuplicating) => Network::UnorderedDuplicating,
        Some(AboutNetwork::Ordered) => Network::Ordered,
    };
    match (prefix, arguments.network, by_default) {
        (Some(trace), Some(network), _) if network != trace.scenario.network => {
            Err(contradiction(&format!("--network {network}"), &format!("has {}", trace.scenario.network)))
        }
        (Some(trace), _, _) => Ok(trace.scenario.network),
        (None, Some(network), _) | (None, None, network) => Ok(network),
    }
}

/// Refuses keys that neither the plugin lists nor a component that runs on another node. Without a list, its `init` decides.
///
/// # Errors
///
/// The first such key.
pub fn check_keys<'a>(loaded: &Loaded, keys: impl Iterator<Item = &'a String>) -> Result<(), Failure> {
    let Some(about) = loaded.plugin.about() else { return Ok(()) };
    let knows = |loaded: &Loaded, key: &String| {
        loaded.plugin.about().is_none_or(|about| about.parameters.iter().any(|parameter| parameter.name == *key))
    };
    for key in keys {
        if knows(loaded, key) || loaded.others.loaded().iter().any(|other| knows(other, key)) {
            continue;
        }
        let name = &loaded.reference.name;
        let failure = Failure::configuration(format_args!("{name} has no parameter `{key}`"));
        let known: Vec<&str> = about.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        return Err(match known.is_empty() {
            true => failure.help("it has no parameters at all"),
            false => failure.help(format_args!("it has: {}", known.join(", "))),
        });
    }
    Ok(())
}

fn default_value<'l>(loaded: &'l Loaded, key: &str) -> Option<&'l String> {
    let parameters = &loaded.plugin.about()?.parameters;
    parameters.iter().find(|parameter| parameter.name == key).map(|parameter| &parameter.default_value)
}

fn contradiction(option: &str, there: &str) -> Failure {
    let failure = Failure::configuration(format_args!("`{option}` contradicts the prefix, which {there}"));
    failure.help("a prefix brings its cluster along; leave the option out")
}
