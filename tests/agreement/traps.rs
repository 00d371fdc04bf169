//! Handlers that trap, by every strategy: the same findings, lengths and states as the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_agreement::effort;
use host_agreement::reference::{self, Reached, System, Words};
use host_agreement::toys::{self, Run};
use host_model::contract::{Judgement, LocalKind};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Link, Network, Scenario};
use host_model::toys::{Toy, ToyOutcome, ToyTrigger, forbidden_words, trap_words};
use host_model::trace::replay::{Replay, ReplayError};
use host_model::trace::start::{self, StartError};
use host_model::trace::{Hex, Origin, Trace, TraceEvent, TraceStep};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs, consequence, random_walk};

/// The maximum number of global states: executions are many more than states.
const STATES_MAX: usize = 300;

/// The maximum number of explored executions, also if every cut of each is examined.
const EXECUTIONS_MAX: u64 = 1000;
const CUT_EXECUTIONS_MAX: u64 = 200;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(40)
}

/// A random toy, which in every third system has several ways to begin.
fn random(seed: u64) -> Toy {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_done(seed);
    if seed.is_multiple_of(3) { toy.with_random_starts(seed) } else { toy }
}

fn unordered(seed: u64) -> System {
    System::new(random(seed).with_random_traps(seed))
}

fn with_quorums(seed: u64) -> System {
    System::new(random(seed).with_random_quorums(seed).with_random_traps(seed))
}

fn with_resets(seed: u64) -> System {
    let faults = Faults { resets: 1, ..Faults::default() };
    System { faults, ..System::new(random(seed).with_random_durable(seed).with_random_traps(seed)) }
}

fn with_duplicates(seed: u64) -> System {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    System { network: Network::UnorderedDuplicating, faults, ..unordered(seed) }
}

fn with_refusals(seed: u64) -> System {
    let toy = random(seed).with_random_refusals(seed).with_random_traps(seed);
    System { faults: Faults { refusals: 1, ..Faults::default() }, ..System::new(toy) }
}

fn in_order(seed: u64) -> System {
    System { network: Network::Ordered, ..unordered(seed) }
}

fn with_breaks(seed: u64) -> System {
    let toy = random(seed).with_random_errors(seed).with_random_durable(seed).with_random_traps(seed);
    let (resets, breaks) = [(0, 1), (1, 0), (1, 1)][seed as usize / 2 % 3];
    System { network: Network::Ordered, faults: Faults { resets, breaks, ..Faults::default() }, ..System::new(toy) }
}

/// Messages between the nodes 0 and 1 have no order, all others have.
fn mixed(seed: u64) -> System {
    let links = [(0, 1), (1, 0)].map(|(from, to)| Link { from, to, network: Network::Unordered });
    System { links: links.into(), ..with_breaks(seed) }
}

/// A node can crash, on any network.
fn with_crashes(seed: u64) -> System {
    let families = [unordered, with_resets, with_duplicates, in_order, with_breaks];
    let system = families[seed as usize % families.len()](seed);
    System { faults: Faults { crashes: 1, ..system.faults }, ..system }
}

/// All of these.
pub const FAMILIES: [fn(u64) -> System; 9] =
    [unordered, with_quorums, with_resets, with_duplicates, with_refusals, in_order, with_breaks, mixed, with_crashes];

/// Every complete strategy has the findings of the reference, makes only true claims about the length, and reaches the
/// same system states; all findings of any strategy replay.
fn check(family: fn(u64) -> System) {
    let (mut tried, mut trapped, mut both, mut several) = (0, 0, 0, 0);
    // Searches of executions, and the complete ones among them.
    let mut executed = (0, 0);
    for seed in 0.. {
        let system = family(seed);
        let local_events = seed.is_multiple_of(5).then_some(1);
        let Some(reached) = reference::search(&system, None, local_events, STATES_MAX) else { continue };
        if reached.global_states < 20 || reached.traps.is_empty() {
            continue;
        }
        let deadlock = seed.is_multiple_of(2);
        let bounds = SearchBounds { local_events, deadlock, violations: Some(u64::MAX), ..SearchBounds::default() };
        for row in STRATEGIES.iter().filter(|row| row.is_complete) {
            // The strategy builds every tuple of local states; other networks have many more.
            let is_plain = system.network == Network::Unordered && system.links.is_empty();
            if row.name != "lmc-gen" || is_plain {
                let is_whole = check_strategy(&system, &reached, (row, bounds), seed);
                if is_stateless(row) {
                    executed = (executed.0 + 1, executed.1 + u64::from(is_whole));
                }
            }
        }
        if is_unordered(&system) {
            let bounds = SearchBounds { reduce: true, deadlock: false, ..bounds };
            check_run(&system, &reached, ("reduced", bdfs::explore_reduced, bounds), seed);
        }
        check_counts(&system, &reached, bounds, seed);
        check_incomplete(&system, &reached, bounds, seed);
        tried += 1;
        trapped += u64::from(reached.violations.is_empty());
        both += u64::from(!reached.violations.is_empty());
        several += u64::from(reached.traps.len() > 1);
        if tried == systems() {
            break;
        }
    }
    let is_telling = both * 5 > tried && trapped > 0 && several * 5 > tried;
    assert!(is_telling, "of {tried} systems {both} are violated as well, {several} have several traps");
    let (all, whole) = executed;
    assert!(whole * 3 > all * 2, "only {whole} of {all} searches of executions came to their end");
}

