//! From a violation to its replay, and searches that begin after a trace.

use host_model::scenario::faults;
use host_sandbox::fixtures::{self, Guest};
use serde_json::{Value, json};

use super::{Place, bundled, folder};

/// Paxos with the bug of the paper.
const BUG: [&str; 4] = ["--set", "bug=last-response", "--set", "proposers=2"];

/// Finds the violation of agreement; returns the place, the text, and the path of the trace.
fn violation(algo: &str) -> (Place, String, String) {
    let place = Place::new();
    let ran = place.host(&[&["run", bundled("paxos"), "--algo", algo][..], &BUG].concat()).exits(12);
    let trace = replay_line(&ran.out).split(' ').nth(2).expect("host replay TRACE ...").to_owned();
    (place, ran.out, trace)
}

/// The command that replays a violation: the last line before the verdict.
fn replay_line(text: &str) -> &str {
    let mut lines = text.lines().rev();
    assert_eq!(lines.next(), text.lines().next(), "the verdict is the last line");
    lines.find(|line| !line.is_empty()).expect("there is output")
}

fn read(place: &Place, name: &str) -> Value {
    let text = std::fs::read_to_string(place.path(name)).expect("the trace is there");
    assert!(text.ends_with("}\n"));
    serde_json::from_str(&text).expect("a trace is JSON")
}

/// Writes the first steps of a trace as a start state.
fn put_prefix(place: &Place, name: &str, trace: &Value, steps: usize) {
    let mut prefix = trace.clone();
    prefix.as_object_mut().expect("an object").remove("finding");
    prefix["steps"].as_array_mut().expect("a list").truncate(steps);
    place.put(name, prefix.to_string());
}

#[test]
fn the_last_line_replays_the_violation() {
    for algo in ["bdfs", "lmc", "unfold"] {
        let (place, text, trace) = violation(algo);
        assert!(text.starts_with("violation: agreement is violated: node "), "{text}");
        let steps = read(&place, &trace)["steps"].as_array().expect("a list").len();
        assert!(steps >= 18, "the shortest has 18 events, {algo} found one of {steps}");
        assert!(algo == "lmc" || steps == 18, "{algo} promises the shortest, this has {steps}");
        assert!(text.contains(&format!("\n  {steps}. node ")), "{text}");
        let command: Vec<&str> = replay_line(&text).split(' ').collect();
        let replayed = place.host(&command[1..]).exits(12);
        assert!(replayed.out.trim_end().lines().last().expect("lines").starts_with("replayed: agreement is violated"));
        assert!(replayed.out.contains("sends Prepare {ballot: 1} to nodes 0, 1, 2"), "{}", replayed.out);
        let json = place.host(&[&command[1..], &["--json"]].concat()).exits(12).json();
        assert_eq!((&json["result"], json["steps"].as_array().map(Vec::len)), (&json!("replayed"), Some(steps)));
        assert_eq!(place.list(), ["out"], "nothing but the trace is written");
    }
}

#[test]
fn the_folder_of_a_trace_is_named_after_its_content() {
    let run = |steps: &str| {
        let place = Place::new();
        let local = format!(
            "(if (i32.ge_u (i32.load8_u (i32.const 1040)) (i32.const {steps})) (then unreachable))
            (i32.store8 (i32.const 1040) (i32.add (i32.load8_u (i32.const 1040)) (i32.const 1)))
            (call $list (i32.const 0) (i32.const 0))"
        );
        place.put("guest.wasm", Guest { local, ..Guest::default() }.component());
        let result = place.host(&["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--json"]).exits(14).json();
        let trace = result["violations"][0]["trace"].as_str().expect("a trace is written").to_owned();
        (trace.clone(), read(&place, &trace))
    };
    let ((trace, content), (other, _)) = (run("1"), run("2"));
    assert_eq!((trace.clone(), content), run("1"));
    assert!(trace.starts_with("out/guest-bdfs-") && trace.ends_with("/trace.json"), "{trace}");
    assert_ne!(trace, other);
}

#[test]
fn words_that_a_shell_takes_apart_are_quoted_in_the_last_line() {
    let place = Place::new();
    place.put("my guest.wasm", fixtures::traps());
    let ran = place.host(&["run", "my guest.wasm", "--nodes", "1", "--out", "what's found"]).exits(14);
    assert_eq!(replay_line(&ran.out), r"host replay 'what'\''s found/trace.json' --plugin 'my guest.wasm'");
}

