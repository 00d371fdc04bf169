//! `cargo run --release -p host-tests --bin portfolio -- [SECONDS] [WORD]`: `auto` compared with each of its members alone, on the plugins
//! as they are and on each deliberate mistake in the tree. Prints a table in Markdown: seconds of search, `> 20` where the bound on
//! time ended it, and the ratio of `auto` to the best of the others. With a word, only the rows that have it in their names.
//!
//! `cargo run --release -p host-tests --bin portfolio -- units [SECONDS] [WORD]`: the processor time of each member in `auto`, and the
//! nanoseconds that one of its units of work takes there. Promises are left out.
//!
//! A row is a scenario in `plugins/*/scenarios` without its strategy and bounds, or a plugin with its defaults.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host_model::lts::Stepper;
use host_model::trace::start;
use host_search::kernel::{EndCondition, Monitor, Progress, Search};
use host_search::strategy::auto;
use host_session::base::context::system_clock;
use host_session::search::limits;
use host_tests::{opened, processor_seconds};
use serde_json::Value;

/// The columns, as options of `host run`.
const STRATEGIES: [&[&str]; 7] = [
    &["auto"],
    &["bdfs"],
    &["bdfs", "--reduce"],
    &["unfold"],
    &["lmc"],
    &["walk", "--walks", "1000000000"],
    &["guided", "--walks", "1000000000"],
];

/// The search options of a scenario: the beginnings of its sections and of its lines.
const SECTIONS: [&str; 2] = ["[bounds", "[expect"];
const LINES: [&str; 10] =
    ["algo", "reduce", "no-symmetry", "count-system-states", "walks", "seed", "weights", "schedule", "goal", "avoid"];

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let is_of_units = words.next_if_eq("units").is_some();
    let seconds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(20);
    let wanted = words.next().unwrap_or_default();
    if is_of_units {
        return units(Duration::from_secs(seconds), &wanted);
    }
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

/// Names, files for `host run`, and the text to write into a missing file.
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
        clock: system_clock(),
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

/// Seconds to an answer; none without one. Most members leave `eventually` properties open.
fn ended(result: &Value) -> Option<f64> {
    let has_answer = matches!(result["end"].as_str(), Some("space-exhausted" | "violation"));
    has_answer.then(|| result["seconds"]["search"].as_f64())?
}

fn cell(result: &Value, seconds: u64) -> String {
    match (ended(result), result["result"].as_str(), result["violations"][0]["found_length"].as_u64()) {
        (Some(seconds), _, Some(length)) => format!("{seconds:.3}, {length}"),
        (Some(seconds), ..) => format!("{seconds:.3}"),
        (None, Some("incomplete"), _) => format!("> {seconds}"),
        _ => "refused".to_owned(),
    }
}

/// The members of `auto`.
const MEMBERS: [&str; 6] = ["bdfs", "unfold", "bdfs --reduce", "walk", "lmc-opt", "guided"];

/// Less processor time is too noisy.
const SECONDS_MIN: f64 = 0.2;

/// Prints the processor time of each member and of its units; at the end the medians of these.
fn units(seconds: Duration, wanted: &str) {
    println!("| what | {} |", MEMBERS.map(|name| format!("`{name}`")).join(" | "));
    println!("|---{}|", "|---".repeat(MEMBERS.len()));
    let mut measured: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, plugin, scenario) in rows(wanted) {
        if let Some(scenario) = &scenario {
            std::fs::write(&plugin, scenario).expect("the folder can be written");
        }
        let taken = turns(&plugin, seconds);
        if scenario.is_some() {
            std::fs::remove_file(&plugin).expect("it was written above");
        }
        let cells = MEMBERS.map(|member| {
            let Some(&(seconds, units)) = taken.get(member) else { return String::new() };
            let each = seconds * 1e9 / units as f64;
            if seconds < SECONDS_MIN {
                return format!("{seconds:.3} s");
            }
            measured.entry(member).or_default().push(each);
            format!("{seconds:.3} s, {each:.0} ns")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    let medians = MEMBERS.map(|member| {
        let Some(all) = measured.get_mut(member) else { return String::new() };
        all.sort_by(f64::total_cmp);
        format!("{:.0} ns of {}", all[all.len() / 2], all.len())
    });
    println!("| median | {} |", medians.join(" | "));
}

/// Seconds of processor time and units of work by member, of `auto` until it has the answer, or for a limited time.
fn turns(plugin: &Path, seconds: Duration) -> Taken {
    let cache = host::default_cache();
    let (spec, cluster) = opened(plugin, Path::new(""), cache.as_deref());
    let lts = cluster.lts(cluster.factory()).expect("a machine");
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let starts = match &cluster.prefix {
        None => start::initial(&mut stepper).expect("it starts"),
        Some(trace) => vec![start::follow(&mut stepper, trace).expect("it can be followed")],
    };
    let bounds = limits::limits(&spec).unwrap_or_else(|failure| panic!("{}: {}", plugin.display(), failure.message));
    let meter = Meter { end: Instant::now() + seconds, taken: Mutex::new((processor_seconds(), BTreeMap::new())) };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &meter, collect_system_states: false };
    auto::run(&search).expect("no host fault");
    meter.taken.into_inner().expect("no panic").1
}

/// Attributes processor time to the member whose turn it is: the others wait.
struct Meter {
    end: Instant,
    /// The processor time when the turn began, and the time of each member.
    taken: Mutex<(f64, Taken)>,
}

/// Seconds of processor time and units of work, by member.
type Taken = BTreeMap<&'static str, (f64, u64)>;

impl Monitor for Meter {
    fn check(&self, _: &Progress) -> Option<EndCondition> {
        (Instant::now() > self.end).then_some(EndCondition::TimeBound)
    }

    fn runs(&self, _: &'static str) {
        self.taken.lock().expect("no panic").0 = processor_seconds();
    }

    fn rests(&self, strategy: &'static str, units: u64) {
        let (began, taken) = &mut *self.taken.lock().expect("no panic");
        let now = processor_seconds();
        let member = taken.entry(strategy).or_default();
        *member = (member.0 + now - *began, units);
        *began = now;
    }
}
