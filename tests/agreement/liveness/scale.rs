//! The time and memory of the analysis of a large graph.

use std::time::Instant;

use host_model::toys::Dice;
use host_search::kernel::rules::Rules;
use host_search::liveness::{EventClass, Label, LabelId, StoredGraph};

use super::graphs::judge;

/// States, and edges of each.
const STATES: u32 = 10_000_000;
const EDGES: u32 = 10;

/// The number of states of a level, after the first levels.
const LEVEL: u32 = 1 << 16;

/// A graph that resembles those of protocols explored breadth-first: levels grow to a constant size, most edges lead a
/// little further in the order of discovery, some far, some back. The last part keeps no promise and leads nowhere else.
fn large(states: u32) -> StoredGraph {
    const LABELS: u32 = 6_000;
    let mut dice = Dice(1);
    let mut graph = StoredGraph::new(1);
    for label in 0..LABELS {
        let (class, action) = match label % 16 {
            0 => (EventClass::Free, None),
            1 => (EventClass::Fault, None),
            2 => (EventClass::Timer, Some(label / 16)),
            _ => (EventClass::Delivery, Some(label / 16)),
        };
        graph.add_label(Label::new(class, action));
    }
    let end = end_of(states);
    for state in 0..states {
        let is_owed = state % 64 != 63 || state >= end;
        graph.add_state(parent_of(state), is_owed.then_some(0));
    }
    let mut row: Vec<(u32, LabelId)> = Vec::new();
    for state in 0..states {
        row.clear();
        let first = if state >= end { end } else { 0 };
        let found = found_from(state);
        // Otherwise an edge would find a later state too early.
        let last = found[1].min(states - 1);
        for edge in 0..EDGES {
            let to = match edge {
                0 => state + 1,
                1 => state.saturating_sub(dice.below(1 << 20)),
                2 | 3 => found[edge as usize - 2],
                _ => state + dice.below(1 << (4 + 2 * edge.min(6))),
            };
            // From each state of the first part the next one that keeps the promise is reached, by deliveries.
            let label = if edge == 0 { 3 } else { dice.below(LABELS) };
            row.push((to.clamp(first, last), label));
        }
        graph.add_row(&mut row, false);
    }
    graph
}

/// The state from which a state is found.
fn parent_of(state: u32) -> Option<u32> {
    (state > 0).then(|| (state / 2).max(state.saturating_sub(LEVEL)))
}

/// The first and the last state that are found from a state.
fn found_from(state: u32) -> [u32; 2] {
    [(2 * state).max(1), 2 * state + 1].map(|found| found.min(state + LEVEL))
}

/// The beginning of the last part: behind a state that keeps the promise.
fn end_of(states: u32) -> u32 {
    (states - states / 20) / 64 * 64
}

/// Prints the figures of docs/benchmarks.md: `cargo test --release -p host-agreement --test agreement -- --ignored --nocapture scale`.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are the result")]
#[ignore = "takes a minute and a gigabyte"]
fn scale_of_ten_million_states() {
    let started = Instant::now();
    let graph = large(STATES);
    let bytes = graph.bytes();
    let per_edge = bytes as f64 / graph.edges() as f64;
    println!(
        "{} states, {} edges, {per_edge:.2} bytes per edge, {:?}",
        graph.states(),
        graph.edges(),
        started.elapsed()
    );
    let verdicts = [1, 2].map(|workers| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
        let started = Instant::now();
        let verdict = pool.install(|| judge(&graph, 0, Rules::default()));
        println!("judged in {:?} by {workers}", started.elapsed());
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("the peak is not known"));
        verdict
    });
    assert_eq!(verdicts[0], verdicts[1]);
    let [verdict, _] = verdicts;
    println!("{} live, {} dead, {} critical", verdict.live_states, verdict.dead_states, verdict.critical_edges());
    println!("{} fair, lasso {:?}", verdict.fair_components, verdict.lasso.map(|lasso| lasso.cycle.len()));
    assert_eq!(verdict.dead_states, u64::from(STATES - end_of(STATES)));
}
