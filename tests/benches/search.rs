//! Time and memory of the strategies on Paxos in the sandbox, side by side in one run.
//!
//! `cargo bench -p host-tests --bench search [-- <part of a row's name>]`
#![allow(clippy::print_stdout, reason = "the table is what a bench is for")]

use std::time::Instant;

use host_model::lts::Lts;
use host_model::scenario::Scenario;
use host_model::start;
use host_model::stepper::Stepper;
use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use host_search::kernel::{Limits, Search, Unmonitored};
use host_search::table;

/// One row of the table: a name, a strategy, parameters and a bound on states.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)], Option<u64>);

const ONE: &[(&str, &str)] = &[];
const TWO: &[(&str, &str)] = &[("proposers", "2")];
const BUG: &[(&str, &str)] = &[("proposers", "2"), ("bug", "last-response")];

const ROWS: &[Row] = &[
    ("one-proposal", "bdfs", ONE, None),
    ("one-proposal", "lmc-gen", ONE, None),
    ("one-proposal", "lmc-opt", ONE, None),
    ("one-proposal", "unfold", ONE, None),
    ("one-proposal", "dpor", ONE, None),
    ("two-proposals-5M-states", "bdfs", TWO, Some(5_000_000)),
    ("two-proposals-bug", "walk", BUG, None),
    ("two-proposals-bug", "bdfs", BUG, None),
    ("two-proposals-bug", "unfold", BUG, None),
    ("two-proposals-bug", "lmc-opt", BUG, None),
    ("two-proposals", "unfold", TWO, None),
    ("two-proposals", "lmc-opt", TWO, None),
];

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).unwrap_or_default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/paxos");
    let built = host_build::build(folder.as_ref(), &host_build::Options::default(), &mut |_| {}).expect("paxos builds");
    let bytes = std::fs::read(built.wasm).expect("the component is there");
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("the engine starts");
    let plugin = Plugin::load(&sandbox, &bytes).expect("paxos loads");
    println!(
        "| case | strategy | end | seconds | states or events | transitions | transitions/s | handlers | peak MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in ROWS.iter().filter(|(case, algo, ..)| format!("{case} {algo}").contains(&wanted)) {
        measure(&plugin, row);
    }
}

fn measure(plugin: &Plugin, (case, algo, parameters, states): &Row) {
    let mut scenario = Scenario::new(3);
    scenario.parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let lts = Lts::new(plugin, scenario).expect("paxos lists its properties");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let starts = start::initial(&mut stepper).expect("paxos starts");
    let search = Search {
        lts: &lts,
        starts: &starts,
        limits: Limits { states: *states, ..Limits::default() },
        monitor: &Unmonitored,
        collect_system_states: false,
    };
    let began = Instant::now();
    let report = (table::find(algo).expect("a strategy").run)(&search).expect("no host fault");
    let seconds = began.elapsed().as_secs_f64();
    let counts = report.counts;
    let states =
        counts.global_states.or(counts.events).or(counts.executions).or(counts.local_states).unwrap_or_default();
    let transitions = counts.transitions.unwrap_or_default();
    println!(
        "| {case} | {algo} | {} | {seconds:.3} | {states} | {transitions} | {:.0} | {} | {} |",
        report.end.name(),
        transitions as f64 / seconds,
        counts.handler_calls.unwrap_or_default(),
        peak_mb(),
    );
}

/// The peak of the process so far, where the system tells.
fn peak_mb() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kb.map_or_else(|| "?".to_owned(), |kb| (kb / 1024).to_string())
}
