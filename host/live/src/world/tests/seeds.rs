//! The seeds of a test, and the plan of each.

use std::time::Duration;

use host_model::scenario::Network;
use host_model::toys::Medium;
use host_search::kernel::dice::{below, dice};

use crate::checkpoint::Limits;
use crate::node::{Delays, Settings};
use crate::time::{Range, Share};
use crate::world::{Plan, Trouble};

/// Runs a test with each of its seeds: `usual` many, unless the environment has another number or a single seed.
pub(super) fn each(test: &str, usual: u64, mut run: impl FnMut(u64) -> Result<(), String>) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse().expect("it is a number"));
    let seeds = match number("HOST_WORLD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HOST_WORLD_SEEDS").unwrap_or(usual),
    };
    for seed in seeds {
        if let Err(why) = run(seed) {
            panic!("{why}\nagain: HOST_WORLD_SEED={seed} cargo test -p host-live --lib {test}");
        }
    }
}

/// The place in which the toys of a seed keep their durable states.
pub(super) fn medium(seed: u64) -> Medium {
    // Tests vary other things with the remainders of small numbers.
    [Medium::Persisted, Medium::Map, Medium::WholeMap][seed as usize / 12 % 3]
}

/// Settings with which files grow, reserved numbers run out and checkpoints are discarded often.
pub(super) fn settings(network: Network) -> Settings {
    Settings {
        network,
        delays: Delays {
            timer: Range::milliseconds(20, 300),
            application: Some(Range::milliseconds(0, 400)),
            internal: Range::milliseconds(0, 100),
        },
        checkpoints: Limits {
            block: 3,
            checkpoints_max: 3,
            kept_max: 8,
            timeout: Duration::from_millis(300),
            ..Limits::default()
        },
        ..Settings::default()
    }
}

/// The plan of a seed: each kind of fault in about half of the plans, and none in one of sixteen.
pub(super) fn plan(seed: u64, nodes: u32, network: Network) -> Plan {
    let mut dice = dice(seed, 1 << 32);
    let ideal = Plan::ideal(seed, nodes, settings(network));
    if below(&mut dice, 16) == 0 {
        return Plan { time: Duration::from_secs(3), snapshots: Some(Duration::from_millis(200)), ..ideal };
    }
    let mut often = |most: u64| if below(&mut dice, 2) == 0 { 0 } else { 1 + below(&mut dice, most) };
    let (loss, repeats, full) = (often(300_000), often(200_000), often(100_000));
    let [slow, cuts, kills, pauses, jumps] = [often(10), often(10), often(10), often(10), often(10)];
    // Checkpoints that are discarded soon, and requests that are more frequent than their latency.
    let hurries = below(&mut dice, 2) == 0;
    let mut settings = ideal.settings;
    settings.checkpoints.checkpoints_max = if hurries { 1 } else { 3 };
    let trouble = |rate: u64, from: u64, to: u64| {
        let every = Duration::from_millis(3_000 / rate.max(1));
        (rate > 0).then_some(Trouble { every, lasting: Range::milliseconds(from, to) })
    };
    Plan {
        latency: Range::milliseconds(1, 20 + 30 * slow),
        writing: Range::milliseconds(0, 5 + 20 * slow),
        loss: Share(loss as u32),
        repeats: Share(repeats as u32),
        full: Share(full as u32),
        cuts: trouble(cuts, 50, 1_000),
        kills: trouble(kills, 1, if hurries { 30 } else { 400 }),
        pauses: trouble(pauses, 10, 500),
        jumps: trouble(jumps, 1, 60_000),
        settings,
        snapshots: Some(Duration::from_millis(if hurries { 15 } else { 100 })),
        time: Duration::from_secs(3),
        calm: Duration::from_secs(1),
        ..ideal
    }
}
