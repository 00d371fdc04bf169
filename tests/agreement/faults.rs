//! Faults by every strategy: the same as the reference on random systems, and counts derived by hand.

use std::sync::Arc;

use host_agreement::effort;
use host_agreement::reference::{self, System};
use host_agreement::toys::{self, Run};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::faults::{FaultDescription, FaultId};
use host_model::scenario::{FaultEvent, Faults, Network, OutageWrites};
use host_model::toys::{Medium, Toy, ToyTrigger};
use host_model::trace::{GlobalSituation, TraceEvent, TraceStep, resolve, start};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs, consequence, dpor, dpor_ds, dpor_ds_tree, random_walk};

/// The maximum number of global states: the reference is slow.
pub const STATES_MAX: usize = 3_000;
/// The maximum number of configurations, if executions are counted.
const CONFIGURATIONS_MAX: usize = 1_500;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one. Every strategy explores each of them three times
/// under different bounds, and has many more events than one without faults.
fn systems() -> u64 {
    effort::systems(60)
}

fn unconstrained(system: &System) -> System {
    System { toy: Toy { forbidden: Vec::new(), ..system.toy.clone() }, ..system.clone() }
}

/// The random system of a family with this number, if it has one.
pub type Family = fn(u64) -> System;

/// Each fault of a node that can happen on all networks, or else only on ordered ones.
pub fn fault(number: u64, is_everywhere: bool) -> FaultId {
    let faults = Faults::default().iter().map(|(fault, _)| fault).filter(|fault| {
        let FaultDescription { needs, event, .. } = fault.description();
        event.is_some() && needs.is_none() == is_everywhere
    });
    let faults: Vec<FaultId> = faults.collect();
    faults[number as usize % faults.len()]
}

fn with_restarts(seed: u64) -> System {
    let nodes = 2 + seed as u32 % 2;
    let toy = Toy::random(seed, nodes).with_random_durable(seed);
    let mut system = System::new(toy);
    *system.faults.of_mut(fault(seed, true)) = 1 + (seed / 2) as u32 % 2;
    system
}

/// Outages, with and without resets, of toys that call `sync` in half of their handlers.
fn with_outages(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_durable(seed).with_random_syncs(seed);
    let toy = toy.in_medium([Medium::Map, Medium::WholeMap, Medium::Map, Medium::Persisted][seed as usize % 4]);
    let (outages, resets) = [(1, 0), (2, 0), (1, 1), (1, 0), (1, 2)][seed as usize % 5];
    System { faults: Faults { outages, resets, ..Faults::default() }, ..System::new(toy) }
}

/// Outages that lose any unsynced entries.
fn with_loose_entries(seed: u64) -> System {
    let system = with_outages(seed);
    let toy = system.toy.clone().in_medium(if seed.is_multiple_of(7) { Medium::Persisted } else { Medium::Digits });
    System { toy, outage_writes: OutageWrites::Any, ..system }
}

/// The same where connections break.
fn with_loose_entries_and_breaks(seed: u64) -> System {
    let system = with_outages_and_breaks(seed);
    System { toy: system.toy.clone().in_medium(Medium::Digits), outage_writes: OutageWrites::Any, ..system }
}

/// The same where connections break, and can be lost by other faults.
fn with_outages_and_breaks(seed: u64) -> System {
    let toy = Toy::random(seed, 2).with_random_errors(seed).with_random_durable(seed).with_random_syncs(seed);
    let toy = toy.in_medium([Medium::Map, Medium::WholeMap][seed as usize % 2]);
    let (outages, breaks, refusals) = [(1, 0, 0), (1, 1, 0), (2, 0, 0), (1, 0, 1)][seed as usize % 4];
    let toy = if refusals > 0 { toy.with_random_refusals(seed) } else { toy };
    let faults = Faults { outages, breaks, refusals, ..Faults::default() };
    System { network: Network::Ordered, faults, ..System::new(toy) }
}

