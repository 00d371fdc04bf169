//! Random walks: effects of the seed, schedules, weights, coverage, memory.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::growing::{Factory, Growing, Number};
use host_agreement::programs::Program;
use host_agreement::reference::{self, System};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;
use host_search::kernel::schedule::Schedule;
use host_search::kernel::weights::Weights;
use host_search::kernel::{EndCondition, Monitor, Progress, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy::random_walk;

fn run(toy: &Toy, bounds: SearchBounds) -> Report {
    run_numbers(toy, bounds, 0..bounds.walks.unwrap_or(random_walk::WALKS_DEFAULT))
}

fn run_numbers(toy: &Toy, bounds: SearchBounds, numbers: Range<u64>) -> Report {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let starts = start::initial(&mut stepper).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    random_walk::run_numbers(&search, numbers).expect("a toy has no host faults")
}

fn bounds(seed: u64, walks: u64) -> SearchBounds {
    SearchBounds { seed: Some(seed), walks: Some(walks), ..SearchBounds::default() }
}

/// A system without violations whose walks have many paths.
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

/// All parts of a report in which a walk can differ.
fn summary(report: &Report) -> impl PartialEq + Ord + std::fmt::Debug + use<> {
    let counts = report.counts;
    let paths: Vec<usize> = report.violations.iter().map(|found| found.path.len()).collect();
    (counts.transitions, counts.local_states, counts.outcomes, counts.walks, counts.walks_ended, report.depth, paths)
}

#[test]
fn the_seed_decides() {
    let toy = wide();
    let mut of_schedules = BTreeSet::new();
    for schedule in Schedule::ALL {
        let bounds = |seed| SearchBounds { schedule: Some(schedule), ..bounds(seed, 10) };
        let summaries: BTreeSet<_> = (0..20)
            .map(|seed| {
                let (once, again) = (run(&toy, bounds(seed)), run(&toy, bounds(seed)));
                assert_eq!(summary(&once), summary(&again), "{schedule}, seed {seed}");
                summary(&once)
            })
            .collect();
        assert!(summaries.len() > 10, "{schedule}: only {} of 20 seeds differ", summaries.len());
        of_schedules.insert(summaries.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(of_schedules.len(), Schedule::ALL.len(), "two schedules are one");
}

/// A walk takes the same path alone and among others.
#[test]
fn a_walk_does_not_depend_on_the_others() {
    let toy = wide();
    for (schedule, seed) in Schedule::ALL.into_iter().flat_map(|schedule| (0..20).map(move |seed| (schedule, seed))) {
        let bounds = SearchBounds { schedule: Some(schedule), ..bounds(seed, 0) };
        let steps = |numbers| run_numbers(&toy, bounds, numbers).counts.transitions.expect("steps count");
        let alone: Vec<u64> = (0..30).map(|number| steps(number..number + 1)).collect();
        assert_eq!(steps(0..30), alone.iter().sum::<u64>(), "{schedule}, seed {seed}");
        assert_eq!(steps(10..20), alone[10..20].iter().sum::<u64>(), "{schedule}, seed {seed}");
        let distinct: BTreeSet<&u64> = alone.iter().collect();
        assert!(distinct.len() > 1, "{schedule}, seed {seed}: all walks have {} steps, the test says little", alone[0]);
    }
}

/// Walks report only reachable states, find most of the findings in small systems, and never claim that there are
/// none. That holds for every schedule.
#[test]
fn walks_find_violations_that_there_are() {
    for (index, schedule) in Schedule::ALL.into_iter().enumerate() {
        let (mut found, mut missed) = (0, 0);
        for seed in 600 * index as u64..600 * (index as u64 + 1) {
            let toy = Toy::random(seed, 3);
            let Some(reached) = reference::search(&System::new(toy.clone()), None, None, 3_000) else { continue };
            let report = run(&toy, SearchBounds { schedule: Some(schedule), ..bounds(1, 300) });
            match (report.violations.first(), reached.violation_depth) {
                (Some(violation), Some(depth)) => {
                    assert!(violation.path.len() as u32 >= depth, "{schedule}, seed {seed}");
                    let ended = (report.end, violation.shortest);
                    assert_eq!(ended, (EndCondition::Violation, false), "{schedule}, seed {seed}");
                    found += 1;
                }
                (None, depth) => {
                    assert_eq!(report.end, EndCondition::WalksDone, "{schedule}, seed {seed}");
                    missed += u32::from(depth.is_some());
                }
                (Some(_), None) => panic!("{schedule}, seed {seed}: what was found is not reachable"),
            }
        }
        assert!(found > 100 && missed * 10 < found, "{schedule}: {found} found, {missed} missed");
    }
}

/// Two chains of ten messages, and a violation if one ends before the other one has begun.
#[test]
fn priorities_of_chains_find_what_even_draws_do_not() {
    const LENGTH: u8 = 10;
    let chain = |toy: Toy, node: u32| {
        (1..LENGTH).fold(toy.in_flight(node, node, 0), |toy, state| {
            toy.rule(node, state - 1, ToyTrigger::Message(node, state - 1), state, &[(node, state)])
        })
    };
    let mut toy = chain(chain(Toy::new(2), 0), 1);
    for node in 0..2 {
        toy = toy.rule(node, LENGTH - 1, ToyTrigger::Message(node, LENGTH - 1), LENGTH, &[]);
    }
    let toy = toy.forbid(&[Some(LENGTH), Some(0)]);
    let found = |schedule| {
        let find = |seed: &u64| {
            let report = run(&toy, SearchBounds { schedule: Some(schedule), ..bounds(*seed, 1) });
            !report.violations.is_empty()
        };
        (0..100).filter(find).count()
    };
    // One of two chains is first: 50 in the mean, with a standard deviation of 5. A change of priorities lets the other one begin in some.
    assert!((30..70).contains(&found(Schedule::Pct(1))), "{}", found(Schedule::Pct(1)));
    assert!((15..70).contains(&found(Schedule::Pct(3))), "{}", found(Schedule::Pct(3)));
    // Ten events of one chain in a row: 0.1 in the mean.
    assert!(found(Schedule::Uniform) <= 2);
    // Some of its walks have priorities.
    assert!(found(Schedule::Mix) >= 3, "{}", found(Schedule::Mix));
}

#[test]
fn a_kind_of_weight_zero_does_not_happen() {
    // Node 0 continues by itself, node 1 by a message.
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(
        1,
        0,
        ToyTrigger::Message(0, 0),
        1,
        &[],
    );
    let weighted = |weights| run(&toy, SearchBounds { weights: Some(weights), ..bounds(0, 50) }).counts;
    let all = weighted(Weights::default());
    assert_eq!((all.local_states, all.transitions, all.walks_ended), (Some(2 + 2), Some(2 * 50), Some(50)));
    for weights in [Weights { deliver: 0, ..Weights::default() }, Weights { internal: 0, ..Weights::default() }] {
        let counts = weighted(weights);
        // One step a walk, after which only the other kind is possible: no walk has ended.
        assert_eq!((counts.local_states, counts.transitions), (Some(2 + 1), Some(50)));
        assert_eq!((counts.outcomes, counts.walks_ended), (Some(1), Some(0)));
    }
    // Where both are possible, weights of 9 and 1 make one of them likelier to come first.
    let first = |weights: Weights, schedule: Schedule| {
        let forbidden = toy.clone().forbid(&[Some(1), Some(0)]);
        (0..100).filter(move |seed| {
            let bounds = SearchBounds { weights: Some(weights), schedule: Some(schedule), ..bounds(*seed, 1) };
            !run(&forbidden, bounds).violations.is_empty()
        })
    };
    for schedule in Schedule::ALL {
        let often = first(Weights { internal: 9, ..Weights::default() }, schedule).count();
        let seldom = first(Weights { deliver: 9, ..Weights::default() }, schedule).count();
        // Of 100 draws 90 and 10 in the mean, with a standard deviation of 3. Some schedules multiply weights by random ones.
        let (at_least, at_most) = match schedule {
            Schedule::Swarm | Schedule::Phases | Schedule::Mix => (seldom + 20, 50),
            _ => (75, 25),
        };
        assert!(often >= at_least && seldom <= at_most, "{schedule}: {often} and {seldom}");
    }
}

/// A weight of 0 excludes a kind under any schedule, and walks end in states where nothing else can happen.
#[test]
fn every_schedule_leaves_a_kind_of_weight_zero_out() {
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(
        1,
        0,
        ToyTrigger::Message(0, 0),
        1,
        &[],
    );
    for schedule in Schedule::ALL {
        for weights in [Weights { deliver: 0, ..Weights::default() }, Weights { internal: 0, ..Weights::default() }] {
            let bounds = SearchBounds { weights: Some(weights), schedule: Some(schedule), ..bounds(0, 50) };
            let counts = run(&toy, bounds).counts;
            assert_eq!((counts.transitions, counts.walks_ended), (Some(50), Some(0)), "{schedule}");
        }
    }
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
        let report = run(&toy, SearchBounds { depth, ..bounds(0, 3) });
        assert_eq!((report.end, report.depth), (EndCondition::WalksDone, length));
        assert_eq!((report.counts.transitions, report.counts.walks_ended), (Some(3 * u64::from(length)), Some(0)));
    }
}

/// Ends a search at its first poll.
struct Impatient;

impl Monitor for Impatient {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        Some(EndCondition::Interrupted)
    }
}

/// Endless walks are ended even if no event happens.
#[test]
fn walks_without_a_step_ask_the_monitor() {
    let factory = Arc::new(Toy::new(2));
    let lts = Lts::new(&factory, Scenario::new(2)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a toy has machines")).expect("a toy starts");
    let bounds = bounds(0, u64::MAX);
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Impatient, collect_system_states: false };
    let report = random_walk::run(&search).expect("a toy has no host faults");
    assert_eq!((report.end, report.counts.transitions), (EndCondition::Interrupted, Some(0)));
}

/// A log that is never cut grows, also next to a node that stays as it is; a log that is cut, or full in time, does not.
#[test]
fn growing_states_are_reported() {
    let grows = |padding: fn(u64) -> usize| {
        let events = |node, _| vec![u64::from(node)];
        let on_event = |node, state: u64, _| (if node == 1 { state + 1 } else { 1 - state }, Vec::new());
        let program = Program { events, on_event, padding, ..Program::default() };
        let lts = Lts::new(&program, Scenario::new(2)).expect("it lists its properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
        let bounds = bounds(3, 2);
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        random_walk::run(&search).expect("no host faults").growth
    };
    let growth = grows(|state| state as usize).expect("it grows");
    assert_eq!((growth.node, growth.steps), (1, random_walk::LENGTH_DEFAULT));
    // Half of the steps are its own.
    assert!(growth.bytes.0 == 8 && (400..600).contains(&(growth.bytes.1 - growth.bytes.0)), "{growth:?}");
    assert_eq!(grows(|state| state as usize % 100), None);
    assert_eq!(grows(|state| (state as usize).min(300)), None);
}

/// The curve has a point for 1,024 steps and each doubling of them, and gives the counts of shorter runs of the same walks.
#[test]
fn the_curve_is_that_of_shorter_runs() {
    let factory = Factory(Arc::new(counting()));
    let lts = Lts::new(&factory, Scenario::new(2)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("it has machines")).expect("it starts");
    let run = |depth| {
        let bounds = SearchBounds { depth: Some(depth), ..bounds(5, 1) };
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        random_walk::run(&search).expect("it has no host faults")
    };
    let curve = run(5_000).curve;
    assert_eq!(curve.iter().map(|point| point.transitions).collect::<Vec<_>>(), [1_024, 2_048, 4_096]);
    for point in curve {
        let counts = run(point.transitions as u32).counts;
        assert_eq!((counts.transitions, counts.walks), (Some(point.transitions), Some(point.walks)));
        assert_eq!((counts.local_states, counts.outcomes), (Some(point.local_states), Some(point.outcomes)));
        // No local state comes twice.
        assert!(point.local_states > point.transitions / 2, "{point:?}");
    }
    assert!(run(1_000).curve.is_empty());
}

/// Keeps the largest number of bytes that a search reports.
struct Scales {
    memory_max: Option<u64>,
    most: AtomicU64,
}

impl Monitor for Scales {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.most.fetch_max(progress.bytes, Ordering::Relaxed);
        None
    }

    fn memory_max(&self) -> Option<u64> {
        self.memory_max
    }
}

/// Node 0 counts, and sends each number to node 1, which counts received messages: no walk reaches a local state twice.
fn counting() -> Growing {
    let mut system = Growing::new(2);
    for state in 0..=4 {
        system = system.rule(0, state, None, Number::Own(1), &[(1, Number::Own(0))]);
        for content in 0..=4 {
            system = system.rule(1, state, Some(content), Number::Own(1), &[]);
        }
    }
    system
}

/// The report of two walks of this length, and the most bytes that they kept.
fn weigh(length: u32, memory_max: Option<u64>) -> (Report, u64) {
    let factory = Factory(Arc::new(counting()));
    let lts = Lts::new(&factory, Scenario::new(2)).expect("it lists its properties");
    let mut stepper = Stepper::new(&lts).expect("it has machines");
    let starts = start::initial(&mut stepper).expect("it starts");
    let scales = Scales { memory_max, most: AtomicU64::new(0) };
    let bounds = SearchBounds { depth: Some(length), ..bounds(0, 2) };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &scales, collect_system_states: false };
    let report = random_walk::run(&search).expect("it has no host faults");
    (report, scales.most.into_inner())
}

/// With unboundedly many local states, walks of any length stay within their memory, and report that they could not
/// count everything.
#[test]
fn walks_without_end_stay_within_their_memory() {
    const MEMORY: u64 = 4 << 20;
    let length = 10_000;
    let (all, most) = weigh(length, None);
    assert_eq!((all.renewals, all.are_lower_bounds), (0, false));
    assert!(most > MEMORY, "{most} bytes: what is short fits anyway");
    let (some, least) = weigh(length, Some(MEMORY));
    assert!(least < MEMORY && some.renewals > 1, "{least} bytes");
    assert_eq!(some.counts.transitions, all.counts.transitions);
    // Twenty times as long, and no more memory.
    let (report, most) = weigh(20 * length, Some(MEMORY));
    assert!(most < MEMORY && report.renewals > some.renewals, "{most} bytes, {} renewals", report.renewals);
    assert_eq!(report.counts.transitions, Some(2 * 20 * u64::from(length)));
    assert!(report.are_lower_bounds && report.counts.local_states >= some.counts.local_states);
}