fn is_stateless(row: &Strategy) -> bool {
    row.name.starts_with("dpor")
}

fn is_unordered(system: &System) -> bool {
    system.network != Network::Ordered && system.links.is_empty()
}

/// Returns whether the exploration was complete.
fn check_strategy(system: &System, reached: &Reached, (row, bounds): (&Strategy, SearchBounds), seed: u64) -> bool {
    let deadlock = bounds.deadlock && row.honours.contains(&Bound::Deadlock);
    // There are many more executions than states, and some states form cycles; with crashes all cuts of each are examined.
    let states =
        is_stateless(row).then_some(if system.faults.crashes > 0 { CUT_EXECUTIONS_MAX } else { EXECUTIONS_MAX });
    let bounds = SearchBounds { deadlock, states, ..bounds };
    check_first(system, reached, (row.name, row.run, SearchBounds { violations: None, ..bounds }), seed);
    check_run(system, reached, (row.name, row.run, bounds), seed)
}

/// All findings are wanted. Returns whether the exploration was complete.
fn check_run(system: &System, reached: &Reached, (name, run, bounds): (&str, Run, SearchBounds), seed: u64) -> bool {
    let ran = toys::run(system, bounds, run, true);
    let found = toys::findings(&ran.report);
    let expected = reached.findings(system.toy.nodes, bounds.deadlock);
    if ran.report.end == EndCondition::StateBound {
        assert!(found.keys().all(|words| expected.contains_key(words)), "seed {seed}, {name}");
        return false;
    }
    assert!(found.keys().eq(expected.keys()), "seed {seed}, {name}: {found:?} of {expected:?}");
    check_lengths(&found, &expected, &format!("seed {seed}, {name}"));
    let is_sure = name == "unfold";
    assert!(!is_sure || found.values().all(|(_, shortest)| *shortest), "seed {seed}, {name}: {found:?}");
    assert_eq!(ran.system_states, reached.system_states, "seed {seed}, {name}");
    true
}

/// The first finding is enough.
fn check_first(system: &System, reached: &Reached, (name, run, bounds): (&str, Run, SearchBounds), seed: u64) {
    let ran = toys::run(system, bounds, run, false);
    let found = toys::findings(&ran.report);
    let expected = reached.findings(system.toy.nodes, bounds.deadlock);
    // Its state can have several findings: a property and a deadlock.
    let lengths: BTreeSet<u32> = found.values().map(|(length, _)| *length).collect();
    let is_there = lengths.len() == 1 || ran.report.end == EndCondition::StateBound;
    assert!(is_there && found.keys().all(|words| expected.contains_key(words)), "seed {seed}, {name}: {found:?}");
    check_lengths(&found, &expected, &format!("seed {seed}, {name}"));
    let least = expected.values().min();
    let is_least = found.values().all(|(length, shortest)| !shortest || least == Some(length));
    assert!(is_least, "seed {seed}, {name}: {found:?} of {expected:?}");
}

fn check_lengths(found: &BTreeMap<Words, (u32, bool)>, expected: &BTreeMap<Words, u32>, name: &str) {
    for (words, (length, shortest)) in found {
        let least = expected[words];
        assert!(*length >= least && (!shortest || *length == least), "{name}: {words:?} in {length}, not {least}");
    }
}

fn check_counts(system: &System, reached: &Reached, bounds: SearchBounds, seed: u64) {
    let counts = toys::run(system, bounds, bdfs::run, false).report.counts;
    assert_eq!(counts.system_states, Some(reached.system_states.len() as u64), "seed {seed}");
    // The reference has a budget for each message in flight, and the strategies have copies of it.
    if system.faults.duplicates == 0 {
        assert_eq!(counts.global_states, Some(reached.global_states), "seed {seed}");
        assert_eq!(counts.transitions, Some(reached.transitions), "seed {seed}");
    }
}

/// Every finding of an incomplete strategy exists.
fn check_incomplete(system: &System, reached: &Reached, bounds: SearchBounds, seed: u64) {
    let expected = reached.findings(system.toy.nodes, bounds.deadlock);
    for (strategy, walks) in [(consequence::run as Run, None), (random_walk::run, Some(30))] {
        let ran = toys::run(system, SearchBounds { walks, seed: walks.map(|_| seed), ..bounds }, strategy, false);
        let found = toys::findings(&ran.report);
        assert!(found.keys().all(|words| expected.contains_key(words)), "seed {seed}: {found:?} of {expected:?}");
        check_lengths(&found, &expected, &format!("seed {seed}"));
    }
}

