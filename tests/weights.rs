//! Random walks over a sandboxed guest: its answers are drawn by their weights.

use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::{Plugin, Sandbox, SandboxConfig, fixtures};
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use host_search::strategy::random_walk;

/// A guest that says how likely its answers are.
#[test]
fn answers_are_drawn_by_their_weights() {
    let walks = |weights: &[u32], seed, walks| {
        let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("the engine starts");
        let plugin = Plugin::load(&sandbox, &fixtures::weighted_chooser(weights)).expect("a plugin");
        let lts = Lts::new(&plugin, Scenario::new(1)).expect("it lists its properties");
        let mut stepper = Stepper::new(&lts).expect("an instance");
        let starts = start::initial(&mut stepper).expect("the plugin starts");
        let limits = SearchBounds { depth: Some(1), seed: Some(seed), walks: Some(walks), ..SearchBounds::default() };
        let search =
            Search { lts: &lts, starts: &starts, bounds: limits, monitor: &Unmonitored, collect_system_states: false };
        random_walk::run(&search).expect("no host fault").counts
    };
    // The first answer changes nothing, the others lead to states of their own. One of weight 0 is never drawn.
    let even = walks(&[1, 1, 1], 0, 300);
    assert_eq!((even.local_states, even.outcomes), (Some(3), Some(3)));
    let weighted = walks(&[3, 0, 1], 0, 300);
    assert_eq!((weighted.local_states, weighted.outcomes), (Some(2), Some(2)));
    // The last answer once in four: 25 of 100 in the mean, with a standard deviation of 4.3.
    let last = (0..100).filter(|seed| walks(&[3, 0, 1], *seed, 1).local_states == Some(2)).count();
    assert!((8..=42).contains(&last), "{last}");
}
