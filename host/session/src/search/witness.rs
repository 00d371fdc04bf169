//! Witnesses: paths to states in which `sometimes` properties hold.
//!
//! A search only notes that such a property is reached. The path comes from a second search, of the same strategy, for a violation of
//! the negation: the strategies need no code for it, and the search ends with the first violation.

use host_inspect::minimize::Options;
use host_model::contract::{Judgement, PropertyKind};
use host_model::lts::{Lts, Stepper};
use host_model::trace::start::{self, Start, StartError};
use host_model::trace::{Finding, Trace};
use host_search::kernel::{FoundViolation, Report, SearchBounds};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::search::finding::{self, Violation};
use crate::search::monitor::Watch;
use crate::search::run::{search, starts};
use crate::search::{Outcome, limits};
use crate::spec::RunSpec;

/// The maximum number of other findings in a search for a witness: it continues after faults.
const OTHERS_MAX: u64 = 100;

/// The witness of a property.
pub struct Witness {
    /// The name of the property.
    pub property: String,
    /// The path to it, short and confirmed; none if the second search ended before it found one.
    pub found: Option<Violation>,
}

/// A witness of each `sometimes` property that a search has reached, in the order of the properties.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn witnesses(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    outcome: &Outcome,
    context: &mut Context<'_>,
) -> Result<Vec<Witness>, Failure> {
    let mut all = Vec::new();
    for (place, property) in (0..).zip(lts.properties()) {
        if outcome.report.witnessed[place as usize] != Some(true) {
            continue;
        }
        let found = match witness(spec, cluster, lts, place, context) {
            Err(Failure { stopped: Some(_), .. }) => None,
            found => found?,
        };
        all.push(Witness { property: property.name.clone(), found });
    }
    Ok(all)
}

/// The witness of one property.
fn witness(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    place: u32,
    context: &mut Context<'_>,
) -> Result<Option<Violation>, Failure> {
    let machines = cluster.negating(place);
    let negated = cluster.lts(&machines)?;
    if let Some(trace) = within_prefix(cluster, &negated)? {
        let found = FoundViolation::new(&Start::default(), &[], None, Judgement::Witnessed { property: place });
        return confirmed(spec, cluster, lts, place, &found, trace).map(Some);
    }
    let starts = starts(&negated, cluster, spec)?;
    for violations in [None, Some(OTHERS_MAX)] {
        let bounds = SearchBounds {
            violations,
            deadlock: false,
            count_system_states: false,
            promises: None,
            ..limits::limits(spec)?
        };
        let watch = Watch::new(&cluster.plugin.bounds, &mut *context.log, None);
        let report: Report = search(spec, bounds, &negated, &starts, &watch, None)?;
        // The negation is the only property.
        if let Some(found) = report.violations.iter().find(|found| found.judgement.violated().is_some()) {
            let trace = finding::record(&negated, cluster, found)?;
            return confirmed(spec, cluster, lts, place, found, trace).map(Some);
        }
        // Without other findings, continuing after them finds nothing more.
        if report.violations.is_empty() {
            break;
        }
    }
    Ok(None)
}

/// The part of the prefix at whose end the negation is violated at a node, if there is one: no search goes back before its start.
fn within_prefix(cluster: &Cluster, negated: &Lts<'_>) -> Result<Option<Trace>, Failure> {
    let Some(prefix) = &cluster.prefix else { return Ok(None) };
    let mut stepper = Stepper::new(negated)?;
    let start = match start::follow(&mut stepper, prefix) {
        Ok(start) => start,
        Err(StartError::Machine(error)) => return Err(error.into()),
        // Any other error would have ended the first search.
        Err(_) => return Ok(None),
    };
    let mut locals = start.initial;
    for (length, step) in (1..).zip(start.path) {
        let local = &mut locals[step.node as usize];
        let row = stepper.step(*local, step.trigger)?;
        *local = stepper.outcomes(row)[step.outcome as usize].next;
        if stepper.state(*local).protocol.judgements.iter().any(|judgement| judgement.violated().is_some()) {
            let steps = prefix.steps[..length].to_vec();
            return Ok(Some(Trace { steps, ..cluster.empty_trace().beginning_at(prefix.origin()) }.with_version()));
        }
    }
    Ok(None)
}

/// A path as a trace of the property, shortened and run again.
fn confirmed(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    place: u32,
    found: &FoundViolation,
    mut trace: Trace,
) -> Result<Violation, Failure> {
    let name = lts.properties()[place as usize].name.clone();
    trace.finding = Some(Finding::Property { name, kind: PropertyKind::Sometimes, message: String::new() });
    let options = Options { keep: cluster.prefix_steps().min(trace.steps.len()), ..Options::default() };
    finding::confirm(lts, cluster, found, trace, (!spec.process.no_minimize).then_some(options))
}
