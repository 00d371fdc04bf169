//! The stateless strategies on random small systems: the states that they reach, the executions that they need, and their reports.

use std::collections::BTreeSet;

use host_agreement::effort;
use host_agreement::reference::{self, System};
use host_agreement::toys::{self, Ran, Run};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::dpor::DEPTH_DEFAULT;
use host_search::strategy::{dpor, dpor_ds, dpor_ds_tree};

/// The maximum number of configurations: the reference is slow.
const CONFIGURATIONS_MAX: usize = 1_500;

/// The usual number of random systems of a test; `HOST_FUZZ_SYSTEMS` sets another one.
const USUAL: u64 = 500;

fn systems() -> u64 {
    effort::systems(USUAL)
}

fn run(toy: &Toy, bounds: SearchBounds, strategy: Run) -> Ran {
    toys::run(&System::new(toy.clone()), bounds, strategy, true)
}

/// Calls `check` with random systems of tractable size and their configurations.
fn for_random_systems(local_events: Option<u32>, mut check: impl FnMut(u64, &Toy, &reference::Configurations)) {
    let mut tried = 0;
    for seed in 0.. {
        let toy = Toy::random(seed, 3);
        if let Some(found) = reference::configurations(&System::new(toy.clone()), local_events, CONFIGURATIONS_MAX)
            && found.all > 40
        {
            check(seed, &toy, &found);
            tried += 1;
        }
        if tried == systems() {
            return;
        }
    }
}

fn unconstrained(toy: &Toy) -> Toy {
    Toy { forbidden: Vec::new(), ..toy.clone() }
}

/// Every happens-before is explored exactly once, no execution is begun in vain, and exactly the existing findings are found.
#[test]
fn dpor_explores_each_happens_before_once() {
    let (mut most, mut violated) = (0, 0);
    for_random_systems(None, |seed, toy, expected| {
        let ran = run(&unconstrained(toy), SearchBounds::default(), dpor::run);
        assert_eq!(ran.report.counts.executions, Some(expected.maximal), "seed {seed}");
        assert_eq!(ran.report.counts.redundant, Some(0), "seed {seed}");
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "seed {seed}");
        let reached = reference::search(&System::new(toy.clone()), None, None, usize::MAX).expect("there is no bound");
        assert_eq!(ran.system_states, reached.system_states, "seed {seed}");
        let ran = run(toy, SearchBounds::default(), dpor::run);
        assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}");
        assert_eq!(ran.report.end == EndCondition::Violation, ran.confirmed.is_some(), "seed {seed}");
        violated += u64::from(ran.confirmed.is_some());
        assert!(ran.confirmed.is_none_or(|findings| !findings.is_empty()), "seed {seed}");
        most = most.max(expected.maximal);
    });
    let is_telling = most > 100 && violated > effort::share(100, USUAL);
    assert!(is_telling, "at most {most} executions, {violated} violations: the test says little");
}

/// Both algorithms of DPOR-DS: every happens-before is explored at least once, and repeated ones are counted as
/// redundant. The one on the last path, which adds one branch for each first event, is the thriftier one.
#[test]
fn dpor_ds_explores_each_happens_before() {
    let strategies: [Run; 2] = [dpor_ds::run, dpor_ds_tree::run];
    let (mut repeated, mut violated, mut total) = ([0, 0], [0, 0], [0, 0]);
    for_random_systems(None, |seed, toy, expected| {
        let reached = reference::search(&System::new(toy.clone()), None, None, usize::MAX).expect("there is no bound");
        let mut executed = [None, None];
        for (index, strategy) in strategies.into_iter().enumerate() {
            let budget = SearchBounds { states: Some(20_000), ..SearchBounds::default() };
            let ran = run(&unconstrained(toy), budget, strategy);
            if ran.report.end == EndCondition::StateBound {
                continue; // Too many repetitions.
            }
            let (executions, redundant) = (ran.report.counts.executions, ran.report.counts.redundant);
            let distinct = executions.zip(redundant).map(|(all, redundant)| all - redundant);
            assert_eq!(distinct, Some(expected.maximal), "seed {seed}, {index}");
            assert_eq!(ran.system_states, reached.system_states, "seed {seed}, {index}");
            repeated[index] += u64::from(redundant > Some(0));
            executed[index] = executions;
            let ran = run(toy, SearchBounds::default(), strategy);
            assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}, {index}");
            violated[index] += u64::from(ran.confirmed.is_some());
        }
        if let [Some(path), Some(tree)] = executed {
            total = [total[0] + path, total[1] + tree];
        }
    });
    let is_enough = |count: &u64| *count > effort::share(100, USUAL);
    assert!(repeated.iter().all(is_enough), "{repeated:?} with repetitions: the test says little");
    assert!(violated.iter().all(is_enough), "{violated:?} violations: the test says little");
    assert!(total[0] < total[1], "the last path takes {} executions and the tree {}", total[0], total[1]);
}

