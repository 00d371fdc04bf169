//! Networks that differ from link to link, by every strategy: the same as the reference on random systems, and counts derived
//! by hand.

use std::sync::Arc;

use host_agreement::reference::System;
use host_agreement::toys;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Link, Network, Scenario};
use host_model::toys::{Dice, Toy, ToyTrigger};
use host_model::trace::start::{self, StartError};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{STRATEGIES, bdfs, dpor};

use crate::faults::{STATES_MAX, check_executions, check_states};

/// A network for each link at random, or for each pair of nodes, both ways.
fn random_links(seed: u64, nodes: u32, networks: &[Network], is_one_way: bool) -> Vec<Link> {
    let mut dice = Dice(seed);
    let mut links: Vec<Link> = Vec::new();
    for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
        let way_back = links.iter().find(|link| !is_one_way && (link.from, link.to) == (to, from));
        let drawn = networks[dice.below(networks.len() as u32) as usize];
        let network = way_back.map_or(drawn, |link| link.network);
        links.push(Link { from, to, network });
    }
    links
}

fn random(seed: u64) -> Toy {
    Toy::random(seed, 2 + seed as u32 % 2)
}

/// Each way of each pair of nodes is ordered or not.
fn mixed(seed: u64) -> System {
    let toy = random(seed);
    let links = random_links(seed, toy.nodes, &[Network::Ordered, Network::Unordered], true);
    System { links, ..System::new(toy) }
}

/// The same with resets and breaks: ordered links are ordered in both directions.
fn with_breaks(seed: u64) -> System {
    let toy = random(seed).with_random_errors(seed).with_random_durable(seed);
    let links = random_links(seed, toy.nodes, &[Network::Ordered, Network::Unordered], false);
    let breaks = u32::from(links.iter().any(|link| link.network == Network::Ordered));
    let (resets, breaks) = [(0, breaks), (1, 0), (1, breaks)][seed as usize / 2 % 3];
    System {
        network: Network::Ordered,
        links,
        faults: Faults { resets, breaks, ..Faults::default() },
        ..System::new(toy)
    }
}

/// All networks, with messages that come twice, and full buffers.
fn with_duplicates(seed: u64) -> System {
    let toy = random(seed).with_random_refusals(seed);
    let mut links = random_links(seed, toy.nodes, &Network::ALL, true);
    links[0].network = Network::UnorderedDuplicating;
    let faults = Faults { duplicates: 1, refusals: (seed / 2) as u32 % 2, ..Faults::default() };
    System { links, faults, ..System::new(toy) }
}

/// Without order, where `--reduce` is possible; every other system says that nodes are interchangeable, which the links of some
/// of them deny.
fn without_order(seed: u64) -> System {
    let toy = if seed.is_multiple_of(2) { random(seed / 2) } else { Toy::random_symmetric(seed / 2, 3) };
    let mut links = random_links(seed, toy.nodes, &[Network::Unordered, Network::UnorderedDuplicating], seed % 4 < 2);
    links[1].network = Network::UnorderedDuplicating;
    System { links, faults: Faults { duplicates: 1, ..Faults::default() }, ..System::new(toy) }
}

/// One node takes quorums, and messages to it have no order.
fn with_quorums(seed: u64) -> System {
    let mut toy = random(seed).with_random_durable(seed).with_random_quorums(seed);
    let collector = (seed / 2) as u32 % toy.nodes;
    toy.roles.retain(|(node, _, _), _| *node == collector);
    let mut links = random_links(seed, toy.nodes, &Network::ALL, true);
    for link in links.iter_mut().filter(|link| link.to == collector) {
        if link.network == Network::Ordered {
            link.network = Network::Unordered;
        }
    }
    let duplicates = u32::from(links.iter().any(|link| link.network == Network::UnorderedDuplicating));
    System { links, faults: Faults { duplicates, ..Faults::default() }, ..System::new(toy) }
}

/// The random systems are worth their time: in more than half of them some links have an order and others do not.
#[test]
fn random_links_are_mixed() {
    for family in [mixed, with_breaks, with_duplicates, with_quorums] {
        let is_mixed = |seed: &u64| {
            let links = family(*seed).links;
            let in_order = links.iter().filter(|link| link.network == Network::Ordered).count();
            in_order > 0 && in_order < links.len()
        };
        let count = (0..200).filter(is_mixed).count();
        assert!(count > 100, "only {count} of 200");
    }
}

#[test]
fn mixed_links_are_explored_exactly() {
    check_states(mixed, &[], STATES_MAX / 6);
}

#[test]
fn executions_over_mixed_links_are_explored_once() {
    check_executions(mixed);
}

#[test]
fn mixed_links_with_breaks_are_explored_exactly() {
    check_states(with_breaks, &[], STATES_MAX / 6);
}

#[test]
fn executions_over_mixed_links_with_breaks_are_explored_once() {
    check_executions(with_breaks);
}

#[test]
fn mixed_links_with_duplicates_are_explored_exactly() {
    check_states(with_duplicates, &[], STATES_MAX / 6);
}

#[test]
fn executions_over_mixed_links_with_duplicates_are_explored_once() {
    check_executions(with_duplicates);
}

#[test]
fn links_without_order_are_explored_exactly() {
    check_states(without_order, &[bdfs::explore_reduced], STATES_MAX / 6);
}

