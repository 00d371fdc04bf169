//! Recordings of the nodes of random worlds: together they are a log that an execution explains.

use std::sync::Arc;
use std::time::Duration;

use host_agreement::effort;
use host_follow::{Bound, Bounds, Facts, Input, Nodes, Read, Verdict, follow};
use host_live::disk::Owner;
use host_live::node::Settings;
use host_live::recording::{Entry, Lines, NoLines, Player, Tapes, entries};
use host_live::time::{Range, Share};
use host_live::world::{Plan, Trouble, What, World};
use host_model::contract::{MachineFactory, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Medium, Toy};
use host_model::trace::start;
use serde_json::Value;

use crate::verdicts::Memory;

/// A world that has run, with its recordings.
struct Ran {
    plan: Plan,
    toy: Arc<Toy>,
    tapes: Tapes,
    /// Per node, the number of its events that no crash has undone.
    steps: Vec<usize>,
    undone: u64,
}

fn owner(node: NodeId, plan: &Plan) -> Owner {
    let [plugin, digest, config, name] = ["toy", "ab", "", ""].map(str::to_owned);
    Owner { node, plugin, digest, nodes: plan.nodes, config, network: plan.settings.network.to_string(), name }
}

/// A world over links without an order, whose frames are lost, repeated and late, and whose processes are killed in the middle of a write.
fn plan(seed: u64, nodes: u32) -> Plan {
    let settings = Settings { network: Network::Unordered, ..Settings::default() };
    let kills = Trouble { every: Duration::from_millis(300 + 100 * (seed % 9)), lasting: Range::milliseconds(1, 400) };
    Plan {
        latency: Range::milliseconds(1, 20 + 40 * (seed % 5)),
        writing: Range::milliseconds(0, 5 + 30 * (seed % 7)),
        loss: Share(100_000 * (seed % 4) as u32),
        repeats: Share(100_000 * (seed % 3) as u32),
        full: Share(50_000 * (seed % 2) as u32),
        kills: (!seed.is_multiple_of(8)).then_some(kills),
        time: Duration::from_secs(3),
        calm: Duration::from_secs(1),
        ..Plan::ideal(seed, nodes, settings)
    }
}

/// A toy that keeps something in most states, at once or with the next `sync`.
fn toy(seed: u64, nodes: u32) -> Arc<Toy> {
    let toy = if seed.is_multiple_of(3) { Toy::random(seed, nodes) } else { Toy::random_busy(seed, nodes) };
    let toy = toy.with_random_durable(seed).in_medium([Medium::Persisted, Medium::Map][seed as usize / 12 % 2]);
    Arc::new(match seed % 4 {
        0 => toy,
        1 => toy.with_random_syncs(seed),
        _ => toy.sync(&[]),
    })
}

fn ran(seed: u64) -> Ran {
    let nodes = 2 + (seed % 3) as u32;
    let (plan, toy) = (plan(seed, nodes), toy(seed, nodes));
    let tapes = Tapes::default();
    let begin = |node| tapes.begin(owner(node, &plan));
    let mut world = World::new(&toy, plan.clone(), begin).expect("toys accept everything");
    world.run().unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    let mut steps = vec![0; nodes as usize];
    for step in world.history.steps.iter().filter(|step| !matches!(step.what, What::Unheard { .. })) {
        steps[step.node as usize] += 1;
    }
    let undone = world.history.undone;
    drop(world);
    Ran { plan, toy, tapes, steps, undone }
}

/// The entries of each start of a node.
fn starts(ran: &Ran, node: NodeId) -> Vec<Vec<Entry>> {
    ran.tapes.of(node).iter().map(|segment| entries(segment).expect("it is intact")).collect()
}

/// The lines of a node.
fn lines(ran: &Ran, node: NodeId) -> Result<Vec<Value>, NoLines> {
    let machine = ran.toy.machine().expect("toys have no host");
    let mut lines = Lines::new(Player::new(machine, owner(node, &ran.plan)));
    let mut taken = Vec::new();
    for entries in starts(ran, node) {
        let (mut tickets, mut before) = (Vec::new(), taken.len());
        for entry in &entries {
            lines.add(entry)?;
            taken.extend(lines.take());
            match entry {
                Entry::Event(event) => {
                    // Those of the process before leave with the start.
                    before = if tickets.is_empty() { taken.len() } else { before };
                    tickets.push(event.ticket);
                }
                // A line leaves as soon as its record is on the disk.
                Entry::Persisted(number) => {
                    let kept = tickets.iter().filter(|ticket| **ticket <= *number).count();
                    assert!(taken.len() - before >= kept, "{} of {kept} lines", taken.len() - before);
                }
                Entry::Failed(_) => {}
            }
        }
    }
    taken.extend(lines.end());
    Ok(taken.into_iter().map(|line| line.value).collect())
}

