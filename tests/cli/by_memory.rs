//! A component whose states are told apart by its memory, under the options of a run.

use host_sandbox::fixtures;
use serde_json::Value;

use super::Place;

/// A guest in which `go` counts modulo 2, while what it leaves in its dead stack, and what calls that read leave behind, only grow.
fn guest() -> Place {
    let place = Place::new();
    place.put("guest.wasm", fixtures::by_memory("__stack_pointer"));
    place
}

fn run(place: &Place, options: &[&str]) -> Value {
    place.host(&[&["run", "guest.wasm", "--json"], options].concat()).json()
}

/// Each of two nodes has three states, and one event in each: the one after `init`, whose result lies where that of the event lies
/// later, and the two values of the counter behind an event. So there are 9 global states and 18 transitions. With a reset a node has
/// three states before it and three behind it: 36 global states, in each of which both nodes can go. A reset of the first state leads
/// to the same one, so it does not happen; from the two others it does, whatever the other node is in: 72 + 2 * 2 * 6 transitions.
#[test]
fn states_that_are_told_apart_by_memory_are_counted_under_every_option() {
    let place = guest();
    let counted = |options: &[&str]| {
        let report = run(&place, &[&["--algo", "bdfs"], options].concat());
        assert_eq!(report["result"], "ok", "{options:?}: {report}");
        assert_eq!(report["assumed"]["identity"], "memory");
        (report["counts"]["global_states"].as_u64(), report["counts"]["transitions"].as_u64())
    };
    let cases: [&[&str]; 5] =
        [&[], &["--workers", "2"], &["--audit", "full"], &["--network", "ordered"], &["--deadlock"]];
    for options in cases {
        assert_eq!(counted(options), (Some(9), Some(18)), "{options:?}");
    }
    for options in [&["--resets", "1"][..], &["--resets", "1", "--audit", "full", "--workers", "2"]] {
        assert_eq!(counted(options), (Some(36), Some(96)), "{options:?}");
    }
    assert_eq!(run(&place, &["--algo", "bdfs", "--reduce"])["result"], "ok");
}

#[test]
fn every_strategy_says_the_same_of_states_that_are_told_apart_by_memory() {
    let place = guest();
    for algo in ["auto", "lmc", "lmc-gen", "consequence"] {
        assert_eq!(run(&place, &["--algo", algo])["exit_code"], 0, "{algo}");
        assert_eq!(run(&place, &["--algo", algo])["counts"]["local_states"], 6, "{algo}");
    }
}

#[test]
fn a_search_of_states_that_are_told_apart_by_memory_goes_on() {
    let mut place = guest();
    let search = ["run", "guest.wasm", "--json", "--algo", "bdfs", "--resets", "1"];
    let whole = place.host(&search).json();
    place.goes_on_to_the_same(&search, &whole);
}
