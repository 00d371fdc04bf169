//! Lost messages on the command line: reports, traces, refusals, checkpoints.

use serde_json::{Value, json};

use super::{Place, bundled};

fn trace(place: &Place, path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.path(path)).expect("it is there")).expect("JSON")
}

/// Two-phase commit waits for ever for a message that was lost: the coordinator begins, and Prepare is lost.
#[test]
fn a_lost_message_is_a_step_that_everything_understands() {
    let place = Place::new();
    let plugin = bundled("two-phase-commit");
    let run = ["run", plugin, "--nodes", "2", "--deadlock"];
    place.host(&run).exits(0);
    for algo in ["bdfs", "auto"] {
        let options = ["--algo", algo, "--losses", "1", "--out", "found"];
        let ran = place.host(&[&run[..], &options].concat()).exits(11);
        assert!(ran.out.contains("  2. participant 1: a message from coordinator is lost: Prepare"), "{ran:?}");
        assert!(ran.out.contains("     changes nothing"), "{ran:?}");
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("faults at most 1 lost message per node;"), "{ran:?}");
    }
    let found = trace(&place, "found/trace.json");
    assert_eq!((&found["trace_version"], &found["scenario"]["faults"]), (&json!(2), &json!({ "losses": 1 })));
    assert_eq!(found["steps"][1]["event"]["kind"], "lose");
    assert_eq!(super::schema::misfits(&found), [""; 0]);
    for command in ["replay", "minimize"] {
        let ran = place.host(&[command, "found/trace.json", "--plugin", plugin]);
        assert!(ran.err.is_empty() || ran.code == 11 || ran.code == 0, "{ran:?}");
        assert!(ran.out.contains("deadlock"), "{ran:?}");
    }
    place.host(&["draw", "found/trace.json", "--plugin", plugin, "--out", "x.mmd"]).exits(0);
    let drawing = std::fs::read_to_string(place.path("x.mmd")).expect("it is drawn");
    assert!(drawing.contains("lost in step 2"), "{drawing}");
    let itf = ["export", "found/trace.json", "--plugin", plugin, "--format", "itf", "--out", "x.itf.json"];
    place.host(&itf).exits(0);
    place.host(&["replay", "x.itf.json", "--plugin", plugin]).exits(11);
    // The search continues from there, and no further message can be lost at node 1.
    place.put("lost.json", {
        let mut start = found.clone();
        start.as_object_mut().expect("an object").remove("finding");
        start.to_string()
    });
    let after = ["run", plugin, "--prefix", "lost.json", "--algo", "bdfs", "--safety-only", "--json"];
    // A goal that was reachable before the loss is not reachable any more.
    assert_eq!(place.host(&after).exits(15).json()["counts"]["transitions"], 0);
}

/// Without a limit nothing is counted, and reports and traces agree with that.
#[test]
fn any_number_of_messages_can_be_lost() {
    let place = Place::new();
    let plugin = bundled("lock");
    let run = ["run", plugin, "--algo", "bdfs", "--losses", "unlimited", "--out", "found"];
    let json = place.host(&[&run[..], &["--json"]].concat()).exits(13).json();
    // Counted in the README of the plugin.
    let counts = ["global_states", "transitions"].map(|count| json["counts"][count].clone());
    assert_eq!(counts, [json!(11), json!(18)]);
    let served = json["properties"].as_array().expect("a list").iter().find(|property| property["name"] == "served");
    let promise = &served.expect("it is there")["promises"][1];
    assert_eq!((&promise["dead_states"], &promise["critical_edges"]), (&json!(4), &json!(6)));
    assert_eq!(json["assumed"]["faults"]["losses"], "unlimited");
    let found = trace(&place, "found/trace.json");
    assert_eq!(found["scenario"]["faults"], json!({ "losses": "unlimited" }));
    assert_eq!(super::schema::misfits(&found), [""; 0]);
    let text = place.host(&run).exits(13).out;
    assert!(text.contains("any number of lost messages"), "{text}");
    place.host(&["replay", "found/trace.json", "--plugin", plugin]).exits(13);
    place
        .put("s.toml", format!("plugin = {plugin:?}\n[faults]\nlosses = \"unlimited\"\n[strategy]\nalgo = \"bdfs\"\n"));
    assert_eq!(place.host(&["run", "s.toml", "--json"]).exits(13).json()["counts"], json["counts"]);
}