#[test]
fn mixed_links_with_quorums_are_explored_exactly() {
    check_states(with_quorums, &[], STATES_MAX / 6);
}

#[test]
fn executions_over_mixed_links_with_quorums_are_explored_once() {
    check_executions(with_quorums);
}

/// Node 0 sends `a`, then `b`, to each of the nodes 1 and 2, which remember the first arrival. Only the link to node 1 has an
/// order.
fn two_receivers() -> System {
    let (a, b) = (0, 1);
    let mut toy = Toy::new(3);
    for node in [1, 2] {
        toy = toy.in_flight(0, node, a).in_flight(0, node, b);
        toy = toy.rule(node, 0, ToyTrigger::Message(0, a), 1, &[]).rule(node, 0, ToyTrigger::Message(0, b), 2, &[]);
    }
    let links = vec![Link { from: 0, to: 1, network: Network::Ordered }];
    System { links, ..System::new(toy) }
}

/// Node 1 takes `a`, then `b`: 3 states of it and its channel, in a row, with 2 edges. Node 2 takes either first: the start,
/// after `a`, after `b`, and after both in either order, where it remembers which was the first, so 5 states and 4 edges. The
/// two continue independently of each other: 3 * 5 global states, and an edge of one for each state of the other, 2 * 5 + 3 * 4.
/// Node 1 knows nothing or `a`, and node 2 nothing, `a` or `b`: 2 * 3 system states. An execution is one of the two orders of
/// node 2.
#[test]
fn a_link_differs_from_the_others() {
    let system = two_receivers();
    let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(3 * 5), Some(2 * 5 + 3 * 4)));
    for row in STRATEGIES.iter().filter(|row| row.is_complete) {
        let ran = toys::run(&system, SearchBounds::default(), row.run, true);
        assert_eq!((ran.report.end, ran.system_states.len()), (EndCondition::SpaceExhausted, 2 * 3), "{}", row.name);
    }
    let counts = toys::run(&system, SearchBounds::default(), dpor::run, false).report.counts;
    assert_eq!(counts.executions, Some(2));
}

/// A search finds no state that a link forbids, and the state that another link allows: node 1 never has `b` first, and node 2 can.
#[test]
fn what_a_link_forbids_is_not_found() {
    for (forbidden, is_found) in [([None, Some(2), None], false), ([None, None, Some(2)], true)] {
        let system = two_receivers();
        let system = System { toy: system.toy.forbid(&forbidden), ..system };
        for row in STRATEGIES {
            let ran = toys::run(&system, SearchBounds::default(), row.run, false);
            assert_eq!(ran.confirmed.is_some_and(|found| !found.is_empty()), is_found, "{}, {forbidden:?}", row.name);
        }
    }
}

/// A node that takes messages together can have no link in order to it; one from it can be.
#[test]
fn quorums_come_over_links_without_order() {
    let toy = (0..3).fold(Toy::new(3), |toy, from| toy.in_flight(from, 0, 0)).collect((0, 0), &[0], 2, 1, &[]);
    let factory = Arc::new(toy);
    let link = |from, to| Scenario { links: vec![Link { from, to, network: Network::Ordered }], ..Scenario::new(3) };
    for (scenario, refused) in [(link(0, 2), None), (link(2, 0), Some(StartError::QuorumsInOrder { from: 2, to: 0 }))] {
        let lts = Lts::new(&factory, scenario).expect("a toy lists its properties");
        let mut stepper = Stepper::new(&lts).expect("a toy has machines");
        assert_eq!(start::initial(&mut stepper).err(), refused);
    }
}

/// Faults have to have a link where they can happen, links have nodes, and each is given once.
#[test]
fn links_are_checked() {
    let link = |from, to, network| Link { from, to, network };
    let scenario = |links: &[Link], faults| Scenario { links: links.into(), faults, ..Scenario::new(2) };
    let breaks = Faults { breaks: 1, ..Faults::default() };
    let duplicates = Faults { duplicates: 1, ..Faults::default() };
    let (forth, back) = (link(0, 1, Network::Ordered), link(1, 0, Network::Ordered));
    let cases = [
        (scenario(&[forth, back], breaks), None),
        (scenario(&[forth], breaks), Some("those back are not")),
        (scenario(&[forth], Faults { resets: 1, ..Faults::default() }), Some("those back are not")),
        (scenario(&[forth], Faults::default()), None),
        (scenario(&[link(0, 1, Network::UnorderedDuplicating)], duplicates), None),
        (scenario(&[forth, back], duplicates), Some("never delivers a message twice")),
        (scenario(&[link(0, 1, Network::UnorderedDuplicating)], breaks), Some("no connections that could break")),
        (scenario(&[link(0, 2, Network::Ordered)], Faults::default()), Some("there is no node 2")),
        (scenario(&[forth, forth], Faults::default()), Some("is given twice")),
        (scenario(&[back, forth], Faults::default()), Some("sorted")),
    ];
    for (scenario, why) in cases {
        match (scenario.check(), why) {
            (Ok(()), None) => {}
            (Err(found), Some(why)) if found.to_string().contains(why) => {}
            (found, why) => panic!("{found:?}, not {why:?}: {scenario:?}"),
        }
    }
}
