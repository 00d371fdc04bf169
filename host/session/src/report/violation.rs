//! One violation.

use host_inspect::{explain, words};
use host_model::contract::{NodeId, PropertyKind};
use host_model::scenario::NodeNames;
use host_model::trace::{BreachClass, Finding};
use serde::Serialize;

use crate::expression::Judge;
use crate::report::run::{FinishedRun, Saved};
use crate::search::finding::{Unfinished, Violation};

/// One violation.
#[derive(Debug, Serialize)]
pub struct ViolationReport {
    /// The property; none for a fault and a deadlock.
    pub property: Option<String>,
    /// `always`, `eventually`, `broken`, `deadlock`, `nondeterminism`, or the kind of fault.
    pub kind: String,
    /// The finding, a phrase.
    pub message: String,
    /// The node that it is about, if it is about one.
    pub node: Option<NodeId>,
    /// The way in which a promise of progress is broken: `dead`, `stuck` or `lasso`; null for any other violation.
    pub class: Option<BreachClass>,
    /// The step after which the cluster is already in the state of the last step; null unless it is a lasso.
    #[serde(rename = "loop")]
    pub loop_start: Option<usize>,
    /// The critical step, the last one: before it the promise could still be kept; null if none is known.
    pub critical: Option<usize>,
    /// The number of steps that, in place of the critical one, lead to a state that keeps the promise.
    pub sibling_length: Option<usize>,
    /// The names of the nodes, in their order; null for those without a name.
    pub names: NodeNames,
    /// The file with the trace, if it was written.
    pub trace: Option<String>,
    /// The trace as the search found it, if a different one is shown.
    pub found: Option<String>,
    /// The drawing of the trace.
    pub drawing: Option<String>,
    /// The page that shows the trace step by step, for a browser.
    pub page: Option<String>,
    /// The shape of the trace: equal for variants by node, by value and by order, which are one finding.
    pub shape: String,
    /// The number of violations of this shape: this one, and [`alike`](Self::alike) more.
    pub count: usize,
    /// The number of further violations of this shape.
    pub alike: usize,
    /// Whether there may be more than these: `--continue` keeps a few violations of those that say the same up to numbers.
    pub at_least: bool,
    /// The number of events, those of the prefix included.
    pub length: usize,
    /// The same for the trace as the search found it.
    pub found_length: usize,
    /// The number of events of the prefix.
    pub prefix_length: usize,
    /// Whether no shorter path from the start of the search leads to a violation of its kind: of the same property, in the same words up to
    /// numbers.
    pub shortest: bool,
    /// Whether it was run again from the start, in fresh machines.
    pub confirmed: bool,
    /// Work that was stopped before it was done, a phrase; null if all was done.
    pub unfinished: Option<String>,
    /// The command that replays the trace.
    pub replay: Option<String>,
    /// The title, as the first line of a report has it.
    #[serde(skip)]
    pub title: String,
}

impl ViolationReport {
    /// A violation with the files of its trace.
    pub fn new(run: &FinishedRun<'_>, violation: &Violation, saved: Option<Saved>) -> Self {
        let trace = &violation.trace;
        let finding = trace.finding.as_ref().expect("a violation is a finding");
        let (property, mut kind, mut message) = match finding {
            Finding::Property { name, kind, message } => (Some(name.clone()), words::name(kind), message.clone()),
            Finding::Broken { property, fault } => (Some(property.clone()), "broken".to_owned(), fault.to_string()),
            Finding::Fault { fault, .. } => (None, words::name(fault.kind), fault.to_string()),
            Finding::Deadlock { message } => (None, "deadlock".to_owned(), message.clone()),
            Finding::Promise(promise) => {
                (Some(promise.name.clone()), words::name(PropertyKind::Eventually), promise.message.clone())
            }
        };
        let promise = trace.promise();
        let mut title = match promise {
            // Without its events, a recording that was stopped has no step to name.
            Some(_) if violation.recording.steps.len() == trace.steps.len() => {
                explain::verdict(&violation.recording, finding, violation.node)
            }
            _ => words::finding(finding, violation.node.filter(|_| property.is_some()), &violation.recording.names),
        };
        if let Finding::Broken { property, .. } = finding
            && let Some(names) = present_fields(run, property, violation)
        {
            title += &format!("; it has: {names}");
        }
        if let Some(differs) = &violation.nondeterminism {
            kind = "nondeterminism".to_owned();
            title = words::on_one_line(&format!(
                "the plugin is not deterministic, or its `serialize` leaves out what matters: \
                 the search found that {title}; run again from the start, {differs}"
            ));
            message = title.clone();
        }
        if let Some(Unfinished::Confirming(_)) = violation.unfinished {
            title = format!("not confirmed: the search found that {title}");
        }
        Self {
            property,
            kind,
            message,
            node: violation.node,
            class: promise.map(|promise| promise.class),
            loop_start: promise.and_then(|promise| promise.loop_start),
            critical: promise.and_then(|promise| promise.critical),
            sibling_length: promise.and_then(|promise| promise.critical.map(|_| promise.sibling.len())),
            names: violation.recording.names.clone(),
            trace: saved.as_ref().map(|saved| saved.trace.clone()),
            drawing: saved.as_ref().and_then(|saved| saved.drawing.clone()),
            page: saved.as_ref().and_then(|saved| saved.page.clone()),
            shape: violation.shape.clone(),
            count: violation.alike + 1,
            alike: violation.alike,
            at_least: violation.is_capped,
            found: saved.as_ref().and_then(|saved| saved.found.clone()),
            length: trace.steps.len(),
            found_length: violation.found.as_ref().map_or(trace.steps.len(), |(found, _)| found.steps.len()),
            prefix_length: run.cluster.prefix_steps(),
            shortest: violation.shortest,
            confirmed: violation.is_confirmed(),
            unfinished: violation.unfinished.map(|unfinished| unfinished.to_string()),
            replay: saved.map(|saved| saved.replay),
            title,
        }
    }
}

/// The fields that the nodes describe in the object that lacks a field, whether the expression reads them or not.
fn present_fields(run: &FinishedRun<'_>, property: &str, violation: &Violation) -> Option<String> {
    let (recording, judge) = (&violation.recording, Judge::new(&run.cluster.expressed).ok()?);
    let is_about = |node: NodeId| violation.node.is_none_or(|about| about == node);
    let last = |node| recording.observed(node, recording.step_before(recording.steps.len() + 1, node));
    let nodes = 0..recording.init.len() as NodeId;
    let states = nodes.map(|node| last(node).description.as_ref().filter(|_| is_about(node)));
    let names = judge.present_fields(property, &states.collect::<Vec<_>>())?;
    Some(words::on_one_line(&names.join(", "))).filter(|names| !names.is_empty())
}
