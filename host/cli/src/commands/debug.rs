//! `host debug`.

use std::path::Path;
use std::sync::atomic::Ordering;

use host_inspect::debug::{Console, Cursor, CursorError, Reply};
use host_model::lts::Stepper;
use host_model::trace::{self, Trace, TraceStep};
use host_session::base::{Exit, Failure};
use host_session::cluster::{Cluster, trace_file};
use host_session::search::{following, path};

use crate::commands::line_editor::Lines;
use crate::commands::replay;
use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::traces::DebugArguments;

const TAKER: Taker = Taker { name: "host debug", does: "executes the events that you choose", besides: &[] };

/// A session over a trace or a plugin.
pub fn run(arguments: &DebugArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let given = &arguments.trace.trace;
    let (trace, cluster) = match is_trace(given) {
        true if arguments.options.is_empty() => {
            let (trace, cluster) = Cluster::of_trace(&arguments.trace.spec(), &mut environment.context())?;
            (following::shown(&cluster, trace, &mut environment.context())?, cluster)
        }
        true => return Err(options_behind_a_trace()),
        false => begin(arguments, environment)?,
    };
    let lts = cluster.lts(cluster.factory())?;
    let stepper = Stepper::new(&lts)?;
    // The path that keeps a promise is a separate branch.
    let first = trace::sibling(&trace);
    let cursor = Cursor::new(cluster.factory(), stepper, first.as_ref().unwrap_or(&trace));
    let cursor = cursor.and_then(|mut cursor| {
        if first.is_some() {
            cursor.open(&trace)?;
        }
        Ok(cursor)
    });
    let cursor = cursor.map_err(|error| match error {
        CursorError::Machine(error) => error.into(),
        error => Failure::configuration(format_args!("{} cannot be debugged: {error}", given.display())),
    })?;
    environment.print(&format!(
        "{}\n{} steps; `help` lists the commands\n",
        replay::title(&trace, &cluster.plugin),
        cursor.length()
    ))?;
    session(Console::new(cursor), &trace, &cluster, environment)
}

/// Whether a path is that of a trace, and not of a plugin.
pub(super) fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// The failure of a command line with a trace and options of a cluster.
pub(super) fn options_behind_a_trace() -> Failure {
    let failure = Failure::configuration("a trace brings its cluster along; it takes no options after `--`");
    failure.help("give a plugin in place of the trace, or leave the options out")
}

/// A cluster in its start state, as `host run` would start it.
fn begin(arguments: &DebugArguments, environment: &mut Environment<'_>) -> Result<(Trace, Cluster), Failure> {
    let given = &arguments.trace;
    let mut spec = TAKER.options(&given.trace, &arguments.options)?.spec();
    spec.cluster.limits.extend(given.limits.given());
    spec.process.source = given.source.into();
    if spec.cluster.prefix.is_some() {
        let failure = Failure::configuration("`--prefix`: the debugger begins where nothing has happened yet");
        return Err(failure.help("give the trace in place of the plugin"));
    }
    let cluster = Cluster::open(&spec, &mut environment.context())?;
    Ok((cluster.empty_trace(), cluster))
}

/// Reads and executes commands until the end of the input.
fn session(
    mut console: Console<'_>,
    trace: &Trace,
    cluster: &Cluster,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    // The stream is moved out while the rest of the environment is borrowed.
    let stdin = std::mem::replace(&mut environment.stdin, Box::leak(Box::new(std::io::empty())));
    let mut lines = match environment.stdin_is_terminal {
        true => Lines::of_terminal(environment.cache.as_deref())?,
        false => Lines::Script(stdin),
    };
    let mut exit = Exit::Ok;
    loop {
        let prompt = console.prompt();
        let Some((line, is_echoed)) = lines.next(&prompt)? else { break };
        if is_echoed {
            environment.print(&format!("{prompt}{line}\n"))?;
        }
        // An interrupt ends the running command, not the session.
        environment.interrupted.store(false, Ordering::Relaxed);
        let reply = match console.execute(&line) {
            Reply::Save(path, steps) => save(Path::new(&path), steps, trace, cluster, environment),
            Reply::Open(path) => match trace_file::read(Path::new(&path), &environment.directory) {
                Ok(other) if other.scenario != trace.scenario => {
                    Reply::Wrong(format!("{path} is a trace of another cluster: compare within one scenario"))
                }
                Ok(other) => console.open(&other),
                Err(failure) => Reply::Wrong(failure.message),
            },
            reply => reply,
        };
        match reply {
            Reply::Quit => break,
            Reply::Wrong(why) => {
                // A person tries again; in a script it is an error.
                exit = if is_echoed { Exit::Unexpected } else { exit };
                environment.print(&format!("{why}\n"))?;
            }
            Reply::Text(text) => environment.print(&text)?,
            Reply::Save(..) | Reply::Open(_) => {}
        }
    }
    lines.close();
    Ok(exit)
}

/// Writes the path to the present state, with the findings at its end.
fn save(file: &Path, steps: Vec<TraceStep>, trace: &Trace, cluster: &Cluster, environment: &Environment<'_>) -> Reply {
    let saved = match path::trace_of(cluster, trace, steps) {
        Ok(saved) => saved,
        Err(error) => return Reply::Wrong(format!("the path does not replay: {error}")),
    };
    match trace_file::write(file, &saved, &environment.directory) {
        Ok(()) => Reply::Text(format!("{} steps in {}\n", saved.steps.len(), file.display())),
        Err(failure) => Reply::Wrong(failure.message),
    }
}
