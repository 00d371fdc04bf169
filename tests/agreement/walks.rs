//! Random walks: what the seed decides, weights, coverage.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use host_agreement::reference::{self, System};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;
use host_search::kernel::weights::Weights;
use host_search::kernel::{End, Limits, Report, Search, Unmonitored};
use host_search::strategy::random_walk;

fn run(toy: &Toy, limits: Limits) -> Report {
    run_numbers(toy, limits, 0..limits.walks.unwrap_or(random_walk::WALKS_DEFAULT))
}

fn run_numbers(toy: &Toy, limits: Limits, numbers: Range<u64>) -> Report {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = start::initial(&mut stepper).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, limits, monitor: &Unmonitored, collect_system_states: false };
    random_walk::run_numbers(&search, numbers).expect("a toy has no host faults")
}

fn limits(seed: u64, walks: u64) -> Limits {
    Limits { seed: Some(seed), walks: Some(walks), ..Limits::default() }
}

/// A system without violations whose walks have many ways to go.
fn wide() -> Toy {
    let mut toy = Toy::new(3);
    for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)] {
        toy = toy.in_flight(from, to, 3);
        for (state, content) in [(0, 3), (1, 3), (1, 2), (2, 2), (2, 1), (0, 1)] {
            toy = toy.rule(to, state, ToyTrigger::Message(from, content), (state + 1) % 3, &[(from, content - 1)]);
        }
    }
    toy
}

/// Everything of a report that a walk can differ in.
fn summary(report: &Report) -> impl PartialEq + Ord + std::fmt::Debug + use<> {
    let counts = report.counts;
    let paths: Vec<usize> = report.violations.iter().map(|found| found.path.len()).collect();
    (counts.transitions, counts.local_states, counts.outcomes, counts.walks, counts.walks_ended, report.depth, paths)
}

#[test]
fn the_seed_decides() {
    let toy = wide();
    let summaries: BTreeSet<_> = (0..20)
        .map(|seed| {
            let (once, again) = (run(&toy, limits(seed, 10)), run(&toy, limits(seed, 10)));
            assert_eq!(summary(&once), summary(&again), "seed {seed}");
            summary(&once)
        })
        .collect();
    assert!(summaries.len() > 10, "only {} of 20 seeds differ", summaries.len());
}

/// A walk goes the same way alone and among others.
#[test]
fn a_walk_does_not_depend_on_the_others() {
    let toy = wide();
    let steps = |seed, numbers| run_numbers(&toy, limits(seed, 0), numbers).counts.transitions.expect("steps count");
    for seed in 0..20 {
        let alone: Vec<u64> = (0..30).map(|number| steps(seed, number..number + 1)).collect();
        assert_eq!(steps(seed, 0..30), alone.iter().sum::<u64>(), "seed {seed}");
        assert_eq!(steps(seed, 10..20), alone[10..20].iter().sum::<u64>(), "seed {seed}");
        let distinct: BTreeSet<&u64> = alone.iter().collect();
        assert!(distinct.len() > 1, "seed {seed}: all walks have {} steps, the test says little", alone[0]);
    }
}

/// What walks report is reachable, they find most of what there is in small systems, and they never say that there is
/// nothing.
#[test]
fn walks_find_violations_that_there_are() {
    let (mut found, mut missed) = (0, 0);
    for seed in 0..600 {
        let toy = Toy::random(seed, 3);
        let Some(reached) = reference::search(&System::new(toy.clone()), None, None, 3_000) else { continue };
        let report = run(&toy, limits(1, 300));
        match (report.violations.first(), reached.violation_depth) {
            (Some(violation), Some(depth)) => {
                assert!(violation.path.len() as u32 >= depth, "seed {seed}");
                assert_eq!((report.end, violation.shortest), (End::Violation, false), "seed {seed}");
                found += 1;
            }
            (None, depth) => {
                assert_eq!(report.end, End::WalksDone, "seed {seed}");
                missed += u32::from(depth.is_some());
            }
            (Some(_), None) => panic!("seed {seed}: what was found is not reachable"),
        }
    }
    assert!(found > 100 && missed * 10 < found, "{found} found, {missed} missed");
}

#[test]
fn a_kind_of_weight_zero_does_not_happen() {
    // Node 0 goes on by itself, node 1 by a message.
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(
        1,
        0,
        ToyTrigger::Message(0, 0),
        1,
        &[],
    );
    let weighted = |weights| run(&toy, Limits { weights: Some(weights), ..limits(0, 50) }).counts;
    let all = weighted(Weights::default());
    assert_eq!((all.local_states, all.transitions, all.walks_ended), (Some(2 + 2), Some(2 * 50), Some(50)));
    for weights in [Weights { deliver: 0, ..Weights::default() }, Weights { internal: 0, ..Weights::default() }] {
        let counts = weighted(weights);
        // One step a walk, after which only the other kind is possible: no walk has come to an end.
        assert_eq!((counts.local_states, counts.transitions), (Some(2 + 1), Some(50)));
        assert_eq!((counts.outcomes, counts.walks_ended), (Some(1), Some(0)));
    }
    // Where both are possible, weights of 9 and 1 make one of them likelier to come first.
    let first = |weights: Weights| {
        let forbidden = toy.clone().forbid(&[Some(1), Some(0)]);
        (0..100).filter(move |seed| {
            !run(&forbidden, Limits { weights: Some(weights), ..limits(*seed, 1) }).violations.is_empty()
        })
    };
    let often = first(Weights { internal: 9, ..Weights::default() }).count();
    let seldom = first(Weights { deliver: 9, ..Weights::default() }).count();
    // Of 100 draws 90 and 10 in the mean, with a standard deviation of 3.
    assert!(often > 75 && seldom < 25, "{often} and {seldom}");
}

#[test]
fn a_walk_ends_at_the_bound() {
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(1, 0, ToyTrigger::Message(0, 0), 0, &[(0, 0)]).rule(
        0,
        0,
        ToyTrigger::Message(1, 0),
        0,
        &[(1, 0)],
    );
    for (depth, length) in [(None, random_walk::LENGTH_DEFAULT), (Some(7), 7)] {
        let report = run(&toy, Limits { depth, ..limits(0, 3) });
        assert_eq!((report.end, report.depth), (End::WalksDone, length));
        assert_eq!((report.counts.transitions, report.counts.walks_ended), (Some(3 * u64::from(length)), Some(0)));
    }
}
