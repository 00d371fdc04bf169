//! Recordings of nodes of random worlds: each replays to equal states.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Network;
use host_model::toys::Toy;

use super::seeds;
use super::traces::toy;
use crate::disk::Owner;
use crate::recording::{Entry, Player, Tapes, entries};
use crate::world::{Plan, World};

/// A world that has run, with its recordings.
struct Ran {
    plan: Plan,
    toy: Arc<Toy>,
    tapes: Tapes,
}

fn owner(node: NodeId, plan: &Plan) -> Owner {
    let [plugin, digest, config, name] = ["toy", "ab", "", ""].map(str::to_owned);
    Owner { node, plugin, digest, nodes: plan.nodes, config, network: plan.settings.network.to_string(), name }
}

fn ran(seed: u64, network: Network) -> Result<Ran, String> {
    let nodes = if network == Network::Ordered { 3 } else { 2 + (seed % 3) as u32 };
    let (mut plan, mut toy) = (seeds::plan(seed, nodes, network), toy(seed, nodes));
    if network == Network::Ordered {
        plan.settings.checkpoints.late_max = 0;
        plan.breaks = (!seed.is_multiple_of(3)).then_some(Duration::from_millis(200));
        let busy = Toy::random_busy(seed, nodes).with_random_errors(seed).with_random_durable(seed);
        toy = Arc::new(busy.in_medium(seeds::medium(seed)));
    }
    let tapes = Tapes::default();
    let begin = |node| tapes.begin(owner(node, &plan));
    let mut world = World::new(&toy, plan.clone(), begin).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    drop(world);
    Ok(Ran { plan, toy, tapes })
}

fn player<'m>(toy: &Arc<Toy>, node: NodeId, plan: &Plan) -> Player<'m> {
    Player::new(toy.machine().expect("toys have no host"), owner(node, plan))
}

/// Replays the recordings of a world, and another toy on them. Returns the number of events, and of those on which the other one differs.
fn replays(seed: u64, network: Network) -> Result<(u64, u64), String> {
    let ran = ran(seed, network)?;
    let other = toy(seed + 3, ran.plan.nodes);
    let (mut events, mut different) = (0, 0);
    for node in 0..ran.plan.nodes {
        let mut others = player(&other, node, &ran.plan);
        for segment in ran.tapes.of(node) {
            let mut player = player(&ran.toy, node, &ran.plan);
            for entry in entries(&segment).expect("it is intact") {
                let Entry::Event(event) = entry else { continue };
                let played = player.play(&event.input, &event.answers).expect("toys have no host");
                let played = played.ok_or("an event before the start")?;
                if let Some(deviation) = played.deviation(&event, node) {
                    return Err(format!("node {node}: {deviation:?} at {event:?}"));
                }
                events += 1;
                let played = others.play(&event.input, &event.answers).expect("toys have no host");
                different += u64::from(played.is_some_and(|it| it.deviation(&event, node).is_some()));
            }
        }
    }
    Ok((events, different))
}

#[test]
fn recordings_replay_to_equal_states() {
    let (mut events, mut different) = (0, 0);
    seeds::each("recordings_replay_to_equal_states", 300, |seed| {
        let network = if seed % 2 == 0 { Network::Unordered } else { Network::Ordered };
        let (some, others) = replays(seed, network)?;
        (events, different) = (events + some, different + others);
        Ok(())
    });
    assert!(events > 5_000 || std::env::var_os("HOST_WORLD_SEED").is_some(), "{events}");
    assert!(different * 4 > events, "another component would go unnoticed: {different} of {events}");
}
