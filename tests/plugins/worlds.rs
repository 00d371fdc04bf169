//! Bundled plugins in worlds: the node of `host live` in virtual time, compared with simulations of the model.

use std::sync::Mutex;
use std::time::Duration;

use host_live::gate::Open;
use host_live::node::{self, Settings};
use host_live::simulator::{Conditions, Delays, Simulator};
use host_live::time::{Range, Share};
use host_live::world::{Advice, Guided, Memory, Own, Plan, Runtime, Troubles, World};
use host_model::contract::Severity;
use host_model::lts::{Lts, Step, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::trace::{self, start};
use host_search::kernel::{FoundViolation, judge_system_state};

use super::{plugin, scenario};

/// A cluster, and the events around it.
struct Cluster {
    plugin: &'static str,
    scenario: Scenario,
    conditions: Conditions,
}

fn paxos(bug: &str, loss: Share) -> Cluster {
    let parameters: &[_] = &[("bug", bug), ("proposers", "2")];
    let conditions = Conditions {
        loopback: Some(Range::milliseconds(1, 1)),
        loss,
        delays: Delays { application: Range::milliseconds(1, 20_000), ..Conditions::default().delays },
        time: Duration::from_secs(60),
        continues: true,
        ..Conditions::default()
    };
    let scenario = Scenario { network: Network::Unordered, ..scenario(3, parameters) };
    Cluster { plugin: "paxos", scenario, conditions }
}

fn plan(cluster: &Cluster, seed: u64) -> Plan {
    let Conditions { latency, loopback, loss, delays, time, .. } = cluster.conditions;
    let Delays { timer, application, internal } = delays;
    let delays = node::Delays { timer, application: Some(application), internal };
    let settings = Settings { network: cluster.scenario.network, delays, seed, ..Settings::default() };
    let config = cluster.scenario.config();
    let own = loopback.map_or(Own::LikeOthers, Own::Within);
    Plan { config, latency, own, loss, time, ..Plan::ideal(seed, cluster.scenario.nodes, settings) }
}

/// A run: how many events it has had, and whether a property was violated.
struct Run {
    events: f64,
    is_violated: bool,
}

/// The run of a world whose handlers were looked up. The first violation is confirmed by fresh machines.
fn of_path(cluster: &Cluster, memory: &Mutex<Memory<'_>>) -> Run {
    let mut memory = memory.lock().expect("it is asked by one");
    let path = memory.path().to_vec();
    let mut start = start::Start { origin: trace::Origin::Init(Vec::new()), ..start::Start::default() };
    let (mut locals, mut steps, mut found) = (Vec::new(), Vec::new(), None);
    let mut choices = Vec::new();
    for (node, taken) in path {
        let stepper = memory.stepper();
        let Some(trigger) = taken.trigger else {
            assert_eq!(node as usize, locals.len(), "nodes start in their order, before anything else");
            let outcome = &stepper.init(node).expect("it is looked up")[taken.outcome as usize];
            choices.push(outcome.choices.to_vec());
            locals.push(taken.next);
            continue;
        };
        if start.initial.is_empty() {
            (start.initial, start.origin) = (locals.clone(), trace::Origin::Init(choices.clone()));
        }
        locals[node as usize] = taken.next;
        steps.push(Step { node, trigger, outcome: taken.outcome });
        let mut judgements = judge_system_state(stepper, &locals).all().expect("the host can continue").into_iter();
        let violated = judgements.find(|(_, judgement)| judgement.severity() == Severity::Violation);
        if let Some((node, judgement)) = violated.filter(|_| found.is_none()) {
            found = Some(FoundViolation::new(&start, &steps, node, judgement));
        }
    }
    if let Some(found) = &found {
        let stepper = memory.stepper();
        let steps = trace::record(stepper, &found.initial, &found.path).expect("it was looked up");
        let finding = found.finding(stepper).expect("it was judged");
        trace::confirm(plugin(cluster.plugin), &cluster.scenario, &found.origin, &steps, &finding).expect("it replays");
    }
    Run { events: steps.len() as f64, is_violated: found.is_some() }
}

/// Mean, and its standard error.
fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count / count).sqrt())
}

/// Messages and local events take as long, and are lost as often: of 400 runs each, with other random numbers, the mean number of events and
/// the share of runs that violate agreement are within four standard errors. Each first violation replays.
#[test]
fn paxos_in_a_world_is_distributed_like_in_a_simulation() {
    let cluster = paxos("last-response", Share(300_000));
    let factory = plugin(cluster.plugin);
    let lts = Lts::new(factory, cluster.scenario.clone()).expect("the plugin loads");
    let mut stepper = Stepper::new(&lts).expect("the plugin loads");
    let starts = start::initial(&mut stepper).expect("it starts");
    let mut simulator = Simulator::new(&mut stepper, &starts, cluster.conditions).expect("the conditions fit");
    let seeds = 0..400;
    let of_model = seeds.clone().map(|seed| {
        let run = simulator.run(seed).expect("the host can continue");
        Run { events: run.counts.events as f64, is_violated: run.violation.is_some() }
    });
    let of_model: Vec<Run> = of_model.collect();
    let memory = Memory::new(Stepper::new(&lts).expect("the plugin loads"), factory).expect("the plugin loads");
    let memory = Mutex::new(memory);
    let of_world = seeds.map(|seed| {
        let world = World::new(factory, plan(&cluster, seed), |_| Open).expect("the plugin loads");
        world.looking_up(&memory).run().expect("nothing is broken");
        of_path(&cluster, &memory)
    });
    let of_world: Vec<Run> = of_world.collect();
    let violated = |runs: &[Run]| {
        mean(runs.iter().map(|run| f64::from(u8::from(run.is_violated))).collect::<Vec<_>>().into_iter())
    };
    let events = |runs: &[Run]| mean(runs.iter().map(|run| run.events).collect::<Vec<_>>().into_iter());
    for (what, (world, one), (model, other)) in
        [("events", events(&of_world), events(&of_model)), ("violations", violated(&of_world), violated(&of_model))]
    {
        let apart = (world - model).abs();
        assert!(apart <= 4.0 * one.hypot(other), "{what}: {world} in worlds, {model} in simulations");
    }
    assert!(of_world.iter().any(|run| run.is_violated), "no world violates agreement");
}

