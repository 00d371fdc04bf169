//! The strategies that go through global states, in all combinations of networks, several start states, several violations,
//! deadlocks and bounds on depth: their reports and claims, against the reference.

use std::collections::BTreeMap;

use host_agreement::effort;
use host_agreement::programs::Program;
use host_agreement::reference::{self, Reached, System};
use host_agreement::toys::{self, Ran};
use host_model::contract::Judgement;
use host_model::lts::{Lts, Stepper, deadlock};
use host_model::scenario::{Faults, Link, Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::kernel::{EndCondition, Search, SearchBounds, Unmonitored};
use host_search::strategy::STRATEGIES;

/// The maximum number of global states: the reference is slow.
const STATES_MAX: usize = 400;

/// The number of random systems of each family; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(60)
}

/// Two of three systems choose in `init` how they begin.
fn random(seed: u64) -> Toy {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_done(seed);
    if seed.is_multiple_of(3) { toy } else { toy.with_random_starts(seed) }
}

fn unordered(seed: u64) -> System {
    System::new(random(seed))
}

fn duplicating(seed: u64) -> System {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    System { network: Network::UnorderedDuplicating, faults, ..System::new(random(seed)) }
}

fn ordered(seed: u64) -> System {
    System { network: Network::Ordered, ..System::new(random(seed)) }
}

/// All links are ordered but those between the nodes 0 and 1, one way or both.
fn mixed(seed: u64) -> System {
    let links = [(0, 1), (1, 0)].map(|(from, to)| Link { from, to, network: Network::Unordered });
    System { links: links[..1 + seed as usize / 2 % 2].into(), ..ordered(seed) }
}

/// The findings of a complete search, in words, with the distance of each.
fn findings(system: &System, reached: &Reached, is_deadlock_wanted: bool) -> BTreeMap<String, u32> {
    let violations = reached.violations.iter().map(|(views, depth)| (format!("{views:?} is forbidden"), *depth));
    let deadlocks = reached.deadlocks.iter().filter(|_| is_deadlock_wanted).map(|((crashed, waiting), depth)| {
        let answers: Vec<_> = (0..system.toy.nodes).map(|node| Ok(!waiting.contains(&node))).collect();
        (deadlock::message(&answers, crashed).expect("a node waits"), *depth)
    });
    violations.chain(deadlocks).collect()
}

/// The findings of a search, in the same form.
fn found(ran: &Ran) -> BTreeMap<String, u32> {
    let words = |judgement: &Judgement| match judgement {
        Judgement::Violated { message, .. } | Judgement::Deadlock { message } => message.clone(),
        other => panic!("{other:?}"),
    };
    ran.report.violations.iter().map(|found| (words(&found.judgement), found.path.len() as u32)).collect()
}

/// One search of a strategy that can miss something only if it says so.
fn check(system: &System, bounds: SearchBounds, name: &str, (reached, all): (&Reached, &Reached), what: &str) {
    let row = STRATEGIES.iter().find(|row| row.name == name).expect("it is in the table");
    let ran = toys::run(system, bounds, row.run, true);
    let (report, wanted) = (&ran.report, bounds.violations.unwrap_or(1) as usize);
    let expected = findings(system, reached, bounds.deadlock);
    let found = found(&ran);
    assert_eq!(found.len(), report.violations.len(), "{what}: nothing is reported twice");
    assert!(ran.confirmed.as_ref().is_none_or(|findings| !findings.is_empty()), "{what}");
    for (words, length) in &found {
        assert!(expected.get(words).is_some_and(|least| length >= least), "{what}: {words} in {expected:?}");
    }
    for violation in report.violations.iter().filter(|violation| violation.shortest) {
        let length = violation.path.len() as u32;
        let is_first = report.violations.len() == 1 && Some(&length) == expected.values().min();
        let is_own = found.iter().any(|(words, least)| *least == length && expected[words] == length);
        assert!(is_first || is_own, "{what}: {length} is not the shortest of {expected:?}");
    }
    assert!(ran.system_states.is_subset(&reached.system_states), "{what}");
    let is_full = report.violations.len() >= wanted;
    assert_eq!(is_full, report.end == EndCondition::Violation, "{what}");
    let misses_nothing = match report.end {
        EndCondition::SpaceExhausted => {
            // The bound also leaves nothing out; the reference has a budget for each message in flight, and distinguishes states
            // that the strategies do not.
            assert!(!reached.is_cut || system.faults.duplicates > 0, "{what}");
            assert_eq!(reached.system_states, all.system_states, "{what}");
            true
        }
        // A complete search reports a cut only if it was cut; the other one reaches some states by longer paths.
        EndCondition::DepthBound => {
            assert!(reached.is_cut || !row.is_complete, "{what}");
            row.is_complete
        }
        EndCondition::Violation => false,
        end => {
            assert!(!row.is_complete, "{what}: {end:?}");
            false
        }
    };
    if misses_nothing {
        assert!(found.keys().eq(expected.keys()), "{what}: {found:?} of {expected:?}");
        assert_eq!(ran.system_states, reached.system_states, "{what}");
        check_counts(system, bounds, &ran, reached, what);
    }
    let is_surely_found = row.is_complete && expected.len() >= wanted;
    assert!(!is_surely_found || is_full, "{what}: {found:?} of {expected:?}");
    if row.is_complete && is_full && wanted == 1 {
        assert!(report.violations[0].shortest, "{what}: it looks for the shortest");
    }
}