#[test]
fn a_search_after_a_prefix_finds_a_trace_from_the_start() {
    let (place, _, trace) = violation("unfold");
    put_prefix(&place, "live.json", &read(&place, &trace), 9);
    for algo in ["bdfs", "lmc", "unfold"] {
        let run = ["run", bundled("paxos"), "--algo", algo, "--prefix", "live.json", "--out", algo];
        let ran = place.host(&run).exits(12);
        // The strategy lmc does not look for a shortest path.
        let steps =
            if algo == "lmc" { "steps: 9 of the prefix and" } else { "18 steps: 9 of the prefix and 9 after it" };
        assert!(ran.out.contains(steps), "{}", ran.out);
        // The line is broken somewhere.
        let words: Vec<&str> = ran.out.split_whitespace().collect();
        assert!(words.join(" ").contains("start after 9 steps of live.json"), "{}", ran.out);
        let json = place.host(&[&run[..], &["--json"]].concat()).exits(12).json();
        let found = &json["violations"][0];
        assert_eq!(found["prefix_length"], json!(9));
        assert!(found["length"] == json!(18) || algo == "lmc", "{found}");
        assert_eq!(json["scenario"]["parameters"], json!({ "bug": "last-response", "proposers": "2" }));
        place.host(&["replay", &format!("{algo}/trace.json"), "--plugin", bundled("paxos")]).exits(12);
    }
}

#[test]
fn a_path_without_a_finding_replays_to_its_end() {
    let (place, _, trace) = violation("unfold");
    put_prefix(&place, "live.json", &read(&place, &trace), 9);
    let ran = place.host(&["replay", "live.json", "--plugin", bundled("paxos")]).exits(0);
    assert!(ran.out.ends_with("replayed: no property is violated at the end\n"), "{ran:?}");
    put_prefix(&place, "all.json", &read(&place, &trace), 18);
    let ran = place.host(&["replay", "all.json", "--plugin", bundled("paxos"), "--json"]).exits(12);
    assert_eq!(ran.json()["result"], "violation");
}

#[test]
fn options_that_repeat_the_prefix_are_fine_and_others_are_refused() {
    let (place, _, trace) = violation("unfold");
    put_prefix(&place, "live.json", &read(&place, &trace), 9);
    let run = ["run", bundled("paxos"), "--algo", "unfold", "--prefix", "live.json"];
    let with = |options: &[&str]| place.host(&[&run[..], options].concat());
    with(&["--nodes", "3", "--set", "proposers=2", "--set", "init=boot", "--network", "unordered"]).exits(12);
    with(&["--nodes", "4"]).exits(151).says(&["`--nodes 4` contradicts the prefix, which has 3"]);
    // Nodes that start by an event of their own take other steps on the way.
    with(&["--set", "init=event"]).exits(151).says(&["the prefix live.json leads elsewhere with init=event: step "]);
    // The proposer takes no answer before the state, so its treatment of answers makes no difference up to there.
    let right = with(&["--set", "bug=none", "--json", "--local-events", "0"]).exits(0).json();
    assert_eq!(
        (&right["assumed"]["prefix"]["steps"], &right["assumed"]["parameters"]["bug"]),
        (&json!(9), &json!("none"))
    );
}

#[test]
fn a_trace_of_another_build_is_followed_and_no_beginning_of_a_search() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    place.host(&["run", "guest.wasm", "--nodes", "1", "--out", "found"]).exits(14);
    // The same guest with a custom section at its end is another build.
    let mut other = fixtures::traps();
    other.extend([0, 2, 1, b'x']);
    std::fs::create_dir(place.path("other")).expect("writable");
    place.put("other/guest.wasm", other);
    let replay = ["replay", "found/trace.json", "--plugin", "other/guest.wasm"];
    let ran = place.host(&replay).exits(14);
    assert!(ran.out.lines().last().is_some_and(|last| last.starts_with("still violated: trap of node 0")), "{ran:?}");
    place.host(&["draw", "found/trace.json", "--plugin", "other/guest.wasm"]).exits(0);
    // Its effects may differ there, and are drawn as they are.
    let mut changed = read(&place, "found/trace.json");
    changed["steps"][0]["state"] = json!("ffff");
    place.put("changed.json", changed.to_string());
    let any = ["--plugin", "other/guest.wasm", "--any-plugin"];
    place.host(&[&["draw", "changed.json"], &any[..], &["--out", "d.svg"]].concat()).exits(0);
    let mut debugged = vec!["debug", "changed.json"];
    debugged.extend(any);
    place.host_reading(&debugged, "quit\n").exits(0);
    place.host(&[&["export", "changed.json"], &any[..], &["--format", "json"]].concat()).exits(0);
    // No event follows one that cannot happen there.
    changed["steps"][0]["event"]["name"] = json!("else");
    place.put("changed.json", changed.to_string());
    let cut = place.host(&[&["draw", "changed.json"], &any[..], &["--out", "d.svg"]].concat()).exits(0);
    assert!(cut.err.contains("cannot follow the trace from step 1: "), "{cut:?}");
    assert!(!cut.err.contains("not deterministic"), "{cut:?}");
    let prefix = ["run", "other/guest.wasm", "--prefix", "found/trace.json"];
    place.host(&prefix).exits(151).says(&["belongs to another build of guest"]);

    let mut trace = read(&place, "found/trace.json");
    trace["plugin"].as_object_mut().expect("an object").remove("digest");
    place.put("any.json", trace.to_string());
    place.host(&["replay", "any.json", "--plugin", "other/guest.wasm"]).exits(14);
    place.put("else.wasm", fixtures::traps());
    let ran = place.host(&["replay", "any.json", "--plugin", "else.wasm"]).exits(151);
    ran.says(&["any.json belongs to the plugin guest, not to else"]);
}