fn with_duplicates(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2);
    let faults = Faults { duplicates: 1 + (seed / 2) as u32 % 2, ..Faults::default() };
    System { network: Network::UnorderedDuplicating, faults, ..System::new(toy) }
}

fn in_order(seed: u64) -> System {
    System { network: Network::Ordered, ..System::new(Toy::random(seed, 2 + seed as u32 % 2)) }
}

fn with_breaks(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_errors(seed).with_random_durable(seed);
    let (restarts, breaks) = [(0, 1), (1, 0), (0, 2), (1, 1)][seed as usize / 2 % 4];
    let mut system = System { network: Network::Ordered, ..System::new(toy) };
    *system.faults.of_mut(fault(seed / 8, true)) = restarts;
    *system.faults.of_mut(fault(seed / 8, false)) = breaks;
    system
}

fn with_refusals(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_refusals(seed);
    System { faults: Faults { refusals: 1 + (seed / 2) as u32 % 2, ..Faults::default() }, ..System::new(toy) }
}

/// All faults together, on an ordered network.
fn with_refusals_and_breaks(seed: u64) -> System {
    let toy = Toy::random(seed, 2).with_random_refusals(seed).with_random_errors(seed).with_random_durable(seed);
    let (resets, breaks) = [(0, 0), (0, 1), (1, 0)][seed as usize % 3];
    System {
        network: Network::Ordered,
        faults: Faults { resets, breaks, refusals: 1, ..Faults::default() },
        ..System::new(toy)
    }
}

/// Calls `check` with tractable and nontrivial systems of a family.
fn for_systems(
    family: Family,
    bounds: SearchBounds,
    states_max: usize,
    mut check: impl FnMut(u64, &System, &reference::Reached),
) {
    let mut tried = 0;
    for seed in 0.. {
        let system = family(seed);
        if let Some(reached) = reference::search(&system, bounds.depth, bounds.local_events, states_max)
            && reached.global_states > 60
        {
            check(seed, &system, &reached);
            tried += 1;
        }
        if tried == systems() {
            return;
        }
    }
}

/// Every complete strategy, except searches of executions, reaches exactly the states of the reference; `bdfs` has the same
/// counts; a violation is found if one exists, and replays.
pub fn check_states(family: Family, reductions: &[Run], states_max: usize) {
    let bounded = [
        SearchBounds { local_events: Some(1), ..SearchBounds::default() },
        SearchBounds { depth: Some(6), ..SearchBounds::default() },
    ];
    for bounds in std::iter::once(SearchBounds::default()).chain(bounded) {
        let reductions = if bounds.depth.is_none() { reductions } else { &[] };
        let mut violated = 0;
        for_systems(family, bounds, states_max, |seed, system, reached| {
            let free = unconstrained(system);
            let honours = |row: &&Strategy| bounds.depth.is_none() || row.honours.contains(&Bound::Depth);
            let complete = STRATEGIES.iter().filter(|row| row.is_complete && !row.name.starts_with("dpor"));
            // The strategy builds every tuple of local states; other networks have many more.
            let is_tractable = |row: &&Strategy| {
                row.name != "lmc-gen" || (system.network == Network::Unordered && system.links.is_empty())
            };
            let loses = |row: &&Strategy| system.faults.losses == 0 || row.loses_messages;
            let complete = complete.filter(honours).filter(is_tractable).filter(loses);
            let complete =
                complete.map(|row| (row.name, row.run)).chain(reductions.iter().map(|run| ("reduced", *run)));
            for (name, strategy) in complete {
                let ran = toys::run(&free, bounds, strategy, true);
                assert_eq!(ran.system_states, reached.system_states, "seed {seed}, {name}");
                let ran = toys::run(system, bounds, strategy, false);
                assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}, {name}");
                assert!(ran.confirmed.is_none_or(|findings| !findings.is_empty()), "seed {seed}, {name}");
                let found = ran.report.violations.first().filter(|found| found.shortest);
                let length = found.map(|found| found.path.len() as u32);
                // From the middle of that path on, all strategies reach the same.
                if name == "bdfs" && bounds == SearchBounds::default() && seed % 4 == 0 {
                    check_after(&free, &ran.steps[..ran.steps.len() / 2], seed);
                }
                assert!(length.is_none() || length == reached.violation_depth, "seed {seed}, {name}");
            }
            let counts = toys::run(&free, bounds, bdfs::run, false).report.counts;
            assert_eq!(counts.global_states, Some(reached.global_states), "seed {seed}");
            assert_eq!(counts.transitions, Some(reached.transitions), "seed {seed}");
            let ran = toys::run(&free, bounds, consequence::run, true);
            assert!(ran.system_states.is_subset(&reached.system_states), "seed {seed}");
            let walks = SearchBounds { walks: Some(50), seed: Some(seed), ..bounds };
            let found = toys::run(system, walks, random_walk::run, false).confirmed;
            assert!(
                found.is_none_or(|findings| !findings.is_empty() && reached.violation_depth.is_some()),
                "seed {seed}"
            );
            violated += u64::from(reached.violation_depth.is_some());
        });
        effort::telling(
            violated * 10 > systems(),
            format_args!("only {violated} systems have a reachable violation: the test says little"),
        );
    }
}

