//! A little of each target of `host_tests::fuzz`, with the same cases every time; `HOST_FUZZ_CASES` asks for more. For long
//! runs there is `cargo run --release -p host-tests --bin fuzz`.

use host_tests::fuzz::{Fate, Target, checkpoints, components, guests, scenarios, stores, traces};

/// Runs the first cases, and checks that they are not all alike: a target where everything is refused tests little.
#[track_caller]
fn first(cases: u64, target: Target, expected: &[Fate]) {
    let cases = std::env::var("HOST_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    let fates: Vec<Fate> = (0..cases).map(target).collect();
    for fate in expected {
        let count = fates.iter().filter(|found| *found == fate).count();
        assert!(count * 20 > fates.len(), "only {count} of {cases} cases are {fate:?}");
    }
}

#[test]
fn damaged_components_do_no_harm() {
    first(300, components, &[Fate::Refused, Fate::Fine]);
}

#[test]
fn random_code_does_no_harm_and_is_captured_whole() {
    first(150, guests, &[Fate::Faulty, Fate::Fine]);
}

#[test]
fn state_in_random_places_is_captured_whole() {
    first(60, stores, &[Fate::Fine]);
}

#[test]
fn damaged_traces_do_no_harm() {
    first(300, traces, &[Fate::Refused, Fate::Faulty]);
}

#[test]
fn damaged_scenarios_do_no_harm() {
    first(150, scenarios, &[Fate::Refused, Fate::Fine]);
}

#[test]
fn damaged_checkpoints_do_no_harm() {
    first(200, checkpoints, &[Fate::Refused]);
}
