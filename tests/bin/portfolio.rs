//! `cargo run --release -p host-tests --bin portfolio -- [SECONDS] [WORD]`: `auto` beside each of its members alone, on the plugins as
//! they are and on each mistake that is in the tree on purpose. Prints a table in Markdown: seconds of search, `> 20` where the bound on
//! time ended it, and the ratio of `auto` to the best of the others. With a word, only the rows that have it in their names.
//!
//! A row is a scenario in `plugins/*/scenarios` without what it says about strategy and bounds, or a plugin with its defaults.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

/// The columns, as options of `host run`.
const STRATEGIES: [&[&str]; 6] =
    [&["auto"], &["bdfs"], &["bdfs", "--reduce"], &["unfold"], &["lmc"], &["walk", "--walks", "1000000000"]];

/// What a scenario says about how to search: the beginnings of its sections and of its lines.
const SECTIONS: [&str; 2] = ["[bounds", "[expect"];
const LINES: [&str; 7] = ["algo", "reduce", "no-symmetry", "count-system-states", "walks", "seed", "weights"];

fn main() {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(20);
    let wanted = words.next().unwrap_or_default();
    let head: Vec<String> =
        STRATEGIES.iter().map(|options| format!("`{}`", options[..options.len().min(2)].join(" "))).collect();
    println!("| what | {} | decided by | auto to best |", head.join(" | "));
    println!("|---{}|---|---|", "|---".repeat(head.len()));
    for (name, plugin, scenario) in rows(&wanted) {
        if let Some(scenario) = &scenario {
            std::fs::write(&plugin, scenario).expect("the folder can be written");
        }
        let results: Vec<Value> = STRATEGIES.iter().map(|options| run(&plugin, options, seconds)).collect();
        let cells: Vec<String> = results.iter().map(|result| cell(result, seconds)).collect();
        let best = results[1..].iter().filter_map(ended).fold(f64::INFINITY, f64::min);
        let ratio = match ended(&results[0]) {
            Some(auto) if best.is_finite() => format!("{:.1}", auto / best.max(0.001)),
            Some(_) => "only auto".to_owned(),
            None if best.is_finite() => "**not in time**".to_owned(),
            None => "none in time".to_owned(),
        };
        let decider = results[0]["decided_by"].as_str().unwrap_or_default();
        if scenario.is_some() {
            std::fs::remove_file(&plugin).expect("it was written above");
        }
        println!("| {name} | {} | {decider} | {ratio} |", cells.join(" | "));
    }
}

/// Names, files for `host run`, and what is to be written into them where they are not there.
fn rows(wanted: &str) -> Vec<(String, PathBuf, Option<String>)> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
    for plugin in listed(&plugins).into_iter().filter(|path| path.join("Cargo.toml").is_file()) {
        let name = plugin.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains(wanted) {
            rows.push((name.clone(), plugin.clone(), None));
        }
        for scenario in listed(&plugin.join("scenarios")) {
            if scenario.extension().is_none_or(|it| it != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&scenario).expect("a scenario can be read");
            let mut is_kept = true;
            let lines = text.lines().filter(|line| {
                if line.starts_with('[') {
                    is_kept = !SECTIONS.iter().any(|section| line.starts_with(section));
                }
                is_kept && !line.starts_with('#') && !LINES.iter().any(|key| line.starts_with(key))
            });
            let what = lines.collect::<Vec<_>>().join("\n");
            if known.insert((plugin.clone(), what.clone())) {
                let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if !format!("{name}, {stem}").contains(wanted) {
                    continue;
                }
                let copy = plugin.join("scenarios").join(format!(".portfolio-{stem}.toml"));
                rows.push((format!("{name}, {stem}"), copy, Some(what)));
            }
        }
    }
    rows
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn run(plugin: &Path, options: &[&str], seconds: u64) -> Value {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut environment = host::Environment {
        stdout: &mut out,
        stderr: &mut err,
        stdin: &mut std::io::empty(),
        stdin_is_terminal: false,
        colours: false,
        stderr_columns: None,
        directory: PathBuf::new(),
        cache: host::default_cache(),
        interrupted: Arc::default(),
        clock: host::system_clock(),
        builds: Default::default(),
    };
    let place = tempfile::tempdir().expect("a temporary folder");
    let time = format!("{seconds}s");
    let words = ["host", "run"].into_iter().map(OsString::from).chain([plugin.into()]);
    let words = words.chain(["--json", "--audit", "off", "--time", &time, "--algo"].map(OsString::from));
    let words = words.chain(options.iter().map(OsString::from)).chain(["--out".into(), place.path().into()]);
    host::run(words, &mut environment);
    serde_json::from_slice(&out).unwrap_or_default()
}

/// Seconds to an answer; none without one.
fn ended(result: &Value) -> Option<f64> {
    matches!(result["result"].as_str(), Some("ok" | "violation")).then(|| result["seconds"]["search"].as_f64())?
}

fn cell(result: &Value, seconds: u64) -> String {
    match (ended(result), result["result"].as_str(), result["violations"][0]["found_length"].as_u64()) {
        (Some(seconds), _, Some(length)) => format!("{seconds:.3}, {length}"),
        (Some(seconds), ..) => format!("{seconds:.3}"),
        (None, Some("incomplete"), _) => format!("> {seconds}"),
        _ => "refused".to_owned(),
    }
}
