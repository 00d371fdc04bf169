//! A trace in another build of its plugin: the same events, whatever else the handlers do there.

use host_inspect::recording::Recording;
use host_inspect::words;
use host_model::scenario::NodeNames;
use host_model::trace::replay::ReplayError;
use host_model::trace::{Finding, Trace, TraceStep};

use crate::base::text::{count, on_one_line};
use crate::base::{Context, Exit, Failure};
use crate::cluster::Cluster;
use crate::search::finding;
use crate::search::replay::ending;

/// The end of a trace in another build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// What was found is still there.
    Violated(Finding),
    /// All events happen, and nothing bad is at their end, where something was found.
    Gone,
    /// All events of a path without a finding happen, and nothing bad is at their end.
    Arrived,
    /// All events happen, and something else is at their end.
    Other(Finding),
    /// Some event cannot happen.
    Cut {
        /// The first step that differs, counted from 1; 0 is `init`.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
}

/// Follows the events of a trace. What was seen until its end, or until the step that cannot happen, comes with the verdict.
///
/// # Errors
///
/// The host cannot provide an instance, or the trace is of a promise that another build has broken: whether this one breaks it takes a
/// search.
pub fn follow(cluster: &Cluster, trace: &Trace) -> (Recording, Result<Followed, Failure>) {
    let is_promise = matches!(trace.finding, Some(Finding::Promise(_)));
    let is_exact = is_promise && cluster.has_recorded(trace);
    let loose = events_of(trace);
    let (recording, result) = Recording::new(cluster.factory(), if is_exact { trace } else { &loose });
    let result = match result {
        Ok(()) if is_exact => ending(trace, recording.found()).map(drop),
        other => other,
    };
    let followed = match result {
        _ if is_promise && !is_exact => Err(needs_search()),
        Ok(()) => Ok(verdict(trace, &recording)),
        Err(ReplayError::Machine(error)) => Err(error.into()),
        Err(error) => Ok(cut(trace, &recording, &error)),
    };
    (recording, followed)
}

/// A trace with nothing of what its steps did.
fn events_of(trace: &Trace) -> Trace {
    let events = |step: &TraceStep| TraceStep { sent: None, state: None, ..step.clone() };
    Trace { steps: trace.steps.iter().map(events).collect(), ..trace.clone() }
}

/// A trace as its cluster can show it: as it is in the build that it was recorded with, in another one its events as far as they can
/// happen. Why there are no more is told.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn shown(cluster: &Cluster, trace: Trace, context: &mut Context<'_>) -> Result<Trace, Failure> {
    if cluster.has_recorded(&trace) {
        return Ok(trace);
    }
    // Whether a promise is broken by another build, these events do not say.
    let finding = trace.finding.clone().filter(|finding| !matches!(finding, Finding::Promise(_)));
    let mut loose = Trace { finding, ..events_of(&trace) };
    let (recording, result) = Recording::new(cluster.factory(), &loose);
    match result {
        Ok(()) => {}
        Err(ReplayError::Machine(error)) => return Err(error.into()),
        Err(error) => {
            if let Followed::Cut { step, why } = cut(&trace, &recording, &error) {
                let what =
                    format!("another build than the recorded one cannot follow the trace from step {step}: {why}");
                context.tell(&format!("warning: {}; it ends before the event that cannot happen", on_one_line(&what)));
            }
            loose.finding = None;
            loose.steps.truncate(recording.steps.len());
        }
    }
    Ok(loose)
}

fn needs_search() -> Failure {
    let why = "the trace shows a broken promise of another build, and whether this one breaks it depends on more than these events";
    Failure::configuration(why).help("search again with `host run --algo bdfs`")
}

/// The verdict on a trace all of whose events have happened.
fn verdict(trace: &Trace, recording: &Recording) -> Followed {
    let mut findings = recording.findings.iter().map(|(_, finding)| finding);
    if let Some(found) = findings.clone().find(|found| trace.finding.as_ref().is_some_and(|it| is_same(it, found))) {
        return Followed::Violated(found.clone());
    }
    // A property that is reached is no violation.
    match findings.find(|finding| finding::exit(finding) != Exit::Ok) {
        Some(other) => Followed::Other(other.clone()),
        None if trace.finding.is_none() => Followed::Arrived,
        None => Followed::Gone,
    }
}

/// Whether two findings are about the same, in whatever words.
fn is_same(one: &Finding, other: &Finding) -> bool {
    match (one, other) {
        (Finding::Property { name, kind, .. }, Finding::Property { name: other, kind: other_kind, .. }) => {
            (name, kind) == (other, other_kind)
        }
        (Finding::Broken { property, .. }, Finding::Broken { property: other, .. }) => property == other,
        (Finding::Fault { fault, .. }, Finding::Fault { fault: other, .. }) => fault.kind == other.kind,
        (Finding::Deadlock { .. }, Finding::Deadlock { .. }) => true,
        (Finding::Promise(one), Finding::Promise(other)) => one == other,
        _ => false,
    }
}

/// Where a trace ends to be that of this build: at the first step that sends something else, if there is one.
fn cut(trace: &Trace, recording: &Recording, error: &ReplayError) -> Followed {
    let (step, why) = match error {
        ReplayError::NotEnabled { step, why } => (*step, why.clone()),
        ReplayError::Differs { step, what } => (*step, what.clone()),
        ReplayError::NoFinding { what } => (trace.steps.len(), what.clone()),
        ReplayError::Machine(error) => (0, error.to_string()),
    };
    let pairs = (1..).zip(trace.steps.iter().zip(&recording.steps));
    let differences = pairs.filter_map(|(number, (recorded, observed))| {
        let expected = recorded.sent.as_ref().filter(|expected| **expected != observed.sent)?;
        let (now, then) = (observed.sent.len(), expected.len());
        Some((
            number,
            match now == then {
                true => "it sends other messages".to_owned(),
                false => format!("it sends {} instead of {then}", count(now as u64, "message")),
            },
        ))
    });
    match { differences }.next() {
        Some((first, what)) if first < step => {
            Followed::Cut { step: first, why: format!("{what}, and step {step} cannot happen: {why}") }
        }
        _ => Followed::Cut { step, why },
    }
}

impl Followed {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Violated(finding) | Self::Other(finding) => finding::exit(finding),
            Self::Gone | Self::Arrived => Exit::Ok,
            Self::Cut { .. } => Exit::Configuration,
        }
    }

    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Violated(_) => "still-violated",
            Self::Gone => "gone",
            Self::Arrived => "ok",
            Self::Other(_) => "other-violation",
            Self::Cut { .. } => "impossible",
        }
    }
}

impl Followed {
    /// The end in a sentence, with these names of nodes.
    pub fn text(&self, names: &NodeNames) -> String {
        match self {
            Self::Violated(finding) => format!("still violated: {}", words::finding(finding, None, names)),
            Self::Gone => "gone: the same events happen, and no property is violated at the end".to_owned(),
            Self::Arrived => "the same events happen, and no property is violated at the end".to_owned(),
            Self::Other(finding) => format!("another violation: {}", words::finding(finding, None, names)),
            Self::Cut { step, why } => format!("cannot be followed from step {step}: {why}"),
        }
    }
}

impl std::fmt::Display for Followed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&NodeNames::default()))
    }
}
