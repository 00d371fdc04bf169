//! What a run did not look for, and the options that would.

use host_model::scenario::Network;
use host_model::scenario::faults::{FaultId, Scope, Shows};
use serde::Serialize;

use crate::report::run::FinishedRun;
use crate::search::promises;

/// Something that did not happen in a run because it was not requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCovered {
    /// The name of it.
    pub what: &'static str,
    /// The options with which it happens.
    pub option: String,
}

impl NotCovered {
    /// What a run did not look for: faults without a budget, and ends, where the plugin says which ones are good.
    pub fn of(run: &FinishedRun<'_>) -> Vec<Self> {
        let (scenario, search) = (run.lts.scenario(), &run.spec.search);
        let says_what_is_done = run.cluster.plugin.plugin.inspect().optional.iter().any(|it| it == "completion");
        let excludes_promises = !promises::has_promises(run.lts) || promises::excluded(run.spec).is_some();
        let mut found = Vec::new();
        let can_show = |fault: FaultId| match fault.description().shows {
            Shows::Anywhere => true,
            Shows::NotKnown => false,
            // It is refused where promises are to be decided, whatever decides them.
            Shows::InEnds => search.deadlock && (excludes_promises || search.option_for_promises().is_none()),
            Shows::InWhatFollows => {
                let shows = search.deadlock
                    || !run.outcome.report.promises.is_empty()
                    || scenario.has_network(Network::Ordered);
                shows && run.spec.strategy().loses_messages && !search.reduce
            }
        };
        for (fault, _) in scenario.faults.iter().filter(|(fault, number)| *number == 0 && can_show(*fault)) {
            let (name, description) = (fault.name(), fault.description());
            let budget =
                if description.budget.scope == Scope::Message { String::new() } else { format!(" --{name} 1") };
            let option = match description.needs {
                Some(need) if !scenario.has_network(need.network) => format!("--network {}{budget}", need.network),
                _ if description.shows == Shows::InEnds && !excludes_promises => format!("--safety-only --{name} 1"),
                _ => format!("--{name} 1"),
            };
            found.push(Self { what: name, option });
        }
        if !search.deadlock && !search.reduce && says_what_is_done {
            found.push(Self { what: "deadlocks", option: "--deadlock".to_owned() });
        }
        if !scenario.has_network(Network::Unordered) && !scenario.has_network(Network::UnorderedDuplicating) {
            found.push(Self { what: "messages out of order", option: "--network unordered".to_owned() });
        }
        found
    }
}
