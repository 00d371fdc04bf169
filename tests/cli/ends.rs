//! Deadlocks and refused messages on the command line: exit code, JSON, traces that replay, goals that are never reached.

use serde_json::{Value, json};

use super::{Place, bundled};

/// One participant: `begin`, Prepare, a vote that it commits, and before the last or second to last of these `stop`.
const BLOCKED: [&str; 6] = ["--nodes", "2", "--set", "stops=coordinator", "--deadlock", "--json"];

#[test]
fn a_deadlock_is_a_violation_with_a_trace_that_replays() {
    let plugin = bundled("two-phase-commit");
    for algo in ["bdfs", "unfold", "dpor", "dpor-ds", "dpor-ds-tree", "consequence", "walk"] {
        let place = Place::new();
        let ran = place.host(&[&["run", plugin, "--algo", algo, "--out", "found"][..], &BLOCKED].concat()).exits(11);
        let json = ran.json();
        let found = json["violations"][0].clone();
        let message = "nothing can happen any more, and node 1 is not done";
        assert_eq!((&json["result"], &json["deadlock"]), (&json!("violation"), &json!("found")), "{algo}");
        assert_eq!((&found["kind"], &found["property"]), (&json!("deadlock"), &Value::Null), "{algo}");
        assert_eq!((&found["message"], &found["length"]), (&json!(message), &json!(4)), "{algo}");
        let replayed = place.host(&["replay", "found/trace.json", "--plugin", plugin]).exits(11);
        assert!(replayed.out.contains(&format!("replayed: deadlock: {message}")), "{algo}: {replayed:?}");
        // Nothing can be left out, and the picture has a title.
        let short = place.host(&["minimize", "found/trace.json", "--plugin", plugin]).exits(0);
        assert!(short.out.contains("4 steps, and each is needed"), "{algo}: {short:?}");
        let drawing = std::fs::read_to_string(place.path("found/trace.svg")).expect("it is drawn");
        assert!(drawing.contains("deadlock"), "{algo}");
    }
}

#[test]
fn a_trace_that_ends_elsewhere_shows_no_deadlock() {
    let place = Place::new();
    let plugin = bundled("two-phase-commit");
    place.host(&[&["run", plugin, "--algo", "unfold", "--out", "found"][..], &BLOCKED].concat()).exits(11);
    let text = std::fs::read_to_string(place.path("found/trace.json")).expect("it is there");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    // Without the last step the vote is in flight.
    trace["steps"].as_array_mut().expect("a list").pop();
    place.put("shorter.json", trace.to_string());
    place.host(&["replay", "shorter.json", "--plugin", plugin]).exits(151).says(&["deadlock"]);
}

#[test]
fn who_does_not_know_what_is_in_flight_refuses_to_look() {
    let place = Place::new();
    let run = ["run", bundled("two-phase-commit"), "--deadlock"];
    place.host(&run).exits(151).says(&["lmc-opt has no option `--deadlock`", "bdfs, unfold"]);
    let ran = place.host(&[&run[..], &["--algo", "bdfs", "--reduce"]].concat());
    assert!(ran.code == 2 && ran.err.contains("--reduce"), "{ran:?}");
}

/// After a refused message that counts as told, the receiver never learns of the block.
#[test]
fn the_verdict_says_what_is_never_reached() {
    let place = Place::new();
    let plugin = bundled("shadow-map");
    let bug = ["--nodes", "2", "--set", "bug=forget-refused", "--refusals", "1", "--deadlock", "--out", "found"];
    place.host(&[&["run", plugin, "--algo", "bdfs"][..], &bug].concat()).exits(11);
    let ran = place.host(&["run", plugin, "--algo", "bdfs", "--prefix", "found/trace.json"]).exits(0);
    let verdict =
        "ok: everything that can happen was explored, and no property is violated; all-told is never reached\n";
    assert!(ran.out.starts_with(verdict) && ran.out.contains("never reached\n"), "{ran:?}");
    let ran = place.host(&["run", plugin, "--algo", "bdfs", "--deadlock"]).exits(0);
    assert!(
        ran.out.starts_with("ok: everything that can happen was explored, and no property is violated\n"),
        "{ran:?}"
    );
    assert!(ran.out.contains("  deadlock                        none\n"), "{ran:?}");
}

/// `get-block` and a refused `tell`: the receiver is never told.
#[test]
fn a_refused_message_is_part_of_a_trace() {
    let place = Place::new();
    let plugin = bundled("shadow-map");
    let bug = ["--nodes", "2", "--set", "bug=forget-refused", "--deadlock", "--out", "found"];
    place.host(&[&["run", plugin, "--algo", "bdfs"][..], &bug].concat()).exits(0);
    let refusing = [&["run", plugin, "--algo", "bdfs", "--refusals", "1"][..], &bug].concat();
    let ran = place.host(&refusing).exits(11);
    assert!(ran.out.contains("2. node 0: tell (internal), a message to node 1 refused"), "{ran:?}");
    assert!(ran.out.contains("at most 1 refused message a node"), "{ran:?}");
    let text = std::fs::read_to_string(place.path("found/trace.json")).expect("it is there");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(trace["steps"][1]["choices"], json!([{ "picked": 1, "alternatives": 2, "to": 1 }]));
    place.host(&["replay", "found/trace.json", "--plugin", plugin]).exits(11);
    // Without a budget the transport takes everything.
    trace["scenario"]["faults"] = json!({});
    place.put("rich.json", trace.to_string());
    let ran = place.host(&["replay", "rich.json", "--plugin", plugin]).exits(151);
    ran.says(&["the transport of node 0 may not refuse so many messages"]);
}
