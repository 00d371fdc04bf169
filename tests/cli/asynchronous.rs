//! Nodes that are asynchronous programs: what a task may not do, races between tasks, and the order of timers.

use std::sync::OnceLock;

use serde_json::Value;

use super::{Place, bundled, folder};

/// The component whose task asks, built once.
fn asks() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = host_build::build(&folder("../tests/platform/tasks"), &host_build::Options::default(), &mut |_| {});
        let wasm = built.unwrap_or_else(|error| panic!("{error}")).wasm;
        wasm.to_str().expect("the path of this repository is text").to_owned()
    })
}

fn run(wasm: &str, options: &[&str]) -> Value {
    Place::new().host(&[&["run", wasm, "--json", "--algo", "bdfs"], options].concat()).json()
}

fn asked(what: &str) -> Value {
    run(asks(), &["--set", &format!("for={what}")])
}

/// The kind of the finding, and its message, which names each of these.
#[track_caller]
fn is(what: &str, kind: &str, words: &[&str]) {
    let report = asked(what);
    let found = &report["violations"][0];
    assert_eq!(found["kind"], kind, "{what}: {report:#}");
    let message = found["message"].as_str().expect("a message");
    for word in words {
        assert!(message.contains(word), "{what}: no {word:?} in {message}");
    }
}

#[test]
fn what_a_task_may_not_do_is_named() {
    assert_eq!(asked("channels")["result"], "ok");
    let here = "asks_in_tasks::";
    is("thread", "platform", &["asks for a thread", here]);
    is("sleep", "platform", &["asks for a wait", here]);
    is("clock", "platform", &["asks for a clock", here]);
    is("socket", "platform", &["a socket or a file", here]);
    is("file", "platform", &["a socket or a file", here]);
    is("tokio-sleep", "platform", &["asks for a clock", "tokio::time::sleep"]);
    is("tokio-spawn", "trap", &["no reactor running", "lib.rs:"]);
}

#[test]
fn a_handler_without_end_is_named() {
    // Nothing wakes what `block_on` waits for while it waits.
    is("block-on", "divergence", &["does not end", "block_on"]);
    is("never-yields", "divergence", &["does not end", "asks_in_tasks::"]);
    is("wakes-itself", "trap", &["the task spawned at src/lib.rs:", "wakes itself and never waits"]);
    is("timers", "trap", &["a timer storm", "lib.rs:"]);
}

/// The mistake is an order of two tasks that are ready in the same handler. First in, first out it does not show.
#[test]
fn a_race_between_ready_tasks_needs_a_choice_of_their_order() {
    let election = bundled("async-election");
    let with = |delays: &str| run(election, &["--set", "bug=two-tasks", "--set", delays]);
    assert_eq!(with("delays=0")["result"], "ok");
    let found = with("delays=1");
    assert_eq!(found["violations"][0]["property"], "announced-what-is-recorded", "{found:#}");
    // A candidate's two timers, the request and the grant of one vote, and the announcement.
    assert_eq!(found["violations"][0]["length"], 5, "{found:#}");
    // Without the mistake the order of ready tasks does not matter.
    assert_eq!(run(election, &["--set", "delays=3"])["result"], "ok");
}

/// One read returns a part of a request only where a segment arrives in two parts.
#[test]
fn a_short_read_needs_a_segment_in_two_parts() {
    let ledger = bundled("async-ledger");
    let with = |bug: &str, splits: &str| run(ledger, &["--set", bug, "--set", splits, "--set", "bookings=2"]);
    for bug in ["bug=one-read", "bug=cancelled-read"] {
        assert_eq!(with(bug, "splits=0")["result"], "ok", "{bug}");
        let found = with(bug, "splits=1");
        assert_eq!(found["violations"][0]["property"], "booked-as-requested", "{found:#}");
    }
    assert_eq!(with("bug=none", "splits=1")["result"], "ok");
}

/// A reset leaves what a program has written, and an outage what it has synced.
#[test]
fn a_forgotten_sync_of_a_file_needs_an_outage() {
    let ledger = bundled("async-ledger");
    let with = |bug: &str, faults: &str| run(ledger, &["--set", bug, faults, "1"]);
    assert_eq!(with("bug=forget-sync", "--resets")["result"], "ok");
    assert_eq!(with("bug=none", "--outages")["result"], "ok");
    let found = with("bug=forget-sync", "--outages");
    assert_eq!(found["violations"][0]["property"], "acknowledged-is-booked", "{found:#}");
    assert_eq!(found["violations"][0]["length"], 5, "{found:#}");
}

/// In a running node, timers of tasks take their durations: 150 ms until an election and 1 ms for the disk, and then three messages of 1 to
/// 50 ms each.
#[test]
fn a_running_node_follows_the_durations_of_its_tasks() {
    let words = ["simulate", bundled("async-election"), "--runtime", "--seed", "1", "--runs", "50", "--json"];
    let report = Place::new().host(&words).exits(0).json();
    let times = report["witnessed_ms"]["all-follow"].as_array().expect("a list of times");
    assert_eq!(times.len(), 50, "{report:#}");
    for time in times {
        let time = time.as_f64().expect("a number");
        assert!((154.0..=301.0).contains(&time), "{time}");
    }
}
