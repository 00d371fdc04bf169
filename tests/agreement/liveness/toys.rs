//! Toys whose graphs are recorded while they are explored, against the reference.

use std::sync::Arc;

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::System;
use host_agreement::reference::progress::{Within, progress};
use host_agreement::reference::promises;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network};
use host_model::toys::{Dice, Toy};
use host_model::trace::start;
use host_search::graph;
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use host_search::liveness::{Recorded, Recorder};

use super::{all_rules, difference, graphs};

/// Larger systems are left out.
pub const STATES_MAX: usize = 200;

/// Explores the graph of a system and records it.
pub fn record(system: &System, bounds: SearchBounds) -> Recorded {
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let mut recorder = Recorder::new(&lts);
    graph::explore(&search, &mut recorder).expect("a toy has no host faults");
    recorder.finish()
}

/// Systems that can run for ever, on both networks, with all faults.
pub fn random(seed: u64) -> System {
    let mut dice = Dice(seed ^ 0x70a5);
    let toy = Toy::random_busy(seed, 1 + dice.below(2));
    let toy = if dice.below(4) == 0 { toy.with_random_draws(seed) } else { toy };
    let network = if dice.below(3) == 0 { Network::Ordered } else { Network::Unordered };
    let none = Faults::default();
    let (toy, faults) = match (dice.below(8), network) {
        (0, Network::Ordered) => (toy.with_random_errors(seed).with_random_durable(seed), Faults { breaks: 1, ..none }),
        (0, _) => (toy.with_random_quorums(seed), none),
        (1, _) => (toy.with_random_durable(seed), Faults { resets: 1, ..none }),
        (2, _) => (toy.with_random_refusals(seed), Faults { refusals: 1, ..none }),
        (3, _) => (toy.with_random_traps(seed), none),
        (4, _) => (toy.with_random_starts(seed), none),
        _ => (toy, none),
    };
    with_random_losses(System { network, faults, ..System::new(toy) }, seed)
}

/// The same with lost messages. On ordered links some of these systems lose and send messages
/// for ever; a finite system without order cannot, since it would accumulate messages if they were not lost.
fn with_random_losses(mut system: System, seed: u64) -> System {
    let mut dice = Dice(seed ^ 0x1055);
    let losses = [0, 0, 1, 2, Faults::UNLIMITED, Faults::UNLIMITED][dice.below(6) as usize];
    let is_plain = system.faults == Faults::default() && system.toy.roles.is_empty();
    system.faults.losses = losses;
    if losses > 0 && is_plain && dice.below(3) > 0 {
        system.network = Network::Ordered;
        system.toy = Toy::random_busy_with_heralds(seed, system.toy.nodes);
    }
    system
}

#[test]
fn toys_keep_their_promises_as_the_reference_says() {
    let rules = all_rules();
    let (mut tried, mut dead, mut fair, mut stuck, mut cut, mut drawn, mut lost) = (0, 0, 0, 0, 0, 0, 0);
    for seed in 0..systems(10_000) {
        let system = random(seed);
        let local_events = (seed % 5 == 0).then_some(1 + (seed / 5 % 2) as u32);
        let Some(expected) = progress(&system, Within { local_events, ..Within::default() }, STATES_MAX) else {
            continue;
        };
        let bounds = SearchBounds { local_events, violations: Some(u64::MAX), ..SearchBounds::default() };
        let mut recorded = None;
        for promise in 0..expected.states[0].owed.len() {
            let rules = rules[Dice(seed + promise as u64).below(rules.len() as u32) as usize];
            let Some(outcome) = promises::decide(&expected.states, promise, rules) else { continue };
            let recorded = recorded.get_or_insert_with(|| record(&system, bounds));
            let verdict = graphs::judge(&recorded.graph, promise, rules);
            // States are numbered in another order.
            let outcome = promises::Outcome { distances: Vec::new(), ..outcome };
            let context = || format!("seed {seed}, promise {promise}, {rules:?}, {local_events:?}, {system:#?}");
            assert_eq!(difference(&verdict, &outcome), None, "{}", context());
            tried += 1;
            dead += u64::from(outcome.death.is_some());
            fair += u64::from(outcome.lasso.is_some());
            stuck += u64::from(outcome.stop.is_some());
            cut += u64::from(outcome.states.2 > 0);
            drawn += u64::from(recorded.graph.has_draws());
            lost += u64::from(system.faults.losses > 0);
        }
    }
    let seen = format_args!("{tried}: {dead} dead, {fair} fair, {stuck} stuck, {cut} cut, {drawn} drawn, {lost} lost")
        .to_string();
    telling(
        tried > enough(3_000) && [dead, fair, stuck, cut, drawn, lost].iter().all(|count| *count > enough(100)),
        format_args!("{seen}"),
    );
}
