//! Steered runs with resets and broken connections that continue after violations, compared with a replay.

use super::replayed::{Asked, compared};
use super::*;

/// Random systems on ordered links with resets, with checkers that break connections in place of messages, and runs that continue after a
/// violation. Each run is an execution of the scenario; it counts the violations that a replay finds; checkers that observe do not change
/// it; and a run that ends with its first violation is a prefix of the one that continues.
#[test]
fn a_steered_run_with_resets_is_an_execution_and_counts_its_violations() {
    let (mut resets, mut broken, mut without, mut with, mut several) = (0, 0, 0, 0, 0);
    let limits = Limits { events_max: 200, states_max: 100, breaks: true, ..Profile::ours().limits };
    let profile = Profile { limits, ..Profile::ours() };
    for seed in 0..30 {
        let toy = Toy::random(seed, 3).with_random_durable(seed).with_random_errors(seed);
        let toy = Arc::new(toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application));
        let mut scenario = scenario(3, Network::Ordered, 200);
        scenario.faults.breaks = 200;
        let latency = Range::milliseconds(10, 2_000);
        let conditions = Conditions {
            latency,
            partitions: None,
            time: Duration::from_secs(12),
            continues: true,
            ..rough(&scenario)
        };
        let asked = Asked { toy: &toy, scenario: &scenario, conditions, script: &[], profile };
        let [plain, observed, steered] =
            [None, Some(Mode::Observe), Some(Mode::Steer)].map(|mode| compared(asked, mode, seed));
        assert!(plain.path == observed.path && plain.end == observed.end && plain.broken == 0, "system {seed}");
        for (whole, mode) in [(&observed, Mode::Observe), (&steered, Mode::Steer)] {
            let conditions = Conditions { continues: false, ..conditions };
            let first = compared(Asked { conditions, ..asked }, Some(mode), seed);
            assert_eq!(first.violated, whole.violated, "system {seed}");
            assert!(whole.path.starts_with(&first.path), "system {seed}");
            assert!(first.counts.violating == u64::from(first.violated.is_some()), "system {seed}");
        }
        resets += steered.counts.resets;
        broken += steered.broken;
        without += observed.counts.violating;
        with += steered.counts.violating;
        several += u32::from(observed.counts.violating > 1);
    }
    let counts = format!("{resets} resets, {broken} broken, {without} and {with} violating, {several} with several");
    assert!(resets > 100 && broken > 10 && several > 5 && with < without, "{counts}");
}
