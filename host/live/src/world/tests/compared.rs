//! Worlds in which handlers are looked up, compared with worlds in which they run, and with simulations of the model.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Medium, Toy};
use host_model::trace::start::{self, Start};

use super::seeds;
use crate::checker::Limits;
use crate::gate::Open;
use crate::node::{self, Settings};
use crate::simulator::{Conditions, Delays, Simulator};
use crate::time::{Range, Share};
use crate::world::{Advice, Guided, Memory, Own, Plan, Step, Trouble, World};

const NODES: u32 = 3;

/// The scenario of a toy: a kill of a node that calls `sync` is an outage.
fn scenario(toy: &Toy, network: Network) -> Scenario {
    let breaks = if network == Network::Ordered { Faults::MAX } else { 0 };
    let [resets, outages] = if toy.syncs.is_some() { [0, Faults::MAX] } else { [Faults::MAX, 0] };
    Scenario { network, faults: Faults { resets, outages, breaks, ..Faults::default() }, ..Scenario::new(NODES) }
}

/// The history of a world in which handlers are looked up, and the number of kills that have lost writes.
fn looked_up(toy: &Arc<Toy>, plan: &Plan) -> (Vec<Step>, usize) {
    let lts = Lts::new(toy, scenario(toy, plan.settings.network)).expect("it is native");
    let memory = Memory::new(Stepper::new(&lts).expect("it is native"), toy).expect("it is native");
    let memory = Mutex::new(memory);
    let mut world = World::new(toy, plan.clone(), |_| Open).expect("it is native").looking_up(&memory);
    world.run().expect("nothing is broken");
    let steps = std::mem::take(&mut world.history.steps);
    drop(world);
    let memory = memory.into_inner().expect("no test panics with it in hand");
    let faults = memory.path().iter().filter_map(|(_, taken)| taken.trigger?.fault());
    (steps, faults.filter(|fault| fault.unsynced() > 0).count())
}

/// With all faults except those of disks, which write at once: the same steps happen at the same nodes, state by state and message by
/// message.
#[test]
fn a_world_in_which_handlers_are_looked_up_is_the_same() {
    let (mut steps, mut starts, mut losses) = (0, 0, 0);
    seeds::each("a_world_in_which_handlers_are_looked_up_is_the_same", 120, |seed| {
        let network = if seed.is_multiple_of(2) { Network::Unordered } else { Network::Ordered };
        let toy = match seed % 3 {
            0 => Toy::random(seed, NODES),
            1 => Toy::random_busy(seed, NODES).with_random_draws(seed),
            _ => Toy::random_busy(seed, NODES).with_random_errors(seed),
        };
        let toy = toy.with_random_durable(seed).in_medium(seeds::medium(seed));
        let toy = Arc::new(match seed / 6 % 3 {
            0 => toy,
            1 => toy.with_random_syncs(seed),
            _ => toy.sync(&[]),
        });
        let plan = seeds::plan(seed, NODES, network);
        let plan = Plan { writing: Range::milliseconds(0, 0), full: Share(0), time: Duration::from_secs(2), ..plan };
        // Snapshots need records, in which writes reach the disk that were not synced.
        let (every, lasting) = (Duration::from_millis(200), Range::milliseconds(0, 100));
        let plan = match toy.syncs.is_some() {
            true => Plan { snapshots: None, kills: Some(Trouble { every, lasting }), ..plan },
            false => plan,
        };
        let mut world = World::new(&toy, plan.clone(), |_| Open).map_err(|broken| broken.to_string())?;
        world.run().map_err(|broken| broken.to_string())?;
        let (run, (found, lost)) = (format!("{:?}", world.history.steps), looked_up(&toy, &plan));
        (steps, losses) = (steps + found.len(), losses + lost);
        starts += world.troubles.get("kill").copied().unwrap_or(0);
        if run == format!("{found:?}") { Ok(()) } else { Err(format!("not the same: {run}\n{found:?}")) }
    });
    let is_enough = steps > 1_000 && starts > 10 && losses > 10;
    assert!(is_enough || std::env::var("HOST_WORLD_SEED").is_ok(), "{steps} {starts} {losses}");
}

