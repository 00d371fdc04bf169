//! Messages that are lost are gone, and absent nodes are silent ones.

use std::collections::{BTreeMap, BTreeSet};

use host_agreement::reference::{self, Prefix, System};
use host_agreement::toys::empty_trace;
use host_model::contract::NodeId;
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::{Trace, TraceEvent, TraceStep};
use host_search::kernel::SearchBounds;
use host_search::strategy::{Bound, STRATEGIES};

use super::{STATES_MAX, SYSTEMS, exported, families, said, said_within};

/// A lost message is gone: the successors are those of the same states without it.
#[test]
fn what_is_lost_is_no_longer_in_flight() {
    let mut lost = 0;
    for seed in 0..SYSTEMS {
        for system in families(seed) {
            let Some(prefix) = Prefix::random(&system, seed, 3) else { continue };
            let scenario = system.scenario();
            let mut after = Trace { init_choices: prefix.init_choices, steps: prefix.steps, ..empty_trace(&scenario) };
            let mut beginning = exported(&system, &after);
            // A notice of a break cannot be lost.
            if beginning.in_flight.iter().any(|flight| flight.notice) {
                continue;
            }
            for flight in std::mem::take(&mut beginning.in_flight) {
                let event = TraceEvent::Lose { from: flight.from, payload: flight.payload };
                after.steps.push(TraceStep { node: flight.to, event, choices: Vec::new(), sent: None, state: None });
                lost += 1;
            }
            assert_eq!(exported(&system, &after), beginning, "seed {seed}");
            let from = Trace { beginning: Some(beginning), ..empty_trace(&scenario) };
            for row in STRATEGIES.iter().filter(|row| row.name != "walk") {
                assert_eq!(said(&system, &from, row.run), said(&system, &after, row.run), "seed {seed}, {}", row.name);
            }
        }
    }
    assert!(lost > 50, "{lost}");
}

/// An absent node affects the others as a node does that takes every message and does nothing.
#[test]
fn absent_nodes_are_silent() {
    let gone: NodeId = 2;
    let (mut compared, mut stuck) = (0, 0);
    for seed in 0..SYSTEMS {
        let mut toy = Toy::random(seed, 3).with_random_done(seed);
        // It waits for nothing.
        toy.done.insert((gone, 0));
        toy.rules.retain(|(node, ..), _| *node != gone);
        toy.initial.retain(|(from, ..)| *from != gone);
        // No property reads it, either.
        toy.forbidden.iter_mut().for_each(|tuple| tuple[gone as usize] = None);
        let silent = System::new(toy);
        if reference::search(&silent, None, None, STATES_MAX).is_none() {
            continue;
        }
        compared += 1;
        for row in STRATEGIES.iter().filter(|row| row.is_complete) {
            let deadlock = row.honours.contains(&Bound::Deadlock);
            let bounds = SearchBounds { violations: Some(u64::MAX), deadlock, ..SearchBounds::default() };
            let found = |absent: BTreeSet<NodeId>| {
                let scenario = Scenario { absent, ..silent.scenario() };
                let said = said_within(&silent, &empty_trace(&scenario), row.run, bounds);
                said.findings.into_iter().map(|(words, _)| words).collect::<BTreeSet<String>>()
            };
            let without = found([gone].into());
            assert_eq!(without, found(BTreeSet::new()), "seed {seed}, {}", row.name);
            stuck += without.iter().filter(|words| words.contains("nothing can happen any more")).count();
        }
    }
    assert!(compared > 5 && stuck > 10, "{compared}, {stuck} deadlocks");
}

/// On every network and with every fault, all events without a node also happen with a silent one.
#[test]
fn absent_nodes_add_nothing() {
    let gone: NodeId = 1;
    let mut found_without = 0;
    for seed in 0..2 * SYSTEMS {
        for system in families(seed) {
            let mut toy = system.toy.clone();
            toy.rules.retain(|(node, ..), _| *node != gone);
            toy.initial.retain(|(from, ..)| *from != gone);
            toy.forbidden.iter_mut().for_each(|tuple| tuple[gone as usize] = None);
            let system = System { toy, ..system };
            if reference::search(&system, None, None, STATES_MAX).is_none() {
                continue;
            }
            let mut sets: BTreeMap<Vec<NodeId>, BTreeSet<BTreeSet<String>>> = BTreeMap::new();
            for row in STRATEGIES.iter().filter(|row| row.is_complete && row.honours.contains(&Bound::Deadlock)) {
                let bounds = SearchBounds { violations: Some(u64::MAX), deadlock: true, ..SearchBounds::default() };
                for absent in [vec![], vec![gone]] {
                    let scenario = Scenario { absent: absent.iter().copied().collect(), ..system.scenario() };
                    let said = said_within(&system, &empty_trace(&scenario), row.run, bounds);
                    let words = said.findings.into_iter().map(|(words, _)| words).collect();
                    sets.entry(absent).or_default().insert(words);
                }
            }
            let what = format!("seed {seed}, {:?}, {:?}", system.network, system.faults);
            assert!(sets.values().all(|found| found.len() == 1), "{what}: strategies differ: {sets:?}");
            let only = |absent: &[NodeId]| sets[absent].first().expect("there are strategies").clone();
            // A silent node that says that it is not done waits; an absent one says nothing.
            let is_of_others = |words: &String| !words.contains("nothing can happen any more");
            let without: BTreeSet<String> = only(&[gone]).into_iter().filter(is_of_others).collect();
            assert!(without.is_subset(&only(&[])), "{what}: {without:?}");
            found_without += without.len();
        }
    }
    assert!(found_without > 20, "{found_without}");
}