/// Every complete strategy reaches the same states after some steps: it takes over the messages in flight and the faults
/// so far.
fn check_after(system: &System, steps: &[TraceStep], seed: u64) {
    let states = |strategy| toys::run_after(system, steps, SearchBounds::default(), strategy, true);
    let expected = states(bdfs::run).system_states;
    // DPOR-DS may explore an execution many times, so no bound would be enough.
    let is_tractable = |row: &&Strategy| {
        let is_other = row.name != "bdfs" && row.name != "lmc-gen" && !row.name.starts_with("dpor-ds");
        is_other && (system.faults.losses == 0 || row.loses_messages)
    };
    for row in STRATEGIES.iter().filter(|row| row.is_complete).filter(is_tractable) {
        let budget = SearchBounds { states: (row.name == "dpor").then_some(5_000), ..SearchBounds::default() };
        let ran = toys::run_after(system, steps, budget, row.run, true);
        if ran.report.end != EndCondition::StateBound {
            assert_eq!(ran.system_states, expected, "seed {seed}, {} after {} steps", row.name, steps.len());
        }
    }
}

/// Optimal DPOR explores each happens-before once, DPOR-DS at least once, and both reach the states of the reference.
pub fn check_executions(family: Family) {
    let (mut tried, mut most) = (0, 0);
    for seed in 0.. {
        let system = family(seed);
        let Some(expected) = reference::configurations(&system, None, CONFIGURATIONS_MAX) else { continue };
        if expected.all <= 40 {
            continue;
        }
        let reached = reference::search(&system, None, None, usize::MAX).expect("there is no bound");
        let free = unconstrained(&system);
        let ran = toys::run(&free, SearchBounds::default(), dpor::run, true);
        assert_eq!(ran.report.counts.executions, Some(expected.maximal), "seed {seed}");
        assert_eq!(ran.report.counts.redundant, Some(0), "seed {seed}");
        assert_eq!(ran.system_states, reached.system_states, "seed {seed}");
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "seed {seed}");
        let budget = SearchBounds { states: Some(5_000), ..SearchBounds::default() };
        for strategy in [dpor_ds::run as Run, dpor_ds_tree::run] {
            let ran = toys::run(&free, budget, strategy, true);
            if ran.report.end != EndCondition::StateBound {
                assert_eq!(ran.system_states, reached.system_states, "seed {seed}");
            }
        }
        for strategy in [dpor::run as Run, dpor_ds::run, dpor_ds_tree::run] {
            let ran = toys::run(&system, budget, strategy, false);
            if ran.report.end != EndCondition::StateBound {
                assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}");
            }
            assert!(ran.confirmed.is_none_or(|findings| !findings.is_empty()), "seed {seed}");
        }
        most = most.max(expected.maximal);
        tried += 1;
        // Executions are cheap compared with check_states.
        if tried == 2 * systems() {
            break;
        }
    }
    effort::telling(most > 50, format_args!("at most {most} executions: the test says little"));
}

