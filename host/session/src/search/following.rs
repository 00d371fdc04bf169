//! A trace in another build of its plugin: the same events, whatever the handlers do there.

use host_inspect::recording::Recording;
use host_inspect::words;
use host_model::scenario::NodeNames;
use host_model::trace::replay::ReplayError;
use host_model::trace::{Finding, Trace, TraceStep};

use crate::base::text::{count, on_one_line};
use crate::base::{Context, Exit, Failure};
use crate::cluster::Cluster;
use crate::search::continuing::{self, Continued};
use crate::search::finding::{self, Violation};
use crate::search::replay::ending;

/// The end of a trace in another build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The finding is still there.
    Violated(Finding),
    /// All events happen, and there is no violation at their end, where there was a finding.
    Gone,
    /// All continuations of these events keep the promise that was broken.
    Kept {
        /// Its name.
        promise: String,
        /// The number of events after which a search has begun.
        steps: usize,
    },
    /// All events of a path without a finding happen, and there is no violation at their end.
    Arrived,
    /// All events happen, and another finding is at their end.
    Other(Finding),
    /// Some event cannot happen.
    Cut {
        /// The first step that differs, counted from 1; 0 is `init`.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
}

/// Follows the events of a trace. The recording up to its end, or up to the step that cannot happen, comes with the verdict; for a
/// promise that this build breaks, the recording of the path that a search has found.
///
/// # Errors
///
/// The host cannot provide an instance. Or another build has broken the promise of the trace, and the search for a breach in this one
/// was not complete.
pub fn follow(cluster: &Cluster, trace: &Trace, context: &mut Context<'_>) -> (Recording, Result<Followed, Failure>) {
    let has_recorded = cluster.has_recorded(trace);
    // A trace without a digest is meant for every build.
    if trace.promise().is_some() && (has_recorded || trace.plugin.digest.is_none()) {
        let (recording, result) = Recording::new(cluster.factory(), trace);
        let result = result.and_then(|()| ending(trace, recording.found()).map(drop));
        if has_recorded || result.is_ok() {
            let followed = told(trace, &recording, result);
            return (recording, followed);
        }
    }
    let Some(promise) = trace.promise() else {
        let (recording, result) = Recording::new(cluster.factory(), &events_of(trace));
        let followed = told(trace, &recording, result);
        return (recording, followed);
    };
    let steps = continuing::leading(trace, promise);
    let continued = continuing::search_on(cluster, trace, promise, context);
    if let Ok(Continued::Broken(found)) = continued {
        let Violation { trace: found, recording, nondeterminism, .. } = *found;
        let followed = match (nondeterminism, found.finding) {
            (None, Some(finding)) if is_same(&Finding::Promise(promise.clone()), &finding) => {
                Ok(Followed::Violated(finding))
            }
            (None, Some(finding)) => Ok(Followed::Other(finding)),
            (why, _) => Err(Failure::configuration(format_args!(
                "what this build does after step {steps} is not the same each time: {}",
                why.unwrap_or_default()
            ))),
        };
        return (recording, followed);
    }
    // The recording of the events themselves, up to the start of the search.
    let mut path = Trace { finding: None, ..events_of(trace) };
    path.steps.truncate(steps);
    let (recording, result) = Recording::new(cluster.factory(), &path);
    let followed = match (continued, result) {
        (Ok(Continued::Kept), Ok(())) => Ok(Followed::Kept { promise: promise.name.clone(), steps }),
        (Ok(Continued::Cut { step, why }), _) => Ok(Followed::Cut { step, why }),
        (Err(failure), _) => Err(failure),
        (_, result) => told(trace, &recording, result),
    };
    (recording, followed)
}

/// The verdict on a recording.
fn told(trace: &Trace, recording: &Recording, result: Result<(), ReplayError>) -> Result<Followed, Failure> {
    match result {
        Ok(()) => Ok(verdict(trace, recording)),
        Err(ReplayError::Machine(error)) => Err(error.into()),
        Err(error) => Ok(cut(trace, recording, &error)),
    }
}

