//! The same result for any number of workers, and after one process was stopped and another one continued.

use std::sync::atomic::Ordering;

use host_agreement::effort;
use host_agreement::stopping::Stopping;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::kernel::{EndCondition, Monitor, Report, Search, SearchBounds};
use host_search::strategy::STRATEGIES;

use crate::global::for_random_systems;

/// The report of a strategy, except for times: ids are part of it, so they must not depend on the workers either.
fn run(toy: &Toy, name: &str, bounds: SearchBounds, workers: usize, monitor: &(dyn Monitor + Sync)) -> Report {
    run_on(Network::Unordered, toy, name, bounds, workers, monitor)
}

fn run_on(
    network: Network,
    toy: &Toy,
    name: &str,
    bounds: SearchBounds,
    workers: usize,
    monitor: &(dyn Monitor + Sync),
) -> Report {
    let factory = std::sync::Arc::new(toy.clone());
    let scenario = Scenario { network, ..Scenario::new(toy.nodes) };
    let lts = Lts::new(&factory, scenario).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor, collect_system_states: false };
    with_workers(workers, name, &search)
}

/// The report of a strategy with this many workers.
pub fn with_workers(workers: usize, name: &str, search: &Search<'_>) -> Report {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
    let strategy = host_search::strategy::find(name).expect("the strategy is in the table");
    pool.install(|| (strategy.run)(search)).expect("a toy has no host faults")
}

/// Compares two reports except for times and memory.
pub fn same(one: &Report, other: &Report, what: &str) {
    assert_eq!((one.end, one.counts, one.depth), (other.end, other.counts, other.depth), "{what}");
    assert_eq!((&one.violations, &one.witnessed), (&other.violations, &other.witnessed), "{what}");
}

#[test]
fn results_do_not_depend_on_the_number_of_workers() {
    // The larger systems: rounds of few states are not shared.
    let mut tried = 0;
    for_random_systems(SearchBounds::default(), |seed, toy, reached| {
        if reached.global_states < 1_500 || tried == 20 {
            return;
        }
        tried += 1;
        for strategy in STRATEGIES.iter().filter(|strategy| !strategy.name.starts_with("dpor")) {
            let bounds = SearchBounds::default();
            let monitor = host_search::kernel::Unmonitored;
            let one = run(toy, strategy.name, bounds, 1, &monitor);
            for workers in [2, 5] {
                let many = run(toy, strategy.name, bounds, workers, &monitor);
                same(&one, &many, &format!("seed {seed}, {} with {workers} workers", strategy.name));
            }
        }
    });
    effort::telling(tried >= effort::enough(20), format_args!("only {tried} systems are large enough"));
}

/// The same for breadth-first searches, with any bound that ends them, in the middle of a batch as well.
#[test]
fn breadth_first_results_do_not_depend_on_the_number_of_workers() {
    let monitor = host_search::kernel::Unmonitored;
    let (mut tried, mut violated) = (0, 0);
    for seed in 0.. {
        let toy = &Toy::random(seed, 4);
        let all = SearchBounds { violations: Some(u64::MAX), states: Some(20_000), ..SearchBounds::default() };
        for (network, name) in [(Network::Ordered, "bdfs"), (Network::Unordered, "consequence")] {
            let whole = run_on(network, toy, name, all, 1, &monitor);
            let states = whole.counts.global_states.expect("it counts them");
            if states < 1_500 {
                continue;
            }
            tried += 1;
            violated += u64::from(!whole.violations.is_empty());
            let depth = Some(whole.depth / 2);
            let bounds = [
                all,
                SearchBounds { violations: None, ..all },
                SearchBounds { states: Some(states / 2), ..all },
                SearchBounds { depth, local_events: Some(1), ..all },
            ];
            for bounds in bounds {
                let one = run_on(network, toy, name, bounds, 1, &monitor);
                for workers in [2, 5] {
                    let many = run_on(network, toy, name, bounds, workers, &monitor);
                    same(&one, &many, &format!("seed {seed}, {name}, {workers} workers, {bounds:?}"));
                }
            }
        }
        if tried >= 6 {
            break;
        }
    }
    assert!(violated > 2, "{violated} of {tried}: the test says little");
}

/// Stopped after each round, with a new process for the next one, a search ends with the counts of one that was
/// never stopped.
#[test]
fn a_search_in_pieces_ends_like_one_in_one_piece() {
    let mut tried = 0;
    let (mut runs, mut all_pieces) = (0, 0);
    for_random_systems(SearchBounds::default(), |seed, toy, reached| {
        if reached.global_states < 500 || tried == 50 {
            return;
        }
        tried += 1;
        // The search for a shorter counterexample is not saved, so there is none to look for.
        let toy = &Toy { forbidden: Vec::new(), ..toy.clone() };
        let kept = STRATEGIES.iter().filter(|strategy| strategy.keeps_checkpoints);
        for (strategy, network) in
            kept.flat_map(|row| [Network::Unordered, Network::Ordered].map(|network| (row, network)))
        {
            let bounds = SearchBounds { states: Some(3_000), ..SearchBounds::default() };
            let run =
                |workers, monitor: &(dyn Monitor + Sync)| run_on(network, toy, strategy.name, bounds, workers, monitor);
            let whole = run(1, &host_search::kernel::Unmonitored);
            let keeper = Stopping::default();
            let mut pieces = 0;
            let last = loop {
                pieces += 1;
                keeper.checks_left.store(1, Ordering::Relaxed);
                let report = run(2, &keeper);
                if report.end != EndCondition::Interrupted {
                    break report;
                }
            };
            (runs, all_pieces) = (runs + 1, all_pieces + pieces);
            let what = format!("seed {seed}, {} on {network} in {pieces} pieces", strategy.name);
            same(&whole, &last, &what);
            assert_eq!(whole.levels, last.levels, "{what}");
        }
    });
    assert!(all_pieces > 5 * runs, "{all_pieces} pieces of {runs} searches say little");
    effort::telling(tried >= effort::enough(50), format_args!("{tried} systems"));
}

/// A checkpoint of one system is refused by another one.
#[test]
fn a_checkpoint_of_another_system_is_refused() {
    let (one, other) = (Toy::random(1, 3), Toy::random(2, 3));
    let keeper = Stopping::default();
    keeper.checks_left.store(2, Ordering::Relaxed);
    assert_eq!(run(&one, "bdfs", SearchBounds::default(), 1, &keeper).end, EndCondition::Interrupted);
    let factory = std::sync::Arc::new(other.clone());
    let lts = Lts::new(&factory, Scenario::new(other.nodes)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let bounds = SearchBounds::default();
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &keeper, collect_system_states: false };
    let refused = host_search::strategy::bdfs::run(&search).expect_err("it is of another system");
    assert_eq!(refused, host_search::kernel::SearchError::Checkpoint);
}