/// A protocol behaves the same wherever its durable state is, and finds it at each start: with all faults but those of disks, whose room
/// and crashes depend on the bytes of a record.
#[test]
fn the_place_of_the_durable_state_changes_nothing() {
    let (mut steps, mut starts) = (0, 0);
    seeds::each("the_place_of_the_durable_state_changes_nothing", 60, |seed| {
        let network = if seed.is_multiple_of(2) { Network::Unordered } else { Network::Ordered };
        let plan = seeds::plan(seed, NODES, network);
        let plan = Plan { writing: Range::milliseconds(0, 0), full: Share(0), ..plan };
        let mut run = |medium| {
            let toy = Toy::random_busy(seed, NODES).with_random_durable(seed).with_random_draws(seed);
            let toy = Arc::new(toy.in_medium(medium));
            let mut world = World::new(&toy, plan.clone(), |_| Open).map_err(|broken| broken.to_string())?;
            world.run().map_err(|broken| broken.to_string())?;
            starts += world.troubles.get("kill").copied().unwrap_or(0);
            // Fingerprints of states are of another encoding.
            let words = |step: &Step| format!("{} {:?} {:?} {:?}", step.node, step.what, step.choices, step.sent);
            Ok::<_, String>(world.history.steps.iter().map(words).collect::<Vec<_>>())
        };
        let expected = run(Medium::Persisted)?;
        steps += expected.len();
        for medium in [Medium::Map, Medium::WholeMap] {
            let found = run(medium)?;
            let differs = expected.iter().zip(&found).position(|(one, other)| one != other);
            if differs.is_some() || found.len() != expected.len() {
                return Err(format!("{medium:?}: step {differs:?} of {} and {}", expected.len(), found.len()));
            }
        }
        Ok(())
    });
    assert!((steps > 1_000 && starts > 30) || std::env::var("HOST_WORLD_SEED").is_ok(), "{steps} {starts}");
}

/// Frames of snapshots draw from a random stream of their own, and a checker that only observes has no other effect. So on unordered links,
/// without kills and clock faults, nodes behave the same with and without checkers.
#[test]
fn checkers_that_only_observe_change_nothing() {
    let mut rounds = 0;
    seeds::each("checkers_that_only_observe_change_nothing", 60, |seed| {
        let toy = Arc::new(Toy::random_busy(seed, NODES));
        let plan = seeds::plan(seed, NODES, Network::Unordered);
        let (writing, full) = (Range::milliseconds(0, 0), Share(0));
        // Loopback messages have a latency of their own, and do not arrive together with the next input.
        let own = Own::Within(Range::milliseconds(1, 1));
        let plan = Plan { writing, full, own, kills: None, jumps: None, pauses: None, snapshots: None, ..plan };
        // Checkers cause further records, so that outputs wait for other records than without them.
        let words =
            |step: &Step| format!("{} {:?} {:?} {:?} {}", step.node, step.what, step.choices, step.sent, step.state);
        let steps = |world: &World<'_, Guided<'_>>| world.history.steps.iter().map(words).collect::<Vec<_>>();
        let world = || World::new(&toy, plan.clone(), |node| Guided::new(node, NODES, None)).expect("it is native");
        let mut alone = world();
        alone.run().map_err(|broken| broken.to_string())?;
        let scenario = Scenario::new(NODES);
        let limits = Limits { events_max: 50, states_max: 20, ..Limits::default() };
        let (every, each) = (Duration::from_millis(50), Duration::from_micros(10));
        let mut observed =
            world().advised(Advice { scenario, limits, every, base: Duration::ZERO, each, steers: None });
        observed.run().map_err(|broken| broken.to_string())?;
        rounds += observed.foreseen.len();
        let (alone, observed) = (steps(&alone), steps(&observed));
        match alone.iter().zip(&observed).position(|(one, other)| one != other) {
            None if alone.len() == observed.len() => Ok(()),
            place => Err(format!(
                "the nodes do something else: {place:?}, {:?}",
                place.map(|at| (&alone[at], &observed[at]))
            )),
        }
    });
    assert!(rounds > 60 || std::env::var("HOST_WORLD_SEED").is_ok(), "{rounds} rounds");
}

/// The states of each node in their order, and whether a handler has chosen an answer.
#[derive(Debug, Default, PartialEq)]
struct Paths {
    states: Vec<Vec<Fingerprint>>,
    chooses: bool,
}

impl Paths {
    fn events(&self) -> usize {
        self.states.iter().map(Vec::len).sum()
    }
}

fn of_world(toy: &Arc<Toy>, conditions: &Conditions, seed: u64) -> Paths {
    let Delays { timer, application, internal } = conditions.delays;
    let delays = node::Delays { timer, application: Some(application), internal };
    let settings = Settings { network: Network::Unordered, delays, seed, ..Settings::default() };
    let plan = Plan {
        latency: conditions.latency,
        own: conditions.loopback.map_or(Own::LikeOthers, Own::Within),
        loss: conditions.loss,
        time: conditions.time,
        ..Plan::ideal(seed, NODES, settings)
    };
    let mut paths = Paths { states: vec![Vec::new(); NODES as usize], chooses: false };
    for step in looked_up(toy, &plan).0 {
        paths.states[step.node as usize].push(step.state);
        paths.chooses |= !step.choices.is_empty();
    }
    // The start is no event.
    paths.states.iter_mut().for_each(|states| _ = states.remove(0));
    paths
}

