//! Minimised traces and their text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Place, bundled};

/// Paxos with the bug of the LMC paper, three proposers that may try again and again.
const STUBBORN: [&str; 6] = ["--set", "bug=last-response", "--set", "proposers=3", "--set", "attempts=600"];

/// One random walk; `seed` is one that ends in a violation after about a thousand events.
fn long_walk(place: &Place, seed: &str, options: &[&str]) -> Value {
    let walk = ["run", bundled("paxos"), "--algo", "walk", "--walks", "1", "--seed", seed, "--depth", "3000"];
    let walk = [&walk[..], &STUBBORN, &["--weights", "application=3", "--json"], options].concat();
    place.host(&walk).exits(12).json()["violations"][0].clone()
}

#[test]
fn a_thousand_events_become_two_dozen_at_most() {
    for seed in ["38", "103"] {
        let place = Place::new();
        let found = long_walk(&place, seed, &["--no-minimize", "--out", "found"]);
        let from = found["length"].as_u64().expect("a number");
        assert!((800..1500).contains(&from), "{found}");
        assert_eq!((&found["found"], &found["found_length"]), (&Value::Null, &json!(from)));
        let minimize = ["minimize", "found/trace.json", "--plugin", bundled("paxos")];
        let short = place.host(&[&minimize[..], &["--json"]].concat()).exits(0).json();
        let to = short["length"].as_u64().expect("a number");
        // Twice the nine events of a proposal that ends in a choice, see the README of the plugin.
        assert!((18..=25).contains(&to), "{short}");
        assert_eq!((&short["found_length"], &short["complete"]), (&json!(from), &json!(true)));
        assert!(short["switches"].as_u64() < short["found_switches"].as_u64());
        assert_eq!(short["finding"]["name"], "agreement");
        place.host(&["replay", "found/minimized.json", "--plugin", bundled("paxos")]).exits(12);
        // The same by the run itself.
        let both = long_walk(&place, seed, &["--out", "both"]);
        assert_eq!((&both["length"], &both["found_length"]), (&json!(to), &json!(from)));
        assert_eq!((&both["trace"], &both["found"]), (&json!("both/trace.json"), &json!("both/found.json")));
        let again = ["minimize", "both/trace.json", "--plugin", bundled("paxos"), "--out", "again.json"];
        let text = place.host(&again).exits(0).out;
        assert!(text.contains(&format!("{to} steps, and each is needed")), "{text}");
        assert!(
            text.ends_with("host replay again.json --plugin PLUGIN\n".replace("PLUGIN", bundled("paxos")).as_str())
        );
    }
}

#[test]
fn a_prefix_is_kept() {
    let place = Place::new();
    let live = super::folder("paxos").join("scenarios/live-state.json");
    let live = live.to_str().expect("the path of this repository is text");
    // The local model checker does not look for a shortest path: its finding is minimised, the nine events before it are not.
    let run = ["run", bundled("paxos"), "--algo", "lmc", "--prefix", live, "--json", "--out", "found"];
    let found = place.host(&run).exits(12).json()["violations"][0].clone();
    assert_eq!((&found["length"], &found["prefix_length"]), (&json!(18), &json!(9)));
    let json = |path| -> Value { serde_json::from_str(&read(&place, path)).expect("JSON") };
    let (ours, live) = (json("found/trace.json"), json(live));
    for index in 0..9 {
        assert_eq!(ours["steps"][index]["event"], live["steps"][index]["event"]);
    }
}