/// In the folder of a plugin its traces need no name of it, as its scenarios do not; nor does one that lies there.
#[test]
fn the_plugin_around_a_trace_is_found() {
    let mut place = Place::new();
    std::fs::create_dir_all(place.path("lease/scenarios")).expect("writable");
    std::fs::create_dir_all(place.path("lease/target/plugins")).expect("writable");
    // The built component is run, whatever its source.
    place.put("lease/lease.wat", "(module)").put("lease/target/plugins/lease.wasm", fixtures::traps());
    place.host(&["run", "lease/target/plugins/lease.wasm", "--nodes", "1", "--out", "found"]).exits(14);
    let mut trace = read(&place, "found/trace.json");
    trace["plugin"]["name"] = json!("lease");
    for at in ["lease/trace.json", "lease/scenarios/trace.json", "found/trace.json"] {
        place.put(at, trace.to_string());
    }
    for at in ["lease/trace.json", "lease/scenarios/trace.json"] {
        place.host(&["replay", at]).exits(14);
    }
    let draw = ["draw", "found/trace.json", "--out", "d.svg"];
    place.host(&draw).exits(151).says(&["there is no plugin plugins/lease for this trace", "--plugin"]);
    place.standing = "lease";
    place.host(&["draw", "../found/trace.json", "--out", "../d.svg"]).exits(0);
}

/// A trace of a mistake, in the build without it: the events of the mistake happen there too, without bad consequences, or they
/// do not; as a test it reports that, and how to keep it.
#[test]
fn a_mended_mistake_stays_mended() {
    let place = Place::new();
    let paxos = bundled("paxos");
    place.host(&["run", paxos, "--set", "bug=last-response", "--out", "found"]).exits(12);
    let mut trace = read(&place, "found/trace.json");
    // The same plugin without the mistake stands for a build in which it is mended.
    trace["scenario"]["parameters"] = json!({ "proposers": "2" });
    trace["plugin"]["digest"] = json!("blake3:00");
    std::fs::create_dir_all(place.path("scenarios")).expect("writable");
    place.put("scenarios/old.json", trace.to_string());
    let replay = ["replay", "scenarios/old.json", "--plugin", paxos];
    // The proposer of the second ballot proposes a value that may be chosen: the step after the message that reports it.
    let ran = place.host(&replay).exits(151);
    ran.says(&["scenarios/old.json cannot be followed from step", "cannot happen"]);
    let test = ["test", "scenarios", "--plugin", paxos];
    let failed = place.host(&test).exits(1).out;
    assert!(failed.contains("cannot be followed from step") && failed.contains("expect = \"impossible\""), "{failed}");
    place.put("scenarios/old.toml", "trace = \"old.json\"\nexpect = \"impossible\"\n");
    let passed = place.host(&test).exits(0).out;
    assert!(passed.contains("1 passed, 0 failed"), "the trace is a test once: {passed}");
    place.put("scenarios/old.toml", "trace = \"old.json\"\nexpect = \"gone\"\n");
    place.host(&test).exits(1);
    place.put("scenarios/old.toml", "trace = \"old.json\"\nexpect = \"better\"\n");
    assert!(place.host(&test).exits(1).out.contains("no test of a trace"));
    // All but the last event: the same path, at whose end the mistake is not seen yet.
    let mut short = read(&place, "found/trace.json");
    short["steps"].as_array_mut().expect("a list").pop();
    short["plugin"]["digest"] = json!("blake3:00");
    place.put("scenarios/old.json", short.to_string());
    place.put("scenarios/old.toml", "trace = \"old.json\"\nexpect = \"gone\"\n");
    place.host(&test).exits(0);
    let gone = place.host(&replay).exits(0).out;
    assert!(gone.ends_with("gone: the same events happen, and no property is violated at the end\n"), "{gone}");
    assert_eq!(place.host(&[&replay[..], &["--json"]].concat()).exits(0).json()["result"], "gone");
    place.put("scenarios/old.toml", "trace = \"old.json\"\n");
    assert!(place.host(&test).exits(1).out.contains("expect = \"gone\""), "the remedy is named");
}