#[test]
fn restarts_are_explored_exactly() {
    check_states(with_restarts, &[bdfs::explore_reduced], STATES_MAX);
}

#[test]
fn executions_with_restarts_are_explored_once() {
    check_executions(with_restarts);
}

#[test]
fn outages_are_explored_exactly() {
    check_states(with_outages, &[bdfs::explore_reduced], STATES_MAX);
}

#[test]
fn executions_with_outages_are_explored_once() {
    check_executions(with_outages);
}

#[test]
fn outages_and_breaks_together_are_explored_exactly() {
    check_states(with_outages_and_breaks, &[], STATES_MAX / 6);
    check_executions(with_outages_and_breaks);
}

#[test]
fn outages_that_lose_any_entries_are_explored_exactly() {
    check_states(with_loose_entries, &[bdfs::explore_reduced], STATES_MAX);
    check_states(with_loose_entries_and_breaks, &[], STATES_MAX / 6);
}

#[test]
fn executions_with_outages_that_lose_any_entries_are_explored_once() {
    check_executions(with_loose_entries);
    check_executions(with_loose_entries_and_breaks);
}

#[test]
fn duplicates_are_explored_exactly() {
    check_states(with_duplicates, &[bdfs::explore_reduced], STATES_MAX / 6);
}

#[test]
fn executions_with_duplicates_are_explored_once() {
    check_executions(with_duplicates);
}

#[test]
fn ordered_networks_are_explored_exactly() {
    check_states(in_order, &[], STATES_MAX / 6);
}

#[test]
fn executions_on_ordered_networks_are_explored_once() {
    check_executions(in_order);
}

#[test]
fn breaks_are_explored_exactly() {
    // They have many events, so each state is expensive.
    check_states(with_breaks, &[], STATES_MAX / 6);
}

#[test]
fn executions_with_breaks_are_explored_once() {
    check_executions(with_breaks);
}

#[test]
fn refusals_are_explored_exactly() {
    check_states(with_refusals, &[bdfs::explore_reduced], STATES_MAX / 6);
}

#[test]
fn executions_with_refusals_are_explored_once() {
    check_executions(with_refusals);
}

#[test]
fn refusals_and_breaks_together_are_explored_exactly() {
    check_states(with_refusals_and_breaks, &[], STATES_MAX / 6);
    check_executions(with_refusals_and_breaks);
}

/// Node 0 sends `a` and `b` to node 1 by one local event, and enters state 1, or state 2 if it sees that one was refused.
/// Node 1 counts received messages.
///
/// - With nothing refused: the start, both in flight, either one, none: 5 states, and 1 + 2 + 2 edges.
/// - With one refused: the other one, `a` or `b`, is in flight, or it has arrived: 3 states, and 2 + 2 edges.
/// - With both refused: 1 state, and 1 edge.
#[test]
fn each_message_can_be_refused() {
    let (a, b) = (0, 1);
    let mut toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, a), (1, b)]).refuse(0, 1, 2);
    for (state, content) in [(0, a), (0, b), (1, a), (1, b)] {
        toy = toy.rule(1, state, ToyTrigger::Message(0, content), state + 1, &[]);
    }
    for (refusals, states, edges) in [(0, 5, 5), (1, 5 + 3, 5 + 4), (2, 5 + 3 + 1, 5 + 4 + 1)] {
        let faults = Faults { refusals, ..Faults::default() };
        let system = System { faults, ..System::new(toy.clone()) };
        let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
        assert_eq!((counts.global_states, counts.transitions), (Some(states), Some(edges)));
        // The local event has 2^2 resolutions; those with more refusals than the budget are never executed: `init`
        // twice, four deliveries to node 1, and 1, 3 or 4 resolutions.
        let resolutions = [1, 3, 4][refusals as usize];
        assert_eq!(counts.handler_calls, Some(2 + 4 + resolutions));
    }
}

