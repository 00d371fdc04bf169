//! `host test`: the scenarios and saved traces of folders, as a test runner.
//!
//! | module | what it holds |
//! |---|---|
//! | `junit` | results for other programs |
//! | `once` | lines for people, each once |
//! | `outcome` | the result of a test |
//! | `sarif` | failures for code scanning |
//! | `saved` | a saved trace, with what is expected of it |

mod junit;
mod once;
mod outcome;
mod sarif;
mod saved;

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::commands::run::{Telling, explore};
use crate::commands::test::once::Once;
use crate::commands::test::outcome::Outcome;
use crate::commands::test::saved::Saved;
use crate::environment::Environment;
use crate::options::plugins::TestArguments;
use host_session::Request;
use host_session::base::context::Builds;
use host_session::base::names::with_closest_path;
use host_session::base::text::{count, on_one_line, shell_quoted, shortened};
use host_session::base::{Exit, Failure, files};
use host_session::spec::{RunSpec, Source};

/// The folder of a plugin's scenarios: everything in it is a test.
const SCENARIOS: &str = "scenarios";

/// The result of a run, in the folder of its traces.
const RESULT: &str = "stats.json";

/// A scenario or a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    /// The path as the user would write it.
    path: PathBuf,
    is_scenario: bool,
}

/// Runs all tests. Messages of the runs, such as steps of builds and raised limits, are printed once for all of them.
pub fn run(arguments: &TestArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut once = Once::new(environment.stderr);
    let environment = &mut Environment {
        stdout: environment.stdout,
        stderr: &mut once,
        stdin: environment.stdin,
        stdin_is_terminal: environment.stdin_is_terminal,
        colours: environment.colours,
        // Nothing is redrawn between the lines of the tests.
        stderr_columns: None,
        directory: environment.directory.clone(),
        cache: environment.cache.clone(),
        interrupted: Arc::clone(&environment.interrupted),
        clock: Arc::clone(&environment.clock),
        builds: Builds::default(),
    };
    run_all(arguments, program, environment)
}

fn run_all(arguments: &TestArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut tests = Vec::new();
    for path in &arguments.paths {
        find(path, &environment.path(path), Named::ByUser, &mut tests).map_err(|failure| {
            let remedy = "give a folder with scenarios, a scenario or a trace";
            match environment.path(path).exists() {
                true => failure,
                false => failure.help(with_closest_path(path, &environment.path(Path::new("")), remedy)),
            }
        })?;
    }
    tests.sort();
    tests.dedup();
    let saved = |test: Test| (saved(&test, environment), test.path);
    let mut tests: Vec<(Option<Result<Saved, String>>, PathBuf)> = tests.into_iter().map(saved).collect();
    // If a test names a trace, only that test runs it.
    let named = |(saved, path): &(Option<Result<Saved, String>>, PathBuf)| {
        let trace = &saved.as_ref()?.as_ref().ok()?.trace;
        (trace != path).then(|| trace.clone())
    };
    let named: Vec<PathBuf> = tests.iter().filter_map(named).collect();
    tests.retain(|(_, path)| !named.contains(path));
    if tests.is_empty() {
        let names: Vec<String> = arguments.paths.iter().map(|path| path.display().to_string()).collect();
        let failure = Failure::configuration(format_args!("there is no scenario and no trace in {}", names.join(", ")));
        return Err(failure.help(
            "tests are *.toml and *.json in folders named `scenarios`, and *.scenario.toml; a trace that lies elsewhere is one if it, or \
             its folder, is named",
        ));
    }
    let found = tests.len();
    skip(&arguments.skip, &mut tests)?;
    let number = tests.len();
    let (began, mut outcomes) = (Instant::now(), Vec::new());
    let skipped = if found > number { format!(", {} skipped", found - number) } else { String::new() };
    environment.print(&format!("running {}{skipped}\n\n", count(number as u64, "test")))?;
    for (saved, path) in tests {
        if environment.interrupted.load(Ordering::Relaxed) {
            break;
        }
        let outcome = run_one(&path, saved, arguments, program, environment);
        // A stopped test has neither passed nor failed.
        if environment.interrupted.load(Ordering::Relaxed) {
            break;
        }
        environment.print(&line(&outcome))?;
        if arguments.annotations.is_some() {
            environment.print_commands(&annotations(&outcome))?;
        }
        outcomes.push(outcome);
    }
    let left = number - outcomes.len();
    environment.print(&summary(&outcomes, left, began.elapsed()))?;
    if let Some(path) = &arguments.junit {
        junit::write(path, &outcomes, began.elapsed(), environment)?;
    }
    if let Some(path) = &arguments.sarif {
        sarif::write(path, &outcomes, environment)?;
    }
    let passed = left == 0 && outcomes.iter().all(|outcome| outcome.wrong.is_empty());
    Ok(if passed { Exit::Ok } else { Exit::Unexpected })
}