fn of_model(toy: &Arc<Toy>, conditions: Conditions, seed: u64) -> Paths {
    let lts = Lts::new(toy, Scenario { network: Network::Unordered, ..Scenario::new(NODES) }).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let mut simulator = Simulator::new(&mut stepper, &starts, conditions).expect("the conditions make sense");
    let mut run = simulator.begin(seed);
    run.finish().expect("it is native");
    let (mut here, path): (Start, _) = (run.start.clone(), std::mem::take(&mut run.path));
    drop(run);
    let mut paths = Paths { states: vec![Vec::new(); NODES as usize], chooses: starts.len() > 1 };
    for step in path {
        let row = stepper.step(here.locals[step.node as usize], step.trigger).expect("it is native");
        paths.chooses |= !stepper.outcomes(row)[step.outcome as usize].choices.is_empty();
        here.advance(&mut stepper, step).expect("it is native");
        let state = stepper.state(here.locals[step.node as usize]).protocol.fingerprint;
        paths.states[step.node as usize].push(state);
    }
    paths
}

fn conditions(latency: Range, delay: Range) -> Conditions {
    Conditions {
        latency,
        loopback: Some(latency),
        delays: Delays { timer: delay, application: delay, internal: delay },
        time: Duration::from_secs(5),
        events_max: 10_000,
        continues: true,
        ..Conditions::default()
    }
}

/// Without random draws, each node goes through the same states: links take 7 ms and 1 µs, and local events 100 ms and 3 µs.
#[test]
fn without_chance_a_world_is_a_simulation() {
    let at = |nanoseconds| Range { from: Duration::from_nanos(nanoseconds), to: Duration::from_nanos(nanoseconds) };
    let conditions = conditions(at(7_001_000), at(100_003_000));
    let (mut compared, mut events) = (0, 0);
    for seed in 0..200 {
        let toy = if seed % 2 == 0 { Toy::random(seed, NODES) } else { Toy::random_busy(seed, NODES) };
        let toy = Arc::new(toy);
        let model = of_model(&toy, conditions, seed);
        if model.chooses {
            continue;
        }
        let world = of_world(&toy, &conditions, seed);
        assert_eq!(world, model, "toy {seed}");
        (compared, events) = (compared + 1, events + model.events());
    }
    assert!(compared > 30 && events > 300, "{compared} toys, {events} events");
}

/// With latencies, losses and answers drawn from different streams, both have about the same number of events, and end in a given state
/// about equally often: the means of 100 runs each are within four standard errors.
#[test]
fn with_chance_a_world_is_distributed_like_a_simulation() {
    let mut conditions = conditions(Range::milliseconds(1, 50), Range::milliseconds(20, 200));
    (conditions.loss, conditions.time) = (Share(100_000), Duration::from_secs(1));
    let mut compared = 0;
    for toy_seed in 0..6 {
        let toy = Arc::new(Toy::random_busy(toy_seed, NODES));
        let of = |run: &dyn Fn(u64) -> Paths| {
            let runs: Vec<Paths> = (0..100).map(run).collect();
            let ends = |paths: &Paths| paths.states[0].last().copied();
            let most = ends(&of_model(&toy, conditions, 1_000));
            let events = runs.iter().map(|paths| paths.events() as f64).collect::<Vec<_>>();
            let alike = runs.iter().map(|paths| f64::from(u8::from(ends(paths) == most))).collect::<Vec<_>>();
            [events, alike]
        };
        let of_world = of(&|seed| of_world(&toy, &conditions, seed));
        let of_model = of(&|seed| of_model(&toy, conditions, seed));
        for (world, model) in of_world.iter().zip(&of_model) {
            let (of_world, of_model) = (moments(world), moments(model));
            let error = ((of_world.1 + of_model.1) / 100.0).sqrt();
            let apart = (of_world.0 - of_model.0).abs();
            assert!(apart <= 4.0 * error + 1e-9, "toy {toy_seed}: {of_world:?} {of_model:?}");
            compared += usize::from(error > 0.0);
        }
    }
    assert!(compared > 5, "{compared} of 12 means vary");
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
}