#[test]
fn a_trace_finds_its_plugin_among_the_bundled_ones() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    place.host(&["run", "guest.wasm", "--nodes", "1", "--out", "found"]).exits(14);
    place.host(&["replay", "found/trace.json"]).exits(151).says(&["plugins/guest", "--plugin"]);
}

/// A text as if it had one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Both ends of a broken connection are in a trace, and whether they hear of it.
#[test]
fn a_broken_connection_is_part_of_a_trace() {
    let place = Place::new();
    let plugin = bundled("two-phase-commit");
    let bug = ["--set", "bug=impatient", "--nodes", "2", "--network", "ordered", "--breaks", "1"];
    for (algo, exit) in [("unfold", 12), ("bdfs", 12), ("lmc", 12), ("dpor", 12)] {
        let ran = place.host(&[&["run", plugin, "--algo", algo, "--out", algo][..], &bug].concat()).exits(exit);
        let said = words(&ran.out);
        for part in ["ordered: messages from one node", "at most 1 broken connection per node; messages of broken"] {
            assert!(said.contains(part), "no {part:?} in {}", ran.out);
        }
        let trace = format!("{algo}/trace.json");
        let replayed = place.host(&["replay", &trace, "--plugin", plugin]).exits(12);
        assert!(replayed.out.contains("replayed: atomicity is violated"), "{algo}: {replayed:?}");
    }
    // `begin`, Prepare, the vote, and, before or after the vote comes, the participant that loses its connection.
    let trace = read(&place, "unfold/trace.json");
    let events: Vec<&Value> = trace["steps"].as_array().into_iter().flatten().map(|step| &step["event"]).collect();
    assert!(events.len() == 4 && events.contains(&&json!({ "kind": "break", "peer": 0 })), "{events:?}");
    let right = ["run", plugin, "--nodes", "2", "--network", "ordered", "--breaks", "1", "--algo", "unfold"];
    place.host(&right).exits(0);
}

/// A message that is delivered again is sent once.
#[test]
fn a_duplicate_is_part_of_a_trace() {
    let place = Place::new();
    let bug = ["--set", "bug=last-response", "--network", "unordered-duplicating", "--out", "found"];
    let found = [&["run", bundled("paxos"), "--algo", "walk", "--walks", "20000"][..], &bug].concat();
    let ran = place.host(&found).exits(12);
    assert!(words(&ran.out).contains("at most 1 duplicate a message; a message may never arrive"), "{}", ran.out);
    let replayed = place.host(&["replay", "found/trace.json", "--plugin", bundled("paxos")]).exits(12);
    assert!(replayed.out.contains("replayed: agreement"), "{}", replayed.out);
}

/// A trace names resets, and replays with them; a prefix may be followed by more faults than it has itself.
#[test]
fn a_reset_is_part_of_a_trace() {
    let place = Place::new();
    let options = ["--algo", "bdfs", "--reduce", "--set", "bug=forget-accepted", "--resets", "1", "--out", "found"];
    let ran = place.host(&[&["run", bundled("paxos")][..], &options].concat()).exits(12);
    assert!(ran.out.contains(": reset\n"), "{}", ran.out);
    let said = words(&ran.out);
    for part in ["faults at most 1 reset per node; a message may never arrive; ", "agreement is violated"] {
        assert!(said.contains(part), "no {part:?} in {}", ran.out);
    }
    let trace = "found/trace.json";
    let replayed = place.host(&["replay", trace, "--plugin", bundled("paxos")]).exits(12);
    assert!(replayed.out.contains(": reset\n") && replayed.out.contains("replayed: agreement"), "{replayed:?}");
    let json = read(&place, trace);
    assert_eq!(json["scenario"]["faults"], json!({ "resets": 1 }));
    // Without the budget the same steps cannot happen.
    let mut without = json.clone();
    without["scenario"].as_object_mut().expect("an object").remove("faults");
    place.put("without.json", without.to_string());
    let ran = place.host(&["replay", "without.json", "--plugin", bundled("paxos")]);
    ran.exits(151).says(&["cannot happen: no reset of node", "is left"]);
    let live = folder("paxos").join("scenarios/live-state.json").display().to_string();
    let after_live = ["--algo", "unfold", "--prefix", &live, "--resets", "1", "--depth", "1"];
    let run = place.run_json("paxos", &after_live);
    // Every budget is reported, including unused ones.
    let budgets = run["assumed"]["faults"].as_object().expect("an object");
    let expected = faults::budgets().map(|(name, _)| (name.to_owned(), json!(u32::from(name == "resets")))).collect();
    assert_eq!((budgets, &run["result"]), (&expected, &json!("incomplete")));
}
