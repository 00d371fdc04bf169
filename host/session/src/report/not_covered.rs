//! Faults and ends that a run did not look for, and the options to look for them.

use host_model::scenario::Network;
use host_model::scenario::faults::{FaultId, Scope, Shows};
use serde::Serialize;

use crate::report::run::FinishedRun;
use crate::search::promises;
use crate::search::refusal::refusal;
use crate::spec::RunSpec;

/// A fault or an end that a run left out because it was not requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCovered {
    /// Its name.
    pub what: &'static str,
    /// The options that include it, added to those of the run; `--network` replaces the one there.
    pub option: String,
    /// Options of the run with which these are refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Options that are added to those of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Advice {
    network: Option<Network>,
    safety_only: bool,
    /// A fault to be given a budget of 1.
    fault: Option<&'static str>,
    deadlock: bool,
}

impl NotCovered {
    /// The faults and ends that a run did not look for: faults without a budget, and ends, where the plugin says which ones
    /// are good. Only accepted options are advised.
    pub fn of(run: &FinishedRun<'_>) -> Vec<Self> {
        let (scenario, search) = (run.lts.scenario(), &run.spec.search);
        let mut found = Vec::new();
        let can_show = |fault: FaultId| match fault.description().shows {
            Shows::Anywhere => true,
            Shows::NotKnown => false,
            Shows::WithSync => run.cluster.plugin.plugin.has_sync(),
            Shows::InEnds => search.deadlock,
            Shows::InWhatFollows => {
                let shows = search.deadlock
                    || !run.outcome.report.promises.is_empty()
                    || scenario.has_network(Network::Ordered);
                shows && run.spec.strategy().loses_messages && !search.reduce
            }
        };
        for (fault, _) in scenario.faults.iter().filter(|(fault, number)| *number == 0 && can_show(*fault)) {
            let (name, description) = (fault.name(), fault.description());
            let need = description.needs.filter(|need| !scenario.has_network(need.network));
            // Duplicates come with their network.
            let is_given = need.is_some() && description.budget.scope == Scope::Message;
            found.push((
                name,
                Advice {
                    network: need.map(|need| need.network),
                    fault: (!is_given).then_some(name),
                    // It is refused where promises are to be decided, whatever decides them.
                    safety_only: description.shows == Shows::InEnds && has_promises(run),
                    deadlock: false,
                },
            ));
        }
        let says_what_is_done = run.cluster.plugin.plugin.inspect().optional.iter().any(|it| it == "completion");
        if !search.deadlock && !search.reduce && says_what_is_done {
            found.push(("deadlocks", Advice { deadlock: true, ..Advice::default() }));
        }
        if !scenario.has_network(Network::Unordered) && !scenario.has_network(Network::UnorderedDuplicating) {
            found.push(("messages out of order", Advice { network: Some(Network::Unordered), ..Advice::default() }));
        }
        let accepted = found
            .into_iter()
            .map(|(what, advice)| advice.without(run).map(|without| Self { what, option: advice.options(), without }));
        accepted.flatten().collect()
    }

    /// The advice in words.
    pub fn advice(&self) -> String {
        let without = if self.without.is_empty() { "" } else { " without " };
        format!("try {}{without}{}", self.option, self.without.join(" and "))
    }
}

/// Whether `eventually` properties are to be decided, as far as the options determine it.
fn has_promises(run: &FinishedRun<'_>) -> bool {
    promises::has_promises(run.lts) && promises::excluded(run.spec).is_none()
}

impl Advice {
    /// The options, as on a command line.
    fn options(self) -> String {
        let network = self.network.map(|network| format!("--network {network}"));
        let safety_only = self.safety_only.then(|| "--safety-only".to_owned());
        let fault = self.fault.map(|fault| format!("--{fault} 1"));
        let deadlock = self.deadlock.then(|| "--deadlock".to_owned());
        [network, safety_only, fault, deadlock].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The options of the run that have to be left out for these to be accepted; none if no such options are known.
    fn without(self, run: &FinishedRun<'_>) -> Option<Vec<String>> {
        let mut spec = run.spec.clone();
        spec.cluster.network = self.network.or(spec.cluster.network);
        spec.search.safety_only |= self.safety_only;
        spec.search.deadlock |= self.deadlock;
        if let Some(fault) = self.fault {
            spec.cluster.faults.insert(fault.to_owned(), 1);
        }
        let mut without = Vec::new();
        while let Err(failure) = refusal(&spec, run.cluster, run.lts) {
            let option = failure.about.filter(|option| self.fault != Some(option.as_str()))?;
            if !leave_out(&mut spec, &option) {
                return None;
            }
            without.push(format!("--{option}"));
        }
        Some(without)
    }
}

/// Leaves an option out; false if that is not possible, or the run did not have it.
fn leave_out(spec: &mut RunSpec, option: &str) -> bool {
    let search = &mut spec.search;
    match option {
        "fairness" => search.fairness.take().is_some(),
        "timers" => search.timers.take().is_some(),
        "recover-by" => search.recover_by.take().is_some(),
        "reduce" => std::mem::take(&mut search.reduce),
        "checkpoint" => spec.process.keep.take().is_some(),
        fault => spec.cluster.faults.remove(fault).is_some(),
    }
}