/// A node that counts up to two by local events and has only the 1 as durable state: it is in state 0, 1 or 2, and was reset
/// or not. From 0 a reset changes nothing and does not happen; from 1 it changes nothing either; from 2, with nothing
/// kept, it leads to 0, and two more events lead to 2. So there are three states before the reset and three after it,
/// and 2 + 1 + 2 edges.
#[test]
fn a_reset_that_changes_nothing_does_not_happen() {
    let toy =
        Toy::new(1).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(0, 1, ToyTrigger::Local(0), 2, &[]).keep(0, 1, 1);
    let system = System { faults: Faults { resets: 1, ..Faults::default() }, ..System::new(toy) };
    let ran = toys::run(&system, SearchBounds::default(), bdfs::run, true);
    assert_eq!((ran.report.counts.global_states, ran.report.counts.transitions), (Some(3 + 3), Some(2 + 1 + 2)));
    // The three contents are visited in both fault states, but each of their handlers runs once: `init`, two local events,
    // a reset of each.
    assert_eq!(ran.report.counts.handler_calls, Some(1 + 2 + 3));
    let ran = toys::run(&system, SearchBounds::default(), dpor::run, true);
    assert_eq!((ran.report.counts.executions, ran.report.counts.transitions), (Some(1), Some(5)));
}

/// A trace can name any number as a peer; no such number turns a break into something else.
#[test]
fn a_break_with_no_node_cannot_happen() {
    let faults = Faults { resets: 1, breaks: 1, ..Faults::default() };
    let system = System { network: Network::Ordered, faults, ..System::new(Toy::new(2).in_flight(0, 1, 7)) };
    let toy = Arc::new(system.toy.clone());
    let lts = Lts::new(&toy, system.scenario()).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let start = start::initial(&mut stepper).expect("a toy starts").remove(0);
    let in_flight = start.in_flight.clone();
    for (peer, is_possible) in
        [(1, true), (0, false), (2, false), (1 << 24, false), (1 << 29, false), (u32::MAX, false)]
    {
        let event = FaultEvent::of_kind("break", Some(peer)).expect("there are breaks");
        let event = TraceEvent::Fault { event, lost: false };
        let step = TraceStep { node: 0, event, choices: Vec::new(), sent: None, state: None };
        let mut situation = GlobalSituation { stepper: &mut stepper, locals: &start.locals, in_flight: &in_flight };
        assert_eq!(resolve(&mut situation, &step).is_ok(), is_possible, "{peer}");
    }
}

/// Messages in flight to a node stay when it is reset, and its first messages are sent again: from the start `a` is
/// in flight from node 0 to node 1. A reset of node 0 sends a second copy. States are the copies delivered (node 1 counts
/// them) and in flight, before and after the reset: (0,1), (1,0) and (0,2), (1,1), (2,0).
#[test]
fn a_reset_sends_the_first_messages_again() {
    let from_0 = ToyTrigger::Message(0, 7);
    let toy = Toy::new(2).in_flight(0, 1, 7).rule(1, 0, from_0, 1, &[]).rule(1, 1, from_0, 2, &[]);
    let toy = toy.keep(1, 0, 0).keep(1, 1, 1).keep(1, 2, 2);
    let system = System { faults: Faults { resets: 1, ..Faults::default() }, ..System::new(toy) };
    let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
    // Node 1 loses nothing by a reset, so only node 0 is ever reset.
    assert_eq!((counts.global_states, counts.transitions), (Some(2 + 3), Some(1 + 2 + 2)));
}

/// Node 0 sends one message, and node 1 counts received messages: with two duplicates, it counts to 3.
#[test]
fn a_message_is_delivered_as_often_as_the_budget_allows() {
    let from_0 = ToyTrigger::Message(0, 7);
    let count = |toy: Toy, state| toy.rule(1, state, from_0, state + 1, &[]);
    let toy = (0..5).fold(Toy::new(2).in_flight(0, 1, 7), count);
    for duplicates in 0..3 {
        let faults = Faults { duplicates, ..Faults::default() };
        let system = System { network: Network::UnorderedDuplicating, faults, ..System::new(toy.clone()) };
        for strategy in [bdfs::run as Run, dpor::run] {
            let ran = toys::run(&system, SearchBounds::default(), strategy, true);
            assert_eq!(ran.system_states.len() as u32, 1 + 1 + duplicates);
            assert_eq!(ran.report.counts.transitions, Some(1 + u64::from(duplicates)));
        }
    }
}

