//! Steered nodes, in clusters where few filters are safe or none, and beyond their quota.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::lts::Stepper;
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::rules::Rules;

use super::seeds;
use crate::checker::Limits;
use crate::filter::Quota;
use crate::node::Delays;
use crate::simulator::Conditions;
use crate::simulator::tests::with_starts;
use crate::time::{Range, Time};
use crate::world::{Advice, Checkers, Guided, Part, Plan, Profile, Runtime, Troubles, Watched, What, World};

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

/// The same where node 1 sends another message with its next step. A filter of the first message prevents the violation, and the second one
/// keeps the promise.
fn hasty_again() -> Arc<Toy> {
    let toy = Toy::clone(&hasty());
    Arc::new(toy.rule(1, 1, ToyTrigger::Local(0), 2, &[(0, 2)]).rule(0, 0, ToyTrigger::Message(1, 2), 2, &[]))
}

/// The time of the first violation of a run, if it has one, and what its checkers have done.
type Ran = (Option<Time>, Watched);

/// The results of a run, in which connections may break in place of messages on links with an order.
fn run(toy: &Toy, network: Network, profile: Profile, part: Part, seed: u64) -> Ran {
    let breaks = if network == Network::Ordered { Faults::MAX } else { 0 };
    let scenario = Scenario { network, faults: Faults { breaks, ..Faults::default() }, ..Scenario::new(2) };
    let times = Conditions::default();
    let delays = crate::simulator::Delays { timer: Range::milliseconds(2_000, 6_000), ..times.delays };
    let conditions = Conditions { delays, time: Duration::from_secs(300), ..times };
    with_starts(toy, &scenario, |toy, lts, starts| {
        let stepper = Stepper::new(lts).expect("it is native");
        let runtime = Runtime::new(stepper, toy, starts, conditions, Troubles::default()).expect("they make sense");
        let checkers = Checkers::new(toy, &scenario, profile).expect("it is native");
        let ran = runtime.run_watched(seed, &checkers, part).expect("it is native");
        (ran.finished.violated, ran.watched)
    })
}

/// A break in place of the first message helps, unless node 1 can be reset after its second step: then the second message may arrive after
/// its next first step. Checkers explore that reset, so they must filter both messages, and do so unless the promise counts.
#[test]
fn nodes_use_no_filter_that_a_reset_makes_useless() {
    let toy = hasty_again();
    let profile = |promises| {
        let times = Profile::ours();
        Profile { limits: Limits { promises, breaks: true, ..times.limits }, ..times }
    };
    let mut violating = 0;
    for seed in 0..10 {
        let (violated, careful) = run(&toy, Network::Ordered, profile(Some(Rules::default())), Part::Steer, seed);
        assert!(careful.helped == 0 && careful.unhelpful > 0 && careful.filtered == 0, "{seed}: {careful:?}");
        violating += u32::from(violated.is_some());
        let (violated, careless) = run(&toy, Network::Ordered, profile(None), Part::Steer, seed);
        assert!(violated.is_none() && careless.helped > 0 && careless.filtered > 0, "{seed}: {careless:?}");
    }
    assert!(violating > 0);
}

/// Where the quota allows no event to be filtered, steering suspends itself, and a run is its control run.
#[test]
fn nodes_prevent_nothing_beyond_their_quota() {
    let toy = hasty();
    for seed in 0..10 {
        let of = |always, part| {
            let profile = Profile { quota: Quota { percent: 0, always }, ..Profile::ours() };
            run(&toy, Network::Unordered, profile, part, seed)
        };
        let (free, none, control) = (of(10, Part::Steer), of(0, Part::Steer), of(0, Part::Control));
        assert!(free.1.has_prevented() && free.0.is_none(), "{seed}: {free:?}");
        assert!(!none.1.has_prevented() && none.1.suspensions > 0, "{seed}: {none:?}");
        assert_eq!(none.0, control.0, "{seed}");
    }
}
