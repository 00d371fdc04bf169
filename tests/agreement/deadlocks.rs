//! Deadlocks by every strategy that looks for them: the same as the reference on random systems, and toys counted by hand.

use std::collections::BTreeMap;

use host_agreement::effort;
use host_agreement::reference::{self, Reached, System};
use host_agreement::toys::{self, Ran};
use host_model::contract::{Judgement, NodeId};
use host_model::lts::deadlock;
use host_model::scenario::{Faults, Link, Network};
use host_model::toys::{Toy, ToyOutcome, ToyTrigger};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs, consequence, random_walk};

/// The maximum number of global states: executions are many more than states.
const STATES_MAX: usize = 150;

/// The minimum number of systems in each tier: among fewer, some network has no system with several deadlocks.
const SHOWN: u64 = 16;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(30).max(SHOWN)
}

/// A random system where some nodes are not done in some states; nothing is forbidden.
fn random(seed: u64) -> Toy {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_done(seed);
    Toy { forbidden: Vec::new(), ..toy }
}

fn unordered(seed: u64) -> System {
    System::new(random(seed))
}

fn with_resets(seed: u64) -> System {
    let faults = Faults { resets: 1, ..Faults::default() };
    System { faults, ..System::new(random(seed).with_random_durable(seed)) }
}

fn with_duplicates(seed: u64) -> System {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    System { network: Network::UnorderedDuplicating, faults, ..System::new(random(seed)) }
}

fn in_order(seed: u64) -> System {
    System { network: Network::Ordered, ..System::new(random(seed)) }
}

/// Messages between the nodes 0 and 1 have no order, all others do.
fn mixed(seed: u64) -> System {
    let system = with_breaks(seed);
    let links = [(0, 1), (1, 0)].map(|(from, to)| Link { from, to, network: Network::Unordered });
    System { links: links.into(), ..system }
}

fn with_breaks(seed: u64) -> System {
    let toy = random(seed).with_random_errors(seed).with_random_durable(seed);
    let (resets, breaks) = [(0, 1), (1, 0), (1, 1)][seed as usize / 2 % 3];
    System { network: Network::Ordered, faults: Faults { resets, breaks, ..Faults::default() }, ..System::new(toy) }
}

/// One node can crash, in every third system two, on any network.
fn with_crashes(seed: u64) -> System {
    let families = [unordered, with_resets, with_duplicates, in_order, with_breaks];
    let system = families[seed as usize % families.len()](seed);
    System { faults: Faults { crashes: 1 + u32::from(seed.is_multiple_of(3)), ..system.faults }, ..system }
}

/// The strategies that miss no deadlock.
fn complete() -> impl Iterator<Item = &'static Strategy> {
    STRATEGIES.iter().filter(|row| row.is_complete && row.honours.contains(&Bound::Deadlock))
}

fn run(system: &System, bounds: SearchBounds, row: &Strategy) -> Ran {
    toys::run(system, SearchBounds { deadlock: true, ..bounds }, row.run, false)
}

/// A search that continues reports each set of nodes that wait for ever once, and `unfold` reports the shortest path to each.
fn check_all(system: &System, row: &Strategy, reached: &Reached, seed: u64) {
    let states = executions(row, system);
    let ran = run(system, SearchBounds { states, violations: Some(u64::MAX), ..SearchBounds::default() }, row);
    if !row.honours.contains(&Bound::Violations) || ran.report.end == EndCondition::StateBound {
        return;
    }
    let of = |(crashed, waiting): &(Vec<NodeId>, Vec<NodeId>)| {
        let answers: Vec<_> = (0..system.toy.nodes).map(|node| Ok(!waiting.contains(&node))).collect();
        deadlock::message(&answers, crashed).expect("a node waits")
    };
    let expected: BTreeMap<String, u32> =
        reached.deadlocks.iter().map(|(deadlock, depth)| (of(deadlock), *depth)).collect();
    let mut found = BTreeMap::new();
    for violation in &ran.report.violations {
        let Judgement::Deadlock { message } = &violation.judgement else { continue };
        let length = violation.path.len() as u32;
        assert!(found.insert(message.clone(), length).is_none(), "seed {seed}, {}: twice {message}", row.name);
        assert!(!violation.shortest || length == expected[message], "seed {seed}, {}: {message}", row.name);
        assert!(violation.shortest || row.name != "unfold", "seed {seed}: {message}");
    }
    assert!(found.keys().eq(expected.keys()), "seed {seed}, {}: {found:?} of {expected:?}", row.name);
}

/// The bound on executions of a strategy: DPOR-DS may repeat each many times. With crashes all cuts of each are examined.
fn executions(row: &Strategy, system: &System) -> Option<u64> {
    let max = if system.faults.crashes > 0 { 50 } else { 1_000 };
    row.name.starts_with("dpor").then_some(max)
}