/// Node 0 sends `a`, then `b`, and node 1 remembers the first arrival. Without order there are the start, either message
/// first, and the other one after it: 5 states and 4 edges. In order there are 3 states and 2 edges.
#[test]
fn in_order_the_first_message_comes_first() {
    let (a, b) = (0, 1);
    let toy = Toy::new(2).in_flight(0, 1, a).in_flight(0, 1, b);
    let toy = toy.rule(1, 0, ToyTrigger::Message(0, a), 1, &[]).rule(1, 0, ToyTrigger::Message(0, b), 2, &[]);
    for (network, states, edges) in [(Network::Unordered, 5, 4), (Network::Ordered, 3, 2)] {
        let system = System { network, ..System::new(toy.clone()) };
        let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
        assert_eq!((counts.global_states, counts.transitions), (Some(states), Some(edges)));
    }
}

/// Node 0 sends `a` to node 1. Each of them can break the connection once, and both note an error that they hear of.
///
/// The end of node 0 is open from the start, that of node 1 once it has `a`. Write 0 for node 0 as it was, `v` for one of
/// its two states after its break (heard, lost), I, R for node 1 before and after `a`, N for the notice of node 0 in flight
/// and M for that of node 1. After N, node 1 is in P if it knew of no connection, else in one of Q, Q'; after its own break
/// in one of S, S'. The states are
///
/// - `0 I {a}`, with 1 + 2 edges, and `0 R {}`, with 2 + 2;
/// - for each `v`: `v I {a N}`, with 2 edges (N overtakes `a`); `v R {N}`, with 2 + 2; `v P`, `v Q`, `v Q'`; `v S`, `v S'`,
///   where each has broken the same connection, and both notices are old news;
/// - `0 S {M}` and `0 S' {M}`, each with 2 edges for M and 2 for a break of node 0; and 2 states after M for each of them.
#[test]
fn a_connection_breaks_at_both_ends() {
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(1, 0, ToyTrigger::Message(0, 0), 1, &[]);
    let toy = toy.rule(0, 0, ToyTrigger::Error(1), 1, &[]);
    let toy = toy.rule(1, 0, ToyTrigger::Error(0), 2, &[]).rule(1, 1, ToyTrigger::Error(0), 2, &[]);
    let faults = Faults { breaks: 1, ..Faults::default() };
    let system = System { network: Network::Ordered, faults, ..System::new(toy) };
    let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!(counts.global_states, Some(2 + 2 * 7 + 2 + 2 * 2));
    assert_eq!(counts.transitions, Some(3 + 4 + 2 * (2 + 4) + 2 * (2 + 2)));
}

