//! Runs of nodes with checkers over ordered links, while processes are killed, connections break in place of messages, and scripts cut
//! nodes off: each is an execution of the model.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::{Faults, Network};
use host_model::toys::Toy;

use super::seeds;
use super::watched::{Asked, Tally, asked, compare};
use crate::simulator::Phase;
use crate::simulator::tests::scenario;
use crate::time::{Range, Share};

/// The options of a run with a seed.
fn linked(seed: u64) -> Asked {
    let mut asked = asked(seed);
    let toy = match seed % 3 {
        0 => Toy::random(seed, 3).with_random_errors(seed),
        1 => {
            Toy::random_busy(seed, 3).with_random_errors(seed).with_random_durable(seed).in_medium(seeds::medium(seed))
        }
        _ => Toy::random_busy(seed, 3).with_random_draws(seed),
    };
    let toy = if seed.is_multiple_of(7) { toy.with_random_traps(seed) } else { toy };
    // If local events cannot wait, only messages can be prevented.
    let waits = seed % 4 == 1;
    let toy = if waits { toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application) } else { toy };
    asked.toy = Arc::new(toy);
    // A small budget is used up in a run.
    let breaks = [Faults::MAX, 0, Faults::MAX, 2][(seed % 4) as usize];
    asked.scenario = scenario(3, Network::Ordered, if seed.is_multiple_of(5) { 2 } else { Faults::MAX });
    asked.scenario.faults.breaks = breaks;
    asked.conditions.loss = Share(0);
    asked.conditions.churn = (!seed.is_multiple_of(6)).then_some(Duration::from_millis(700));
    asked.conditions.latency = Range::milliseconds(1, if seed.is_multiple_of(5) { 400 } else { 20 });
    asked.profile.limits.breaks = breaks > 0;
    asked.profile.limits.promises = asked.profile.limits.promises.filter(|_| seed.is_multiple_of(3));
    let phase = |cut: &[u32], resets: &[u32]| Phase {
        lasts: Range::milliseconds(300, 2_000),
        cut: cut.to_vec(),
        lost: Vec::new(),
        calls: None,
        resets: resets.to_vec(),
    };
    asked.script = match seed % 8 {
        1 | 4 => vec![phase(&[], &[]), phase(&[0], &[0, 1]), phase(&[0, 2], &[]), phase(&[], &[2])],
        6 => vec![phase(&[1], &[]), phase(&[], &[1]), phase(&[2], &[])],
        _ => Vec::new(),
    };
    asked
}

/// On random systems: each step of each run is one that the model can take, whatever its checkers prevent. A run that is only
/// observed is the one without checkers, although nodes are killed: a connection that the model keeps takes messages to any start.
#[test]
fn each_run_with_checkers_over_connections_is_one_of_the_model() {
    let mut tally = Tally::default();
    (0..300).for_each(|seed| compare(seed, &linked(seed), &mut tally));
    let seen = [
        ("rounds", 1_000),
        ("predicting", 100),
        ("filtered", 10),
        ("immediate", 5),
        ("prevented", 2),
        ("breaks", 10),
        ("heard", 1_000),
        ("resets", 1_000),
        ("failed", 5),
    ];
    assert!(seen.iter().all(|(name, least)| tally.get(name).is_some_and(|count| count > least)), "{tally:?}");
}
