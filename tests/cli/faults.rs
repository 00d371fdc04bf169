//! Guests that misbehave: findings with a trace that replays, and the host lives on.

use host_sandbox::fixtures::{self, Guest};
use host_search::strategy::{Bound, STRATEGIES, Strategy};
use serde_json::json;

use super::Place;

/// A hundredth of the usual instructions, for guests that use up any amount.
const SHORT: [&str; 2] = ["--limit", "fuel=2000000"];

/// Checks a guest with two nodes under every strategy: each finds a fault of this kind, and its trace replays.
#[track_caller]
fn finds(component: &[u8], kind: &str, words: &str) {
    finds_with(&[], component, kind, words);
}

/// The same with options.
#[track_caller]
fn finds_with(options: &[&str], component: &[u8], kind: &str, words: &str) {
    let place = Place::new();
    place.put("guest.wasm", component);
    for algo in ["bdfs", "lmc", "unfold"] {
        let run = ["run", "guest.wasm", "--nodes", "2", "--algo", algo, "--out", algo, "--json"];
        let result = place.host(&[&run[..], options].concat()).exits(14).json();
        let violation = &result["violations"][0];
        assert_eq!((&result["result"], &violation["kind"]), (&json!("violation"), &json!(kind)), "{result:#}");
        assert!(violation["message"].as_str().is_some_and(|message| message.contains(words)), "{result:#}");
        let trace = violation["trace"].as_str().expect("a trace is written");
        let ran = place.host(&["replay", trace, "--plugin", "guest.wasm"]).exits(14);
        assert!(ran.out.contains("replayed: ") && ran.out.contains(words), "{ran:?}");
    }
}

#[test]
fn what_goes_wrong_in_a_handler_is_a_finding() {
    finds(&fixtures::traps(), "trap", "unreachable");
    finds(&fixtures::panics(), "trap", "panic");
    finds(&fixtures::loops(), "divergence", "fuel");
    finds(&fixtures::memory_bomb(), "memory-limit", "memory");
    finds(&fixtures::amplified_output(), "output-limit", "bytes");
    finds(&fixtures::many_messages(), "output-limit", "messages");
    finds(&fixtures::wrong_node(), "malformed", "node 7");
    finds(&fixtures::chooses_for_ever(), "choose", "choose");
}

/// A state that a snapshot cannot hold is no fault of the protocol: it is refused, or ends the run where it happens.
#[test]
fn writes_to_tables_are_no_finding() {
    let place = Place::new();
    let cases = [
        (
            fixtures::writes_table(),
            "after the start (`table.set` in `host:protocol/node@0.1.0#handle-local`), which no plugin may",
        ),
        (fixtures::writes_table_by_table(), "`handle-local` ran `table.set` after start-up"),
    ];
    for (component, words) in cases {
        place.put("guest.wasm", component);
        let ran = place.host(&["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs"]).exits(150);
        assert!(ran.err.contains(words) || ran.out.contains(words), "{ran:?}");
    }
}

/// A limit that is set by hand is recorded with its consequences, so the trace replays without the option; with the
/// option, the same trace shows that the finding goes away.
#[test]
fn limits_can_be_set_and_are_part_of_a_trace() {
    let place = Place::new();
    // Sends 3 messages of no content.
    let local = "(call $list (i32.const 65536) (i32.const 3))".to_owned();
    place.put("guest.wasm", Guest { memory: "2".into(), local, ..Guest::default() }.component());
    let run = ["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--out", "found", "--depth", "1"];
    place.host(&run).exits(0);
    let ran = place.host(&[&run[..], &["--limit", "items=2"]].concat()).exits(14);
    let words = "returns 3 messages from one call, more than the limit of 2; `--limit items=N` allows more";
    assert!(ran.out.contains(words), "{ran:?}");
    let replay = ["replay", "found/trace.json", "--plugin", "guest.wasm"];
    assert!(place.host(&replay).exits(14).out.contains(words));
    let ran = place.host(&[&replay[..], &["--limit", "items=3"]].concat()).exits(151);
    ran.says(&["does not replay", "it sent 3 messages, not the recorded 0"]);
    let ran = place.host(&["inspect", "guest.wasm", "--limit", "component=1000"]).exits(150);
    ran.says(&["more than the limit of 1000; `--limit component=N` allows more"]);
}

