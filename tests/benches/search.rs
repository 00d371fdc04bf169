//! Time and memory of the strategies on Paxos in the sandbox, measured in one run.
//!
//! `cargo bench -p host-tests --bench search [-- <part of a row's name>]`
#![allow(clippy::print_stdout, reason = "the table is what a bench is for")]

use std::time::Instant;

use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::{Plugin, Sandbox, SandboxConfig, process_bytes};
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use host_search::strategy;

/// One row of the table.
struct Row {
    case: &'static str,
    algo: &'static str,
    nodes: u32,
    parameters: &'static [(&'static str, &'static str)],
    states: Option<u64>,
    reduce: bool,
    workers: usize,
}

const ONE: &[(&str, &str)] = &[];
const TWO: &[(&str, &str)] = &[("proposers", "2")];
const THREE: &[(&str, &str)] = &[("proposers", "3")];
const BUG: &[(&str, &str)] = &[("proposers", "2"), ("bug", "last-response")];

/// Three nodes, one worker, no bound.
const fn row(case: &'static str, algo: &'static str, parameters: &'static [(&'static str, &'static str)]) -> Row {
    Row { case, algo, nodes: 3, parameters, states: None, reduce: false, workers: 1 }
}

const ROWS: &[Row] = &[
    row("one-proposal", "bdfs", ONE),
    row("one-proposal", "lmc-gen", ONE),
    row("one-proposal", "lmc-opt", ONE),
    row("one-proposal", "unfold", ONE),
    row("one-proposal", "dpor", ONE),
    Row { states: Some(5_000_000), ..row("two-proposals-5M-states", "bdfs", TWO) },
    Row { states: Some(5_000_000), workers: 2, ..row("two-proposals-5M-states", "bdfs", TWO) },
    row("two-proposals-bug", "walk", BUG),
    row("two-proposals-bug", "bdfs", BUG),
    Row { reduce: true, ..row("two-proposals-bug-reduced", "bdfs", BUG) },
    row("two-proposals-bug", "unfold", BUG),
    row("two-proposals-bug", "lmc-opt", BUG),
    Row { reduce: true, ..row("two-proposals-reduced", "bdfs", TWO) },
    row("two-proposals", "unfold", TWO),
    Row { workers: 2, ..row("two-proposals", "unfold", TWO) },
    row("two-proposals", "lmc-opt", TWO),
    Row { workers: 2, ..row("two-proposals", "lmc-opt", TWO) },
    Row { nodes: 5, ..row("one-proposal-five-nodes", "unfold", ONE) },
    Row { nodes: 5, reduce: true, ..row("one-proposal-five-nodes-reduced", "bdfs", ONE) },
    Row { reduce: true, ..row("three-proposals-reduced", "bdfs", THREE) },
    Row { reduce: true, workers: 2, ..row("three-proposals-reduced", "bdfs", THREE) },
];

/// Takes a minute and a half and 2 GB, so it runs only if named.
const COMPLETE: &[Row] = &[Row { workers: 2, ..row("complete-two-proposals", "bdfs", TWO) }];

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).unwrap_or_default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/paxos");
    let built = host_build::build(folder.as_ref(), &host_build::Options::default(), &mut |_| {}).expect("paxos builds");
    let bytes = std::fs::read(built.wasm).expect("the component is there");
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("the engine starts");
    let plugin = Plugin::load(&sandbox, &bytes).expect("paxos loads");
    println!(
        "| case | strategy | workers | end | seconds | states or events | transitions | transitions/s | handlers | peak MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let complete = COMPLETE.iter().filter(|_| wanted.starts_with("complete"));
    for row in ROWS.iter().chain(complete).filter(|row| format!("{} {}", row.case, row.algo).contains(&wanted)) {
        measure(&plugin, row);
    }
}

fn measure(plugin: &Plugin, row: &Row) {
    let Row { case, algo, nodes, parameters, states, reduce, workers } = row;
    let mut scenario = Scenario::new(*nodes);
    scenario.parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let lts = Lts::new(plugin, scenario).expect("paxos lists its properties");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let starts = start::initial(&mut stepper).expect("paxos starts");
    let search = Search {
        lts: &lts,
        starts: &starts,
        bounds: SearchBounds { states: *states, reduce: *reduce, ..SearchBounds::default() },
        monitor: &Unmonitored,
        collect_system_states: false,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(*workers).build().expect("threads can be started");
    let run = strategy::find(algo).expect("a strategy").run;
    let began = Instant::now();
    let report = pool.install(|| run(&search)).expect("no host fault");
    let seconds = began.elapsed().as_secs_f64();
    let counts = report.counts;
    let states =
        counts.global_states.or(counts.events).or(counts.executions).or(counts.local_states).unwrap_or_default();
    let transitions = counts.transitions.unwrap_or_default();
    println!(
        "| {case} | {algo} | {workers} | {} | {seconds:.3} | {states} | {transitions} | {:.0} | {} | {} |",
        report.end.name(),
        transitions as f64 / seconds,
        counts.handler_calls.unwrap_or_default(),
        peak_mb(),
    );
}

/// The peak memory of the process so far, if the system reports it.
fn peak_mb() -> String {
    process_bytes("VmHWM:").map_or_else(|| "?".to_owned(), |bytes| (bytes >> 20).to_string())
}
