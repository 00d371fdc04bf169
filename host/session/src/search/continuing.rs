//! Whether all continuations of the events of a trace, which may be from another build, keep a promise of progress.

use host_inspect::minimize::Options;
use host_model::contract::{Property, PropertyKind, Selected};
use host_model::lts::Stepper;
use host_model::trace::start::{self, StartError};
use host_model::trace::{BreachClass, BrokenPromise, Trace, TraceStep};
use host_search::kernel::{Decided, EndCondition, Report, SearchBounds};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::search::finding::{self, Violation};
use crate::search::monitor::Watch;
use crate::search::run::search;
use crate::search::{limits, promises};
use crate::spec::{Algo, RunSpec, values};

/// The continuations of the events.
pub(super) enum Continued {
    /// The promise is broken, or another violation is on the way.
    Broken(Box<Violation>),
    /// The promise is kept.
    Kept,
    /// An event cannot happen.
    Cut {
        /// The step, counted from 1; 0 is `init`.
        step: usize,
        /// A lower-case phrase.
        why: String,
    },
}

/// The number of events after which the promise is open again: all events, or for a lasso those before its loop.
pub(super) fn leading(trace: &Trace, promise: &BrokenPromise) -> usize {
    promise.loop_start.filter(|_| promise.class == BreachClass::Lasso).unwrap_or(trace.steps.len())
}

/// Searches from the state after the first events of a trace for a breach of its promise, by the rules with which it was found.
///
/// # Errors
///
/// The cluster has no such promise, or the search did not explore everything, or was stopped.
pub(super) fn search_on(
    cluster: &Cluster,
    trace: &Trace,
    promise: &BrokenPromise,
    context: &mut Context<'_>,
) -> Result<Continued, Failure> {
    let name = &promise.name;
    let is_it = |property: &Property| property.name == *name && property.kind == PropertyKind::Eventually;
    let Some(index) = cluster.properties.iter().position(is_it) else {
        return Err(Failure::configuration(format_args!("this build has no promise {name}, which the trace is about")));
    };
    let machines = Selected::new(cluster.shared_factory(), vec![index as u32]);
    let lts = cluster.lts(&machines)?;
    let spec = request(promise)?;
    let Some(rules) = promises::rules(&spec, cluster, &lts)? else {
        let why = promises::left_out(&spec, cluster, &lts).unwrap_or_default();
        return Err(Failure::configuration(format_args!("whether this build keeps {name} cannot be decided: {why}")));
    };
    let events = |step: &TraceStep| TraceStep { sent: None, state: None, ..step.clone() };
    let steps = trace.steps[..leading(trace, promise)].iter().map(events).collect();
    let path = Trace { steps, finding: None, ..trace.clone() };
    let started = start::follow(&mut Stepper::new(&lts)?, &path);
    let start = match started {
        Ok(start) => start,
        Err(StartError::Prefix { step, why }) => return Ok(Continued::Cut { step, why }),
        Err(StartError::Machine(error)) => return Err(error.into()),
        Err(error) => return Ok(Continued::Cut { step: 0, why: error.to_string() }),
    };
    let bounds = &cluster.plugin.bounds;
    bounds.search(None, None);
    let watch = Watch::new(bounds, &mut *context.log, None);
    let limits = SearchBounds { promises: Some(rules), ..limits::limits(&spec)? };
    let report = search(&spec, limits, &lts, &[start], &watch, None)?;
    drop(watch);
    bounds.record();
    let Some(found) = report.violations.first() else {
        return if is_kept(&report) { Ok(Continued::Kept) } else { Err(undecided(name, path.steps.len(), &report)) };
    };
    let recorded = finding::record(&lts, cluster, found)?;
    bounds.close();
    let shorter = Options { keep: path.steps.len(), ..Options::default() };
    finding::confirm(&lts, cluster, found, recorded, Some(shorter)).map(|found| Continued::Broken(Box::new(found)))
}

/// A search that decides promises by the same rules.
fn request(promise: &BrokenPromise) -> Result<RunSpec, Failure> {
    let mut spec = RunSpec::default();
    spec.search.algo = Some(values::strategy("bdfs").map(Algo).map_err(Failure::system)?);
    spec.search.fairness = Some(promise.fairness);
    spec.search.timers = Some(promise.timers);
    spec.search.recover_by = Some(promise.recovery);
    Ok(spec)
}

/// Whether the promise was decided at every node, and is broken at none.
fn is_kept(report: &Report) -> bool {
    let is_kept = |decided: &Decided| decided.class.is_none() && decided.unknown_states == 0;
    let mut promises = report.promises.iter();
    !report.promises.is_empty()
        && report.end == EndCondition::SpaceExhausted
        && report.promises_end.is_none()
        && promises.all(|it| it.decided.as_ref().is_some_and(is_kept))
}

fn undecided(name: &str, steps: usize, report: &Report) -> Failure {
    let end = report.promises_end.unwrap_or(report.end);
    if end == EndCondition::Interrupted {
        return Failure::stopped("interrupted");
    }
    let end = end.name();
    let what =
        format_args!("whether this build keeps {name} after step {steps} is not decided: the search ended with {end}");
    Failure::configuration(what).help("search in a smaller cluster, and keep a trace of that one")
}
