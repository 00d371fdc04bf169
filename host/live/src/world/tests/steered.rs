//! Steered nodes, in a cluster where no filter is safe.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::rules::Rules;

use super::seeds;
use crate::checker::Limits;
use crate::node::Delays;
use crate::time::Range;
use crate::world::{Advice, Guided, Plan, What, World};

/// Node 1 sends node 0 a message, and takes its next step after a while. If the message arrives before that step, a property is violated;
/// if it never arrives, the promise of node 0 never holds.
fn hasty() -> Arc<Toy> {
    let toy = Toy::new(2)
        .of_kind(0, LocalKind::Timer)
        .rule(1, 0, ToyTrigger::Local(0), 1, &[(0, 1)])
        .rule(1, 1, ToyTrigger::Local(0), 2, &[])
        .rule(0, 0, ToyTrigger::Message(1, 1), 2, &[])
        .forbid(&[Some(2), Some(1)])
        .promise("told", &[&[Some(2), None]]);
    Arc::new(toy)
}

/// Runs a world with a checker for each node, which may break connections where links have an order. Without losses the cluster keeps its
/// promise, steered or not: a message lost to a filter is an error. The immediate check may refuse a violation at once, even if that breaks
/// the promise.
fn world(seed: u64, network: Network) -> Result<(), String> {
    let (toy, breaks) = (hasty(), network == Network::Ordered);
    let mut settings = seeds::settings(network);
    let timer = Range::milliseconds(300, 1_000);
    settings.delays = Delays { timer, ..settings.delays };
    let plan = Plan::ideal(seed, 2, settings);
    let limits = Limits { promises: Some(Rules::default()), breaks, ..Limits::default() };
    let (every, each) = (Duration::from_millis(40), Duration::from_micros(1));
    // Where connections break in place of messages, they can break in the model.
    let faults = Faults { resets: u32::from(breaks), ..Faults::default() };
    let scenario = Scenario { network, faults, ..Scenario::new(2) };
    let advice = Advice { scenario, limits, every, base: Duration::ZERO, each, steers: Some(breaks) };
    let world = World::new(&toy, plan, |node| Guided::new(node, 2, Some(breaks)));
    let mut world = world.map_err(|broken| broken.to_string())?.advised(advice);
    world.run().map_err(|broken| broken.to_string())?;
    let is_received =
        world.history.steps.iter().any(|step| step.node == 0 && matches!(step.what, What::Message { .. }));
    assert!(world.foreseen.iter().any(|foreseen| foreseen.violations > 0), "something is wrong ahead");
    let refused = world.kept().iter().any(|(name, count)| *name == "refused" && *count > 0);
    if is_received || refused { Ok(()) } else { Err("the cluster does not keep what it owes".to_owned()) }
}

#[test]
fn steering_takes_away_nothing_that_is_owed() {
    for network in [Network::Unordered, Network::Ordered] {
        seeds::each("steering_takes_away_nothing_that_is_owed", 30, |seed| world(seed, network));
    }
}
