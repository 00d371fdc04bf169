//! `host run`.

use std::path::PathBuf;
use std::sync::Arc;

use host_model::audit::AuditedFactory;
use host_session::Request;
use host_session::base::{Exit, Failure};
use host_session::report::{FinishedRun, RunReport, sketches};
use host_session::scopes::{self, Range, Searched};
use host_session::search;
use host_session::search::finding::Violation;
use host_session::search::monitor::{Form, Shown};
use host_session::spec::expectation::Expectation;

use crate::commands::watch;
use crate::environment::Environment;
use crate::options::run::RunArguments;
use crate::output::progress;
use crate::output::run_files::{self, RunFiles};
use crate::output::text::Text;

/// The output of a run: its report and its files.
pub(super) struct Telling<'t> {
    /// The first word of the command line and the whole line, for people.
    pub(super) program: &'t str,
    pub(super) command: String,
    /// The folder that the user named.
    pub(super) out: Option<PathBuf>,
    /// The form of progress, if it is shown.
    pub(super) progress: Option<Form>,
    /// A sketch of what was seen is kept.
    pub(super) sketch: bool,
}

/// A run that is over, with its files written.
pub(super) struct Explored {
    pub(super) report: RunReport,
    pub(super) violations: Vec<Violation>,
    prefix_steps: usize,
}

/// Explores the states of a protocol and reports the findings. `program` and `command` are the command line, for people.
pub fn run(
    arguments: &RunArguments,
    program: &str,
    command: &str,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let once = |environment: &mut Environment<'_>| {
        let request = Request::new(arguments.spec(), &mut environment.context())?;
        let form = match environment.stderr_columns {
            Some(columns) => Form::Redrawn(columns),
            None if arguments.progress => Form::EverySecond,
            None => Form::EveryMinute,
        };
        let progress = (!arguments.source.quiet).then_some(form);
        let (out, sketch) = (&arguments.out, arguments.sketch);
        let telling = || Telling { program, command: command.to_owned(), out: out.clone(), progress, sketch };
        let explored = match arguments.grow.as_slice() {
            [] => explore(&request, telling(), environment)?,
            ranges => grow(ranges, &request, telling, environment)?,
        };
        let Explored { report, violations, prefix_steps } = &explored;
        let (paint, verbose) = (environment.paint(), arguments.verbose);
        let text = Text { report, violations, prefix_steps: *prefix_steps, paint, verbose };
        environment.print(&if arguments.json { report.json() } else { text.text() })?;
        Ok(report.exit)
    };
    if !arguments.watch {
        return once(environment);
    }
    let given = arguments.spec();
    let request = Request::new(given.clone(), &mut environment.context())?;
    // No edit of the plugin mends an error that does not depend on it.
    request.located(|| search::limits::limits(&request.spec))?;
    // The scenario, and the files that it names.
    let cluster = request.spec.cluster;
    let others = cluster.placement.node.into_iter().chain(cluster.placement.adversary).map(|(_, path)| path);
    let others = others.chain(cluster.specs).chain(cluster.prefix);
    let paths: Vec<_> = [given.cluster.plugin, cluster.plugin].into_iter().chain(others).collect();
    watch::run(&paths, environment, once)
}

/// Runs a request in scopes of growing size.
fn grow<'t>(
    ranges: &[Range],
    request: &Request,
    telling: impl Fn() -> Telling<'t>,
    environment: &mut Environment<'_>,
) -> Result<Explored, Failure> {
    let given = &request.spec;
    if request.scenario.as_ref().is_some_and(|scenario| scenario.expect != Expectation::default()) {
        let failure = Failure::configuration("`--grow`: the scenario expects a result of one scope");
        return Err(failure.help("take [expect] out of a copy of the scenario"));
    }
    if given.cluster.prefix.is_some() {
        let failure = Failure::configuration("`--grow`: a prefix belongs to the scope in which it was recorded");
        return Err(failure.help("leave one of the two out"));
    }
    let (scopes, clock) = (scopes::scopes(ranges, given)?, Arc::clone(&environment.clock));
    let (mut explored, searched) = scopes::grow(&scopes, given.process.time, &clock, |scope, time| {
        let mut spec = scope.run(given.clone());
        spec.process.time = Some(time);
        let telling = telling();
        if telling.progress.is_some() {
            environment.tell(&format!("grow: {scope}, for {:.1} s", time.as_secs_f64()));
        }
        let explored = explore(&Request { spec, scenario: None }, telling, environment)?;
        Ok(Searched::new(explored, |explored| &explored.report))
    })?;
    explored.report.scopes = searched;
    Ok(explored)
}

/// Runs a request and writes its files. A failure names the scenario.
pub(super) fn explore(
    request: &Request,
    telling: Telling<'_>,
    environment: &mut Environment<'_>,
) -> Result<Explored, Failure> {
    request.located(|| explore_unnamed(request, telling, environment))
}

fn explore_unnamed(
    request: &Request,
    telling: Telling<'_>,
    environment: &mut Environment<'_>,
) -> Result<Explored, Failure> {
    let spec = &request.spec;
    let Telling { program, command, out, progress, sketch } = telling;
    // Errors that need no plugin are reported before it is built.
    search::limits::limits(spec)?;
    run_files::check_out(out.as_deref(), environment)?;
    let cluster = request.open(&mut environment.context())?;
    let machines = AuditedFactory::new(cluster.factory(), spec.process.audit.unwrap_or_default());
    let lts = cluster.lts(&machines)?;
    let shown = progress.map(|form| Shown { line: &progress::line, form, finds: None });
    let outcome = search::run(spec, &cluster, &lts, shown, &mut environment.context())?;
    let first = outcome.violations.first().map(|violation| &violation.trace);
    let is_kept = out.is_some();
    let mut run_files = RunFiles::new(out, spec.strategy().name, &cluster, first);
    run_files.remove_old(spec.cluster.prefix.as_deref(), environment);
    let prefix_steps = cluster.prefix_steps();
    let saved = run_files.save(&outcome.violations, prefix_steps, program, environment);
    // Each witness takes a further search, for users who keep results.
    let witnesses = match is_kept {
        true => search::witness::witnesses(spec, &cluster, &lts, &outcome, &mut environment.context())?,
        false => Vec::new(),
    };
    let witnesses = run_files.save_witnesses(&witnesses, environment);
    let run =
        FinishedRun { spec, command, cluster: &cluster, machines: &machines, lts: &lts, outcome: &outcome, witnesses };
    let mut report = request.finish(&run, saved)?;
    if sketch {
        run_files.save_sketch(&sketches(&lts), environment);
    }
    run_files.save_result(&report.json(), environment);
    if run_files.has_failed() {
        report.fail(Exit::System);
    }
    Ok(Explored { report, violations: outcome.violations, prefix_steps })
}
