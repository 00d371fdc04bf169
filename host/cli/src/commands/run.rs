//! `host run`.

use std::path::PathBuf;

use host_model::audit::AuditedFactory;
use host_session::Request;
use host_session::base::{Exit, Failure};
use host_session::report::{FinishedRun, RunReport};
use host_session::search;
use host_session::search::monitor::{Form, Shown};

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
    pub(super) verbose: bool,
    pub(super) json: bool,
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
        let telling = Telling {
            program,
            command: command.to_owned(),
            out: arguments.out.clone(),
            progress: (!arguments.source.quiet).then_some(form),
            verbose: arguments.verbose,
            json: arguments.json,
        };
        let (report, text) = explore(&request, telling, environment)?;
        environment.print(&text)?;
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

/// Runs a request and writes its files; returns its report, and the text to print. A failure names the scenario.
pub(super) fn explore(
    request: &Request,
    telling: Telling<'_>,
    environment: &mut Environment<'_>,
) -> Result<(RunReport, String), Failure> {
    request.located(|| explore_unnamed(request, telling, environment))
}

fn explore_unnamed(
    request: &Request,
    telling: Telling<'_>,
    environment: &mut Environment<'_>,
) -> Result<(RunReport, String), Failure> {
    let spec = &request.spec;
    let Telling { program, command, out, progress, verbose, json } = telling;
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
    let (cluster, machines, lts, outcome) = (&cluster, &machines, &lts, &outcome);
    let run = FinishedRun { spec, command, cluster, machines, lts, outcome, witnesses };
    let mut report = request.finish(&run, saved)?;
    run_files.save_result(&report.json(), environment);
    if run_files.has_failed() {
        report.fail(Exit::System);
    }
    let (violations, paint) = (&*outcome.violations, environment.paint());
    let text = Text { report: &report, violations, prefix_steps, paint, verbose };
    let text = if json { report.json() } else { text.text() };
    Ok((report, text))
}