/// The counts of a search that has missed nothing.
fn check_counts(system: &System, bounds: SearchBounds, ran: &Ran, reached: &Reached, what: &str) {
    let counts = ran.report.counts;
    assert_eq!(counts.system_states, Some(reached.system_states.len() as u64), "{what}");
    if system.faults.duplicates == 0 {
        assert_eq!(counts.global_states, Some(reached.global_states), "{what}");
        assert_eq!(counts.transitions, Some(reached.transitions), "{what}");
        // The longest path explored: a shortest one if the search goes level by level.
        assert!(ran.report.depth >= reached.farthest, "{what}: {} of {}", ran.report.depth, reached.farthest);
        let is_level_by_level = system.network == Network::Ordered;
        assert!(!is_level_by_level || ran.report.depth == reached.farthest, "{what}: {}", ran.report.depth);
    }
    assert!(bounds.depth.is_none_or(|max| ran.report.depth <= max), "{what}");
}

/// All searches of one system.
fn check_system(system: &System, all: &Reached, seed: u64) {
    // Below, at and above the depth of the whole space.
    let depths = [None, Some(all.farthest / 2), Some(all.farthest), Some(all.farthest + 3)];
    for (depth, violations, deadlock) in depths.into_iter().flat_map(|depth| {
        [(depth, None, false), (depth, None, true), (depth, Some(2), true), (depth, Some(u64::MAX), true)]
    }) {
        let bounds = SearchBounds { depth, violations, deadlock, ..SearchBounds::default() };
        let reached = reference::search(system, depth, None, STATES_MAX).expect("it has fewer states than all");
        for name in ["bdfs", "consequence"] {
            let what = format!("seed {seed}, {:?}, {name}, {bounds:?}", system.network);
            check(system, bounds, name, (&reached, all), &what);
        }
        let walks = SearchBounds { walks: Some(20), seed: Some(seed), ..bounds };
        let ran = toys::run(system, walks, host_search::strategy::random_walk::run, false);
        let expected = findings(system, &reached, deadlock);
        for (words, length) in found(&ran) {
            assert!(expected.get(&words).is_some_and(|least| length >= *least), "seed {seed}, walk: {words}");
        }
        if depth.is_none() && !deadlock && !matches!(system.network, Network::Ordered) {
            check_reduced(system, SearchBounds { reduce: true, ..bounds }, all, seed);
        }
    }
}

/// The reduced search misses no violation either.
fn check_reduced(system: &System, bounds: SearchBounds, all: &Reached, seed: u64) {
    let ran = toys::run(system, bounds, host_search::strategy::bdfs::run, true);
    let (expected, found) = (findings(system, all, false), found(&ran));
    for (words, length) in &found {
        assert!(expected.get(words).is_some_and(|least| length >= least), "seed {seed}, reduced: {words}");
    }
    let is_full = found.len() as u64 >= bounds.violations.unwrap_or(1);
    assert_eq!(is_full, ran.report.end == EndCondition::Violation, "seed {seed}, reduced");
    if !is_full {
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "seed {seed}, reduced");
        assert!(found.keys().eq(expected.keys()), "seed {seed}, reduced: {found:?} of {expected:?}");
        assert_eq!(ran.system_states, all.system_states, "seed {seed}, reduced");
    }
}

/// All searches of a family, which has systems worth the time: with several violations and deadlocks, and with more than one
/// start.
fn check_family(family: fn(u64) -> System) {
    let (mut tried, mut several, mut chosen) = (0, 0, 0);
    for seed in 0.. {
        let system = family(seed);
        let Some(all) = reference::search(&system, None, None, STATES_MAX).filter(|all| all.global_states > 20) else {
            continue;
        };
        check_system(&system, &all, seed);
        tried += 1;
        several += u64::from(findings(&system, &all, true).len() > 1);
        chosen += u64::from(!system.toy.starts.is_empty());
        if tried == systems() {
            break;
        }
    }
    effort::telling(
        several * 4 > tried && chosen * 3 > tried,
        format_args!("{several} and {chosen} of {tried}: the test says little"),
    );
}

#[test]
fn unordered_networks() {
    check_family(unordered);
}

#[test]
fn duplicating_networks() {
    check_family(duplicating);
}

#[test]
fn ordered_networks() {
    check_family(ordered);
}

#[test]
fn mixed_links() {
    check_family(mixed);
}

/// Events on the way to the bad state: more than 65,535.
const WAY: u64 = 65_900;

/// A bound on depth of any size is exact: the violation is found at the end of its path, and not one event before it, also by the
/// breadth-first engine of networks in order.
#[test]
fn a_bound_on_depth_is_exact_also_where_paths_are_long() {
    let program = Program {
        events: |_, _| vec![0],
        on_event: |_, state, _| ((state + 1).min(WAY), Vec::new()),
        is_bad: |_, state| state == WAY,
        ..Program::default()
    };
    for (network, depth) in [Network::Unordered, Network::Ordered].into_iter().flat_map(|it| [(it, WAY), (it, WAY - 1)])
    {
        let scenario = Scenario { network, ..Scenario::new(1) };
        let lts = Lts::new(&program, scenario).expect("it lists its properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
        // Several violations are wanted, so the search for a shorter path does not begin.
        let bounds = SearchBounds { depth: Some(depth as u32), violations: Some(2), ..SearchBounds::default() };
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        let report = host_search::strategy::bdfs::run(&search).expect("no host faults");
        let found = (report.violations.len(), report.end);
        assert_eq!(found, (usize::from(depth == WAY), EndCondition::DepthBound), "{network:?} {depth}");
    }
}
