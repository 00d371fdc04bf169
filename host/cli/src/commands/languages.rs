//! `host languages`: one protocol in many languages, side by side.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use host_build::{BuildError, Options, TOOLCHAINS};
use host_model::scenario::Scenario;
use host_session::Request;
use host_session::base::text::{bytes, grouped, json_text, on_one_line, rounded};
use host_session::base::{Exit, Failure};
use host_session::cluster::plugin_source;
use host_session::report::RunReport;
use host_session::spec::{RunSpec, Source, limits};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::doctor::{NODES, captured_globals, finding, microseconds};
use crate::environment::Environment;
use crate::options::plugins::LanguagesArguments;
use host_session::conformance::examine;

/// The reference plugin; its folder has the plugins that are compared by default.
const YARDSTICK: &str = "plugins/register";

/// The maximum number of executed handlers in the examination.
const STEPS: u64 = 1000;

/// The counts that must be equal.
const COUNTS: [&str; 5] = ["global_states", "transitions", "local_states", "system_states", "messages"];

/// The results of one language.
#[derive(Debug, Serialize)]
struct Row {
    plugin: String,
    language: &'static str,
    /// The tool, and where it was found.
    tool: String,
    build_seconds: f64,
    component_bytes: u64,
    /// Globals, which are state outside of linear memories.
    globals: u64,
    /// Those of them shared between modules.
    shared_globals: u64,
    /// Microseconds for restore, handler, encoding, local events and capture.
    step_microseconds: Option<f64>,
    /// The part without restore and capture.
    calls_microseconds: Option<f64>,
    snapshot_bytes: Option<u64>,
    /// The deviations found in the examination; empty if there are none.
    findings: Vec<String>,
    /// The verdict of the search.
    result: String,
    counts: Value,
}

/// Builds each plugin, examines it, and explores its states; then compares.
pub fn run(arguments: &LanguagesArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let paths = match arguments.plugins.is_empty() {
        true => bundled(environment)?,
        false => arguments.plugins.clone(),
    };
    let mut rows: Vec<Result<Row, String>> = Vec::new();
    for path in &paths {
        let source = Source { is_further: !rows.is_empty(), ..arguments.source.into() };
        let row = measure(path, source, arguments, environment)?;
        // The row of an interrupted search cannot be compared.
        if environment.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::stopped("interrupted"));
        }
        rows.push(row.map_err(|why| format!("{}: {why}", path.display())));
    }
    let found: Vec<&Row> = rows.iter().flatten().collect();
    let differs = found.windows(2).any(|pair| (&pair[0].result, &pair[0].counts) != (&pair[1].result, &pair[1].counts));
    let is_unfit = found.iter().any(|row| !row.findings.is_empty());
    let missing: Vec<&String> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    environment.print(&match arguments.json {
        true => json_text(&json!({ "rows": found, "missing": missing, "equal": !differs })),
        false => text(&found, &missing, differs),
    })?;
    Ok(if differs || is_unfit { Exit::Unexpected } else { Exit::Ok })
}

/// The register in all languages.
fn bundled(environment: &Environment<'_>) -> Result<Vec<PathBuf>, Failure> {
    let yardstick = Path::new(YARDSTICK);
    let folder = yardstick.parent().expect("the path has a folder before its name");
    let none = || {
        let failure = Failure::configuration(format_args!("there is no folder {YARDSTICK} here"));
        failure.help("name the plugins that are to be compared, the first as the yardstick")
    };
    let entries = std::fs::read_dir(environment.path(folder)).map_err(|_| none())?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    paths.retain(|path| {
        path.to_string_lossy().starts_with(YARDSTICK) && host_build::recognises(&environment.path(path))
    });
    paths.sort();
    if paths.first().is_none_or(|first| first != yardstick) { Err(none()) } else { Ok(paths) }
}

