//! States that become longer and longer.

use host_sandbox::fixtures::Guest;
use serde_json::{Value, json};

use super::Place;

/// A guest that counts its events, and whose state is the number with this many bytes behind it.
fn counter(more: &str) -> Guest {
    let count = "(i32.load (i32.const 20000))";
    Guest {
        local: format!(
            "(i32.store (i32.const 20000) (i32.add {count} (i32.const 1)))
            (call $list (i32.const 0) (i32.const 0))"
        ),
        serialize: format!("(call $list (i32.const 20000) (i32.add (i32.const 4) {more}))"),
        ..Guest::default()
    }
}

/// A state that only counts is not named, nor is one that was not observed for long enough.
#[test]
fn a_state_that_becomes_longer_and_longer_is_named() {
    let place = Place::new();
    place.put("grows.wasm", counter("(i32.load (i32.const 20000))").component());
    place.put("counts.wasm", counter("(i32.const 0)").component());
    let run = |guest: &str, depth: &str| {
        let words = ["run", guest, "--nodes", "1", "--algo", "walk", "--walks", "1", "--seed", "1", "--depth", depth];
        let text = place.host(&words).exits(0).out;
        let report = place.host(&[&words[..], &["--json"]].concat()).exits(0).json();
        (text.contains("the state of node 0 became longer and longer"), report["growth"].clone())
    };
    let grown = json!({ "node": 0, "steps": 1_000, "bytes": [4, 1_004] });
    assert_eq!(run("grows.wasm", "1500"), (true, grown.clone()));
    assert_eq!(run("grows.wasm", "1000"), (true, grown));
    assert_eq!(run("grows.wasm", "999"), (false, Value::Null));
    assert_eq!(run("counts.wasm", "1500"), (false, Value::Null));
}
