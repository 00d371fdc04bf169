//! A search from its start states to confirmed findings.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use host_inspect::minimize::Options;
use host_model::contract::{MachineError, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::trace::Trace;
use host_model::trace::start::{self, Start, StartError};
use host_search::kernel::{FoundViolation, Keeper, Report, Search, SearchBounds, SearchError};
use host_search::strategy::Bound;
use host_search::strategy::random_walk::WALKS_DEFAULT;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::base::text::{of_numbers, shell_quoted};
use crate::base::{Context, Failure, units};
use crate::cluster::Cluster;
use crate::search::checkpoint;
use crate::search::finding::{self, Violation};
use crate::search::identity::Identity;
use crate::search::monitor::{Goals, Shown, Watch};
use crate::search::promises;
use crate::search::{goals, limits};
use crate::spec::RunSpec;

/// Violations that are shown while the search runs: each is executed once more for that.
const EARLY_MAX: usize = 100;

/// The outcome of a search.
pub struct Outcome {
    /// The report of the strategy.
    pub report: Report,
    /// The duration.
    pub times: Times,
    /// The violations, run again in fresh machines; of those with the same shape, the shortest.
    pub violations: Vec<Violation>,
}

/// The duration of a search, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The whole search.
    pub search: f64,
    /// The part for verifying its findings; 0 for a strategy that verifies nothing.
    pub verification: f64,
}

/// Searches a cluster as requested, and confirms the findings. Progress goes to the log, if it is shown.
///
/// # Errors
///
/// The request does not fit the cluster or a checkpoint. The host cannot provide an instance.
pub fn run(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    shown: Option<Shown<'_>>,
    context: &mut Context<'_>,
) -> Result<Outcome, Failure> {
    let limits = SearchBounds { promises: promises::rules(spec, cluster, lts)?, ..limits::limits(spec)? };
    let limits = goals::named(spec, lts.properties(), limits)?;
    let bounds = &cluster.plugin.bounds;
    bounds.search(spec.process.time, spec.process.memory);
    let (report, times) = match searched(spec, limits, cluster, lts, shown, context) {
        Ok(searched) => searched,
        Err(Failure { stopped: Some(stopped), .. }) => (nothing_found(lts, stopped), Times::default()),
        Err(failure) => return Err(failure),
    };
    let violations = violations(spec, cluster, lts, &report)?;
    Ok(Outcome { report, times, violations })
}

/// Finds the start states, and searches from there.
fn searched(
    spec: &RunSpec,
    limits: SearchBounds,
    cluster: &Cluster,
    lts: &Lts<'_>,
    shown: Option<Shown<'_>>,
    context: &mut Context<'_>,
) -> Result<(Report, Times), Failure> {
    let (strategy, bounds) = (spec.strategy(), &cluster.plugin.bounds);
    let starts = starts(lts, cluster, spec)?;
    let identity = Identity::new(strategy.name, limits, cluster, lts, &starts);
    let keeper = checkpoint::Folder::new(spec.process.keep.as_ref(), identity, Arc::clone(bounds) as _, context)?;
    let walks = strategy.honours.contains(&Bound::Walks).then(|| limits.walks.unwrap_or(WALKS_DEFAULT));
    let watch = Watch::new(bounds, &mut *context.log, shown).with_goals(Goals { walks, states: limits.states });
    let shown_early = AtomicUsize::new(0);
    let found = |lts: &Lts<'_>, found: &FoundViolation| {
        let Some(finds) = shown.and_then(|shown| shown.finds) else { return };
        if shown_early.fetch_add(1, Ordering::Relaxed) < EARLY_MAX
            && let Some(early) = finding::early(lts, cluster, found)
        {
            finds(early);
        }
    };
    let watch = watch.with_found(&found).with_keeper(keeper.as_ref().map(|keeper| keeper as &dyn Keeper));
    let report = match search(spec, limits, lts, &starts, &watch, keeper.as_ref()) {
        Err(Failure { stopped: Some(stopped), .. }) => nothing_found(lts, stopped),
        report => report?,
    };
    let times = Times { search: watch.seconds(), verification: watch.verification_seconds() };
    drop(watch);
    if let Some(why) = keeper.as_ref().and_then(checkpoint::Folder::failed) {
        context.tell(&format!("warning: the last checkpoint could not be written: {why}"));
    }
    Ok((report, times))
}