/// The row of one plugin; the inner error is the reason for a missing row.
fn measure(
    path: &Path,
    source: Source,
    arguments: &LanguagesArguments,
    environment: &mut Environment<'_>,
) -> Result<Result<Row, String>, Failure> {
    if !source.quiet {
        environment.tell(&format!("building and running {}", path.display()));
    }
    let install = !source.no_install;
    let stop = Some(environment.context().stops_builds());
    let options = Options { install, again: true, cache: environment.cache.clone(), stop, ..Options::default() };
    // A first build may install tools and fill caches; the measured build is the one after a change.
    let folder = environment.path(path);
    let mut tell = |step: &str| {
        if !source.quiet && step.starts_with("installing") {
            environment.tell(&format!("build: {step}"));
        }
    };
    let failed = |error: BuildError| match error {
        BuildError::Stopped => Err(Failure::stopped(error)),
        error => Ok(Err(error.to_string())),
    };
    if let Err(error) = host_build::build(&folder, &Options { again: false, ..options.clone() }, &mut tell) {
        return failed(error);
    }
    let began = Instant::now();
    let built = match host_build::build(&folder, &options, &mut |_| ()) {
        Ok(built) => built,
        Err(error) => return failed(error),
    };
    let build_seconds = began.elapsed().as_secs_f64();
    let limits = limits::effective(&arguments.limits.given());
    let loaded = plugin_source::load(&built.wasm, source, limits, &mut environment.context())?;
    let nodes = loaded.plugin.about().map_or(NODES, |about| about.nodes);
    let seen = examine(loaded.factory(), &Scenario::new(nodes), STEPS, true)?;
    let inspection = loaded.plugin.inspect();
    let language = TOOLCHAINS.iter().find(|row| row.name == built.toolchain).map_or("", |row| row.language);
    let found = match explore(&built.wasm, arguments, environment) {
        Ok(report) => json!(report),
        Err(failure) => return Ok(Err(failure.message)),
    };
    let counts = COUNTS.iter().map(|name| ((*name).to_owned(), found["counts"][name].clone()));
    Ok(Ok(Row {
        plugin: path.display().to_string(),
        language,
        tool: built.tool,
        build_seconds: rounded(build_seconds),
        component_bytes: inspection.component_bytes as u64,
        globals: captured_globals(inspection),
        shared_globals: inspection.shared_globals as u64,
        step_microseconds: microseconds(&seen).0.map(rounded),
        calls_microseconds: microseconds(&seen).1.map(rounded),
        snapshot_bytes: seen.snapshot_bytes_total.checked_div(seen.steps),
        findings: seen.findings.iter().map(finding).collect(),
        result: found["result"].as_str().unwrap_or_default().to_owned(),
        counts: Value::Object(counts.collect()),
    }))
}

/// The verdict and the counts of a search of a component.
fn explore(
    wasm: &Path,
    arguments: &LanguagesArguments,
    environment: &mut Environment<'_>,
) -> Result<RunReport, Failure> {
    let mut spec = RunSpec::default();
    spec.cluster.plugin = wasm.to_owned();
    spec.cluster.parameters.clone_from(&arguments.set);
    spec.cluster.limits = arguments.limits.given();
    spec.search.algo = Some(arguments.algo);
    spec.process.source.quiet = true;
    let mut log = std::io::sink();
    let context = &mut environment.silent(&mut log);
    Request::new(spec, context)?.report(context)
}

const HEADINGS: [&str; 9] =
    ["plugin", "language", "build", "component", "globals", "step", "calls", "snapshot", "verdict"];

fn text(rows: &[&Row], missing: &[&String], differs: bool) -> String {
    let micros = |each: Option<f64>| each.map_or("-".to_owned(), |each| format!("{each:.1} µs"));
    let mut table = vec![HEADINGS.map(str::to_owned)];
    table.extend(rows.iter().map(|row| {
        [
            row.plugin.clone(),
            row.language.to_owned(),
            format!("{:.1} s", row.build_seconds),
            bytes(row.component_bytes),
            match row.shared_globals {
                0 => row.globals.to_string(),
                shared => format!("{}, {shared} shared", row.globals),
            },
            micros(row.step_microseconds),
            micros(row.calls_microseconds),
            row.snapshot_bytes.map_or("-".to_owned(), |bytes| format!("{} B", grouped(bytes))),
            row.result.clone(),
        ]
    }));
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let line = |row: &[String; 9]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 | 8 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = table.iter().map(line).collect();
    lines.push(String::new());
    lines.push("tools".to_owned());
    lines.extend(rows.iter().map(|row| format!("  {}: {}", row.plugin, on_one_line(&row.tool))));
    let findings = rows.iter().flat_map(|row| row.findings.iter().map(move |found| (row, found)));
    lines.extend(findings.map(|(row, found)| format!("unfit: {}: {found}", row.plugin)));
    lines.extend(missing.iter().map(|why| format!("missing: {}", on_one_line(why))));
    lines.push(String::new());
    match (differs, rows.first()) {
        (_, None) => lines.push("nothing to compare".to_owned()),
        (false, Some(first)) => {
            lines.push(format!("equal counts in {} languages: {}", rows.len(), counts_text(&first.counts)));
        }
        (true, _) => {
            lines.push("the counts differ:".to_owned());
            lines.extend(rows.iter().map(|row| format!("  {}: {}", row.plugin, counts_text(&row.counts))));
        }
    }
    lines.join("\n") + "\n"
}

fn counts_text(counts: &Value) -> String {
    let known = COUNTS.iter().filter_map(|name| Some((name, counts[name].as_u64()?)));
    let words = known.map(|(name, number)| format!("{} {}", grouped(number), name.replace('_', " ")));
    words.collect::<Vec<_>>().join(", ")
}