#[test]
fn what_goes_wrong_in_any_other_function_is_a_finding() {
    for function in ["init", "serialize", "local-events", "view"] {
        // The usual limit is that of `fixtures::loops`; these show where else it holds.
        finds_with(&SHORT, &looping(function), "divergence", function);
    }
    finds(&fixtures::malformed_string(), "malformed", "local-events");
    finds(&fixtures::huge_output(), "output-limit", "serialize");
}

#[test]
fn a_property_that_cannot_be_evaluated_is_an_error_of_its_own() {
    let place = Place::new();
    place.put("guest.wasm", looping("invariant"));
    for algo in ["bdfs", "lmc", "unfold"] {
        let run = [&["run", "guest.wasm", "--nodes", "2", "--algo", algo, "--out", algo][..], &SHORT].concat();
        let result = place.host(&[&run[..], &["--json"]].concat()).exits(75).json();
        assert_eq!((&result["result"], &result["violations"][0]["kind"]), (&json!("error"), &json!("broken")));
        assert_eq!(result["properties"][0]["status"], "broken");
        let ran = place.host(&run).exits(75);
        assert!(ran.out.starts_with("error: claim cannot be evaluated"), "{ran:?}");
        let ran = place.host(&["replay", &format!("{algo}/trace.json"), "--plugin", "guest.wasm"]).exits(75);
        assert!(ran.out.contains("replayed: claim cannot be evaluated"), "{ran:?}");
    }
}

#[test]
fn a_plugin_that_cannot_list_its_properties_is_not_loaded() {
    let place = Place::new();
    place.put("guest.wasm", looping("properties"));
    place.host(&["run", "guest.wasm", "--nodes", "2"]).exits(150).says(&["guest.wasm", "properties"]);
}

#[test]
fn every_answer_of_choose_is_an_event_that_replays() {
    let place = Place::new();
    let choosing = "(drop (call $choose (i32.const 3))) (if (call $choose (i32.const 2)) (then unreachable)) \
         (call $list (i32.const 0) (i32.const 0))";
    place.put("guest.wasm", Guest { local: choosing.into(), ..Guest::default() }.component());
    let ran = place.host(&["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--out", "found"]).exits(14);
    assert!(ran.out.contains("node 0: go (internal), choosing 0 of 3, 1 of 2\n"), "{ran:?}");
    let ran = place.host(&["replay", "found/trace.json", "--plugin", "guest.wasm"]).exits(14);
    assert!(ran.out.contains("choosing 0 of 3, 1 of 2\n"), "{ran:?}");
}

/// Node 0 sends itself 1 and 2. `serialize` counts the received messages, but not which came last, on which the trap
/// depends; so the search takes two different states for one, and its finding does not exist on replay.
#[test]
fn state_that_serialize_leaves_out_is_found_as_nondeterminism() {
    let place = Place::new();
    let guest = Guest {
        init: "
            (i32.store (i32.const 2204) (i32.const 2240)) (i32.store (i32.const 2208) (i32.const 1))
            (i32.store (i32.const 2216) (i32.const 2241)) (i32.store (i32.const 2220) (i32.const 1))
            (i32.store8 (i32.const 2240) (i32.const 1)) (i32.store8 (i32.const 2241) (i32.const 2))
            (call $tagged (i32.const 0) (i32.const 2200) (i32.const 2))"
            .into(),
        message: "
            (if (i32.eq (i32.load8_u (i32.const 1044)) (i32.load8_u (local.get $at))) (then unreachable))
            (i32.store8 (i32.const 1044) (i32.load8_u (local.get $at)))
            (i32.store8 (i32.const 1040) (i32.add (i32.load8_u (i32.const 1040)) (i32.const 1)))
            (call $list (i32.const 0) (i32.const 0))"
            .into(),
        events: "(call $list (i32.const 0) (i32.const 0))".into(),
        serialize: "(call $list (i32.const 1040) (i32.const 1))".into(),
        ..Guest::default()
    };
    place.put("guest.wasm", guest.component());
    let run = ["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--out", "found"];
    let result = place.host(&[&run[..], &["--json"]].concat()).exits(14).json();
    assert_eq!((&result["result"], &result["violations"][0]["kind"]), (&json!("error"), &json!("nondeterminism")));
    let ran = place.host(&run).exits(14);
    assert!(ran.out.starts_with("error: the plugin is not deterministic"), "{ran:?}");
    place.host(&["replay", "found/trace.json", "--plugin", "guest.wasm"]).exits(151).says(&["does not replay"]);
}

