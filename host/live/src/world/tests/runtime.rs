//! Runs of nodes in worlds: compared with the model, and as executions of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::fingerprint::of_local_state;
use host_model::lts::{Lts, Step, Stepper};
use host_model::scenario::{Faults, Link, Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::replay::Replay;
use host_model::trace::start::Start;
use host_model::trace::{self, TraceEvent, TraceStep};

use super::seeds;
use crate::simulator::tests::{confirmed, rough, scenario, scripted, scripts, with_starts};
use crate::simulator::{Conditions, Counts, Delays, End, Finished, Partitions, Phase};
use crate::time::Range;
use crate::world::{Runtime, RuntimeError, Trouble, Troubles};

const PARTITIONS: Partitions = Partitions { every: Duration::from_secs(2), lasting: Duration::from_secs(1) };

/// The runs of nodes with these seeds by a script.
fn scripted_nodes(
    toy: &Toy,
    scenario: &Scenario,
    (conditions, script): (Conditions, &[Phase]),
    seeds: impl Iterator<Item = u64>,
) -> Vec<Finished> {
    runs_of_nodes(toy, scenario, (conditions, Troubles::default(), script), seeds)
}

/// The runs with these seeds; each violation is confirmed by machines without memo and snapshots.
fn runs_of_nodes(
    toy: &Toy,
    scenario: &Scenario,
    (conditions, troubles, script): (Conditions, Troubles, &[Phase]),
    seeds: impl Iterator<Item = u64>,
) -> Vec<Finished> {
    with_runtime(toy, scenario, (conditions, troubles, script), |runtime, lts, factory| {
        let finished: Vec<Finished> = seeds.map(|seed| runtime.run(seed).expect("nothing is broken")).collect();
        let violations = finished.iter().filter_map(|run| run.violation.as_ref());
        violations.for_each(|violation| drop(confirmed(factory, lts, violation)));
        finished
    })
}

/// Calls a function with the nodes of a toy and its local transition system.
fn with_runtime<R>(
    toy: &Toy,
    scenario: &Scenario,
    (conditions, troubles, script): (Conditions, Troubles, &[Phase]),
    then: impl FnOnce(&Runtime<'_, '_>, &Lts<'_>, &Arc<Toy>) -> R,
) -> R {
    with_starts(toy, scenario, |factory, lts, starts| {
        let stepper = Stepper::new(lts).expect("it is native");
        let runtime = Runtime::new(stepper, factory, starts, conditions, troubles).expect("the conditions make sense");
        then(&runtime.scripted(script).expect("the script makes sense"), lts, factory)
    })
}

/// Machines without memo and snapshots take each step of a path, and reach the same states. Returns the steps, and the number of messages
/// in flight at the end.
pub(super) fn replay(
    (factory, scenario): (&Arc<Toy>, &Scenario),
    stepper: &mut Stepper<'_>,
    (start, path): (&Start, &[Step]),
    what: &str,
) -> (Vec<TraceStep>, usize) {
    let steps = trace::record(stepper, &start.initial, path).expect("it is native");
    let (mut replay, _) = Replay::new(factory, scenario, &start.origin).expect("it is native");
    let mut locals = start.initial.clone();
    for (number, (step, taken)) in steps.iter().zip(path).enumerate() {
        let report = replay.step(step);
        let report = report.unwrap_or_else(|error| panic!("{what}, step {}: {error}; {step:?}", number + 1));
        let local = &mut locals[step.node as usize];
        let row = stepper.step(*local, taken.trigger).expect("it is native");
        *local = stepper.outcomes(row)[taken.outcome as usize].next;
        let expected = stepper.state(*local).protocol.fingerprint;
        let is_same = |bytes: Vec<u8>| of_local_state(step.node, &bytes) == expected;
        assert!(report.state.is_none_or(is_same), "{what}, step {}: {step:?}", number + 1);
    }
    let in_flight = replay.in_flight().count();
    (steps, in_flight)
}

/// The runs with these seeds: machines without memo and snapshots can take each step where it happens, and reach the same states. On
/// ordered links, a run that ends because no input is left has no message in flight.
fn replayed(
    toy: &Toy,
    scenario: &Scenario,
    (conditions, troubles, script): (Conditions, Troubles, &[Phase]),
    seeds: impl Iterator<Item = u64>,
) -> Vec<(Finished, Vec<TraceStep>)> {
    with_runtime(toy, scenario, (conditions, troubles, script), |runtime, lts, factory| {
        let (mut all, mut stepper) = (Vec::new(), Stepper::new(lts).expect("it is native"));
        for seed in seeds {
            let (finished, start, path) = runtime.path(seed).expect("nothing is broken");
            let (steps, in_flight) =
                replay((factory, scenario), &mut stepper, (&start, &path), &format!("seed {seed}"));
            let is_ordered = scenario.network == Network::Ordered;
            assert!(finished.end != End::Quiet || !is_ordered || in_flight == 0, "seed {seed}: {in_flight} in flight");
            all.push((finished, steps));
        }
        all
    })
}

/// Cuts of one direction, processes that pause and are down for a while, clocks that jump.
fn troubles(seed: u64) -> Troubles {
    let trouble = |bit: u64, from: u64, to: u64| {
        let trouble = Trouble { every: Duration::from_secs(2), lasting: Range::milliseconds(from, to) };
        (seed >> bit & 1 > 0).then_some(trouble)
    };
    let down = Range::milliseconds(0, if seed.is_multiple_of(5) { 0 } else { 700 });
    Troubles { down, cuts: trouble(0, 100, 2_000), pauses: trouble(1, 100, 2_000), jumps: trouble(2, 1, 60_000) }
}

/// On random systems, under any fault and by scripts as well: a run depends on its seed alone, and its findings replay. A handler that
/// fails ends a run, also one of a start.
#[test]
fn runs_of_nodes_depend_on_their_seed_and_violations_replay() {
    let (mut ends, mut faults, mut violated) = (BTreeSet::new(), 0, 0);
    let mut all = Counts::default();
    let phase =
        |cut, resets| Phase { lasts: Range::milliseconds(100, 900), cut, lost: Vec::new(), calls: None, resets };
    let script = [phase(vec![], vec![1]), phase(vec![0], vec![]), phase(vec![0, 1], vec![2, 0]), phase(vec![], vec![])];
    for seed in 0..60 {
        let toy = match seed % 4 {
            0 => Toy::random(seed, 3).with_random_durable(seed).in_medium(seeds::medium(seed)),
            1 => Toy::random(seed, 3).with_random_starts(seed).with_random_traps(seed),
            2 => Toy::random_busy(seed, 3)
                .with_random_durable(seed)
                .in_medium(seeds::medium(seed))
                .with_random_traps(seed),
            _ => Toy::random_busy(seed, 3).with_random_draws(seed),
        };
        let is_ordered = seed % 3 == 0;
        let network = if is_ordered { Network::Ordered } else { Network::Unordered };
        let scenario = scenario(3, network, if is_ordered { 0 } else { 3 });
        let conditions = Conditions {
            events_max: 300,
            continues: seed.is_multiple_of(7),
            time: Duration::from_secs(20),
            ..rough(&scenario)
        };
        // Without recurring events, a run may end because nothing can happen.
        let is_calm = seed.is_multiple_of(6);
        let partitions = conditions.partitions.filter(|_| !is_calm);
        let troubles = if is_calm { Troubles::default() } else { troubles(seed) };
        let script = if is_ordered || seed.is_multiple_of(2) { &[] } else { &script[..] };
        let conditions = (Conditions { partitions, ..conditions }, troubles, script);
        let together = runs_of_nodes(&toy, &scenario, conditions, 0..4);
        let alone = runs_of_nodes(&toy, &scenario, conditions, 3..4);
        assert_eq!(alone[0].digest, together[3].digest, "system {seed}");
        assert_eq!((alone[0].counts, alone[0].end), (together[3].counts, together[3].end), "system {seed}");
        for Finished { counts, end, violation, .. } in &together {
            assert!(counts.events <= 300, "system {seed}: {counts:?}");
            assert!(*end != End::Events || counts.events == 300, "system {seed}: {counts:?}");
            let Counts { events, delivered, local, resets, .. } = *counts;
            assert_eq!(events, delivered + local + resets, "system {seed}");
            ends.insert(format!("{end:?}"));
            violated += u32::from(violation.is_some());
            let is_fault = |found: &host_search::kernel::FoundViolation| found.node.is_some();
            faults += u32::from(violation.as_ref().is_some_and(is_fault));
            all.delivered += delivered;
            all.lost += counts.lost;
            all.local += local;
            all.resets += resets;
            all.partitions += counts.partitions;
            all.violating += counts.violating;
        }
    }
    assert_eq!(ends.len(), 4, "{ends:?}");
    assert!(violated > 50 && faults > 10 && u64::from(violated) < all.violating, "{violated} {faults} {all:?}");
    let Counts { delivered, lost, local, resets, partitions, .. } = all;
    assert!([delivered, lost, local, resets, partitions].iter().all(|count| *count > 30), "{all:?}");
}

/// Over ordered links, under any fault while processes are killed: each step of each run is one that the model can take there.
/// Nodes hear of broken connections, and some of their messages are lost with them.
#[test]
fn each_run_over_connections_is_one_of_the_model() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let lasts = Range::milliseconds(100, 900);
    let phase = |resets, cut| Phase { lasts, cut, lost: Vec::new(), calls: None, resets };
    let script =
        [phase(vec![], vec![0]), phase(vec![0, 1], vec![1]), phase(vec![1], vec![1, 2]), phase(vec![2, 0], vec![])];
    for seed in 0..120 {
        let toy = match seed % 4 {
            0 => Toy::random(seed, 3).with_random_durable(seed).in_medium(seeds::medium(seed)),
            1 => Toy::random_busy(seed, 3).with_random_errors(seed).with_random_traps(seed),
            2 => Toy::random_busy(seed, 3)
                .with_random_errors(seed)
                .with_random_durable(seed)
                .in_medium(seeds::medium(seed)),
            _ => Toy::random_busy(seed, 3).with_random_draws(seed),
        };
        let budget = if seed % 5 == 0 { 2 } else { Faults::MAX };
        let has_syncs = seed.is_multiple_of(7);
        let toy = if has_syncs { toy.with_random_syncs(seed) } else { toy };
        let mut scenario = scenario(3, Network::Ordered, if has_syncs { 0 } else { budget });
        scenario.faults.outages = if has_syncs { budget } else { 0 };
        // Without recurring events, a run may end because nothing can happen.
        let is_calm = seed % 12 == 0;
        let partitions = (seed % 3 == 0 && !is_calm).then_some(PARTITIONS);
        let loopback = (seed % 7 == 0).then_some(Range::milliseconds(1, 20));
        let conditions = Conditions {
            latency: Range::milliseconds(1, if seed % 2 == 0 { 20 } else { 400 }),
            loopback,
            churn: (!is_calm).then_some(Duration::from_millis(700)),
            partitions,
            delays: Delays { internal: Range::milliseconds(0, 200), ..Conditions::default().delays },
            time: Duration::from_secs(20),
            events_max: 300,
            continues: true,
            ..Conditions::default()
        };
        let troubles = if seed % 6 == 0 { Troubles::default() } else { troubles(seed) };
        // With each of the troubles, and without.
        let script = if seed / 8 % 2 == 0 { &script[..] } else { &[] };
        for (run, steps) in replayed(&toy, &scenario, (conditions, troubles, script), 0..3) {
            let mut note = |name: &'static str, count: usize| *seen.entry(name).or_default() += count;
            let count = |is: fn(&TraceEvent) -> bool| steps.iter().filter(|step| is(&step.event)).count();
            note("heard", count(|event| matches!(event, TraceEvent::TransportError { lost: false, .. })));
            note("messages", run.counts.delivered as usize);
            note("resets", run.counts.resets as usize);
            note("quiet", usize::from(run.end == End::Quiet));
        }
    }
    let names = [("heard", 1_000), ("messages", 5_000), ("resets", 1_000), ("quiet", 10)];
    assert!(names.iter().all(|(name, least)| seen.get(name).is_some_and(|count| count > least)), "{seen:?}");
}

/// Latencies, delays, losses, partitions and, over links with an order, resets are drawn from other streams and do the same: of 100 runs
/// each, the means of all counts are within four standard errors.
#[test]
fn runs_of_nodes_are_distributed_like_runs_of_the_model() {
    let delay = Range::milliseconds(20, 200);
    let mut compared = 0;
    for seed in 0..6 {
        let network = if seed % 3 == 0 { Network::Ordered } else { Network::Unordered };
        let is_ordered = network == Network::Ordered;
        let toy = Toy::random_busy(seed, 3).with_random_errors(seed);
        let scenario = scenario(3, network, if is_ordered { Faults::MAX } else { 0 });
        let conditions = Conditions {
            delays: Delays { timer: delay, application: delay, internal: delay },
            partitions: Some(Partitions { every: Duration::from_millis(300), lasting: Duration::from_millis(100) }),
            time: Duration::from_secs(1),
            continues: true,
            churn: is_ordered.then_some(Duration::from_millis(200)),
            ..rough(&scenario)
        };
        let phase = |cut| Phase { lasts: delay, cut, lost: Vec::new(), calls: None, resets: Vec::new() };
        let script = if seed % 2 == 0 { vec![] } else { vec![phase(vec![]), phase(vec![0]), phase(vec![0, 1])] };
        let of_nodes = scripted_nodes(&toy, &scenario, (conditions, &script), 0..100);
        let of_model = scripted(&toy, &scenario, (conditions, &script), 0..100);
        let counts: [fn(&Counts) -> u64; 7] = [
            |counts| counts.events,
            |counts| counts.resets,
            |counts| counts.delivered,
            |counts| counts.local,
            |counts| counts.lost,
            |counts| counts.partitions,
            |counts| counts.violating,
        ];
        for (index, count) in counts.into_iter().enumerate() {
            let moments = |runs: &[Finished]| {
                let values: Vec<f64> = runs.iter().map(|run| count(&run.counts) as f64).collect();
                let mean = values.iter().sum::<f64>() / 100.0;
                (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 100.0)
            };
            let (nodes, model) = (moments(&of_nodes), moments(&of_model));
            let error = ((nodes.1 + model.1) / 100.0).sqrt();
            assert!((nodes.0 - model.0).abs() <= 4.0 * error + 1e-9, "toy {seed}, count {index}: {nodes:?} {model:?}");
            compared += usize::from(error > 0.0);
        }
    }
    assert!(compared > 25, "{compared} of 42 means vary");
}

/// Phases of a script have the same effects on nodes as on the model.
#[test]
fn scripts_do_the_same_to_nodes() {
    scripts::check_cuts_and_losses(scripted_nodes);
    scripts::check_waiting(scripted_nodes);
    scripts::check_that_conditions_hold_in_each_phase(scripted_nodes, &[Network::Unordered, Network::Ordered]);
    scripts::check_calls(scripted_nodes);
    scripts::check_resets(scripted_nodes);
    scripts::check_loopback(scripted_nodes);
}

/// A runtime refuses networks that no running node has.
#[test]
fn what_no_running_node_does_is_refused() {
    let mixed = Scenario {
        links: vec![Link { from: 0, to: 1, network: Network::Ordered }],
        ..scenario(2, Network::Unordered, 0)
    };
    let duplicating = scenario(2, Network::UnorderedDuplicating, 0);
    for (scenario, why) in [(mixed, RuntimeError::Links), (duplicating, RuntimeError::Duplicates)] {
        let factory = Arc::new(Toy::new(2));
        let lts = Lts::new(&factory, scenario).expect("it is native");
        let stepper = Stepper::new(&lts).expect("it is native");
        let refused = Runtime::new(stepper, &factory, &[], Conditions::default(), Troubles::default()).err();
        assert_eq!(refused, Some(why));
    }
}
