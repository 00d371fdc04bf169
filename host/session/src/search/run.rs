//! A search from its start states to confirmed findings.

use std::sync::Arc;

use host_inspect::minimize::{Options, WORK_MAX};
use host_model::contract::{MachineError, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::trace::Trace;
use host_model::trace::start::{self, Start, StartError};
use host_search::kernel::{Found, Keeper, Limits, Report, Search, SearchError};
use host_search::strategy::Bound;
use host_search::strategy::random_walk::WALKS_DEFAULT;
use rayon::ThreadPoolBuilder;

use crate::base::context::Context;
use crate::base::failure::Failure;
use crate::base::units;
use crate::cluster::Cluster;
use crate::search::checkpoint;
use crate::search::finding::{self, Violation};
use crate::search::identity::Identity;
use crate::search::limits;
use crate::search::monitor::{Goals, Line, Watch};
use crate::spec::RunSpec;

/// What came out of a search.
pub struct Outcome {
    /// What the strategy reports.
    pub report: Report,
    /// How long it took.
    pub times: Times,
    /// What was found, run again in fresh machines; of what ends in the same way, the shortest.
    pub violations: Vec<Violation>,
}

/// How long a search took, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// All of it.
    pub search: f64,
    /// The part that went into verifying what the search came across; 0 for a strategy that verifies nothing.
    pub verification: f64,
}

/// Searches a cluster for what is asked, and confirms what it finds. With `line`, progress goes to the log.
///
/// # Errors
///
/// What is asked for does not fit the cluster or a checkpoint. The host cannot provide an instance.
pub fn run(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    line: Option<Line<'_>>,
    context: &mut Context<'_>,
) -> Result<Outcome, Failure> {
    let limits = limits::limits(spec)?;
    let bounds = &cluster.plugin.bounds;
    bounds.search(spec.process.time, spec.process.memory);
    let starts = starts(lts, cluster, spec)?;
    let keeper = match &starts {
        Ok(starts) => {
            let identity = Identity::new(spec.strategy().name, limits, cluster, lts, starts);
            checkpoint::Folder::new(spec.process.keep.as_ref(), identity, Arc::clone(bounds) as _, context)?
        }
        Err(stopped) => Err(*stopped),
    };
    let (report, times) = match (starts, keeper) {
        (Ok(starts), Ok(keeper)) => {
            let walks = spec.strategy().honours.contains(&Bound::Walks);
            let walks = walks.then(|| limits.walks.unwrap_or(WALKS_DEFAULT));
            let watch = Watch::new(bounds, &mut *context.log, line).with_goals(Goals { walks, states: limits.states });
            let watch = watch.with_keeper(keeper.as_ref().map(|keeper| keeper as &dyn Keeper));
            let searched = search(spec, limits, (lts, &starts), &watch, keeper.as_ref())?;
            if let Some(why) = keeper.as_ref().and_then(checkpoint::Folder::failed) {
                context.tell(&format!("warning: the last checkpoint could not be written: {why}"));
            }
            searched
        }
        (Err(stopped), _) | (_, Err(stopped)) => (nothing_found(lts, stopped), Times::default()),
    };
    let violations = violations(spec, cluster, lts, &report)?;
    Ok(Outcome { report, times, violations })
}

/// What a search found, confirmed.
fn violations(spec: &RunSpec, cluster: &Cluster, lts: &Lts<'_>, report: &Report) -> Result<Vec<Violation>, Failure> {
    let options = Options { keep: cluster.prefix_steps(), work_max: WORK_MAX };
    let shorter = (!spec.process.no_minimize).then_some(options);
    let bounds = &cluster.plugin.bounds;
    // What was found is written down whatever the time. To look at it again takes a guest, and time.
    bounds.record();
    let found = report.violations.iter();
    let found: Vec<(&Found, Trace)> =
        found.map(|found| Ok((found, finding::record(lts, cluster, found)?))).collect::<Result<_, Failure>>()?;
    bounds.close();
    let confirm = |found| finding::confirm(lts, cluster, found, shorter);
    Ok(finding::grouped(found.into_iter().map(confirm).collect::<Result<_, _>>()?))
}