/// Every complete strategy that looks for deadlocks finds one exactly if the reference does, and it replays; claims that no shorter path
/// exists are right. The others find no deadlock that does not exist.
fn check(family: fn(u64) -> System) {
    let bounded = [
        SearchBounds { local_events: Some(1), ..SearchBounds::default() },
        SearchBounds { depth: Some(5), ..SearchBounds::default() },
    ];
    let (mut deadlocked, mut deepest, mut several) = (0, 0, 0);
    for bounds in std::iter::once(SearchBounds::default()).chain(bounded) {
        let mut tried = 0;
        for seed in 0.. {
            let system = family(seed);
            let Some(reached) = reference::search(&system, bounds.depth, bounds.local_events, STATES_MAX) else {
                continue;
            };
            if reached.global_states < 20 {
                continue;
            }
            for row in complete().filter(|row| bounds.depth.is_none() || row.honours.contains(&Bound::Depth)) {
                let states = executions(row, &system);
                let ran = run(&system, SearchBounds { states, ..bounds }, row);
                if ran.report.end == EndCondition::StateBound {
                    continue;
                }
                let name = row.name;
                assert_eq!(ran.confirmed.is_some(), !reached.deadlocks.is_empty(), "seed {seed}, {name}");
                assert!(ran.confirmed.is_none_or(|findings| !findings.is_empty()), "seed {seed}, {name}");
                let shortest = ran.report.violations.first().filter(|found| found.shortest);
                let length = shortest.map(|found| found.path.len() as u32);
                assert!(length.is_none() || length == reached.deadlock_depth(), "seed {seed}, {name}");
                let is_sure = ran.report.violations.is_empty() || length.is_some();
                assert!(is_sure || !matches!(name, "bdfs" | "unfold"), "seed {seed}, {name} finds a shortest one");
                if bounds == SearchBounds::default() {
                    several += u64::from(reached.deadlocks.len() > 1);
                    check_all(&system, row, &reached, seed);
                }
            }
            for (strategy, walks) in [(consequence::run as toys::Run, None), (random_walk::run, Some(30))] {
                let bounds = SearchBounds { deadlock: true, walks, seed: walks.map(|_| seed), ..bounds };
                let found = toys::run(&system, bounds, strategy, false).confirmed;
                let is_there = !reached.deadlocks.is_empty();
                assert!(found.is_none_or(|findings| !findings.is_empty() && is_there), "seed {seed}");
            }
            tried += 1;
            deadlocked += u64::from(!reached.deadlocks.is_empty());
            deepest = deepest.max(reached.deadlock_depth().unwrap_or(0));
            if tried == systems() {
                break;
            }
        }
    }
    assert!(several > 0, "no system has several deadlocks");
    let is_telling = deadlocked > 2 && deadlocked < 3 * systems() && deepest > 2;
    assert!(is_telling, "of the systems {deadlocked} have a deadlock, in depth {deepest} at most");
}

#[test]
fn deadlocks_are_found_exactly() {
    check(unordered);
}

#[test]
fn deadlocks_with_resets_are_found_exactly() {
    check(with_resets);
}

#[test]
fn deadlocks_with_duplicates_are_found_exactly() {
    check(with_duplicates);
}

#[test]
fn deadlocks_after_crashes_are_found_exactly() {
    check(with_crashes);
}

#[test]
fn deadlocks_in_order_are_found_exactly() {
    check(in_order);
}

#[test]
fn deadlocks_with_breaks_are_found_exactly() {
    check(with_breaks);
}

#[test]
fn deadlocks_on_mixed_networks_are_found_exactly() {
    check(mixed);
}

/// The words of the first violation, and the length of its path.
fn found(ran: &Ran) -> Option<(&str, usize)> {
    let found = ran.report.violations.first()?;
    match &found.judgement {
        Judgement::Deadlock { message } => Some((message, found.path.len())),
        other => panic!("{other:?} is no deadlock"),
    }
}

/// Node 0 has one local event, and either sends `a` to node 1 or does not; node 1 waits for it. The states are the start, `a` in
/// flight, `a` received, and the one without `a`: there node 1 waits for ever, 1 event after the start.
fn forgetful() -> Toy {
    let mut toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)]);
    let outcomes = toy.rules.get_mut(&(0, 0, ToyTrigger::Local(0))).expect("it was added just now");
    outcomes.push(ToyOutcome::Go(1, Vec::new()));
    toy.rule(1, 0, ToyTrigger::Message(0, 7), 1, &[]).done(0, 1).done(1, 1)
}