#[test]
fn a_violation_says_what_each_step_changed_and_why_the_end_is_wrong() {
    let place = Place::new();
    let run = ["run", bundled("paxos"), "--algo", "unfold", "--set", "bug=last-response", "--set", "proposers=2"];
    let text = place.host(&run).exits(12).out;
    for words in [
        "violation: agreement is violated: node ",
        "after 18 steps, no shorter way exists\n",
        "attempts: 0 -> 1, proposer: Ready -> Collecting {responders: [], highest: null}\n",
        "acceptor.promised: 0 -> 1; sends PrepareResponse {ballot: 1, accepted: null} to node 0\n",
        "sends Prepare {ballot: 1} to nodes 0, 1, 2\n",
        "learner.chosen: + 100",
        "\nthe property reads\n  node 0: ",
        " since step 18, learner.votes: + ",
        "; chosen reached;",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
    // For a terminal of 80 columns and about 60 lines.
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    assert!(text.lines().count() <= 70, "{text}");
}

#[test]
fn what_cannot_be_minimised_says_why() {
    let place = Place::new();
    let live = super::folder("paxos").join("scenarios/live-state.json");
    let live = live.to_str().expect("the path of this repository is text");
    let ran = place.host(&["minimize", live, "--plugin", bundled("paxos"), "--out", "short.json"]).exits(151);
    ran.says(&["live-state.json cannot be minimised", "shows no violation at its end"]);
    assert!(place.list().is_empty());
}

#[test]
fn a_search_that_continues_merges_similar_violations() {
    let place = Place::new();
    let run = ["run", bundled("paxos"), "--algo", "walk", "--set", "bug=last-response", "--set", "proposers=2"];
    let all = [&run[..], &["--walks", "3000", "--continue", "--json", "--out", "all"]].concat();
    let found = place.host(&all).exits(12).json();
    assert_eq!(found["end"], "walks-done", "three thousand walks do not have 100 violations in different words");
    let violations = found["violations"].as_array().expect("a list");
    let total: u64 = violations.iter().map(|it| 1 + it["alike"].as_u64().expect("a number")).sum();
    assert!(total > violations.len() as u64, "{total} violations in {} groups", violations.len());
    let paths: Vec<&str> = violations.iter().filter_map(|it| it["trace"].as_str()).collect();
    assert_eq!(paths.len(), violations.len());
    for (index, path) in paths.iter().enumerate() {
        let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
        assert_eq!(*path, format!("all/trace{number}.json"));
        place.host(&["replay", path, "--plugin", bundled("paxos")]).exits(12);
    }
    let two = [&run[..], &["--walks", "3000", "--max-violations", "2", "--json", "--out", "two"]].concat();
    let found = place.host(&two).exits(12).json();
    assert_eq!(found["end"], "violation");
    let refused =
        place.host(&["run", bundled("paxos"), "--algo", "bdfs", "--continue", "--checkpoint", "kept"]).exits(151);
    refused.says(&["a checkpoint keeps no violations", "leave one of the two out"]);
}

/// Two protocols whose bugs show in several states: by the earlier answers, and by the value that is read.
#[test]
fn complete_searches_continue_to_the_same_violations() {
    let place = super::golden::repository();
    for scenario in ["retransmission/scenarios/last-only.toml", "regular-storage/scenarios/one-ack.toml"] {
        let scenario = format!("plugins/{scenario}");
        let run = ["run", &scenario, "--continue", "--json"];
        let total = |algo: &[&str]| {
            let out = place.host(&[&run[..], algo].concat()).exits(12).json();
            assert_eq!(out["end"], "space-exhausted", "{scenario} {algo:?}");
            let violations = out["violations"].as_array().expect("a list");
            violations.iter().map(|it| 1 + it["alike"].as_u64().expect("a number")).sum::<u64>()
        };
        // Their grouping depends on the paths to them.
        let expected = total(&["--algo", "unfold"]);
        assert!(expected > 1, "one violation says little");
        for algo in [&["--algo", "bdfs"][..], &["--algo", "bdfs", "--reduce"], &["--algo", "lmc"]] {
            assert_eq!(total(algo), expected, "{scenario} {algo:?}");
        }
    }
}

/// Two requests are sent three times each at most, so a server without memory performs two to six, with one of them twice: five kinds of
/// violations by the length of the list; each one is on the way to the next.
#[test]
fn a_kind_that_is_easier_to_reach_hides_no_other_and_is_the_only_one_to_be_called_shortest() {
    let place = Place::new();
    let run = ["run", bundled("retransmission"), "--set", "bug=no-memory", "--continue", "--json"];
    let lists = ["[#, #]", "[#, #, #]", "[#, #, #, #]", "[#, #, #, #, #]", "[#, #, #, #, #, #]"];
    let expected = lists.map(|list| format!("request # was performed again: {list}"));
    let mut least: BTreeMap<String, u64> = BTreeMap::new();
    let mut claims: Vec<(String, u64)> = Vec::new();
    let algos: [&[&str]; 6] =
        [&["bdfs"], &["bdfs", "--safety-only"], &["bdfs", "--reduce"], &["unfold"], &["lmc"], &["dpor"]];
    for algo in algos {
        let found = place.host(&[&run[..], &["--algo"], algo].concat()).exits(12).json();
        let mut kinds = BTreeSet::new();
        for violation in found["violations"].as_array().expect("a list") {
            let words = violation["message"].as_str().expect("a text");
            let kind = words.replace(|letter: char| letter.is_ascii_digit(), "#");
            let length = violation["length"].as_u64().expect("a number");
            let shortest = least.entry(kind.clone()).or_insert(length);
            *shortest = length.min(*shortest);
            if violation["shortest"] == true {
                assert_eq!(violation["length"], violation["found_length"], "{algo:?}: {violation}");
                claims.push((kind.clone(), length));
            }
            kinds.insert(kind);
        }
        assert!(kinds.iter().eq(&BTreeSet::from(expected.clone())), "{algo:?}: {kinds:?}");
    }
    for (kind, length) in &claims {
        assert_eq!(length, &least[kind], "no shorter way exists to {kind:?}");
    }
    let said: BTreeSet<&String> = claims.iter().map(|(kind, _)| kind).collect();
    assert_eq!(said.len(), expected.len(), "for each kind, a strategy has a shortest way: {claims:?}");
}

#[test]
fn a_run_leaves_trace_text_drawing_and_result_behind() {
    let place = Place::new();
    let run = ["run", bundled("paxos"), "--algo", "bdfs", "--out", "kept"];
    place.host(&run).exits(0);
    let result: Value = serde_json::from_str(&read(&place, "kept/stats.json")).expect("JSON");
    assert_eq!((&result["result"], &result["violations"]), (&json!("ok"), &json!([])));
    let bug = ["--set", "bug=last-response", "--set", "proposers=2"];
    let text = place.host(&[&run[..2], &bug, &["--out", "found"]].concat()).exits(12).out;
    let page = "step by step, for a browser: found/trace.html\n";
    let told = format!("{page}trace in found/trace.json, drawn in found/trace.svg; replay it with\n");
    assert!(text.contains(&told), "{text}");
    let result: Value = serde_json::from_str(&read(&place, "found/stats.json")).expect("JSON");
    assert_eq!(result["violations"][0]["drawing"], "found/trace.svg");
    assert_eq!(result["violations"][0]["page"], "found/trace.html");
    let shown = read(&place, "found/trace.txt");
    assert!(shown.starts_with("start\n") && shown.contains("\n  18. ") && shown.contains("\nthe property reads\n"));
    // Both have the digest of the component, and the command that replays the trace.
    let (drawing, page) = (read(&place, "found/trace.svg"), read(&place, "found/trace.html"));
    let digest = trace_digest(&place);
    for text in [&drawing, &page] {
        assert!(text.contains(&digest) && text.contains("host replay found/trace.json --plugin "), "{text}");
    }
    let draw = ["draw", "found/trace.json", "--plugin", bundled("paxos")];
    place.host(&[&draw[..], &["--out", "again.svg", "--out", "again.html"]].concat()).exits(0);
    assert_eq!((drawing, &page), (read(&place, "again.svg"), &read(&place, "again.html")));
    // A format decides, for any name; without a name it is that of the trace.
    std::fs::remove_file(place.path("found/trace.html")).expect("it was written");
    let named = place.host(&[&draw[..], &["--format", "html"]].concat()).exits(0);
    assert_eq!((&*named.out, &read(&place, "found/trace.html")), ("found/trace.html\n", &page));
    place.host(&[&draw[..], &["--format", "html", "--out", "report"]].concat()).exits(0);
    assert_eq!(read(&place, "report"), page);
    let refused = place.host(&["draw", "found/trace.json", "--out", "picture.png"]).exits(151);
    refused.says(&["`--out picture.png`", ".svg, .html, .mmd, .dot, or --format"]);
    let refused = place.host(&["draw", "found/trace.json", "--format", "png"]).exits(2);
    assert!(refused.err.contains("svg, html, mermaid, dot"), "{refused:?}");
}

/// The digest of the component that a trace was recorded with.
fn trace_digest(place: &Place) -> String {
    let trace: Value = serde_json::from_str(&read(place, "found/trace.json")).expect("JSON");
    trace["plugin"]["digest"].as_str().expect("a trace names its component").to_owned()
}

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.path(path)).expect("it was written")
}
