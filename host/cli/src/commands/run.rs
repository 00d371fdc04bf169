//! `host run`.

use std::path::Path;

use host_model::audit::AuditedFactory;
use host_session::Request;
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::report::FinishedRun;
use host_session::search;
use host_session::search::monitor::{Form, Shown};

use crate::commands::watch;
use crate::environment::Environment;
use crate::options::run::RunArguments;
use crate::output::progress;
use crate::output::run_files::RunFiles;
use crate::output::text::Text;

/// Explores the states of a protocol and reports what was found. `program` and `command` are the command line, for people.
pub fn run(
    arguments: &RunArguments,
    (program, command): (&str, String),
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let once = |environment: &mut Environment<'_>| {
        let request = Request::new(arguments.spec(), &mut environment.context())?;
        request.located(|| explore(&request, arguments, (program, command.clone()), environment))
    };
    if !arguments.watch {
        return once(environment);
    }
    let given = arguments.spec();
    let request = Request::new(given.clone(), &mut environment.context())?;
    // What can be refused without the plugin is not mended by an edit of it.
    request.located(|| search::limits::limits(&request.spec))?;
    // The scenario, and what it names.
    let cluster = request.spec.cluster;
    let others = cluster.placement.node.into_iter().chain(cluster.placement.adversary).map(|(_, path)| path);
    let paths: Vec<_> = [given.cluster.plugin, cluster.plugin].into_iter().chain(others).collect();
    watch::run(&paths, environment, once)
}

fn explore(
    request: &Request,
    arguments: &RunArguments,
    (program, command): (&str, String),
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let spec = &request.spec;
    // What can be refused without the plugin is refused before it is built.
    search::limits::limits(spec)?;
    check_out(arguments.out.as_deref(), environment)?;
    let cluster = Cluster::open(spec, &mut environment.context())?;
    let machines = AuditedFactory::new(cluster.factory(), spec.process.audit.unwrap_or_default());
    let lts = cluster.lts(&machines)?;
    let form = match environment.stderr_columns {
        Some(columns) => Form::Redrawn(columns),
        None if arguments.progress => Form::EverySecond,
        None => Form::EveryMinute,
    };
    let shown = (!arguments.source.quiet).then_some(Shown { line: &progress::line, form });
    let outcome = search::run(spec, &cluster, &lts, shown, &mut environment.context())?;
    let first = outcome.violations.first().map(|violation| &violation.trace);
    let mut run_files = RunFiles::new(arguments.out.clone(), spec.strategy().name, &cluster, first);
    let prefix_steps = cluster.prefix_steps();
    let saved = run_files.save(&outcome.violations, prefix_steps, program, environment);
    // They take a further search each, for whoever wants to keep something.
    let witnesses = match arguments.out {
        Some(_) => search::witness::witnesses(spec, &cluster, &lts, &outcome, &mut environment.context())?,
        None => Vec::new(),
    };
    let witnesses = run_files.save_witnesses(&witnesses, environment);
    let (cluster, machines, lts, outcome) = (&cluster, &machines, &lts, &outcome);
    let run = FinishedRun { spec, command, cluster, machines, lts, outcome, witnesses };
    let report = request.finish(&run, saved)?;
    run_files.save_result(&report.json(), environment);
    let (violations, paint, verbose) = (&*outcome.violations, environment.paint(), arguments.verbose);
    let text = Text { report: &report, violations, prefix_steps, paint, verbose };
    environment.print(&if arguments.json { report.json() } else { text.text() })?;
    Ok(report.exit)
}

/// Finds out now, not after hours of search, that there can be no folder for the trace.
fn check_out(out: Option<&Path>, environment: &Environment<'_>) -> Result<(), Failure> {
    match out {
        Some(out) if environment.path(out).exists() && !environment.path(out).is_dir() => {
            let failure = Failure::configuration(format_args!("`--out {}` is a file, not a folder", out.display()));
            Err(failure.help("name a folder; it is made if it is not there"))
        }
        _ => Ok(()),
    }
}