/// Removes the tests with one of these texts in their paths.
fn skip<T>(texts: &[String], tests: &mut Vec<(T, PathBuf)>) -> Result<(), Failure> {
    let fits = |text: &String, path: &Path| path.to_string_lossy().contains(text.as_str());
    if let Some(text) = texts.iter().find(|text| !tests.iter().any(|(_, path)| fits(text, path))) {
        return Err(Failure::configuration(format_args!("`--skip {}` fits no test", shell_quoted(text))));
    }
    tests.retain(|(_, path)| !texts.iter().any(|text| fits(text, path)));
    match tests.is_empty() {
        true => Err(Failure::configuration("`--skip` leaves no test")),
        false => Ok(()),
    }
}

/// The origin of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The command line has it.
    ByUser,
    /// The command line has its folder, which is not the folder of a plugin.
    ByFolder,
    /// It was found further below.
    No,
}

/// Adds the tests at a path. A file on the command line is a test whatever its name; below folders, names decide. There, traces are
/// tests only in `scenarios`: other traces are left over from runs.
fn find(given: &Path, path: &Path, named: Named, tests: &mut Vec<Test>) -> Result<(), Failure> {
    let failure =
        |error: std::io::Error| Failure::configuration(format_args!("cannot read {}: {error}", given.display()));
    if !path.is_dir() {
        files::open(path).map_err(failure)?;
        tests.extend(test(given, path, named));
        return Ok(());
    }
    let is_traces = named == Named::ByUser && !host_build::recognises(path);
    let inside = if is_traces { Named::ByFolder } else { Named::No };
    for entry in fs::read_dir(path).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        let name = entry.file_name();
        // Links are not followed: they can form cycles.
        let kind = entry.file_type().map_err(failure)?;
        let (given, path) = (given.join(&name), entry.path());
        // `host run` writes its traces to `out`.
        let is_skipped = name.to_string_lossy().starts_with('.')
            || ["target", "node_modules", "out"].iter().any(|skipped| name == *skipped);
        if kind.is_dir() && !is_skipped {
            find(&given, &path, Named::No, tests)?;
        } else if kind.is_file() {
            tests.extend(test(&given, &path, inside));
        }
    }
    Ok(())
}

fn test(given: &Path, path: &Path, named: Named) -> Option<Test> {
    let name = path.file_name()?.to_string_lossy();
    // A path such as `.` does not contain the name of the folder.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let in_scenarios = folder.is_some_and(|folder| folder.ends_with(SCENARIOS));
    let extension = path.extension()?.to_string_lossy();
    let (is_scenario, is_test) = match &*extension {
        "toml" => (true, name.ends_with(".scenario.toml")),
        "json" => (false, named == Named::ByFolder && name.starts_with("trace")),
        _ => return None,
    };
    let is_result = name == RESULT && named != Named::ByUser;
    (is_test || in_scenarios && !is_result || named == Named::ByUser)
        .then(|| Test { path: given.to_owned(), is_scenario })
}

/// The test of a trace; none for a scenario.
fn saved(test: &Test, environment: &Environment<'_>) -> Option<Result<Saved, String>> {
    match test.is_scenario {
        true => Saved::read(&test.path, &environment.directory),
        false => Some(Ok(Saved { trace: test.path.clone(), ..Saved::default() })),
    }
}

/// Runs a test. The trace of an expected violation is kept only if the user names a folder.
fn run_one(
    path: &Path,
    saved: Option<Result<Saved, String>>,
    arguments: &TestArguments,
    program: &str,
    environment: &mut Environment<'_>,
) -> Outcome {
    let began = Instant::now();
    let source = arguments.source.into();
    let mut events = Vec::new();
    let (wrong, is_error) = match saved {
        None => run_scenario(path, source, arguments.out.as_deref(), program, environment, &mut events),
        Some(Ok(saved)) => saved.run(source, arguments.plugin.as_deref(), environment),
        Some(Err(error)) => (vec![format!("no test of a trace: {error}")], true),
    };
    let name = path.display().to_string();
    if wrong.is_empty() {
        events.clear();
    }
    Outcome { name, wrong, is_error, events, time: began.elapsed() }
}