fn verdict(ran: &Ran, restarts: u32, text: &str) -> Verdict {
    let faults = Faults { resets: restarts, outages: restarts, ..Faults::default() };
    let scenario = Scenario { network: Network::Unordered, faults, ..Scenario::new(ran.plan.nodes) };
    let lts = Lts::new(&ran.toy, scenario).expect("toys have no host");
    let mut stepper = Stepper::new(&lts).expect("toys have no host");
    let starts = start::initial(&mut stepper).expect("toys accept everything");
    let mut facts = Facts::new(stepper, ran.toy.machine().expect("toys have no host"));
    let (mut bytes, mut stop) = (text.as_bytes(), || false);
    let input = Input { files: vec![&mut bytes], stop: &mut stop, memory_bytes: usize::MAX };
    let nodes = Nodes { names: vec![None; ran.plan.nodes as usize] };
    let Ok(Read::Whole(log)) = host_follow::read(input, &nodes) else { panic!("these are no lines: {text}") };
    let bounds = Bounds { missing_max: Some(0), hidden_max: 0 };
    follow(&mut facts, &starts, &log, bounds, &Memory(64 << 20)).expect("toys have no host").verdict
}

/// The number of logs by their verdict, of those with undone events, and of outages.
#[derive(Debug, Default)]
struct Tally {
    explained: u64,
    undecided: u64,
    undone: u64,
    outages: u64,
}

/// Whether each start has one outcome. The model has no event for a reset that changes nothing, and `host-follow` sees that of a reset
/// with one outcome alone.
fn has_one_start(toy: &Toy) -> bool {
    let mut durable = toy.durable.values().map(|durable| Some(*durable)).chain([None]);
    durable.all(|durable| (0..toy.nodes).all(|node| toy.restart(node, durable).len() == 1))
}

/// Follows the recordings of a world as one log.
fn followed(seed: u64, tally: &mut Tally) {
    let ran = ran(seed);
    if !has_one_start(&ran.toy) {
        return;
    }
    let (mut text, mut restarts, mut outages) = (String::new(), 0, 0);
    for (node, steps) in (0..).zip(&ran.steps) {
        let lines = lines(&ran, node).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        // An event that no crash has undone has its line, unless the process ended before any record was acknowledged.
        let starts = starts(&ran, node);
        let is_known = |entries: &&Vec<Entry>| entries.iter().any(|entry| matches!(entry, Entry::Persisted(_)));
        let unknown: usize = starts.iter().filter(|entries| !is_known(entries)).map(Vec::len).sum();
        // Where a toy syncs, one that changed nothing durable may be left out as well: its record was not acknowledged.
        assert!(
            ran.toy.syncs.is_some() || lines.len() + unknown >= *steps,
            "seed {seed}: node {node} has {} lines",
            lines.len()
        );
        // A start that a crash has undone stays in the lines: it is a restart like others.
        let of_kind = |kind: &str| lines.iter().filter(|line| line["event"] == kind).count() as u32;
        restarts = restarts.max(of_kind("reset") + of_kind("outage"));
        outages += u64::from(of_kind("outage"));
        lines.iter().for_each(|line| text += &format!("{line}\n"));
    }
    tally.outages += outages;
    tally.undone += u64::from(ran.undone > 0);
    if text.is_empty() {
        return;
    }
    match verdict(&ran, restarts, &text) {
        Verdict::Explained(_) => tally.explained += 1,
        Verdict::Undecided { bound: Bound::Memory, .. } => tally.undecided += 1,
        Verdict::Refused(refusal) => panic!("seed {seed}: {:?} for\n{text}", refusal.furthest[0].blocked),
        other => panic!("seed {seed}: {other:?} for\n{text}"),
    }
}

/// The usual number of worlds.
const WORLDS: u64 = 200;

#[test]
fn recordings_of_all_nodes_are_a_log_that_is_explained() {
    let mut tally = Tally::default();
    (0..effort::systems(WORLDS)).for_each(|seed| followed(seed, &mut tally));
    println!("{tally:?}");
    let Tally { explained, undecided, undone, outages } = tally;
    let enough = |needed| effort::share(needed, WORLDS);
    effort::telling(
        explained >= enough(100) && undone >= enough(10) && outages >= enough(10) && undecided * 10 <= explained,
        format_args!("{explained} explained, {undecided} undecided, {undone} with undone events, {outages} outages"),
    );
}