#[test]
fn other_numbers_are_refused() {
    let place = Place::new();
    let run = ["run", bundled("lock"), "--algo", "bdfs"];
    for (options, words) in [
        (["--losses", "101"], "101 is not in 0..=100 or `unlimited`"),
        (["--losses", "some"], "some is not in 0..=100 or `unlimited`"),
        (["--resets", "unlimited"], "unlimited"),
    ] {
        let ran = place.host(&[&run[..], &options].concat()).exits(2);
        assert!([options[0], words].iter().all(|word| ran.err.contains(word)), "{ran:?}");
    }
    for (line, words) in [
        ("losses = \"some\"", "some is not in 0..=100 or `unlimited`"),
        ("losses = 101", "101 is not in 0..=100 or `unlimited`"),
        ("losses = true", "must be a whole number"),
        ("resets = \"unlimited\"", "unlimited is not in 0..=100"),
    ] {
        place.put("s.toml", format!("plugin = {:?}\n[faults]\n{line}\n", bundled("lock")));
        place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:3", words]);
    }
    // In a trace as well.
    place.host(&[&run[..], &["--losses", "1", "--out", "found"]].concat()).exits(13);
    let mut found = trace(&place, "found/trace.json");
    for (value, words) in [
        (json!("some"), "a number or \"unlimited\""),
        (json!(4_294_967_295_u32), "too large"),
        (json!(101), "101 losses are more than 100"),
    ] {
        found["scenario"]["faults"]["losses"] = value;
        place.put("trace.json", found.to_string());
        place.host(&["replay", "trace.json", "--plugin", bundled("lock")]).exits(151).says(&[words]);
    }
}

/// Losses are advised if they are not explored and could show more.
#[test]
fn losses_are_advised_where_they_tell() {
    let place = Place::new();
    let advised = |options: &[&str]| {
        let run = place.host(&[&["run", bundled("lock"), "--json"][..], options].concat()).json();
        let all = run["not_covered"].as_array().expect("a list").clone();
        all.iter().any(|it| (&it["what"], &it["option"]) == (&json!("losses"), &json!("--losses 1")))
    };
    assert!(advised(&["--algo", "bdfs"]) && advised(&["--algo", "auto"]));
    assert!(advised(&["--algo", "walk", "--network", "ordered", "--walks", "3", "--depth", "6"]));
    // There is no promise in it, or they are there, or it knows none.
    assert!(!advised(&["--algo", "consequence"]) && !advised(&["--algo", "unfold"]));
    assert!(!advised(&["--algo", "bdfs", "--losses", "1"]) && !advised(&["--algo", "bdfs", "--reduce"]));
}

/// A search with losses is stopped and resumed, to the same counts; with another budget it is another search.
#[test]
fn a_search_with_losses_is_resumed() {
    let mut place = Place::new();
    for losses in ["1", "unlimited"] {
        let search = ["--algo", "bdfs", "--losses", losses, "--depth", "6", "--set", "init=event", "--safety-only"];
        let whole = place.run_json("paxos", &search);
        place.interrupted = Some(20);
        let kept = format!("kept-{losses}");
        let stopped = place.run_json("paxos", &[&search[..], &["--checkpoint", &kept]].concat());
        assert_eq!(stopped["end"], "interrupted");
        place.interrupted = None;
        let words = format!("was made with losses {losses}, now 2");
        place.host(&["run", "--resume", &kept, "--losses", "2"]).exits(151).says(&[&words]);
        let resumed = place.host(&["run", "--resume", &kept, "--json"]).json();
        let counts =
            |run: &Value| ["global_states", "transitions", "system_states"].map(|it| run["counts"][it].clone());
        assert_eq!((&resumed["end"], counts(&resumed)), (&whole["end"], counts(&whole)));
    }
}