#[test]
fn who_waits_for_what_was_never_sent_is_named() {
    for row in complete() {
        let ran = run(&System::new(forgetful()), SearchBounds::default(), row);
        assert_eq!(found(&ran), Some(("nothing can happen any more, and node 1 is not done", 1)), "{}", row.name);
        assert_eq!(ran.report.end, EndCondition::Violation);
        // A node that declares itself done may wait.
        let patient = System::new(forgetful().done(1, 0));
        assert_eq!(
            run(&patient, SearchBounds::default(), row).report.end,
            EndCondition::SpaceExhausted,
            "{}",
            row.name
        );
    }
    let counts = toys::run(&System::new(forgetful()), SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(4), Some(3)));
}

/// Two nodes wait for each other from the start: no event is possible.
#[test]
fn the_start_can_be_a_deadlock() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Message(1, 0), 1, &[(1, 0)]);
    let toy = toy.rule(1, 0, ToyTrigger::Message(0, 0), 1, &[(0, 0)]).done(0, 1).done(1, 1);
    for row in STRATEGIES.iter().filter(|row| row.honours.contains(&Bound::Deadlock)) {
        let ran = run(&System::new(toy.clone()), SearchBounds::default(), row);
        let message = "nothing can happen any more, and nodes 0 and 1 are not done";
        assert_eq!(found(&ran), Some((message, 0)), "{}", row.name);
    }
}

/// Node 1 waits for `a`, which node 0 sends in `init` and so again after a reset; the first `b` was lost on node 1
/// as it has no rule for it in state 0. A reset could help, but no protocol can rely on one: the deadlock is the state where `a` was
/// received and node 1, which needs two of them, has only one.
#[test]
fn a_possible_fault_resolves_no_deadlock() {
    let from_0 = ToyTrigger::Message(0, 7);
    let toy = Toy::new(2).in_flight(0, 1, 7).rule(1, 0, from_0, 1, &[]).rule(1, 1, from_0, 2, &[]);
    let toy = toy.keep(1, 0, 0).keep(1, 1, 1).keep(1, 2, 2).done(0, 0).done(1, 2);
    let system = System { faults: Faults { resets: 1, ..Faults::default() }, ..System::new(toy) };
    for row in complete() {
        let ran = run(&system, SearchBounds::default(), row);
        let message = "nothing can happen any more, and node 1 is not done";
        assert_eq!(found(&ran), Some((message, 1)), "{}", row.name);
    }
}

/// Node 1 asks, node 0 answers, and node 1 waits for the answer. After the question no event is possible if node 0 has
/// crashed; when the answer is in flight only node 1 itself can have crashed, and no other node waits. Two crashes leave no node.
#[test]
fn who_waits_for_a_node_that_has_crashed_is_named() {
    let (question, answer) = (0, 1);
    let toy = Toy::new(2)
        .rule(1, 0, ToyTrigger::Local(0), 1, &[(0, question)])
        .rule(0, 0, ToyTrigger::Message(1, question), 1, &[(1, answer)])
        .rule(1, 1, ToyTrigger::Message(0, answer), 2, &[]);
    let toy = toy.done(0, 0).done(0, 1).done(1, 0).done(1, 2);
    // After three quarters of a walk no questions are left.
    for row in STRATEGIES.iter().filter(|row| row.honours.contains(&Bound::Deadlock) && row.name != "prefix") {
        for crashes in 0..3 {
            let faults = Faults { crashes, ..Faults::default() };
            let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
            let bounds = if row.honours.contains(&Bound::Violations) { bounds } else { SearchBounds::default() };
            let ran = run(&System { faults, ..System::new(toy.clone()) }, bounds, row);
            let message = "nothing can happen any more after node 0 has crashed, and node 1 is not done";
            assert_eq!(found(&ran), (crashes > 0).then_some((message, 1)), "{}", row.name);
            assert!(ran.report.violations.len() <= 1, "{}", row.name);
        }
    }
}

/// A local event that a bound leaves out can still happen: the state is no deadlock.
#[test]
fn a_bound_makes_no_deadlock() {
    let toy = Toy::new(1).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(0, 1, ToyTrigger::Local(0), 2, &[]);
    let toy = toy.done(0, 2);
    for row in complete() {
        let bounds = SearchBounds { local_events: Some(1), ..SearchBounds::default() };
        let ran = run(&System::new(toy.clone()), bounds, row);
        assert_eq!((found(&ran), ran.report.end), (None, EndCondition::LocalEventBound), "{}", row.name);
        let ran = run(&System::new(toy.clone()), SearchBounds::default(), row);
        assert_eq!((found(&ran), ran.report.end), (None, EndCondition::SpaceExhausted), "{}", row.name);
    }
}
