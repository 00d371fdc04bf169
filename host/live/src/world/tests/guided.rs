//! Nodes that their checkers steer under all faults: the history is still a trace of the model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::Toy;
use host_search::kernel::rules::Rules;

use super::{seeds, traces};
use crate::checker::{Checker, Limits};
use crate::world::{Advice, Guided, Plan, World};

/// The number of events of each kind, over all seeds.
type Tally = BTreeMap<&'static str, u64>;

/// A world of a random toy, whose nodes are steered; with every other seed some node has little bandwidth for snapshots.
fn world(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let nodes = 2 + (seed % 2) as u32;
    let network = if seed.is_multiple_of(3) { Network::Ordered } else { Network::Unordered };
    let is_ordered = network == Network::Ordered;
    let toy = match is_ordered {
        true => Toy::random(seed, nodes).with_random_errors(seed),
        false => Toy::random(seed, nodes).with_random_promises(seed, false),
    };
    let toy = Arc::new(toy.with_random_durable(seed).in_medium(seeds::medium(seed)));
    let plan = seeds::plan(seed, nodes, network);
    let mut settings = plan.settings;
    settings.bandwidth = (seed / 2).is_multiple_of(2).then_some(2_000);
    let breaks = (is_ordered && seed.is_multiple_of(2)).then_some(Duration::from_millis(300));
    let plan = Plan { settings, snapshots: None, breaks, ..plan };
    // Where connections break in place of messages, they can break in the model.
    let faults = Faults { resets: u32::from(is_ordered), ..Faults::default() };
    let scenario = Scenario { network, faults, ..Scenario::new(nodes) };
    let limits = Limits {
        events_max: 100,
        states_max: 50,
        promises: Some(Rules::default()),
        breaks: is_ordered,
        ..Limits::default()
    };
    let factory = &toy;
    let gate = |node| {
        let gate = Guided::new(node, nodes, Some(is_ordered));
        if is_ordered {
            return gate;
        }
        let mut checker = Checker::new(factory, scenario.clone(), Limits::of_an_event(100)).expect("it is native");
        gate.holding(move |event, fork| {
            checker.foresee(event, fork, &|| ()).is_ok_and(|foreseen| foreseen.prediction.is_some())
        })
    };
    let (every, each) = (Duration::from_millis(100), Duration::from_micros(10));
    let advice =
        Advice { scenario: scenario.clone(), limits, every, base: Duration::ZERO, each, steers: Some(is_ordered) };
    let mut world = World::new(factory, plan.clone(), gate).map_err(|broken| broken.to_string())?.advised(advice);
    world.run().map_err(|broken| broken.to_string())?;
    traces::replay((&world.history, &plan), factory, &|_| ())?;
    for foreseen in &world.foreseen {
        *tally.entry("violations foreseen").or_default() += foreseen.violations as u64;
        *tally.entry("promises that die").or_default() += foreseen.dead as u64;
        *tally.entry("rounds").or_default() += 1;
    }
    for (name, count) in world.kept() {
        *tally.entry(name).or_default() += count;
    }
    for (name, count) in world.troubles.iter().chain(&world.snapshots) {
        *tally.entry(name).or_default() += count;
    }
    Ok(())
}

#[test]
fn nodes_that_are_steered_do_what_the_model_can() {
    let mut tally = Tally::default();
    seeds::each("nodes_that_are_steered_do_what_the_model_can", 180, |seed| world(seed, &mut tally));
    let seen =
        ["violations foreseen", "filtered", "refused", "foreseen", "broken", "kill", "cut", "complete", "capped"];
    for name in seen {
        let is_seen = tally.get(name).is_some_and(|count| *count > 0);
        assert!(is_seen || std::env::var("HOST_WORLD_SEED").is_ok(), "{name}: {tally:?}");
    }
}