/// Runs of Paxos with checkers: the results of the protocol of snapshots and of the rounds of a running node.
/// `HOST_WORLD_SEEDS=200` sets their number.
#[test]
#[ignore = "minutes of processor time: prints a table"]
#[expect(clippy::print_stderr, reason = "a measurement is for people")]
fn what_steering_does_in_worlds() {
    let seeds = std::env::var("HOST_WORLD_SEEDS").map_or(100, |seeds| seeds.parse().expect("it is a number"));
    let cluster = paxos("last-response", Share(300_000));
    let factory = plugin(cluster.plugin);
    let lts = Lts::new(factory, cluster.scenario.clone()).expect("the plugin loads");
    let memory = Memory::new(Stepper::new(&lts).expect("the plugin loads"), factory).expect("the plugin loads");
    let memory = Mutex::new(memory);
    let run = |seed: u64, steers: Option<bool>| {
        let advice = Advice {
            scenario: cluster.scenario.clone(),
            limits: host_live::checker::Limits::default(),
            every: Duration::from_millis(50),
            base: Duration::ZERO,
            each: Duration::from_micros(10),
            steers,
        };
        let world = World::new(factory, plan(&cluster, seed), |node| Guided::new(node, 3, steers));
        let mut world = world.expect("the plugin loads").looking_up(&memory).advised(advice);
        world.run().expect("nothing is broken");
        let foresees = world.foreseen.iter().any(|foreseen| foreseen.violations > 0);
        let snapshots = world.snapshots.clone();
        drop(world);
        (of_path(&cluster, &memory), foresees, snapshots)
    };
    let [mut violating, mut foreseen, mut alarms, mut prevented, mut missed, mut caused] = [0; 6];
    let is_violated = |seed: &u64| {
        let world = World::new(factory, plan(&cluster, *seed), |_| Open).expect("the plugin loads");
        world.looking_up(&memory).run().expect("nothing is broken");
        of_path(&cluster, &memory).is_violated
    };
    // Checkers that only observe change nothing, so those are the runs to prevent a violation in, and others may have one caused.
    let violated: Vec<u64> = (0..seeds).filter(is_violated).collect();
    let begun = host_tests::processor_seconds();
    let others = (0..seeds).filter(|seed| !violated.contains(seed)).take(violated.len());
    for seed in violated.iter().copied().chain(others) {
        let (control, foresees, snapshots) = run(seed, None);
        assert_eq!(control.is_violated, violated.contains(&seed), "seed {seed}");
        let (steered, ..) = run(seed, Some(false));
        violating += u64::from(control.is_violated);
        foreseen += u64::from(control.is_violated && foresees);
        alarms += u64::from(!control.is_violated && foresees);
        prevented += u64::from(control.is_violated && !steered.is_violated);
        missed += u64::from(control.is_violated && steered.is_violated);
        caused += u64::from(!control.is_violated && steered.is_violated);
        if control.is_violated {
            eprintln!("seed {seed}: foreseen {foresees}, steered violates {}, {snapshots:?}", steered.is_violated);
        }
    }
    let seconds = host_tests::processor_seconds() - begun;
    eprintln!("of {seeds} runs {violating} violate: {foreseen} foreseen, {prevented} prevented, {missed} missed");
    eprintln!("of as many others: {caused} caused, {alarms} false alarms; {seconds:.1} s of processor time");
}

/// The duration of runs of Paxos in worlds and in simulations. `HOST_WORLD_SEEDS=2000` sets their number.
#[test]
#[ignore = "prints a measurement"]
#[expect(clippy::print_stderr, reason = "a measurement is for people")]
fn how_long_runs_take_in_worlds() {
    let seeds = std::env::var("HOST_WORLD_SEEDS").map_or(2_000, |seeds| seeds.parse().expect("it is a number"));
    let cluster = paxos("last-response", Share(300_000));
    let factory = plugin(cluster.plugin);
    let lts = Lts::new(factory, cluster.scenario.clone()).expect("the plugin loads");
    let mut stepper = Stepper::new(&lts).expect("the plugin loads");
    let starts = start::initial(&mut stepper).expect("it starts");
    let of_nodes = Stepper::new(&lts).expect("the plugin loads");
    let runtime = Runtime::new(of_nodes, factory, &starts, cluster.conditions, Troubles::default());
    let runtime = runtime.expect("the conditions fit");
    let begun = host_tests::processor_seconds();
    let events = (0..seeds).map(|seed| runtime.run(seed).expect("the host can continue").counts.events);
    let in_worlds: u64 = events.sum();
    let of_worlds = host_tests::processor_seconds() - begun;
    let mut simulator = Simulator::new(&mut stepper, &starts, cluster.conditions).expect("the conditions fit");
    let begun = host_tests::processor_seconds();
    let events = (0..seeds).map(|seed| simulator.run(seed).expect("the host can continue").counts.events);
    let events: u64 = events.sum();
    let of_simulations = host_tests::processor_seconds() - begun;
    eprintln!(
        "{seeds} runs: {in_worlds} events in worlds, {of_worlds:.2} s; {events} in simulations, {of_simulations:.2} s"
    );
}