/// The mismatches of a scenario's result, and whether it could not run at all. Adds the events of the first violation to `events`.
fn run_scenario(
    path: &Path,
    source: Source,
    out: Option<&Path>,
    program: &str,
    environment: &mut Environment<'_>,
    events: &mut Vec<String>,
) -> (Vec<String>, bool) {
    let mut spec = RunSpec::default();
    spec.cluster.plugin = path.to_owned();
    spec.process.source = source;
    let command = format!("{} run {}", shell_quoted(program), shell_quoted(&path.to_string_lossy()));
    let request = Request::new(spec, &mut environment.context());
    let report = request.and_then(|request| {
        let (report, violations) = match out {
            None => request.run(&mut environment.context())?,
            Some(out) => {
                let out = Some(out.join(folder_of(path)));
                let telling = Telling { program, command: command.clone(), out, progress: None, sketch: false };
                let explored = explore(&request, telling, environment)?;
                (explored.report, explored.violations)
            }
        };
        if let Some(first) = violations.first() {
            let recording = &first.recording;
            events.extend((1..=recording.steps.len()).map(|step| recording.event(step)));
        }
        Ok(report)
    });
    let report = match report {
        Ok(report) => report,
        Err(Failure { message, help, .. }) => {
            let help = help.map(|help| format!("help: {help}"));
            return (std::iter::once(message).chain(help).collect(), true);
        }
    };
    match report.unmet {
        Some(mut unmet) => {
            if !unmet.is_empty() {
                unmet.push(format!("`{command}` shows it: {}: {}", report.result.name(), report.because));
            }
            (unmet, false)
        }
        None if report.exit == Exit::Ok => (Vec::new(), false),
        // Without an expectation the run must end well.
        None => {
            let what = report.violations.first().map_or(&report.because, |violation| &violation.message);
            (vec![format!("{}: {what}", report.result.name())], false)
        }
    }
}

/// The folder of a scenario below the folder of all, by the user's path: never one outside of it.
fn folder_of(path: &Path) -> PathBuf {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("_")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    let path = parts.collect::<PathBuf>();
    let folder = path.with_extension("");
    // Files of a run are no tests, but would be in a folder of this name.
    if folder.ends_with(SCENARIOS) { path } else { folder }
}

fn line(outcome: &Outcome) -> String {
    let state = if outcome.wrong.is_empty() { "ok    " } else { "FAILED" };
    let mut text = format!("{state}  {}  {:.2} s\n", on_one_line(&outcome.name), outcome.time.as_secs_f64());
    for wrong in &outcome.wrong {
        text.push_str(&format!("        {}\n", shortened(on_one_line(wrong))));
    }
    text
}

/// The mismatches as commands of a GitHub workflow: <https://docs.github.com/actions/reference/workflow-commands>.
fn annotations(outcome: &Outcome) -> String {
    let escaped = |text: &str| {
        let lines: Vec<String> = text.lines().map(on_one_line).collect();
        lines.join("\n").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
    };
    // In a parameter, separators of parameters are escaped as well.
    let file = escaped(&outcome.name).replace(':', "%3A").replace(',', "%2C");
    let lines = outcome.wrong.iter().map(|wrong| format!("::error file={file},title=host test::{}\n", escaped(wrong)));
    lines.collect()
}

fn summary(outcomes: &[Outcome], left: usize, time: Duration) -> String {
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    let left = if left == 0 { String::new() } else { format!(", {left} not run") };
    format!("\n{} passed, {failed} failed{left} in {:.2} s\n", outcomes.len() - failed, time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_scenario_is_below_the_folder() {
        let folder = |path: &str| folder_of(Path::new(path)).to_string_lossy().into_owned();
        assert_eq!(folder("./ring/scenarios/lost.toml"), "ring/scenarios/lost");
        assert_eq!(folder("../ring/./a.scenario.toml"), "_/ring/a.scenario");
        assert_eq!(folder("/ring/a.toml"), "ring/a");
        assert_eq!(folder("ring/scenarios.toml"), "ring/scenarios.toml");
    }

    #[test]
    fn annotations_are_escaped() {
        let wrong = vec!["50% of a\nb".to_owned(), "more".to_owned()];
        let name = "a,b.toml".to_owned();
        let outcome = Outcome { name, wrong, is_error: false, events: Vec::new(), time: Duration::ZERO };
        let expected = "::error file=a%2Cb.toml,title=host test::50%25 of a%0Ab\n\
                        ::error file=a%2Cb.toml,title=host test::more\n";
        assert_eq!(annotations(&outcome), expected);
    }
}
