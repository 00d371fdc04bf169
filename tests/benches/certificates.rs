//! The share of dead states of the bundled protocols that a certificate proves, and the time per certificate.
//!
//! For each scenario that expects a dead state and begins after `init`, all global states are explored, up to a bound. The complete graph
//! shows which states are dead; a certificate is requested for each of them, or for an even sample, and timed.
//!
//! `cargo bench -p host-tests --bench certificates [-- <part of a path>]`
#![allow(clippy::print_stdout, reason = "the table is what a bench is for")]

use std::path::{Path, PathBuf};

use host_model::lts::Stepper;
use host_model::trace::start::{self, Start};
use host_search::graph::{self, Expanded, GraphEdge, GraphSink, GraphState};
use host_search::kernel::{EndCondition, Progress, Search, SearchBounds, Unmonitored};
use host_search::liveness::{FAR, Recorder, Watch, distances};
use host_search::outlook::certificate::certify;
use host_tests::{opened, processor_seconds};

/// Scenarios with more states are skipped.
const STATES_MAX: u64 = 300_000;

/// The maximum number of dead states per promise for which a certificate is requested.
const ASKED_MAX: usize = 2_000;

/// Records a graph with its states.
struct States<'l> {
    recorder: Recorder<'l>,
    states: Vec<Start>,
}

impl GraphSink for States<'_> {
    fn state(&mut self, state: &GraphState<'_>) {
        let (locals, in_flight) = (state.locals.to_vec(), state.in_flight.to_vec().into());
        self.states.push(Start { locals, in_flight, ..Start::default() });
        self.recorder.state(state);
    }

    fn edge(&mut self, edge: &GraphEdge<'_>) {
        self.recorder.edge(edge);
    }

    fn expanded(&mut self, expanded: &Expanded<'_>) {
        self.recorder.expanded(expanded);
    }

    fn bytes(&self) -> u64 {
        self.recorder.bytes()
    }
}

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the tests lie in the tree");
    println!("| scenario | states | dead, of each promise | proven | median µs | 99 % µs | longest µs |");
    println!("|---|---|---|---|---|---|---|");
    for scenario in scenarios(&root).iter().filter(|path| path.to_string_lossy().contains(&wanted)) {
        let name = scenario.strip_prefix(root.join("plugins")).expect("it is below").display().to_string();
        match measure(scenario, &root) {
            Some(rows) => rows.iter().for_each(|row| println!("| {name} | {row} |")),
            None => println!("| {name} | more than {STATES_MAX} | | | | | |"),
        }
    }
}

/// The scenarios that expect a dead state and begin after `init`.
fn scenarios(root: &Path) -> Vec<PathBuf> {
    let read = |folder: &Path| {
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("it is readable").path())
    };
    let plugins = read(&root.join("plugins"));
    let mut files: Vec<PathBuf> =
        plugins.flat_map(|plugin| read(&plugin.join("scenarios")).collect::<Vec<_>>()).collect();
    files.retain(|file| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.contains("class = \"dead\"") && !text.contains("prefix")
    });
    files.sort_unstable();
    files
}

/// A row for each promise that has dead states; none if the space is too large.
fn measure(scenario: &Path, root: &Path) -> Option<Vec<String>> {
    let (spec, cluster) = opened(scenario, root, None);
    let lts = cluster.lts(cluster.factory()).expect("a machine");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
    let bounds = SearchBounds {
        states: Some(STATES_MAX),
        local_events: spec.search.local_events,
        violations: Some(u64::MAX),
        ..SearchBounds::default()
    };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let mut sink = States { recorder: Recorder::new(&lts), states: Vec::new() };
    let report = graph::explore(&search, &mut sink).expect("no host fault");
    if !matches!(report.end, EndCondition::SpaceExhausted | EndCondition::LocalEventBound) {
        return None;
    }
    let graph = sink.recorder.finish().graph;
    let mut stepper = Stepper::new(&lts).expect("a machine");
    let recovery = spec.search.recover_by.unwrap_or_default();
    let mut rows = Vec::new();
    for (index, promise) in lts.promises().into_iter().enumerate() {
        let watch = &mut Watch::new(&Unmonitored, Progress::default());
        let distances = distances(&graph, index, recovery, watch).expect("nothing ends it");
        let dead: Vec<usize> = (0..distances.len()).filter(|state| distances[*state] == FAR).collect();
        if dead.is_empty() {
            continue;
        }
        let mut proven = 0;
        let mut micros: Vec<f64> = Vec::new();
        for state in dead.iter().step_by(dead.len().div_ceil(ASKED_MAX)) {
            let began = processor_seconds();
            let certified = certify(&mut stepper, &sink.states[*state], promise, recovery, &mut |_| None);
            micros.push((processor_seconds() - began) * 1e6);
            proven += usize::from(certified.expect("a machine").is_dead);
        }
        micros.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| micros[((micros.len() - 1) as f64 * part) as usize];
        rows.push(format!(
            "{} | {} | {proven} of {} | {:.1} | {:.1} | {:.1}",
            distances.len(),
            dead.len(),
            micros.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        ));
    }
    Some(rows)
}
