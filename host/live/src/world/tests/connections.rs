//! Links with an order, whose connections break: each message comes next, or its connection is broken, and all that happens is a trace of
//! the model.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::{seeds, traces};
use crate::gate::Open;
use crate::world::{Plan, World};

/// Node 0 asks the others all the time, and these only answer.
fn asking() -> Toy {
    (1..3).fold(Toy::new(3).of_kind(0, LocalKind::Timer), |toy, node| {
        toy.rule(0, 0, ToyTrigger::Local(0), 0, &[(node, 1)]).rule(node, 0, ToyTrigger::Message(0, 1), 0, &[(0, 2)])
    })
}

/// The numbers of delivered messages, of broken connections, and of steps in a trace of the model.
fn world(seed: u64) -> Result<(u64, u64, u64), String> {
    let toy = match seed.is_multiple_of(2) {
        true => asking(),
        false => {
            Toy::random_busy(seed, 3).with_random_errors(seed).with_random_durable(seed).in_medium(seeds::medium(seed))
        }
    };
    let toy = Arc::new(toy);
    let plan = seeds::plan(seed, 3, Network::Ordered);
    let mut settings = plan.settings;
    settings.checkpoints.late_max = 0;
    let breaks = (!seed.is_multiple_of(3)).then_some(Duration::from_millis(200));
    let plan = Plan { breaks, settings, ..plan };
    let mut world = World::new(&toy, plan.clone(), |_| Open).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    let (steps, ..) = traces::replay((&world.history, &plan), &toy, &|_| ())?;
    let delivered = world.history.messages.values().filter(|fate| !fate.received.is_empty()).count();
    Ok((delivered as u64, world.troubles.get("break").copied().unwrap_or(0), steps))
}

#[test]
fn nothing_is_lost_over_a_connection() {
    let (mut delivered, mut broken, mut judged, mut seeds) = (0, 0, 0, 0);
    seeds::each("nothing_is_lost_over_a_connection", 200, |seed| {
        let (some, breaks, steps) = world(seed)?;
        (delivered, broken, seeds) = (delivered + some, broken + breaks, seeds + 1);
        judged += u64::from(steps > 0);
        Ok(())
    });
    assert!((delivered > 10 * seeds && broken > seeds) || seeds < 200, "{delivered} {broken}");
    assert!(judged > seeds * 2 / 3 || seeds < 200, "{judged} of {seeds} are a trace of the model");
}
