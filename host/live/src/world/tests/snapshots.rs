//! Snapshots of nodes that talk all the time and are killed all the time.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::seeds;
use crate::gate::Open;
use crate::time::{Range, Share};
use crate::world::{Plan, Trouble, World};

/// Each node tells one of the others every few milliseconds.
fn talkative() -> Arc<Toy> {
    let toy = (0..3).fold(Toy::new(3).of_kind(0, LocalKind::Timer), |toy, node| {
        let tells = |toy: Toy, to| toy.rule(node, 0, ToyTrigger::Local(0), 0, &[(to, 1)]);
        (0..3).filter(|to| *to != node).fold(toy, tells)
    });
    Arc::new(toy)
}

fn plan(seed: u64) -> Plan {
    let mut settings = seeds::settings(Network::Unordered);
    settings.delays.timer = Range::milliseconds(1, 15);
    settings.checkpoints.checkpoints_max = 1 + (seed % 3) as usize;
    let kills = Trouble { every: Duration::from_millis(60), lasting: Range::milliseconds(1, 5) };
    Plan {
        latency: Range::milliseconds(1, 40),
        loss: Share(50_000),
        repeats: Share(50_000),
        kills: (!seed.is_multiple_of(4)).then_some(kills),
        writing: Range::milliseconds(0, 1),
        snapshots: Some(Duration::from_millis(5 + 15 * (seed % 5))),
        time: Duration::from_secs(2),
        ..Plan::ideal(seed, 3, settings)
    }
}

/// The number of complete snapshots.
fn world(seed: u64) -> Result<u64, String> {
    let toy = talkative();
    let mut world = World::new(&toy, plan(seed), |_| Open).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    Ok(world.snapshots.get("complete").copied().unwrap_or(0))
}

#[test]
fn snapshots_are_consistent_with_what_has_happened() {
    let (mut complete, mut seeds) = (0, 0);
    seeds::each("snapshots_are_consistent_with_what_has_happened", 100, |seed| {
        (complete, seeds) = (complete + world(seed)?, seeds + 1);
        Ok(())
    });
    assert!(complete > 10 * seeds || seeds < 100, "{complete} snapshots of {seeds} seeds");
}