/// A trace without the effects of its steps.
fn events_of(trace: &Trace) -> Trace {
    let events = |step: &TraceStep| TraceStep { sent: None, state: None, ..step.clone() };
    Trace { steps: trace.steps.iter().map(events).collect(), ..trace.clone() }
}

/// A trace as its cluster can show it: unchanged in the build that it was recorded with, and followed in another one, with the
/// violation that is there. A warning gives the reason why there is none any more, or why the events end.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn shown(cluster: &Cluster, trace: Trace, context: &mut Context<'_>) -> Result<Trace, Failure> {
    if cluster.has_recorded(&trace) {
        return Ok(trace);
    }
    let (recording, followed) = follow(cluster, &trace, context);
    let shown = taken(cluster, &trace, recording);
    let what = match followed {
        Ok(Followed::Violated(finding)) => return Ok(Trace { finding: Some(finding), ..shown }.with_version()),
        Ok(Followed::Arrived) => return Ok(shown.with_version()),
        Ok(Followed::Cut { step, why }) => {
            format!("cannot follow the trace from step {step}: {why}; it ends before the event that cannot happen")
        }
        Ok(other) => other.to_string(),
        Err(failure) if failure.stopped.is_some() || failure.exit != Exit::Configuration => return Err(failure),
        Err(failure) => failure.message,
    };
    context.tell(&format!("warning: another build than the recorded one: {}", on_one_line(&what)));
    Ok(shown.with_version())
}

/// A trace that was recorded with another build, as a trace of this build, so that it can be shortened.
///
/// # Errors
///
/// As for [`follow`]; or none of the findings of the trace is there any more.
pub fn still_violated(cluster: &Cluster, trace: Trace, context: &mut Context<'_>) -> Result<Trace, Failure> {
    if cluster.has_recorded(&trace) || trace.finding.is_none() {
        return Ok(trace);
    }
    let (recording, followed) = follow(cluster, &trace, context);
    match followed? {
        Followed::Violated(finding) => {
            Ok(Trace { finding: Some(finding), ..taken(cluster, &trace, recording) }.with_version())
        }
        other => Err(Failure::configuration(format_args!("the trace is of another build; in this one it is {other}"))),
    }
}

/// The behaviour of a build along a trace, as a trace of that build. A trace that is meant for every build stays so.
fn taken(cluster: &Cluster, trace: &Trace, recording: Recording) -> Trace {
    let is_of_all = trace.plugin.digest.is_none();
    Trace {
        plugin: if is_of_all { trace.plugin.clone() } else { cluster.plugin.reference.clone() },
        placements: cluster.placements().to_vec(),
        specs: cluster.spec_references(),
        finding: None,
        ..recording.trace
    }
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

/// Whether two findings are the same up to their words.
fn is_same(one: &Finding, other: &Finding) -> bool {
    match (one, other) {
        (Finding::Property { name, kind, .. }, Finding::Property { name: other, kind: other_kind, .. }) => {
            (name, kind) == (other, other_kind)
        }
        (Finding::Broken { property, .. }, Finding::Broken { property: other, .. }) => property == other,
        (Finding::Fault { fault, .. }, Finding::Fault { fault: other, .. }) => fault.kind == other.kind,
        (Finding::Deadlock { .. }, Finding::Deadlock { .. }) => true,
        (Finding::Promise(one), Finding::Promise(other)) => one.name == other.name,
        _ => false,
    }
}

/// The end of the part of a trace that this build can follow: the first step that sends other messages, if there is one.
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
            Self::Gone | Self::Kept { .. } | Self::Arrived => Exit::Ok,
            Self::Cut { .. } => Exit::Configuration,
        }
    }

    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Violated(_) => "still-violated",
            Self::Gone | Self::Kept { .. } => "gone",
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
            Self::Kept { promise, steps } => {
                format!("gone: {promise} is kept whatever follows step {steps}, as a complete search has found")
            }
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
