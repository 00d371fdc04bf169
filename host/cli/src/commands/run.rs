//! `host run`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_inspect::minimize::{Options, WORK_MAX};
use host_model::audit::Mode;
use host_model::contract::{MachineError, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::trace::Trace;
use host_model::trace::start::{self, Start, StartError};
use host_search::kernel::{Found, Keeper, Limits, Report, Search, SearchError};
use host_search::strategy::Bound;
use host_search::strategy::random_walk::WALKS_DEFAULT;
use rayon::ThreadPoolBuilder;

use crate::base::bounds::Bounds;
use crate::base::environment::Environment;
use crate::base::exit::Exit;
use crate::base::failure::Failure;
use crate::options::limits;
use crate::options::run::RunArguments;
use crate::options::values::SourceArguments;
use crate::report::artefacts::Artefacts;
use crate::report::result::RunReport;
use crate::report::run::{Run, Times};
use crate::searching::checkpoint;
use crate::searching::finding::{self, Violation};
use crate::searching::identity::Identity;
use crate::searching::monitor::{Goals, Watch};
use crate::setup::placement::{self, Wanted};
use crate::setup::plugin_source::{self, Loaded};
use crate::setup::scenario_choice;
use crate::setup::trace_file;

/// Explores the states of a protocol and reports what was found.
pub fn run(arguments: &RunArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    // What can be refused without the plugin is refused before it is built.
    let limits = scenario_choice::limits(arguments)?;
    let wanted = Wanted::new(&arguments.placement)?;
    check_out(arguments, environment)?;
    let prefix = arguments.prefix.as_deref().map(|path| trace_file::read(path, environment)).transpose()?;
    let guest = match (&arguments.prefix, &prefix) {
        (Some(path), Some(trace)) => arguments.limits.over_recorded(&trace.limits, path)?,
        _ => arguments.limits.over(limits::Given::new()),
    };
    let guest = limits::effective(&guest);
    let mut loaded = plugin_source::load(&arguments.plugin, arguments.source, guest, environment)?;
    let others = SourceArguments { finished: arguments.resume.is_some(), ..arguments.source };
    loaded.others = placement::load(wanted, others, &loaded.limits, environment)?;
    if let (Some(path), Some(trace)) = (&arguments.prefix, &prefix) {
        trace_file::check_plugin(trace, path, &loaded.reference, arguments.any_plugin)?;
    }
    let scenario = scenario_choice::scenario(arguments, &loaded, prefix.as_ref())?;
    loaded.arranged = loaded.others.arrange(&loaded, &scenario)?;
    if let (Some(path), Some(trace)) = (&arguments.prefix, &prefix) {
        placement::check_trace(trace, path, loaded.arranged.as_ref(), arguments.any_plugin)?;
    }
    let loaded = loaded;
    let lts = Lts::new(loaded.factory(), scenario)?.audited(arguments.audit);
    loaded.bounds.search(arguments.time, arguments.memory);
    let starts = starts(&lts, &loaded, arguments.prefix.as_deref().zip(prefix.as_ref()), arguments.deadlock)?;
    let keeper = match &starts {
        Ok(starts) => {
            let identity = Identity::new(arguments.algo.name, limits, &loaded, &lts, starts);
            checkpoint::Folder::new(arguments, identity, Arc::clone(&loaded.bounds) as _, environment)?
        }
        Err(stopped) => Err(*stopped),
    };
    let (report, keeper, times) = match (starts, keeper) {
        (Ok(starts), Ok(keeper)) => {
            let searched = search(arguments, limits, (&lts, &starts), &loaded.bounds, keeper.as_ref(), environment)?;
            (searched.0, keeper, searched.1)
        }
        (Err(stopped), _) | (_, Err(stopped)) => (nothing_found(&lts, stopped), None, Times::default()),
    };
    if let Some(why) = keeper.as_ref().and_then(checkpoint::Folder::failed) {
        environment.tell(&format!("warning: the last checkpoint could not be written: {why}"));
    }
    let prefix_steps = prefix.as_ref().map_or(0, |trace| trace.steps.len());
    let options = Options { keep: prefix_steps, work_max: WORK_MAX };
    let shorter = (!arguments.no_minimize).then_some(options);
    // What was found is written down whatever the time. To look at it again takes a guest, and time.
    loaded.bounds.record();
    let found = report.violations.iter();
    let found: Vec<(&Found, Trace)> =
        found.map(|found| Ok((found, finding::record(&lts, &loaded, found)?))).collect::<Result<_, Failure>>()?;
    loaded.bounds.close();
    let confirm = |found| finding::confirm(&lts, &loaded, found, shorter);
    let violations: Vec<Violation> = found.into_iter().map(confirm).collect::<Result<_, _>>()?;
    let violations = finding::grouped(violations);
    let mut artefacts = Artefacts::new(arguments, &loaded, violations.first().map(|violation| &violation.trace));
    let saved = artefacts.save(&violations, prefix_steps, program, environment);
    let paint = environment.paint();
    let run = Run { arguments, program, loaded: &loaded, lts: &lts, report: &report, times, prefix_steps, paint };
    let mut result = RunReport::new(&run, &violations, saved);
    if arguments.audit != Mode::Off {
        result.add_audit(&lts.check_promises()?);
    }
    if let Some(expect) = &arguments.expect {
        result.compare(expect);
    }
    artefacts.save_result(&result.json(), environment);
    environment.print(&if arguments.json { result.json() } else { result.text() })?;
    Ok(result.exit())
}

/// Finds out now, not after hours of search, that there can be no folder for the trace.
fn check_out(arguments: &RunArguments, environment: &Environment<'_>) -> Result<(), Failure> {
    match &arguments.out {
        Some(out) if environment.path(out).exists() && !environment.path(out).is_dir() => {
            let failure = Failure::configuration(format_args!("`--out {}` is a file, not a folder", out.display()));
            Err(failure.help("name a folder; it is made if it is not there"))
        }
        _ => Ok(()),
    }
}

/// The report of a search that was stopped before it found anything.
fn nothing_found(lts: &Lts<'_>, stopped: Stopped) -> Report {
    let mut report = Report { end: stopped.into(), ..Report::new(lts) };
    report.count_local(lts);
    report
}

/// The states to begin from: after `init`, or after the prefix. The inner error says why nobody knows them.
fn starts(
    lts: &Lts<'_>,
    loaded: &Loaded,
    prefix: Option<(&Path, &Trace)>,
    is_end_asked: bool,
) -> Result<Result<Vec<Start>, Stopped>, Failure> {
    let stepper = Stepper::new(lts);
    if let Err(MachineError::Stopped(stopped)) = stepper {
        return Ok(Err(stopped));
    }
    let mut stepper = stepper?;
    let starts = match prefix {
        None => start::initial(&mut stepper),
        Some((_, trace)) => start::follow(&mut stepper, trace).map(|start| vec![start]),
    };
    if let Err(StartError::Machine(MachineError::Stopped(stopped))) = starts {
        return Ok(Err(stopped));
    }
    let nodes = lts.scenario().nodes;
    if is_end_asked && (0..nodes).any(|node| stepper.known().takes_quorums(node)) {
        let why = "`--deadlock`: a message that waits for others of its quorum is in flight and may never come, so nobody knows \
                   whether a cluster with quorums has come to its end";
        return Err(Failure::configuration(why).help("leave it out, or have the plugin take messages one by one"));
    }
    starts.map(Ok).map_err(|error| match error {
        StartError::Refused(why) => {
            let failure = Failure::configuration(format_args!("{}: {why}", loaded.reference.name));
            failure.help(format_args!("`host inspect {}` lists the parameters", loaded.given.display()))
        }
        StartError::TooManyStarts => Failure::configuration(format_args!("{}: {error}", loaded.reference.name)),
        StartError::Prefix { step, why } => {
            let path = prefix.map_or_else(PathBuf::new, |(path, _)| path.to_owned());
            let failure = Failure::configuration(format_args!(
                "the prefix {} cannot be followed: at step {step}, {why}",
                path.display()
            ));
            failure.help("record it again with this plugin and scenario")
        }
        StartError::QuorumsInOrder { from, to } => {
            let failure = Failure::configuration(format_args!("{}: {error}", loaded.reference.name));
            failure.help(format_args!(
                "give --network unordered, or links without order to node {to}: --link {from}-{to}=unordered and so on"
            ))
        }
        StartError::Machine(error) => error.into(),
    })
}

/// Runs the strategy; returns its report and how long it took.
fn search(
    arguments: &RunArguments,
    limits: Limits,
    (lts, starts): (&Lts<'_>, &[Start]),
    bounds: &Bounds,
    keeper: Option<&checkpoint::Folder>,
    environment: &mut Environment<'_>,
) -> Result<(Report, Times), Failure> {
    let is_shown = (environment.stderr_is_terminal || arguments.progress) && !arguments.source.quiet;
    let out: Option<&mut (dyn Write + Send)> = if is_shown { Some(&mut *environment.stderr) } else { None };
    let watch = Watch::new(bounds, out);
    let walks = arguments.algo.honours.contains(&Bound::Walks).then(|| limits.walks.unwrap_or(WALKS_DEFAULT));
    let watch = watch.with_goals(Goals { walks, states: limits.states });
    let watch = watch.with_keeper(keeper.map(|keeper| keeper as &dyn Keeper));
    let pool = ThreadPoolBuilder::new().num_threads(arguments.workers.get()).build();
    let pool = pool.map_err(|error| Failure::system(format_args!("cannot start the workers: {error}")))?;
    let search = Search { lts, starts, limits, monitor: &watch, collect_system_states: false };
    let report = match pool.install(|| (arguments.algo.run)(&search)) {
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
