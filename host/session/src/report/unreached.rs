//! Events, messages and outcomes that a run has met and never executed.

use host_model::lts::Coverage;
use serde::Serialize;

use crate::base::text::grouped;
use crate::report::run::FinishedRun;

/// Events and messages that were never reached.
#[derive(Clone, Debug, Serialize)]
pub struct Unreached {
    /// Local events that were possible somewhere and never happened.
    pub local_events: Vec<String>,
    /// Messages that were sent and never delivered.
    pub messages: u64,
    /// Outcomes of handlers that no walk took; none if there were no walks.
    pub outcomes: Option<u64>,
}

impl Unreached {
    /// None if the strategy leaves out events that cannot matter, has forgotten which events happened, or explores local
    /// states outside the local transition system of the run.
    pub fn new(run: &FinishedRun<'_>) -> Option<Self> {
        let report = &run.outcome.report;
        let is_apart = report.decided_by.is_some_and(|decider| decider.strategy.starts_with("lmc"));
        if report.is_reduced(run.spec.search.reduce) || report.renewals > 0 || is_apart {
            return None;
        }
        let Coverage { events_not_taken, messages_not_delivered, outcomes } = run.lts.coverage();
        Some(Self {
            local_events: events_not_taken,
            messages: messages_not_delivered,
            outcomes: run.outcome.report.counts.outcomes.map(|taken| outcomes.saturating_sub(taken)),
        })
    }

    /// The rows of a table; none if everything was reached.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let events = (!self.local_events.is_empty())
            .then(|| ("local events", format!("{}: possible, and never taken", self.local_events.join(", "))));
        let messages =
            (self.messages > 0).then(|| ("messages", format!("{}: sent, and never delivered", grouped(self.messages))));
        let outcomes = self.outcomes.filter(|outcomes| *outcomes > 0);
        let outcomes = outcomes.map(|outcomes| ("outcomes", format!("{}: chosen by no walk", grouped(outcomes))));
        [events, messages, outcomes].into_iter().flatten().collect()
    }
}