/// A node grants one of two clients by local events, and must never grant both: a grant is state 1 or 2, and after a restart it knows what
/// its map has. It answers by a message, which node 1 counts.
///
/// With `sync` no outage changes that. Without it an outage loses the grant that was sent: the shortest trace has the first grant,
/// the outage, the second grant, and the two deliveries in between or after. Nothing is found by resets alone.
#[test]
fn a_forgotten_sync_is_found_by_an_outage_alone() {
    let (one, two) = (1, 2);
    let granted = |state: u8| ToyTrigger::Message(0, state);
    let toy = Toy::new(2)
        .rule(0, 0, ToyTrigger::Local(1), 1, &[(1, one)])
        .rule(0, 0, ToyTrigger::Local(2), 2, &[(1, two)])
        .keep(0, 1, 1)
        .keep(0, 2, 2)
        .rule(1, 0, granted(one), 1, &[])
        .rule(1, 0, granted(two), 2, &[])
        .rule(1, 1, granted(two), 3, &[])
        .rule(1, 2, granted(one), 3, &[])
        .forbid(&[None, Some(3)]);
    // Node 1 only observes.
    let observer = [0, 1, 2, 3].map(|state| (1, state));
    let observed = [0, 1, 2, 3].iter().fold(toy, |toy, state| toy.keep(1, *state, *state));
    let careful = observed.clone().sync(&observer).sync(&[(0, 1), (0, 2)]);
    let forgetful = observed.sync(&observer);
    for medium in [Medium::Map, Medium::WholeMap] {
        for (outages, resets) in [(1, 0), (1, 1), (0, 2), (2, 0)] {
            let system = |toy: &Toy| {
                let faults = Faults { outages, resets, ..Faults::default() };
                System { faults, ..System::new(toy.clone().in_medium(medium)) }
            };
            let is_tractable = |row: &&Strategy| row.is_complete && row.name != "dpor-ds";
            for row in STRATEGIES.iter().filter(is_tractable) {
                let ran = toys::run(&system(&careful), SearchBounds::default(), row.run, false);
                assert!(ran.confirmed.is_none(), "{} with {outages} outages", row.name);
                let ran = toys::run(&system(&forgetful), SearchBounds::default(), row.run, false);
                assert_eq!(ran.confirmed.is_some(), outages > 0, "{} with {outages} outages", row.name);
            }
            let ran = toys::run(&system(&forgetful), SearchBounds::default(), bdfs::run, false);
            let shortest = (outages > 0).then_some(5);
            assert_eq!(ran.report.violations.first().map(|found| found.path.len()), shortest, "{outages} outages");
            let losses = ran.steps.iter().filter_map(|step| match &step.event {
                TraceEvent::Fault { event, .. } => Some((event.kind(), event.unsynced())),
                _ => None,
            });
            let losses: Vec<_> = losses.collect();
            let is_loss = matches!(&losses[..], [("outage", lost)] if *lost > 0);
            assert_eq!(is_loss, shortest.is_some(), "{losses:?}");
        }
    }
}

/// A node writes 1, 2 and 3 by local events. With `sync` after the first one only, an outage from 3 leaves 3, 2 or 1, and from 2 it
/// leaves 2 or 1; a second outage finds a disk that has what the first one left.
///
/// States are the number and the numbers that an outage can leave instead; with one outage, nothing is noted behind it. Before it:
/// `0`, `1`, `2 1`, `3 1 2`. Behind it: 0, 1, 2, 3. From `0` an outage changes nothing, nor from `1`; from `2 1` the one without a loss
/// changes nothing, the other one leads to 1; from `3 1 2` two outages lead to 2 and 1. So there are 4 and 3 states (0 is not left),
/// and 3 + 2 edges by local events, and 1 + 2 by outages.
#[test]
fn an_outage_leaves_the_writes_of_the_first_handlers() {
    let write =
        |toy: Toy, state: u8| toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]).keep(0, state + 1, state + 1);
    let toy = (0..3).fold(Toy::new(1), write).keep(0, 0, 0).sync(&[(0, 0), (0, 1)]).in_medium(Medium::Map);
    let system = System { faults: Faults { outages: 1, ..Faults::default() }, ..System::new(toy.clone()) };
    let counts = toys::run(&system, SearchBounds::default(), bdfs::run, true).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(4 + 3), Some(3 + 2 + 1 + 2)));
    // `init`, three local events, `init` with the present map in each of the four states, and with 1, 1 and 2 in the two others.
    assert_eq!(counts.handler_calls, Some(1 + 3 + 4 + 3));
    // All is durable without `sync`, and where outages are none.
    for (toy, outages) in [(Toy { syncs: None, ..toy.clone() }, 1), (toy, 0)] {
        let system = System { faults: Faults { outages, ..Faults::default() }, ..System::new(toy) };
        let counts = toys::run(&system, SearchBounds::default(), bdfs::run, true).report.counts;
        assert_eq!((counts.global_states, counts.transitions), (Some(4), Some(3)));
    }
}