/// The violations that a search found, confirmed.
fn violations(spec: &RunSpec, cluster: &Cluster, lts: &Lts<'_>, report: &Report) -> Result<Vec<Violation>, Failure> {
    // Minimising must not turn one of several findings into another.
    let is_one_of_several = report.violations_max > 1;
    let shorter = |found: &FoundViolation| {
        let kind = is_one_of_several.then(|| found.kind.clone());
        (!spec.process.no_minimize).then(|| Options { keep: cluster.prefix_steps(), kind, ..Options::default() })
    };
    let bounds = &cluster.plugin.bounds;
    // Findings are recorded even if the time is up. Confirming them takes a guest, and time.
    bounds.record();
    let found = report.violations.iter();
    let found: Vec<FoundViolation> =
        found.map(|found| FoundViolation { shortest: is_shortest(report, found), ..found.clone() }).collect();
    let traces: Vec<Trace> =
        found.iter().map(|found| finding::record(lts, cluster, found)).collect::<Result<_, Failure>>()?;
    bounds.close();
    let confirm = |(found, trace): (&FoundViolation, Trace)| {
        let is_capped = report.variants_max.is_some_and(|most| report.variants(&found.kind) >= most);
        Ok::<_, Failure>(Violation { is_capped, ..finding::confirm(lts, cluster, found, trace, shorter(found))? })
    };
    Ok(finding::grouped(found.iter().zip(traces).map(confirm).collect::<Result<_, _>>()?))
}

/// Whether no path to a violation of the same kind is shorter. A search decides this for each node and each text separately, a report for
/// all violations of a kind together.
fn is_shortest(report: &Report, found: &FoundViolation) -> bool {
    let mut alike = report.violations.iter().filter(|other| other.kind == found.kind);
    alike.all(|other| other.shortest && other.path.len() >= found.path.len())
}

/// The report of a search that was stopped before it found anything.
fn nothing_found(lts: &Lts<'_>, stopped: Stopped) -> Report {
    let mut report = Report { end: stopped.into(), ..Report::new(lts) };
    report.count_local(lts);
    report
}

/// The start states: after `init`, or after the prefix.
pub(super) fn starts(lts: &Lts<'_>, cluster: &Cluster, spec: &RunSpec) -> Result<Vec<Start>, Failure> {
    let mut stepper = Stepper::new(lts)?;
    let starts = match &cluster.prefix {
        None => start::initial(&mut stepper),
        Some(trace) => start::follow(&mut stepper, trace).map(|start| vec![start]),
    };
    if spec.search.deadlock && lts.takes_quorums() {
        return Err(limits::no_ends());
    }
    let (plugin, name) = (&cluster.plugin, &cluster.plugin.reference.name);
    let failed = |error: &dyn std::fmt::Display| Failure::configuration(format_args!("{name}: {error}"));
    starts.map_err(|error| match error {
        StartError::Refused(why) => {
            let given = shell_quoted(&plugin.given.to_string_lossy());
            failed(&of_numbers(&why)).help(format_args!("`host inspect {given}` lists the parameters"))
        }
        StartError::TooManyStarts => failed(&error),
        StartError::Prefix { step, why } => {
            let path = spec.cluster.prefix.clone().unwrap_or_default();
            let failure = Failure::configuration(format_args!(
                "the prefix {} cannot be followed: at step {step}, {why}",
                path.display()
            ));
            failure.help("record it again with this plugin and scenario")
        }
        StartError::Beginning(why) => {
            let path = spec.cluster.prefix.clone().unwrap_or_default();
            let failure = Failure::configuration(format_args!("the prefix {} cannot begin: {why}", path.display()));
            failure.help("its states belong to the component that they were exported from, and to its parameters")
        }
        StartError::QuorumsInOrder { from, to } => failed(&error).help(format_args!(
            "give --network unordered, or links without order to node {to}: --link {from}-{to}=unordered and so on"
        )),
        StartError::Machine(error) => error.into(),
    })
}

/// Runs the strategy.
pub(super) fn search(
    spec: &RunSpec,
    limits: SearchBounds,
    lts: &Lts<'_>,
    starts: &[Start],
    watch: &Watch<'_>,
    keeper: Option<&checkpoint::Folder>,
) -> Result<Report, Failure> {
    let pool = pool(spec)?;
    let search = Search { lts, starts, bounds: limits, monitor: watch, collect_system_states: false };
    let stopped = || keeper.and_then(checkpoint::Folder::stopped);
    pool.install(|| (spec.strategy().run)(&search)).map_err(|error| failure(error, stopped))
}

/// The failure of a search that could not run; `stopped` has the reason if the reading of a checkpoint was given up.
pub(super) fn failure(error: SearchError, stopped: impl FnOnce() -> Option<Stopped>) -> Failure {
    match error {
        SearchError::Machine(error) | SearchError::Start(StartError::Machine(error)) => error.into(),
        error @ (SearchError::Start(_) | SearchError::Checkpoint) => {
            stopped().map_or_else(|| Failure::configuration(error), |why| MachineError::Stopped(why).into())
        }
    }
}

/// The workers.
pub(super) fn pool(spec: &RunSpec) -> Result<ThreadPool, Failure> {
    let workers = spec.process.workers.map_or_else(|| units::workers("auto").map_err(Failure::system), Ok)?;
    let pool = ThreadPoolBuilder::new().num_threads(workers.get()).build();
    pool.map_err(|error| Failure::system(format_args!("cannot start the workers: {error}")))
}