#[test]
fn what_a_plugin_says_cannot_move_the_cursor() {
    let place = Place::new();
    // The event is named with an escape character and a line break.
    let events = fixtures::EVENT_GO.replace("0x6f67", "0x0a1b");
    place.put("guest.wasm", Guest { events, local: "unreachable".into(), ..Guest::default() }.component());
    let ran = place.host(&["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--out", "found"]).exits(14);
    assert!(!ran.out.contains('\u{1b}') && ran.out.contains(r"node 0: \u{1b}\n (internal)"), "{ran:?}");
}

/// A guest with one property, `claim`, and an endless loop in one function.
fn looping(function: &str) -> Vec<u8> {
    let mut guest = Guest {
        fields: r#"(data (i32.const 512) "claim")"#.into(),
        // A list of one record: the name's address and length, kind `always`, scope `system`.
        properties: "
            (i32.store (i32.const 2192) (i32.const 512))
            (i32.store (i32.const 2196) (i32.const 5))
            (i32.store8 (i32.const 2200) (i32.const 0))
            (i32.store8 (i32.const 2201) (i32.const 1))
            (call $list (i32.const 2192) (i32.const 1))"
            .into(),
        ..Guest::default()
    };
    let body = match function {
        "init" => &mut guest.init,
        "serialize" => &mut guest.serialize,
        "local-events" => &mut guest.events,
        "view" => &mut guest.view,
        "invariant" => &mut guest.invariant,
        "properties" => &mut guest.properties,
        other => panic!("no function {other}"),
    };
    *body = "(loop $again (br $again)) unreachable".into();
    guest.component()
}

/// Each node traps on its own; if one of them is stuck, the search continues elsewhere. Its findings replay, and none of them is
/// called not deterministic.
#[test]
fn several_traps_are_found_and_replay() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    let wants_several = |strategy: &&Strategy| strategy.honours.contains(&Bound::Violations);
    for strategy in STRATEGIES.iter().filter(wants_several) {
        for several in [&["--continue"][..], &["--max-violations", "5"]] {
            let run = ["run", "guest.wasm", "--nodes", "3", "--algo", strategy.name, "--out", "found", "--json"];
            let result = place.host(&[&run[..], several].concat()).exits(14).json();
            let name = strategy.name;
            let violations = result["violations"].as_array().expect("a list");
            let found =
                violations.len() as u64 + violations.iter().filter_map(|one| one["alike"].as_u64()).sum::<u64>();
            assert!(!strategy.is_complete || found == 3, "{name}: {result:#}");
            for violation in violations {
                assert_eq!((&violation["kind"], &violation["confirmed"]), (&json!("trap"), &json!(true)), "{name}");
                let trace = violation["trace"].as_str().expect("a trace is written");
                let ran = place.host(&["replay", trace, "--plugin", "guest.wasm"]).exits(14);
                assert!(ran.out.contains("replayed: ") && ran.out.contains("unreachable"), "{name}: {ran:?}");
            }
            assert!(!strategy.is_complete || result["end"] == "space-exhausted", "{name}: {result:#}");
        }
    }
}