/// A bound on local events limits each node, so all of that holds under it, too.
#[test]
fn dpor_honours_a_bound_on_local_events() {
    let bounds = SearchBounds { local_events: Some(1), ..SearchBounds::default() };
    for_random_systems(bounds.local_events, |seed, toy, expected| {
        let ran = run(&unconstrained(toy), bounds, dpor::run);
        assert_eq!(ran.report.counts.executions, Some(expected.maximal), "seed {seed}");
        assert_eq!(ran.report.counts.redundant, Some(0), "seed {seed}");
        let reached = reference::search(&System::new(toy.clone()), None, bounds.local_events, usize::MAX)
            .expect("there is no other bound");
        assert_eq!(ran.system_states, reached.system_states, "seed {seed}");
    });
}

/// Under a bound on depth exactly the system states within it are reached.
#[test]
fn dpor_honours_a_bound_on_depth() {
    let mut cut = 0;
    for_random_systems(None, |seed, toy, _| {
        let all = reference::search(&System::new(toy.clone()), None, None, usize::MAX).expect("there is no bound");
        for depth in [2, 4, 6] {
            let bounds = SearchBounds { depth: Some(depth), ..SearchBounds::default() };
            let ran = run(&unconstrained(toy), bounds, dpor::run);
            let reached = reference::search(&System::new(toy.clone()), bounds.depth, None, usize::MAX)
                .expect("there is no other bound");
            assert_eq!(ran.system_states, reached.system_states, "seed {seed}, depth {depth}");
            assert_eq!(ran.report.counts.redundant, Some(0), "seed {seed}, depth {depth}");
            let budget = SearchBounds { states: Some(20_000), ..bounds };
            let tree = run(&unconstrained(toy), budget, dpor_ds_tree::run);
            let is_over = tree.report.end == EndCondition::StateBound;
            assert!(is_over || tree.system_states == reached.system_states, "seed {seed}, depth {depth}");
            let is_cut = ran.report.end == EndCondition::DepthBound;
            assert!(is_cut || ran.system_states == all.system_states, "seed {seed}, depth {depth}");
            let ran = run(toy, bounds, dpor::run);
            assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}, depth {depth}");
            assert!(ran.report.violations.iter().all(|found| found.path.len() <= depth as usize), "seed {seed}");
            cut += u32::from(is_cut);
        }
    });
    assert!(cut > 100, "only {cut} searches are cut: the test says little");
}

/// Two local events of one node that disable each other never happen in one execution.
#[test]
fn local_events_that_exclude_each_other_are_both_taken() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 0)]).rule(0, 0, ToyTrigger::Local(1), 2, &[]);
    let ran = run(&toy, SearchBounds::default(), dpor::run);
    // The first with its delivery, and the second.
    assert_eq!((ran.report.counts.executions, ran.report.counts.transitions), (Some(2), Some(2 + 1)));
    let states: BTreeSet<_> = ran.system_states.iter().map(|locals| reference::states(locals)).collect();
    assert_eq!(states, BTreeSet::from([vec![0, 0], vec![1, 0], vec![2, 0]]));
}

/// A message that goes back and forth for ever: a search without a visited set follows it to the bound.
#[test]
fn an_endless_execution_ends_at_the_bound() {
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(1, 0, ToyTrigger::Message(0, 0), 0, &[(0, 0)]).rule(
        0,
        0,
        ToyTrigger::Message(1, 0),
        0,
        &[(1, 0)],
    );
    for (depth, expected) in [(None, DEPTH_DEFAULT), (Some(7), 7)] {
        let ran = run(&toy, SearchBounds { depth, ..SearchBounds::default() }, dpor::run);
        assert_eq!((ran.report.end, ran.report.depth), (EndCondition::DepthBound, expected));
        assert_eq!(ran.report.counts.transitions, Some(expected.into()));
    }
}

/// Events at different nodes, as in the "killer example" of the page: no pair is dependent, so one execution suffices.
/// Two messages to each of two nodes: 2! orders at each node, so 4 executions differ.
#[test]
fn dpor_ds_explores_independent_events_once() {
    let independent = (0..9).fold(Toy::new(9), |toy, node| toy.rule(node, 0, ToyTrigger::Local(0), 1, &[]));
    let mut dependent = Toy::new(2);
    for node in 0..2 {
        // The state remembers the first sender.
        for (from, other) in [(0, 1), (1, 0)] {
            let first = from as u8 + 1;
            dependent = dependent
                .in_flight(from, node, 0)
                .rule(node, 0, ToyTrigger::Message(from, 0), first, &[])
                .rule(node, first, ToyTrigger::Message(other, 0), first + 2, &[]);
        }
    }
    for strategy in [dpor::run as Run, dpor_ds::run, dpor_ds_tree::run] {
        let counts = run(&independent, SearchBounds::default(), strategy).report.counts;
        assert_eq!((counts.executions, counts.redundant, counts.transitions), (Some(1), Some(0), Some(9)));
        let counts = run(&dependent, SearchBounds::default(), strategy).report.counts;
        assert_eq!(counts.executions.zip(counts.redundant).map(|(all, redundant)| all - redundant), Some(2 * 2));
    }
}
