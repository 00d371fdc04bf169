//! The cluster of simulated runs.

use std::collections::BTreeMap;

use host_model::scenario::faults::{InSimulations, budgets};
use host_model::scenario::{Faults, OutageWrites};

use crate::base::Failure;
use crate::search::simulation::SimulationSpec;
use crate::spec::{ClusterSpec, RunSpec, SearchSpec};

/// The cluster for these runs: where nodes are reset, each can be.
///
/// # Errors
///
/// The request has an option that a simulation does not support: it must not be ignored.
pub fn adapt(mut spec: RunSpec, asked: &SimulationSpec) -> Result<RunSpec, Failure> {
    // A scenario may have a strategy and bounds for it: of it, the cluster counts.
    spec.search = SearchSpec::default();
    check(&spec.cluster, asked)?;
    let ClusterSpec { faults, outage_writes, .. } = &mut spec.cluster;
    let is_given = |faults: &BTreeMap<String, u32>, name: &str| faults.get(name).is_some_and(|count| *count > 0);
    let bounds = |faults: &BTreeMap<String, u32>| {
        let restarts = budgets().filter(|(_, budget)| budget.in_simulations.is_restart());
        restarts.filter(|(name, _)| is_given(faults, name)).map(|(name, _)| name).collect::<Vec<_>>()
    };
    if let [one, other] = bounds(faults)[..] {
        let why = format!("`--{one}` and `--{other}` bound the same restarts: those of --churn and of a script");
        let help = "give one of them: a restart of a node that calls `sync` is an outage, of another node a reset";
        return Err(Failure::configuration(why).help(help));
    }
    let resets = asked.conditions.churn.is_some() || asked.script.iter().any(|phase| !phase.resets.is_empty());
    for (name, budget) in budgets() {
        let is_given = is_given(faults, name);
        let has_all = match budget.in_simulations {
            InSimulations::AsRestart | InSimulations::AsOutage if is_given && !resets => {
                return Err(Failure::configuration(format_args!(
                    "`--{name}` is the most of each node, and says not how often"
                ))
                .help("give --churn as well: --churn 1/m"));
            }
            InSimulations::AsRestart => resets && !is_given,
            InSimulations::AsBreak => asked.watch.is_some_and(|watch| watch.breaks),
            // It replaces the budget above once the plugin is known.
            InSimulations::AsOutage => false,
            InSimulations::ByConditions | InSimulations::WithinBudget => false,
        };
        if has_all {
            faults.insert(name.to_owned(), Faults::MAX);
        }
    }
    if *outage_writes == Some(OutageWrites::Any) {
        make_outages(faults);
    }
    Ok(spec)
}

/// Refuses what a simulation does not support.
fn check(cluster: &ClusterSpec, asked: &SimulationSpec) -> Result<(), Failure> {
    let refuse = |what: &str, help: &str| Err(Failure::configuration(what).help(help));
    let ClusterSpec { prefix, placement, faults, outage_writes, .. } = cluster;
    if prefix.is_some() {
        return refuse(
            "`host simulate` begins with `init`, and takes no --prefix",
            "explore from there: host run --prefix",
        );
    }
    if *placement != Default::default() {
        return refuse(
            "`host simulate` runs the same component with the same parameters on every node",
            "explore a cluster whose nodes differ: host run",
        );
    }
    asked.watch.map_or(Ok(()), |watch| watch.watching().check())?;
    if asked.watch.is_some() && asked.runtime.is_none() {
        return refuse(
            "`--watch` with `--model`: a checker belongs to a node that ships, from which it has its snapshots",
            "leave --model out; or simulate the model without --watch",
        );
    }
    let explored = budgets()
        .filter(|(_, budget)| matches!(budget.in_simulations, InSimulations::ByConditions | InSimulations::AsBreak));
    if let Some(name) = explored.map(|(name, _)| name).find(|name| faults.get(*name).is_some_and(|count| *count > 0)) {
        return Err(Failure::configuration(format_args!(
            "`--{name}` is a budget that a search explores; a simulation draws"
        ))
        .help("leave it out; conditions of the runs are --loss, --duplicate, --churn and --partition"));
    }
    if *outage_writes == Some(OutageWrites::Any) && asked.runtime.is_some() {
        return refuse(
            "`--outage-writes any` with nodes that ship: their data file is a log, and a kill loses its end",
            "give --model, or leave it out",
        );
    }
    Ok(())
}

/// Makes each restart an outage: nothing else loses writes, and a plugin without `sync` is refused.
fn make_outages(faults: &mut BTreeMap<String, u32>) {
    let named = |way: InSimulations| budgets().find(|(_, budget)| budget.in_simulations == way).map(|(name, _)| name);
    let (Some(restart), Some(outage)) = (named(InSimulations::AsRestart), named(InSimulations::AsOutage)) else {
        return;
    };
    if let Some(restarts) = faults.remove(restart) {
        faults.entry(outage.to_owned()).or_insert(restarts);
    }
}
