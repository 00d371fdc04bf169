//! Runs that are steered while nodes are reset and connections break, and continue after violations: against a replay of what happened.

use super::replayed::{Asked, compared};
use super::*;

/// Random systems on links with an order whose nodes are reset, with checkers that break connections in place of messages, and runs
/// that continue after a violation: each is an execution of the scenario, the states that violate a property are those in which a replay
/// finds something, checkers that observe leave the run as it is, and one that ends with its first violation is the beginning of one
/// that continues.
#[test]
fn a_steered_run_with_resets_that_goes_on_is_an_execution_and_counts_its_violations() {
    let (mut resets, mut broken, mut without, mut with, mut several) = (0, 0, 0, 0, 0);
    let limits = Limits { events_max: 200, states_max: 100, breaks: true, ..Profile::ours().limits };
    let profile = Profile { limits, ..Profile::ours() };
    for seed in 0..30 {
        let toy = Toy::random(seed, 3).with_random_durable(seed).with_random_errors(seed);
        let toy = Arc::new(toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application));
        let mut scenario = scenario(3, Network::Ordered, 200);
        scenario.faults.breaks = 200;
        let latency = Range::milliseconds(10, 2_000);
        let conditions =
            Conditions { latency, partitions: None, time: Duration::from_secs(12), goes_on: true, ..rough(&scenario) };
        let asked = Asked { toy: &toy, scenario: &scenario, conditions, script: &[], profile };
        let [plain, observed, steered] =
            [None, Some(Mode::Observe), Some(Mode::Steer)].map(|mode| compared(asked, mode, seed));
        assert!(plain.path == observed.path && plain.end == observed.end && plain.broken == 0, "system {seed}");
        for (whole, mode) in [(&observed, Mode::Observe), (&steered, Mode::Steer)] {
            let conditions = Conditions { goes_on: false, ..conditions };
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
