//! Disks that are lost while their nodes hear nothing and start again and again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::NodeId;
use host_model::scenario::Network;
use host_model::toys::Toy;

use super::seeds;
use crate::gate::Open;
use crate::time::{Range, Share};
use crate::world::history::Start;
use crate::world::{History, Plan, Trouble, World};

/// A cluster whose nodes are killed often, so that a node whose disk is lost soon has as many starts as others know.
fn plan(seed: u64, network: Network) -> Plan {
    let ideal = Plan::ideal(seed, 3, seeds::settings(network));
    let is_ordered = network == Network::Ordered;
    let datagrams = |share| if is_ordered { Share(0) } else { Share(share) };
    let trouble = |every: u64, from: u64, to: u64| {
        Some(Trouble { every: Duration::from_millis(every), lasting: Range::milliseconds(from, to) })
    };
    Plan {
        loss: datagrams(50_000),
        repeats: datagrams(50_000),
        breaks: is_ordered.then_some(Duration::from_millis(400)),
        kills: trouble(120, 1, 10),
        losses: trouble(1_500, 200, 1_000),
        time: Duration::from_secs(8),
        ..ideal
    }
}

/// Compares the disks of senders: each node takes messages of one disk of each peer, until the peer rejoins with a later one.
fn check(history: &History) -> Result<(), String> {
    let rejoins = |start: &Start| history.rejoins.get(&(start.node, start.life)).copied().unwrap_or_default();
    // By receiver, on one disk, and sender: what was taken, and when.
    let mut taken: BTreeMap<(NodeId, u64, NodeId), Vec<(u64, Start)>> = BTreeMap::new();
    for (id, fate) in history.messages.iter().filter(|(id, _)| id.from.node != id.to) {
        for receipt in &fate.received {
            let of = (receipt.at.node, receipt.at.life, id.from.node);
            taken.entry(of).or_default().push((receipt.clock, id.from));
        }
    }
    for ((node, ..), mut taken) in taken {
        taken.sort_unstable();
        for pair in taken.windows(2) {
            let [(_, before), (_, after)] = pair else { continue };
            if before.life != after.life && rejoins(after) <= rejoins(before) {
                return Err(format!(
                    "node {node} takes {after:?} after {before:?}: it lost its disk and has not rejoined"
                ));
            }
        }
    }
    Ok(())
}

fn world(seed: u64, network: Network, tally: &mut BTreeMap<&'static str, u64>) -> Result<(), String> {
    let toy = Toy::random_busy(seed, 3).with_random_durable(seed).in_medium(seeds::medium(seed));
    let toy = Arc::new(if seed.is_multiple_of(2) { toy.with_random_syncs(seed) } else { toy });
    let mut world = World::new(&toy, plan(seed, network), |_| Open).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    check(&world.history)?;
    if world.troubles.contains_key("two of one") {
        return Err("a node that lost its disk is taken for a second process of the node that it was".to_owned());
    }
    world.troubles.iter().for_each(|(name, count)| *tally.entry(name).or_default() += count);
    let rejoined = |id: &Start| world.history.rejoins.get(&(id.node, id.life)).is_some_and(|rejoins| *rejoins > 0);
    let received =
        world.history.messages.iter().filter(|(id, fate)| {
            rejoined(&id.from) && fate.received.iter().any(|receipt| receipt.at.node != id.from.node)
        });
    *tally.entry("taken after a rejoin").or_default() += received.count() as u64;
    *tally.entry("seeds").or_default() += 1;
    Ok(())
}

#[test]
fn a_node_that_lost_its_disk_is_not_taken_whatever_the_number_of_its_starts() {
    let name = "a_node_that_lost_its_disk_is_not_taken_whatever_the_number_of_its_starts";
    for network in [Network::Unordered, Network::Ordered] {
        let mut tally = BTreeMap::new();
        seeds::each(name, 150, |seed| world(seed, network, &mut tally).map_err(|why| format!("{network}: {why}")));
        for name in ["kill", "lost disk", "other disk", "rejoin", "taken after a rejoin"] {
            let is_seen = tally.get(name).is_some_and(|count| *count > 5) || tally["seeds"] < 100;
            assert!(is_seen, "{network}, {name}: {tally:?}");
        }
    }
}