#[test]
fn traps_are_found_exactly() {
    check(unordered);
}

#[test]
fn traps_with_quorums_are_found_exactly() {
    check(with_quorums);
}

#[test]
fn traps_with_resets_are_found_exactly() {
    check(with_resets);
}

#[test]
fn traps_with_duplicates_are_found_exactly() {
    check(with_duplicates);
}

#[test]
fn traps_with_refusals_are_found_exactly() {
    check(with_refusals);
}

#[test]
fn traps_in_order_are_found_exactly() {
    check(in_order);
}

#[test]
fn traps_with_breaks_are_found_exactly() {
    check(with_breaks);
}

#[test]
fn traps_on_mixed_networks_are_found_exactly() {
    check(mixed);
}

#[test]
fn traps_with_crashes_are_found_exactly() {
    check(with_crashes);
}

/// Node 0 traps by a local event, or continues if it chooses so; node 1 has a local event of its own, after which it is in a
/// forbidden state. Node 0 sends a message before it traps, on which node 1 would get to a forbidden state as well, but never does.
fn trap_aside() -> Toy {
    let mut toy = Toy::new(2)
        .rule(1, 0, ToyTrigger::Local(0), 1, &[])
        .rule(1, 0, ToyTrigger::Message(0, 7), 2, &[])
        .forbid(&[None, Some(1)])
        .forbid(&[None, Some(2)]);
    let outcomes = vec![ToyOutcome::Trap(vec![(1, 7)]), ToyOutcome::Go(1, Vec::new())];
    toy.rules.insert((0, 0, ToyTrigger::Local(0)), outcomes);
    toy
}

/// The trap, one event from the start, and the state of node 1, one event from the start as well; nothing else. System states:
/// the start, node 0 stuck or in state 1, each with node 1 in state 0 or 1; the edges of the global states, which are the same:
/// 3 from the start, the same 2 of node 0 after that of node 1, and that of node 1 after node 0 has gone on.
#[test]
fn nothing_follows_a_trap() {
    let expected: BTreeMap<Words, u32> =
        [((None, forbidden_words(&[255, 1])), 1), ((Some(0), trap_words(0)), 1)].into();
    for row in STRATEGIES.iter().filter(|row| row.is_complete) {
        let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
        let ran = toys::run(&System::new(trap_aside()), bounds, row.run, true);
        let found = toys::findings(&ran.report);
        assert!(found.keys().eq(expected.keys()), "{}: {found:?}", row.name);
        assert!(found.values().all(|(length, _)| *length == 1), "{}: {found:?}", row.name);
        assert_eq!(ran.system_states.len(), 6, "{}", row.name);
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "{}", row.name);
    }
    let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
    let counts = toys::run(&System::new(trap_aside()), bounds, bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(6), Some(3 + 2 + 1)));
}

/// A node that traps in `init` has no execution to continue with: its trap is all that is found.
#[test]
fn a_trap_at_the_start_is_all_there_is() {
    let mut toy = trap_aside();
    toy.starts.insert(0, vec![ToyOutcome::Trap(Vec::new())]);
    for row in STRATEGIES.iter().filter(|row| row.is_complete) {
        let ran = toys::run(
            &System::new(toy.clone()),
            SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() },
            row.run,
            true,
        );
        let judgements: Vec<_> = ran.report.violations.iter().map(|found| (found.node, &found.judgement)).collect();
        assert!(matches!(judgements[..], [(Some(0), Judgement::Fault(_))]), "{}: {judgements:?}", row.name);
        assert_eq!(ran.system_states.len(), 1, "{}", row.name);
    }
}

/// After a trap in `init` nothing happens at any node: a prefix with an event there is refused, as a replay refuses it.
#[test]
fn a_prefix_ends_at_a_trap() {
    let mut toy = trap_aside();
    toy.starts.insert(0, vec![ToyOutcome::Trap(Vec::new())]);
    let factory = Arc::new(toy);
    let event = TraceEvent::Local { name: "local0".to_owned(), cause: LocalKind::Internal, payload: Hex(vec![0]) };
    let step = TraceStep { node: 1, event, choices: Vec::new(), sent: None, state: None };
    let why = format!("node 0 is stuck in a fault: {}", trap_words(0));

    let (mut replay, _) = Replay::new(&factory, &Scenario::new(2), &Origin::default()).expect("a toy has machines");
    assert_eq!(replay.step(&step), Err(ReplayError::NotEnabled { step: 1, why: why.clone() }));

    let lts = Lts::new(&factory, Scenario::new(2)).expect("a toy has properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let prefix = Trace { steps: vec![step], ..toys::empty_trace(&Scenario::new(2)) };
    assert_eq!(start::follow(&mut stepper, &prefix), Err(StartError::Prefix { step: 1, why }));
}
