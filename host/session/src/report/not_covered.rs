//! What a run did not look for, and the options that would.

use host_model::scenario::Network;
use host_model::scenario::faults::Scope;
use serde::Serialize;

use crate::report::run::FinishedRun;

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
        let mut found = Vec::new();
        let can_happen = |name: &str| match name {
            // Only a plugin that asks its transport has refusals, and that shows in no interface.
            "refusals" => false,
            // A crash shows in ends alone.
            "crashes" => search.deadlock,
            // A lost message shows there and in what must happen, and else on links with an order.
            "losses" => {
                let shows = search.deadlock
                    || !run.outcome.report.promises.is_empty()
                    || scenario.has_network(Network::Ordered);
                shows && run.spec.strategy().loses_messages && !search.reduce
            }
            _ => true,
        };
        for (fault, _) in scenario.faults.iter().filter(|(fault, number)| *number == 0 && can_happen(fault.name())) {
            let (name, description) = (fault.name(), fault.description());
            let budget =
                if description.budget.scope == Scope::Message { String::new() } else { format!(" --{name} 1") };
            let option = match description.needs {
                Some(need) if !scenario.has_network(need.network) => format!("--network {}{budget}", need.network),
                _ => format!("--{name} 1"),
            };
            found.push(Self { what: name, option });
        }
        if !search.deadlock && says_what_is_done {
            found.push(Self { what: "deadlocks", option: "--deadlock".to_owned() });
        }
        if !scenario.has_network(Network::Unordered) && !scenario.has_network(Network::UnorderedDuplicating) {
            found.push(Self { what: "messages out of order", option: "--network unordered".to_owned() });
        }
        found
    }
}
