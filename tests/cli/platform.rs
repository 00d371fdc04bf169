//! System calls of libraries: their substitutes, the report on them, and calls that are no finding about the protocol.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{Place, folder};
use crate::languages::all_languages;

/// The component that asks, built once.
fn asks() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = host_build::build(&folder("../tests/platform"), &host_build::Options::default(), &mut |_| {});
        let wasm = built.unwrap_or_else(|error| panic!("{error}")).wasm;
        wasm.to_str().expect("the path of this repository is text").to_owned()
    })
}

/// A search of two nodes that ask for this twice each, with an audit of every step.
fn asked(wasm: &str, what: &str, options: &[&str]) -> Value {
    let set = format!("for={what}");
    let run = ["run", wasm, "--algo", "bdfs", "--audit", "full", "--json", "--set", &set];
    Place::new().host(&[&run[..], options].concat()).json()
}

/// Each node has asked 0, 1 or 2 times and received the same answer every time: 9 global states; in 6 node 0 can continue, and
/// node 1 as well.
#[track_caller]
fn is_determined(wasm: &str, what: &str, options: &[&str]) -> Value {
    let report = asked(wasm, what, options);
    assert_eq!(report["result"], "ok", "{what}: {report:#}");
    assert_eq!(
        (&report["counts"]["global_states"], &report["counts"]["transitions"]),
        (&json!(9), &json!(12)),
        "{what}"
    );
    report
}

#[track_caller]
fn is_no_finding(wasm: &str, what: &str, words: &[&str]) {
    let report = asked(wasm, what, &[]);
    assert_eq!((&report["result"], &report["exit_code"]), (&json!("error"), &json!(150)), "{what}: {report:#}");
    let found = &report["violations"][0];
    assert_eq!(found["kind"], "platform", "{what}: {report:#}");
    let message = found["message"].as_str().expect("a message");
    for word in words {
        assert!(message.contains(word), "{what}: no {word:?} in {message}");
    }
}

/// The property that no value is drawn twice, neither at one node nor at two.
const ALL_DIFFER: [&str; 2] = ["--always", "all-differ=size(unique(flatten(nodes)))==size(flatten(nodes))"];

#[test]
fn randomness_is_determined_and_never_the_same() {
    for what in ["getrandom-02", "getrandom-03", "getrandom-04", "thread-rng", "uuid"] {
        let report = is_determined(asks(), what, &ALL_DIFFER);
        let platform = report["assumed"]["platform"].to_string();
        for words in ["arithmetic traps where it overflows", "randomness from getrandom 0.2.", ", 0.3.", ", 0.4."] {
            assert!(platform.contains(words), "no {words:?} in {platform}");
        }
    }
    // That property is violated by repeated answers.
    assert_eq!(asked(asks(), "futures", &ALL_DIFFER)["result"], "violation");
}

#[test]
fn what_needs_no_system_runs() {
    for what in ["random-state", "futures", "tokio"] {
        is_determined(asks(), what, &[]);
    }
    let report = asked(asks(), "overflow", &[]);
    assert_eq!((&report["result"], &report["exit_code"]), (&json!("violation"), &json!(14)), "{report:#}");
}

#[test]
fn what_no_plugin_has_is_named_and_no_finding() {
    is_no_finding(asks(), "instant", &["asks for a clock", "asks_the_system::", "wasm32-wasip1"]);
    is_no_finding(asks(), "system-time", &["asks for a clock"]);
    is_no_finding(asks(), "sleep", &["asks for a wait", "a local event"]);
    is_no_finding(asks(), "thread", &["asks for a thread", "without threads"]);
    // The place is that where the library could not continue without an answer.
    is_no_finding(asks(), "socket", &["asks for a thread, a socket or a file", "lib.rs:"]);
    is_no_finding(asks(), "file", &["asks for a thread, a socket or a file", "lib.rs:"]);
}

#[test]
fn people_see_what_is_missing_and_where() {
    let place = Place::new();
    let ran = place.host(&["run", asks(), "--set", "for=instant", "--out", "found"]).exits(150);
    assert!(ran.out.starts_with("error: ") && ran.out.contains("asks for a clock"), "{ran:?}");
}

