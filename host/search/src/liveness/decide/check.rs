//! Explores a graph and decides its promises.

use host_model::lts::Step;
use host_model::scenario::Scenario;

use crate::graph;
use crate::kernel::rules::Rules;
use crate::kernel::{BreachClass, EndCondition, Progress, Promise, Report, Search, SearchError};
use crate::liveness::decide::critical::Critical;
use crate::liveness::decide::verdict::{Verdict, judge};
use crate::liveness::graph::record::{Event, Recorded, Recorder};
use crate::liveness::graph::stored::Edge;
use crate::liveness::graph::watch::Watch;

/// An execution that breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The class of the breach.
    pub class: BreachClass,
    /// The start state, as an index of the search's start states.
    pub start: usize,
    /// The events from the start state to the dead or stuck state, or to the first state of the cycle.
    pub prefix: Vec<Step>,
    /// The events that repeat for ever from there; empty if the execution ends.
    pub cycle: Vec<Step>,
    /// The critical step, which ends the prefix, and the number of its kind; none if it is not known.
    pub critical: Option<(Event, u64)>,
    /// Events from the state before the critical step to one where the promise is kept.
    pub sibling: Vec<Step>,
}

/// The results for the promises of a search.
pub struct Checked {
    /// The report of the exploration.
    pub report: Report,
    /// The reason why the monitor ended the decision after the exploration, if it did.
    pub ended: Option<EndCondition>,
    /// The recorded graph.
    pub recorded: Recorded,
    /// The verdict on each promise; none if it was not decided.
    pub promises: Vec<(Promise, Option<Verdict>)>,
}

/// The reason why promises cannot be decided in a scenario; a lower-case phrase. None if they can.
pub fn refusal(scenario: &Scenario) -> Option<&'static str> {
    let faults = scenario.faults;
    if !scenario.absent.is_empty() {
        return Some("nodes are absent, and their behaviour is unknown");
    }
    if faults.duplicates > 0 {
        // A second delivery is a fault and a first one is not; equal copies in flight do not show which is which.
        return Some("messages can be delivered again, and that cannot be distinguished from what has to happen");
    }
    // A crash is no event, so no state shows it.
    (faults.crashes > 0).then_some("nodes can crash, and no execution says after which event")
}

/// Explores the graph as [`graph::explore`] does, records it, and decides each promise.
///
/// Guarantee: a breach is an execution that the rules allow. Complete: for the explored part; a state that a bound cut off is neither
/// dead nor stuck, and in no cycle.
/// Honours: the bounds of [`graph::explore`]. Ignores: the number of violations wanted, once the exploration is over.
/// Memory: that of the exploration and of the recorded graph at once, then that of [`judge`].
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn check(search: &Search<'_>, rules: Rules) -> Result<Checked, SearchError> {
    let mut recorder = Recorder::new(search.lts);
    let report = graph::explore(search, &mut recorder)?;
    let recorded = recorder.finish();
    let mut promises: Vec<(Promise, Option<Verdict>)> =
        search.lts.promises().into_iter().map(|promise| (promise, None)).collect();
    if report.end == EndCondition::Violation || report.end.is_external() || refusal(search.lts.scenario()).is_some() {
        return Ok(Checked { report, ended: None, recorded, promises });
    }
    let mut ended = None;
    let bytes = recorded.bytes() + search.lts.counts().bytes;
    let progress = Progress { counts: report.counts, steps: 0, depth: report.depth, queue: 0, bytes };
    for (index, (_, verdict)) in promises.iter_mut().enumerate() {
        match judge(&recorded.graph, index, rules, &mut Watch::new(search.monitor, progress)) {
            Ok(judged) => *verdict = Some(judged),
            Err(end) => {
                ended = Some(end);
                break;
            }
        }
    }
    Ok(Checked { report, ended, recorded, promises })
}

impl Checked {
    /// The executions that break a promise, one of each class, the most certain first.
    pub fn breaches(&self, verdict: &Verdict) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let breach = |class, path: &[Edge], first: u32| Breach {
            class,
            start: self.recorded.start_of(path.first().map_or(first, |edge| edge.from)),
            prefix: self.recorded.steps(path),
            cycle: Vec::new(),
            critical: None,
            sibling: Vec::new(),
        };
        if let Some(death) = &verdict.death {
            let critical = |kind: Critical| (self.recorded.event(&kind.first), kind.edges);
            breaches.push(Breach {
                critical: death.critical.map(critical),
                sibling: self.recorded.steps(&death.sibling),
                ..breach(BreachClass::Dead, &death.path, death.state)
            });
        }
        if let Some(stop) = &verdict.stop {
            let state = verdict.stuck.first.expect("the path leads to the first stuck state");
            breaches.push(breach(BreachClass::Stuck, stop, state));
        }
        if let Some(lasso) = &verdict.lasso {
            let cycle = self.recorded.steps(&lasso.cycle);
            breaches.push(Breach { cycle, ..breach(BreachClass::Lasso, &lasso.prefix, lasso.cycle[0].from) });
        }
        breaches
    }
}
