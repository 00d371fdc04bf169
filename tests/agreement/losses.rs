//! Lost messages: the same as the reference on random systems on all networks, and counts derived by hand.

use host_agreement::reference::{self, System};
use host_agreement::toys::{self, Run};
use host_model::contract::Judgement;
use host_model::scenario::{Faults, Link, Network};
use host_model::toys::{Dice, Toy, ToyTrigger};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{auto, bdfs};

use crate::faults::{STATES_MAX, check_states};

/// This many messages to each node can be lost.
fn losses(seed: u64) -> u32 {
    [1, 2, Faults::UNLIMITED][seed as usize / 4 % 3]
}

fn without_order(seed: u64) -> System {
    let mut toy = Toy::random(seed, 2 + seed as u32 % 2);
    let mut faults = Faults { losses: losses(seed), ..Faults::default() };
    let network = match seed % 4 {
        0 => {
            faults.duplicates = 1;
            Network::UnorderedDuplicating
        }
        1 => {
            toy = toy.with_random_quorums(seed);
            Network::Unordered
        }
        2 => {
            toy = toy.with_random_durable(seed).with_random_refusals(seed);
            faults = Faults { resets: 1, refusals: 1, ..faults };
            Network::Unordered
        }
        _ => Network::Unordered,
    };
    System { network, faults, ..System::new(toy) }
}

fn in_order(seed: u64) -> System {
    let nodes = 2 + seed as u32 % 2;
    let toy = Toy::random(seed, nodes);
    let faults = Faults { losses: losses(seed), ..Faults::default() };
    let system = System { network: Network::Ordered, faults, ..System::new(toy.clone()) };
    match seed % 4 {
        0 => {
            let mut dice = Dice(seed);
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
            let kinds = [Network::Ordered, Network::Unordered];
            let link = |(from, to)| Link { from, to, network: kinds[dice.below(2) as usize] };
            System { links: pairs.map(link).collect(), ..system }
        }
        1 => {
            let toy = toy.with_random_errors(seed).with_random_durable(seed);
            let (resets, breaks) = [(0, 1), (1, 0)][seed as usize / 8 % 2];
            System { toy, faults: Faults { resets, breaks, ..faults }, ..system }
        }
        _ => system,
    }
}

#[test]
fn losses_without_order_are_explored_exactly() {
    check_states(without_order, &[], STATES_MAX / 3);
}

#[test]
fn losses_in_order_are_explored_exactly() {
    check_states(in_order, &[], STATES_MAX / 6);
}

/// Losses do not change safety: without order every tuple of local states that is reached with losses is reached without them, and vice
/// versa.
#[test]
fn losses_without_order_reach_no_other_local_states() {
    let mut more = 0;
    for seed in 0..400 {
        let system = System {
            faults: Faults { losses: [1, Faults::UNLIMITED][seed as usize % 2], ..Faults::default() },
            ..System::new(Toy { forbidden: Vec::new(), ..Toy::random(seed, 2) })
        };
        let lossless = System { faults: Faults::default(), ..system.clone() };
        let Some(expected) = reference::search(&lossless, None, None, 500) else { continue };
        let ran = toys::run(&system, SearchBounds::default(), bdfs::run, true);
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "seed {seed}");
        let states = |all: &std::collections::BTreeSet<Vec<reference::Local>>| {
            all.iter().map(|locals| reference::states(locals)).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(states(&ran.system_states), states(&expected.system_states), "seed {seed}");
        more += u64::from(ran.report.counts.global_states > Some(expected.global_states));
    }
    assert!(more > 200, "only {more} systems have more global states: the test says little");
}

/// Two messages `a` and `b` to node 1, whose state is the set of received messages, `a` for 1 and `b` for 2.
fn two_messages() -> Toy {
    let (a, b) = (ToyTrigger::Message(0, 0), ToyTrigger::Message(0, 1));
    let toy = Toy::new(2).in_flight(0, 1, 0).in_flight(0, 1, 1);
    toy.rule(1, 0, a, 1, &[]).rule(1, 0, b, 2, &[]).rule(1, 1, b, 3, &[]).rule(1, 2, a, 4, &[])
}

/// Each of the two messages is in flight, taken, or lost. With any number of losses, and without order, that is nine states, and a tenth
/// as it matters which of both came first. In order `b` waits for `a`: `a` and `b` in flight; `b` in flight after `a` was taken or lost;
/// both gone, in four ways.
/// Edges: a delivery and a loss of each message that can come next, in each state.
/// With a count of at most one loss there is no state in which both are lost, and none else is reached in two ways.
#[test]
fn each_message_is_taken_or_lost() {
    let (none, one, any) = (0, 1, Faults::UNLIMITED);
    for (network, losses, states, edges) in [
        (Network::Unordered, none, 5, 2 + 2),
        (Network::Unordered, any, 10, 4 + 4 * 2),
        // Without the state in which both are lost, and without the loss in the two in which one is lost.
        (Network::Unordered, one, 9, 4 + 2 * 2 + 2),
        (Network::Ordered, none, 3, 2),
        (Network::Ordered, any, 7, 2 + 2 * 2),
        (Network::Ordered, one, 6, 2 + 2 + 1),
    ] {
        let faults = Faults { losses, ..Faults::default() };
        let system = System { network, faults, ..System::new(two_messages()) };
        let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
        let what = format!("{network}, {losses}");
        assert_eq!((counts.global_states, counts.transitions), (Some(states), Some(edges)), "{what}");
    }
}

/// A message that would free node 1 is lost, and then no event is possible: a deadlock after one event, which does not
/// exist without losses.
#[test]
fn a_loss_is_a_way_into_a_deadlock() {
    let toy = Toy::new(2).in_flight(0, 1, 0).rule(1, 0, ToyTrigger::Message(0, 0), 1, &[]);
    let toy = Toy { done: [(0, 0), (1, 1)].into(), ..toy };
    let bounds = SearchBounds { deadlock: true, ..SearchBounds::default() };
    for network in [Network::Unordered, Network::Ordered] {
        for (losses, lengths) in [(0, vec![]), (1, vec![1]), (Faults::UNLIMITED, vec![1])] {
            let faults = Faults { losses, ..Faults::default() };
            let system = System { network, faults, ..System::new(toy.clone()) };
            for strategy in [bdfs::run as Run, auto::run] {
                let ran = toys::run(&system, bounds, strategy, false);
                let found = ran.report.violations.iter();
                assert!(found.clone().all(|found| matches!(found.judgement, Judgement::Deadlock { .. })), "{network}");
                assert_eq!(found.map(|found| found.path.len()).collect::<Vec<_>>(), lengths, "{network}, {losses}");
            }
        }
    }
}
