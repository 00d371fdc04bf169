//! Worlds of random toys: under any fault, the history is a trace of the model, on which it replays state by state.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_model::contract::fingerprint::of_local_state;
use host_model::contract::{MachineFactory, PropertyKind};
use host_model::scenario::{FaultEvent, Faults, Network, Scenario};
use host_model::toys::Toy;
use host_model::trace::replay::Replay;
use host_model::trace::{Finding, TraceEvent, TraceStep, confirm};

use super::seeds;
use crate::gate::Open;
use crate::world::path::Known;
use crate::world::{History, Plan, World};

/// The number of events of each kind with some seeds, by name.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    fn add(&mut self, name: &'static str, count: u64) {
        *self.0.entry(name).or_default() += count;
    }
}

/// A toy that keeps something in most states, and may run for ever.
pub(super) fn toy(seed: u64, nodes: u32) -> Arc<Toy> {
    let toy = if seed.is_multiple_of(3) { Toy::random(seed, nodes) } else { Toy::random_busy(seed, nodes) };
    let toy = toy.with_random_durable(seed).in_medium(seeds::medium(seed));
    Arc::new(match seed % 4 {
        0 => toy,
        1 => toy.with_random_syncs(seed),
        // It never syncs, so what it writes waits for the records of other things.
        _ => toy.sync(&[]),
    })
}

/// The scenario in which the history is possible: the resets of the node with the most, or outages in their place, and on ordered links as many breaks as events.
fn scenario(history: &History, plan: &Plan) -> Scenario {
    let resets = (0..plan.nodes).map(|node| history.resets(node)).max().unwrap_or(0);
    let network = plan.settings.network;
    let breaks = if network == Network::Ordered { history.steps.len() as u32 } else { 0 };
    Scenario {
        network,
        faults: Faults { resets, outages: resets, breaks, ..Faults::default() },
        ..Scenario::new(plan.nodes)
    }
}

/// Replays the history. Returns the number of steps, of violations to which a confirmed trace leads, and of restarts that have lost writes. `before` receives each step.
pub(super) fn replay(
    (history, plan): (&History, &Plan),
    factory: &dyn MachineFactory,
    before: &dyn Fn(&TraceStep),
) -> Result<(u64, u64, u64), String> {
    let is_ordered = plan.settings.network == Network::Ordered;
    let Some((origin, mut steps)) = history.trace(plan.nodes, is_ordered) else { return Ok((0, 0, 0)) };
    let scenario = scenario(history, plan);
    let (mut replay, _) = Replay::new(factory, &scenario, &origin).map_err(|error| error.to_string())?;
    let (mut violations, mut losses) = (0, 0);
    for number in 0..steps.len() {
        let Known { step, found, .. } = &mut steps[number];
        let lost = found.as_ref().map_or(0, |found| replay.changes_behind(step.node, found));
        if lost > 0 {
            let outage = FaultEvent::of_kind("outage", None).and_then(|outage| outage.losing(lost));
            step.event = TraceEvent::Fault { event: outage.expect("an outage loses writes"), lost: false };
            losses += 1;
        }
        let Known { step, state, .. } = &steps[number];
        before(step);
        let report = replay.step(step).map_err(|error| {
            let words =
                |Known { step, .. }: &Known| format!("node {} {:?} sends {:?}\n", step.node, step.event, step.sent);
            let before = steps[number.saturating_sub(20)..number].iter().map(words).collect::<String>();
            format!("the model does not do what has happened: {error}; {step:?}, after\n{before}")
        })?;
        let replayed = report.state.map(|bytes| of_local_state(step.node, &bytes));
        if state.is_some() && replayed != *state {
            return Err(format!("step {} leads to another state in the model: {step:?}", number + 1));
        }
        let findings = replay.findings().map_err(|error| error.to_string())?;
        let is_violation = |finding: &&Finding| matches!(finding, Finding::Property { kind: PropertyKind::Always, .. });
        if violations == 0
            && let Some(finding) = findings.iter().find(is_violation)
        {
            let path: Vec<TraceStep> = steps[..=number].iter().map(|known| known.step.clone()).collect();
            confirm(factory, &scenario, &origin, &path, finding).map_err(|error| error.to_string())?;
            violations += 1;
        }
    }
    Ok((steps.len() as u64, violations, losses))
}

fn world(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let nodes = 2 + (seed % 3) as u32;
    let (plan, toy) = (seeds::plan(seed, nodes, Network::Unordered), toy(seed, nodes));
    let mut world = World::new(&toy, plan.clone(), |_| Open).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    let (steps, violations, losses) = replay((&world.history, &plan), &toy, &|_| ())?;
    tally.add("seeds", 1);
    tally.add("steps", steps);
    tally.add("violations", violations);
    tally.add("outages", losses);
    tally.add("undone", world.history.undone);
    world.troubles.iter().chain(&world.snapshots).for_each(|(name, count)| tally.add(name, *count));
    Ok(())
}

#[test]
fn whatever_goes_wrong_is_a_trace_of_the_model() {
    let mut tally = Tally::default();
    seeds::each("whatever_goes_wrong_is_a_trace_of_the_model", 600, |seed| world(seed, &mut tally));
    for name in [
        "complete",
        "crash at a start",
        "cut",
        "full",
        "jump",
        "kill",
        "lost",
        "outages",
        "pause",
        "undone",
        "violations",
    ] {
        assert!(tally.0.get(name).is_some_and(|count| *count > 5) || tally.0["seeds"] < 200, "{name}: {:?}", tally.0);
    }
}