/// The report of a search that was stopped before it found anything.
fn nothing_found(lts: &Lts<'_>, stopped: Stopped) -> Report {
    let mut report = Report { end: stopped.into(), ..Report::new(lts) };
    report.count_local(lts);
    report
}

/// The states to begin from: after `init`, or after the prefix. The inner error says why nobody knows them.
fn starts(lts: &Lts<'_>, cluster: &Cluster, spec: &RunSpec) -> Result<Result<Vec<Start>, Stopped>, Failure> {
    let stepper = Stepper::new(lts);
    if let Err(MachineError::Stopped(stopped)) = stepper {
        return Ok(Err(stopped));
    }
    let mut stepper = stepper?;
    let starts = match &cluster.prefix {
        None => start::initial(&mut stepper),
        Some(trace) => start::follow(&mut stepper, trace).map(|start| vec![start]),
    };
    if let Err(StartError::Machine(MachineError::Stopped(stopped))) = starts {
        return Ok(Err(stopped));
    }
    let nodes = lts.scenario().nodes;
    if spec.search.deadlock && (0..nodes).any(|node| stepper.known().takes_quorums(node)) {
        let why = "`--deadlock`: a message that waits for others of its quorum is in flight and may never come, so nobody knows \
                   whether a cluster with quorums has come to its end";
        let failure = Failure::configuration(why).about("deadlock");
        return Err(failure.help("leave it out, or have the plugin take messages one by one"));
    }
    starts.map(Ok).map_err(|error| match error {
        StartError::Refused(why) => {
            let failure = Failure::configuration(format_args!("{}: {why}", cluster.plugin.reference.name));
            failure.help(format_args!("`host inspect {}` lists the parameters", cluster.plugin.given.display()))
        }
        StartError::TooManyStarts => Failure::configuration(format_args!("{}: {error}", cluster.plugin.reference.name)),
        StartError::Prefix { step, why } => {
            let path = spec.cluster.prefix.clone().unwrap_or_default();
            let failure = Failure::configuration(format_args!(
                "the prefix {} cannot be followed: at step {step}, {why}",
                path.display()
            ));
            failure.help("record it again with this plugin and scenario")
        }
        StartError::QuorumsInOrder { from, to } => {
            let failure = Failure::configuration(format_args!("{}: {error}", cluster.plugin.reference.name));
            failure.help(format_args!(
                "give --network unordered, or links without order to node {to}: --link {from}-{to}=unordered and so on"
            ))
        }
        StartError::Machine(error) => error.into(),
    })
}

/// Runs the strategy; returns its report and how long it took.
fn search(
    spec: &RunSpec,
    limits: Limits,
    (lts, starts): (&Lts<'_>, &[Start]),
    watch: &Watch<'_>,
    keeper: Option<&checkpoint::Folder>,
) -> Result<(Report, Times), Failure> {
    let workers = spec.process.workers.map_or_else(|| units::workers("auto").map_err(Failure::system), Ok)?;
    let pool = ThreadPoolBuilder::new().num_threads(workers.get()).build();
    let pool = pool.map_err(|error| Failure::system(format_args!("cannot start the workers: {error}")))?;
    let search = Search { lts, starts, limits, monitor: watch, collect_system_states: false };
    let report = match pool.install(|| (spec.strategy().run)(&search)) {
        Ok(report) => report,
        Err(SearchError::Machine(error) | SearchError::Start(StartError::Machine(error))) => match error {
            MachineError::Stopped(stopped) => nothing_found(lts, stopped),
            error => return Err(error.into()),
        },
        Err(error @ (SearchError::Start(_) | SearchError::Checkpoint)) => {
            match keeper.and_then(checkpoint::Folder::stopped) {
                Some(stopped) => nothing_found(lts, stopped),
                None => return Err(Failure::configuration(error)),
            }
        }
    };
    let times = Times { search: watch.seconds(), verification: watch.verification_seconds() };
    Ok((report, times))
}
