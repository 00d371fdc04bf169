//! Deadlocks and refused messages on the command line: exit code, JSON, traces that replay, goals that are never reached.

use std::collections::BTreeMap;

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
        // People read names, programs the numbers that traces have.
        let named = message.replace("node 1", "participant 1");
        assert!(replayed.out.contains(&format!("replayed: deadlock: {named}")), "{algo}: {replayed:?}");
        // No event can be removed, and the picture has a title.
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
    place
        .host(&[&run[..], &["--algo", "lmc"]].concat())
        .exits(151)
        .says(&["lmc-opt has no option `--deadlock`", "bdfs, unfold"]);
    let ran = place.host(&[&run[..], &["--algo", "bdfs", "--reduce"]].concat());
    assert!(ran.code == 2 && ran.err.contains("--reduce"), "{ran:?}");
}

/// Two participants: after `begin` and two more events a node waits for one that has crashed. Only deadlocks depend on crashes.
#[test]
fn who_waits_for_a_crashed_node_is_named() {
    let place = Place::new();
    let run = ["run", bundled("two-phase-commit"), "--algo", "bdfs", "--nodes", "3"];
    let crashing = [&run[..], &["--crashes", "1", "--safety-only", "--deadlock", "--out", "found"]].concat();
    let json = place.host(&[&crashing[..], &["--max-violations", "50", "--json"]].concat()).exits(11).json();
    let found = json["violations"].as_array().expect("a list");
    let counts =
        found.iter().map(|it| (it["message"].as_str().expect("words"), it["count"].as_u64().expect("a number")));
    let counts: BTreeMap<&str, u64> = counts.collect();
    // A participant that votes no is done only when it hears of the abort, and one that has heard of it is done.
    let of = |crashed: u32| {
        let words = format!("nothing can happen any more after node {crashed} has crashed, and node");
        counts.iter().filter(|(message, _)| message.starts_with(&words)).map(|(_, count)| *count).collect::<Vec<_>>()
    };
    // The findings do not depend on which participant has crashed, nor on which others wait if the shortest path is the same.
    // Without the coordinator each participant may wait or not, but not none of them: 2^2 - 1. Without a participant every end has
    // its mirror image.
    assert_eq!((of(0), counts.len(), found.len()), (vec![3], 2, 2), "{counts:?}");
    let of_participants = [of(1), of(2)].concat();
    assert!(of_participants.len() == 1 && of_participants[0].is_multiple_of(2), "{counts:?}");
    let ran = place.host(&crashing).exits(11);
    assert!(ran.out.contains("at most 1 crashed node;"), "{ran:?}");
    let text = std::fs::read_to_string(place.path("found/trace.json")).expect("it is there");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(trace["scenario"]["faults"], json!({ "crashes": 1 }));
    assert_eq!(trace["steps"].as_array().map(Vec::len), Some(3));
    let replayed = place.host(&["replay", "found/trace.json", "--plugin", bundled("two-phase-commit")]).exits(11);
    assert!(replayed.out.contains("replayed: deadlock: nothing can happen any more after "), "{replayed:?}");
    assert!(replayed.out.contains("participant ") && !replayed.out.contains("after node "), "{replayed:?}");

    let counts =
        |options: &[&str]| place.host(&[&run[..], &["--json"], options].concat()).exits(0).json()["counts"].clone();
    assert_eq!(counts(&["--crashes", "2", "--safety-only"]), counts(&[]));
}

/// On an ordered network of three nodes a partition is two more breaks of each node, elsewhere nothing more.
#[test]
fn a_partition_is_late_messages_and_broken_connections() {
    let place = Place::new();
    let run = ["run", bundled("two-phase-commit"), "--algo", "unfold", "--nodes", "3", "--json"];
    let counts = |options: &[&str]| place.host(&[&run[..], options].concat()).exits(0).json()["counts"].clone();
    assert_eq!(counts(&["--partitions", "1"]), counts(&[]));
    let ordered = |options: &[&str]| counts(&[&["--network", "ordered"], options].concat());
    assert_eq!(ordered(&["--partitions", "1"]), ordered(&["--breaks", "2"]));
    assert_ne!(ordered(&["--partitions", "1"]), ordered(&["--breaks", "1"]));
    let many = [&run[..], &["--network", "ordered", "--partitions", "51"]].concat();
    place.host(&many).exits(151).says(&["`--partitions`: 102 breaks are more than 100 of a kind"]);
}

/// After a refused message that counts as sent, the receiver never learns of the block.
#[test]
fn the_verdict_says_what_is_never_reached() {
    let place = Place::new();
    let plugin = bundled("shadow-map");
    let bug = ["--nodes", "2", "--set", "bug=forget-refused", "--refusals", "1", "--deadlock", "--out", "found"];
    place.host(&[&["run", plugin, "--algo", "bdfs"][..], &bug].concat()).exits(11);
    let ran = place.host(&["run", plugin, "--algo", "bdfs", "--prefix", "found/trace.json"]).exits(15);
    let verdict = "never-reached: the search is complete, and all-told is never reached\n";
    assert!(ran.out.starts_with(verdict) && ran.out.ends_with(verdict), "{ran:?}");
    assert!(ran.out.contains("never reached\n"), "{ran:?}");
    // An ignored property is not missed.
    let ignored = ["run", plugin, "--algo", "bdfs", "--prefix", "found/trace.json", "--ignore", "all-told"];
    assert!(place.host(&ignored).exits(0).out.starts_with("ok: "));
    let ran = place.host(&["run", plugin, "--algo", "bdfs", "--deadlock"]).exits(0);
    assert!(ran.out.starts_with("ok: the search is complete, and no property is violated\n"), "{ran:?}");
    assert!(ran.out.contains("  deadlock                        none\n"), "{ran:?}");
}

/// `get-block` and a refused `tell`: the receiver never learns of the block.
#[test]
fn a_refused_message_is_part_of_a_trace() {
    let place = Place::new();
    let plugin = bundled("shadow-map");
    let bug = ["--nodes", "2", "--set", "bug=forget-refused", "--deadlock", "--out", "found"];
    place.host(&[&["run", plugin, "--algo", "bdfs"][..], &bug].concat()).exits(0);
    let refusing = [&["run", plugin, "--algo", "bdfs", "--refusals", "1"][..], &bug].concat();
    let ran = place.host(&refusing).exits(11);
    assert!(ran.out.contains("2. node 0: tell (internal), a message to node 1 refused"), "{ran:?}");
    assert!(ran.out.contains("at most 1 refused message per node"), "{ran:?}");
    let text = std::fs::read_to_string(place.path("found/trace.json")).expect("it is there");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(trace["steps"][1]["choices"], json!([{ "picked": 1, "alternatives": 2, "to": 1 }]));
    place.host(&["replay", "found/trace.json", "--plugin", plugin]).exits(11);
    // Without a budget the transport takes everything.
    trace["scenario"]["faults"] = json!({});
    place.put("rich.json", trace.to_string());
    let ran = place.host(&["replay", "rich.json", "--plugin", plugin]).exits(151);
    ran.says(&["the transport of node 0 may not refuse this many messages"]);
}