/// A call that no plugin supports is an error in every search, and stays one when its trace is minimised. Here a node asks for a clock
/// in its second event, so two steps are needed; a walk or a run may also have taken a step of the other node.
#[test]
fn what_no_plugin_has_is_no_finding_in_short_traces_and_in_simulations() {
    let (place, set) = (Place::new(), ["--set", "for=late-instant"]);
    let is_platform = |ran: &super::Ran, which: &str| {
        assert!(ran.out.contains("asks for a clock") && !ran.out.contains("violation:"), "{which}: {ran:?}");
    };
    let length = |file: &str| {
        let trace: Value = serde_json::from_slice(&std::fs::read(place.path(file)).expect(file)).expect("JSON");
        assert_eq!(trace["finding"]["fault"]["kind"], "platform", "{file}");
        trace["steps"].as_array().map_or(0, Vec::len)
    };
    let walk = ["run", asks(), "--algo", "walk", "--no-minimize", "--out", "found"];
    let ran = place.host(&[&walk[..], &set].concat()).exits(150);
    is_platform(&ran, "walk");
    assert!(ran.out.starts_with("error: "), "{ran:?}");
    place.host(&["minimize", "found/trace.json", "--plugin", asks(), "--out", "short.json"]).exits(0);
    assert_eq!(length("short.json"), 2);
    is_platform(&place.host(&["replay", "short.json", "--plugin", asks()]).exits(150), "replay");
    for algo in ["auto", "bdfs", "unfold", "walk"] {
        let ran = place.host(&[&["run", asks(), "--algo", algo, "--out", algo][..], &set].concat()).exits(150);
        is_platform(&ran, algo);
        assert_eq!(length(&format!("{algo}/trace.json")), 2, "{algo}");
    }
    let mut longest = 0;
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let simulate = ["simulate", asks(), "--seed", seed, "--time", "10m", "--out", "simulated"];
        let ran = place.host(&[&simulate[..], &["--"], &set].concat()).exits(150);
        assert!(ran.out.starts_with("error: "), "{ran:?}");
        is_platform(&ran, seed);
        assert_eq!(length("simulated/trace.json"), 2);
        let report = place.host(&[&simulate[..], &["--json", "--"], &set].concat()).exits(150).json();
        assert_eq!((&report["result"], &report["violation"]["length"]), (&json!("error"), &json!(2)), "{report:#}");
        longest = longest.max(report["violation"]["found_length"].as_u64().unwrap_or_default());
    }
    assert!(longest > 2, "no run has taken a step that is not needed");
}

/// A module that calls WASI in `init`, as runtimes of other languages do.
fn asks_wasi(import: &str, call: &str) -> String {
    format!(
        r#"(module
  (import "wasi_snapshot_preview1" {import})
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "init") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (drop {call}) (i32.const 0))
  (func (export "handleMessage") (param i32 i32 i32) (result i32) (i32.const 0))
  (func (export "local_events") (result i32) (i32.const 0))
  (func (export "handle_local") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0))
  (func (export "serialize") (result i32) (i32.const 0))
  (func (export "properties") (result i32) (i32.const 0))
  (func (export "view") (param i32) (result i32) (i32.const 0))
  (func (export "invariant") (param i32 i32 i32) (result i32) (i32.const 0)))"#
    )
}

#[test]
fn the_substitutes_of_wasi_are_reported() {
    let place = Place::new();
    let clock = r#""clock_time_get" (func $ask (param i32 i64 i32) (result i32))"#;
    place.put("clock.wat", asks_wasi(clock, "(call $ask (i32.const 0) (i64.const 1) (i32.const 64))"));
    let report = place.host(&["run", "clock.wat", "--nodes", "2", "--json"]).exits(0).json();
    assert_eq!(report["assumed"]["platform"], json!(["the clock stands still"]));
    let ran = place.host(&["run", "clock.wat", "--nodes", "2"]).exits(0);
    assert!(ran.out.contains("platform") && ran.out.contains("the clock stands still"), "{ran:?}");
    let socket = r#""sock_shutdown" (func $ask (param i32 i32) (result i32))"#;
    place.put("socket.wat", asks_wasi(socket, "(call $ask (i32.const 3) (i32.const 0))"));
    let report = place.host(&["run", "socket.wat", "--nodes", "2", "--json"]).exits(150).json();
    let message = report["violations"][0]["message"].as_str().expect("a message");
    assert!(message.contains("`init` asks for a socket (`sock_shutdown`)"), "{message}");
}

/// With the target that has a clock, and without the traps of a debug build. Its standard library takes a minute to compile where the
/// distribution has none.
#[test]
fn with_wasi_there_is_a_clock() {
    if !all_languages() {
        return;
    }
    let place = Place::new();
    let here = folder("../tests/platform");
    let copy = |name: &str| std::fs::read_to_string(here.join(name)).expect("it is there");
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
    let sdk = sdk.canonicalize().expect("the SDK is there");
    std::fs::create_dir_all(place.path("asks/src")).expect("a new folder");
    place.put("asks/Cargo.toml", copy("Cargo.toml").replace("../../guest-sdk", sdk.to_str().expect("text")));
    place.put("asks/Cargo.lock", copy("Cargo.lock")).put("asks/src/lib.rs", copy("src/lib.rs"));
    place.put("asks/host.toml", "[build]\ntarget = \"wasm32-wasip1\"\noverflow-checks = false\n");
    let built =
        host_build::build(&place.path("asks"), &host_build::Options::default(), &mut |_| {}).expect("it builds").wasm;
    let wasm = built.to_str().expect("text");
    for what in [
        "instant",
        "system-time",
        "uuid",
        "getrandom-02",
        "getrandom-03",
        "getrandom-04",
        "random-state",
        "tokio",
        "overflow",
    ] {
        let report = is_determined(wasm, what, &[]);
        let said =
            ["arithmetic wraps where it overflows", "the clock stands still", "random bytes are the same each time"];
        assert_eq!(report["assumed"]["platform"], json!(said), "{what}");
    }
    is_no_finding(wasm, "sleep", &["asks for a wait (`poll_oneoff`)"]);
    is_no_finding(wasm, "thread", &["asks for a thread"]);
}
