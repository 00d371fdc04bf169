//! Whether a search decides the `eventually` properties, and by which rules.

use host_model::contract::PropertyKind;
use host_model::lts::Lts;
use host_model::scenario::{Faults, Scenario};
use host_search::kernel::rules::{Fairness, Recovery, Rules};
use host_search::liveness;
use host_search::strategy::{Promises, STRATEGIES};

use crate::base::Failure;
use crate::cluster::Cluster;
use crate::spec::RunSpec;

/// The option by which the user left out all `eventually` properties, in a phrase; none without it.
pub fn excluded(spec: &RunSpec) -> Option<&'static str> {
    spec.search.safety_only.then_some("--safety-only leaves it out")
}

/// The reason why the search decides no `eventually` property, as far as it is known without the plugin; a phrase that names a remedy.
fn left_out_by_search(spec: &RunSpec) -> Option<String> {
    if let Some(why) = excluded(spec) {
        return Some(why.to_owned());
    }
    let strategy = spec.strategy();
    if strategy.promises == Promises::Unchecked {
        let others = STRATEGIES.iter().filter(|strategy| strategy.promises == Promises::Decided);
        let others: Vec<&str> = others.map(|strategy| strategy.name).collect();
        return Some(format!("the strategy {} cannot; use --algo {}", strategy.name, others.join(" or ")));
    }
    if spec.search.reduce {
        return Some("a reduced search keeps what can happen, not what must; leave --reduce out".to_owned());
    }
    let keeps = spec.process.keep.is_some();
    keeps.then(|| "a checkpoint does not keep the edges between states; run without --checkpoint".to_owned())
}

/// The reason why the search decides no `eventually` property of this cluster; a phrase. None if it decides them, or there is none.
pub fn left_out(spec: &RunSpec, cluster: &Cluster, lts: &Lts<'_>) -> Option<String> {
    if has_promises(lts) { left_out_in(spec, cluster, lts.scenario()) } else { None }
}

/// The same in a scenario of a cluster that has `eventually` properties.
fn left_out_in(spec: &RunSpec, cluster: &Cluster, scenario: &Scenario) -> Option<String> {
    if let Some(why) = left_out_by_search(spec) {
        return Some(why);
    }
    if let Some(why) = liveness::refusal(scenario) {
        return Some(why.to_owned());
    }
    let placed = cluster.placements().iter();
    let twin = placed.clone().find_map(|placement| placement.twin_of);
    let adversary = placed.clone().find(|placement| placement.adversary).map(|placement| placement.node);
    let adversary = adversary.map(|node| format!("node {node} is an adversary, and nothing has to happen there"));
    adversary.or_else(|| twin.map(|node| format!("node {node} has a twin, and it is open which of them is the node")))
}

/// The rules by which the `eventually` properties are to be decided; none if they are not.
///
/// # Errors
///
/// An option is given for properties that are not decided, or without another one that it needs.
pub fn rules(spec: &RunSpec, cluster: &Cluster, lts: &Lts<'_>) -> Result<Option<Rules>, Failure> {
    rules_in(spec, cluster, lts.scenario(), has_promises(lts))
}

/// The same in a scenario of the cluster; `has_promises` says whether an `eventually` property is judged.
///
/// # Errors
///
/// As for [`rules`].
pub fn rules_in(
    spec: &RunSpec,
    cluster: &Cluster,
    scenario: &Scenario,
    has_promises: bool,
) -> Result<Option<Rules>, Failure> {
    let why = match has_promises {
        true => left_out_in(spec, cluster, scenario).map(|why| format!("no `eventually` property is checked: {why}")),
        false if cluster.judged.is_some() => Some("no `eventually` property is judged".to_owned()),
        false => Some("the plugin has no `eventually` property".to_owned()),
    };
    if let Some(why) = why {
        return match spec.search.option_for_promises() {
            Some(option) => Err(useless(option, &why)),
            None if has_promises && excluded(spec).is_none() && scenario.faults.crashes > 0 => Err(with_crashes()),
            None => Ok(None),
        };
    }
    let rules = spec.search.rules();
    if rules.recovery == Recovery::Resets && !scenario.faults.have_restarts() {
        return Err(useless("recover-by", "no node can be reset; give --resets N, too"));
    }
    let losses = scenario.faults.losses;
    if rules.fairness == Fairness::FairLossy && losses != Faults::UNLIMITED {
        let why = "it assumes that losses never end: give --losses unlimited, too; a limited number of losses ends, as `stable` \
                   assumes";
        return Err(useless("fairness", why));
    }
    Ok(Some(rules))
}

/// The reason why promises and crashes contradict each other, and an alternative.
fn with_crashes() -> Failure {
    let why = "`--crashes`: no `eventually` property is decided where nodes can crash, since no execution says after which event";
    let help = "give --safety-only to look for violations and deadlocks alone; to decide what must happen when a node stops, let it stop \
                in the protocol, by an application event and a parameter: see docs/semantics.md, What must happen";
    Failure::configuration(why).about("crashes").help(help)
}

/// Refuses options for `eventually` properties if the search decides none, before the plugin is loaded.
///
/// # Errors
///
/// There is such an option.
pub fn check(spec: &RunSpec) -> Result<(), Failure> {
    if let Some((option, why)) = spec.search.option_for_promises().zip(left_out_by_search(spec)) {
        return Err(useless(option, &format!("no `eventually` property is checked: {why}")));
    }
    match spec.search.option_for_cycles() {
        Some(option) if spec.strategy().promises == Promises::Sampled => {
            let why = "looks for where nothing can keep a promise any more, whatever happens for ever";
            Err(useless(option, &format!("the strategy {} {why}", spec.strategy().name)))
        }
        _ => Ok(()),
    }
}

/// Whether there is an `eventually` property.
pub fn has_promises(lts: &Lts<'_>) -> bool {
    lts.properties().iter().any(|property| property.kind == PropertyKind::Eventually)
}

fn useless(option: &str, why: &str) -> Failure {
    let failure = Failure::configuration(format_args!("`--{option}`: {why}")).about(option);
    failure.help("leave the option out, or change what is in its way")
}
