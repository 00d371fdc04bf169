//! Promises on the command line: exit code, JSON, traces with loops, and gaps of the check.

use std::sync::atomic::Ordering;

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

/// The options of a search of the lock that decides its promise.
fn lock<'o>(options: &[&'o str]) -> Vec<&'o str> {
    [&["run", bundled("lock"), "--algo", "bdfs", "--json"][..], options].concat()
}

/// The property `served` of a run.
fn served(run: &Value) -> Value {
    let properties = run["properties"].as_array().expect("a list");
    properties.iter().find(|property| property["name"] == "served").expect("it is there").clone()
}

fn trace(place: &Place, path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.path(path)).expect("it is there")).expect("JSON")
}

#[test]
fn a_dead_promise_names_the_step_that_killed_it() {
    let place = Place::new();
    let run = place.host(&lock(&["--out", "found"])).exits(13).json();
    assert_eq!(
        (&run["result"], &run["end"], &run["exit_code"]),
        (&json!("violation"), &json!("space-exhausted"), &json!(13))
    );
    let found = &run["violations"][0];
    let facts =
        ["property", "kind", "class", "node", "critical", "length", "sibling_length", "loop", "shortest", "confirmed"];
    let expected = json!(["served", "eventually", "dead", 1, 6, 6, 3, null, true, true]);
    assert_eq!(facts.map(|fact| found[fact].clone()), expected.as_array().expect("a list")[..]);
    let promise = &served(&run)["promises"][1];
    // As the plugin's README counts them; waiting are six of the eight, and one of these is granted the lock.
    let counts = ["node", "class", "kept_states", "live_states", "dead_states", "unknown_states", "critical_edges"];
    let expected = json!([1, "dead", 3, 6, 2, 0, 1]);
    assert_eq!(counts.map(|count| promise[count].clone()), expected.as_array().expect("a list")[..]);
    let finding = &trace(&place, "found/trace.json")["finding"];
    assert_eq!((&finding["what"], &finding["critical"]), (&json!("promise"), &json!(6)));
    assert_eq!(finding["sibling"].as_array().map(Vec::len), Some(3));
    let replayed = place.host(&["replay", "found/trace.json", "--plugin", bundled("lock")]).exits(13);
    assert!(replayed.out.contains("replayed: served is dead since step 6 at client 1"), "{replayed:?}");
    assert!(replayed.out.contains("in place of step 6, these 3 keep the promise"), "{replayed:?}");
    // No shorter one exists.
    let short = place.host(&["minimize", "found/trace.json", "--plugin", bundled("lock"), "--json"]).exits(0).json();
    assert_eq!((&short["length"], &short["found_length"], &short["complete"]), (&json!(6), &json!(6), &json!(true)));
    assert_eq!((&short["finding"]["critical"], &short["finding"]["sibling"]), (&json!(6), &finding["sibling"]));
    // The debugger has both branches.
    let script = "branches\njump end\ncheck\nbranch 0\njump end\ncheck\nquit\n";
    let debugged = place.host_reading(&["debug", "found/trace.json", "--plugin", bundled("lock")], script).exits(0);
    assert_eq!(debugged.out.matches("served does not hold here at client 1: the client waits for the lock").count(), 1);
}

/// A trace that claims too much does not replay.
#[test]
fn a_replay_goes_round_the_loop_and_believes_nothing() {
    let place = Place::new();
    let options = ["--set", "locked=queue", "--set", "retry=timer", "--set", "loss=adversary", "--out", "found"];
    let run = place.host(&lock(&options)).exits(13).json();
    assert_eq!((&run["violations"][0]["class"], &run["violations"][0]["loop"]), (&json!("lasso"), &json!(1)));
    let replay = |trace: &Value| {
        place.put("trace.json", trace.to_string());
        place.host(&["replay", "trace.json", "--plugin", bundled("lock")])
    };
    let whole = trace(&place, "found/trace.json");
    assert!(replay(&whole).exits(13).out.contains("never kept again, going round from step 2 on at client 1"));
    let with = |change: &dyn Fn(&mut Value)| {
        let mut trace = whole.clone();
        change(&mut trace);
        replay(&trace)
    };
    with(&|trace| trace["finding"]["loop"] = json!(0)).exits(151).says(&["served holds after step 0"]);
    with(&|trace| trace["finding"]["loop"] = json!(2)).exits(151).says(&["its loop begins after step 2 of 2"]);
    with(&|trace| trace["finding"]["class"] = json!("dead")).exits(151).says(&["it has a `loop`"]);
    with(&|trace| trace["finding"]["message"] = json!("it rains")).exits(151).says(&["in other words"]);
    with(&|trace| trace["finding"]["name"] = json!("heard")).exits(151).says(&["no property heard"]);
    with(&|trace| trace["trace_version"] = json!(1)).exits(151).says(&["a broken promise"]);
    with(&|trace| {
        let finding = trace["finding"].as_object_mut().expect("an object");
        finding.remove("loop");
        finding["class"] = json!("stuck");
    })
    .exits(151)
    .says(&["retry at node 1 has to happen"]);
    // Three steps; the last leads elsewhere: the answer arrives, and is lost.
    with(&|trace| {
        let steps = trace["steps"].as_array_mut().expect("a list");
        let mut last = steps[1].clone();
        last["choices"][0]["picked"] = json!(0);
        for step in steps.iter_mut().chain([&mut last]) {
            let step = step.as_object_mut().expect("an object");
            step.remove("state");
            step.remove("sent");
        }
        steps.push(last);
    })
    .exits(151)
    .says(&["there is no loop"]);
}

/// A node that waits forever for lost answers has no event any more: it is dead, and "stuck" says less, but is true.
#[test]
fn a_trace_that_claims_less_than_there_is_is_made_short() {
    let place = Place::new();
    let run =
        ["run", bundled("retransmission"), "--set", "gives-up=never", "--algo", "bdfs", "--out", "found", "--json"];
    let run = place.host(&run).exits(13).json();
    // The scenario never-gives-up derives the length.
    assert_eq!((&run["violations"][0]["class"], &run["violations"][0]["length"]), (&json!("dead"), &json!(6)));
    let mut stuck = trace(&place, "found/trace.json");
    let finding = stuck["finding"].as_object_mut().expect("an object");
    finding.insert("class".to_owned(), json!("stuck"));
    finding.remove("critical");
    finding.remove("sibling");
    place.put("stuck.json", stuck.to_string());
    let of = ["--plugin", bundled("retransmission")];
    place.host(&[&["replay", "stuck.json"], &of[..]].concat()).exits(13);
    let short = place.host(&[&["minimize", "stuck.json", "--json"], &of[..]].concat()).exits(0).json();
    assert_eq!((&short["length"], &short["finding"]["class"]), (&json!(6), &json!("stuck")));
    place.host(&[&["replay", "minimized.json"], &of[..]].concat()).exits(13);
    // A state that is no end is not stuck.
    stuck["steps"].as_array_mut().expect("a list").truncate(1);
    place.put("begun.json", stuck.to_string());
    let ran = place.host(&[&["minimize", "begun.json"], &of[..]].concat()).exits(151);
    ran.says(&["its states alone do not prove that the promise of progress is broken as it says"]);
}

/// By default `bdfs` decides it, as a member of the portfolio, even if another member decides everything else first.
#[test]
fn the_default_decides_promises() {
    let place = Place::new();
    let run = place.host(&["run", bundled("lock"), "--json"]).exits(13).json();
    assert_eq!((&run["decided_by"], &run["violations"][0]["class"]), (&json!("bdfs"), &json!("dead")));
    assert_eq!(served(&run)["promises"], served(&place.host(&lock(&[])).json())["promises"]);
    let run = place.host(&["run", bundled("lock"), "--json", "--set", "locked=queue", "--nodes", "4"]).exits(0).json();
    assert_eq!((&run["decided_by"], &served(&run)["status"]), (&json!("bdfs"), &json!("holds")));
}

/// Without edges the search is another one, with the same counts.
#[test]
fn safety_alone_is_the_search_without_edges() {
    let place = Place::new();
    let run = |plugin: &str, options: &[&str]| {
        place.host(&[&["run", bundled(plugin), "--algo", "bdfs", "--json"][..], options].concat()).exits(0).json()
    };
    for plugin in ["paxos", "two-phase-commit", "regular-storage"] {
        let (all, safety) = (run(plugin, &[]), run(plugin, &["--safety-only"]));
        for count in ["global_states", "transitions", "system_states", "local_states"] {
            assert!(all["counts"][count].is_u64(), "{plugin} {count}");
            assert_eq!(all["counts"][count], safety["counts"][count], "{plugin} {count}");
        }
        let promise =
            |run: &Value| run["properties"].as_array().into_iter().flatten().last().map(|it| it["status"].clone());
        assert_eq!((promise(&all), promise(&safety)), (Some(json!("holds")), Some(json!("not-checked"))), "{plugin}");
    }
    // One that cannot be kept.
    let stops = ["run", bundled("two-phase-commit"), "--set", "stops=coordinator", "--algo", "bdfs"];
    place.host(&stops).exits(13);
    place.host(&[&stops[..], &["--safety-only"]].concat()).exits(0);
}

/// The report names each strategy and option that prevents the check of promises; options for promises alone are refused then.
#[test]
fn unchecked_promises_are_reported_with_the_reason() {
    let place = Place::new();
    let cases: [(&[&str], &str); 9] = [
        (&["--algo", "lmc"], "the strategy lmc-opt cannot; use --algo auto or bdfs"),
        (&["--algo", "lmc-gen"], "the strategy lmc-gen cannot"),
        (&["--algo", "unfold"], "the strategy unfold cannot"),
        (&["--algo", "dpor", "--depth", "6"], "the strategy dpor cannot"),
        (&["--algo", "consequence"], "the strategy consequence cannot"),
        (&["--algo", "bdfs", "--reduce"], "leave --reduce out"),
        (&["--algo", "bdfs", "--safety-only"], "--safety-only leaves it out"),
        (&["--safety-only"], "--safety-only leaves it out"),
        (&["--algo", "bdfs", "--checkpoint", "kept"], "run without --checkpoint"),
    ];
    let others: [(&[&str], &str); 3] = [
        (&["--algo", "bdfs", "--network", "unordered-duplicating", "--depth", "3"], "delivered again"),
        (&["--algo", "bdfs", "--twin", "1", "--depth", "3"], "node 1 has a twin"),
        (
            &["--algo", "bdfs", "--nodes", "3", "--adversary", &format!("2={}", bundled("lock"))],
            "node 2 is an adversary",
        ),
    ];
    for (options, why) in cases.into_iter().chain(others) {
        let run = [&["run", bundled("lock"), "--json"][..], options].concat();
        let found = place.host(&run).exits(0).json();
        let served = served(&found);
        let is_excluded = options.contains(&"--safety-only");
        let (status, key) = if is_excluded { ("not-checked", "not_checked") } else { ("unknown", "undecided") };
        assert_eq!(served["status"], status, "{options:?}");
        assert!(served[key].as_str().is_some_and(|text| text.contains(why)), "{options:?}: {served}");
        assert_eq!(found["result"] == "ok", is_excluded, "{options:?}");
        assert_eq!(found["assumed"].get("progress"), None, "{options:?}");
        for (option, value) in [("--fairness", "stable"), ("--timers", "late"), ("--recover-by", "events")] {
            let refused = place.host(&[&run[..], &[option, value]].concat());
            refused.exits(151).says(&[option, why]);
        }
    }
}

/// Promises of the others after a crash are not decided: refused up front, unless none is selected.
#[test]
fn crashes_are_refused_where_promises_are_judged() {
    let place = Place::new();
    let run = |options: &[&str]| {
        place.host(&[&["run", bundled("lock"), "--set", "locked=queue", "--crashes", "1"], options].concat())
    };
    for options in [&[][..], &["--algo", "bdfs"], &["--algo", "walk"], &["--deadlock"], &["--property", "served"]] {
        let refused = run(options).exits(151);
        let refused =
            refused.says(&["`--crashes`: no `eventually` property is decided", "--safety-only", "docs/semantics.md"]);
        assert_eq!(refused.out, "", "{options:?}");
    }
    for options in [&["--safety-only"][..], &["--property", "exclusive"], &["--ignore", "served"]] {
        assert!(run(options).exits(0).out.starts_with("ok: "), "{options:?}");
    }
    place.put("s.toml", format!("plugin = {:?}\n[faults]\ncrashes = 1\n", bundled("lock")));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:3: `--crashes`"]);
}

#[test]
fn contradictory_rules_are_refused() {
    let place = Place::new();
    place.host(&lock(&["--recover-by", "resets"])).exits(151).says(&["--recover-by", "give --resets N"]);
    place.host(&lock(&["--recover-by", "resets", "--resets", "1", "--depth", "2"])).exits(0);
    for options in [&[][..], &["--losses", "1"]] {
        let ran = place.host(&lock(&[&["--fairness", "fair-lossy"], options].concat())).exits(151);
        ran.says(&["--fairness", "give --losses unlimited"]);
    }
    place.host(&lock(&["--fairness", "strong"])).exits(2);
    let other = ["run", bundled("tree"), "--algo", "bdfs", "--timers", "late"];
    place.host(&other).exits(151).says(&["--timers", "no `eventually` property"]);
}

/// `--recover-by resets`: a client that forgets that it waits does not wait. Its budget is used up some time, and then it is dead.
#[test]
fn rules_are_in_the_report() {
    let place = Place::new();
    let rules = |options: &[&str]| place.host(&lock(options)).json()["assumed"]["progress"].clone();
    let default = json!({ "fairness": "stable", "timers": "free", "recover_by": "events" });
    assert_eq!(rules(&[]), default);
    let all = ["--fairness", "none", "--timers", "late", "--recover-by", "resets", "--resets", "1"];
    assert_eq!(rules(&all), json!({ "fairness": "none", "timers": "late", "recover_by": "resets" }));
    let text = place.host(&["run", bundled("lock"), "--algo", "bdfs", "--set", "locked=queue", "--timers", "late"]);
    assert!(text.exits(0).out.contains("timers fire only where nothing can be delivered"));
}

/// A bound hides an answer, and the report says so; explored states are decided all the same.
#[test]
fn a_bound_leaves_promises_undecided() {
    let place = Place::new();
    for bound in [["--depth", "5"], ["--states", "4"]] {
        let run = place.host(&lock(&bound)).exits(0).json();
        assert_eq!((&run["result"], &served(&run)["status"]), (&json!("incomplete"), &json!("unknown")), "{bound:?}");
        assert!(served(&run)["undecided"].is_string());
        assert!(served(&run)["promises"][1]["unknown_states"].as_u64() > Some(0), "{bound:?}");
    }
    // After one event nothing can follow, and this is known within two.
    let lost = ["--set", "locked=queue", "--set", "loss=adversary", "--depth", "2"];
    let run = place.host(&lock(&lost)).exits(13).json();
    assert_eq!((&run["end"], &run["violations"][0]["class"]), (&json!("depth-bound"), &json!("dead")));
}

/// Interrupted at any poll: the part explored before is decided, and the rest is open with its reason.
#[test]
fn an_interrupted_decision_leaves_what_was_explored() {
    let mut place = Place::new();
    let run = lock(&["--set", "locked=queue", "--nodes", "3", "--audit", "off"]);
    place.interrupted = Some(u64::MAX);
    place.host(&run).exits(0);
    let asked = place.asked.load(Ordering::Relaxed);
    // The number of polls differs a little from run to run.
    let (mut seen, mut told) = (0, 0);
    let text: Vec<&str> = run.iter().filter(|word| **word != "--json").copied().collect();
    for at in (0..asked).rev().take(40) {
        place.interrupted = Some(at);
        let stopped = place.host(&run);
        let stopped = if stopped.code == 0 { stopped.exits(0) } else { stopped.exits(130) };
        let is_whole = stopped.code == 0;
        let stopped = stopped.json();
        assert_eq!(stopped["result"] == "ok", is_whole);
        if stopped["end"] == "space-exhausted" && !is_whole {
            seen += 1;
            let properties = stopped["properties"].as_array().expect("a list");
            let always = properties.iter().find(|property| property["name"] == "exclusive");
            assert_eq!(always.map(|property| &property["status"]), Some(&json!("holds")));
            assert_eq!(served(&stopped)["status"], "unknown");
        }
        let out = place.host(&text).out;
        told += u64::from(out.contains("but the decision about `eventually` properties was interrupted"));
    }
    assert!(seen > 0 && told > 0, "{seen}, {told} of {asked}");
}

/// A search that begins where a promise is dead finds it dead, without a critical step; a saved trace is a test.
#[test]
fn a_trace_of_a_dead_promise_is_a_prefix_and_a_test() {
    let place = Place::new();
    place.host(&lock(&["--out", "found"])).exits(13);
    let run = place.host(&lock(&["--prefix", "found/trace.json", "--out", "after"])).exits(13);
    let found = &run.json()["violations"][0];
    assert_eq!((&found["class"], &found["critical"], &found["length"]), (&json!("dead"), &Value::Null, &json!(6)));
    let replayed = place.host(&["replay", "after/trace.json", "--plugin", bundled("lock")]).exits(13);
    assert!(replayed.out.contains("served is dead after 6 steps at client 1"), "{replayed:?}");
    let tested = place.host(&["test", "found", "--plugin", bundled("lock")]);
    assert!(tested.exits(0).out.contains("1 passed, 0 failed"));
}

#[test]
fn vacuous_promises_are_distinguished() {
    let place = Place::new();
    place.put("kept.wasm", fixtures::ping_pong_promise(true)).put("broken.wasm", fixtures::ping_pong_promise(false));
    let run = |plugin: &str| place.host(&["run", plugin, "--nodes", "2", "--algo", "bdfs", "--json"]);
    let kept = run("kept.wasm").exits(0).json();
    assert_eq!(
        (&kept["properties"][0]["status"], &kept["properties"][0]["vacuous"]),
        (&json!("holds"), &json!("never-owed"))
    );
    let broken = run("broken.wasm").exits(13).json();
    let property = &broken["properties"][0];
    assert_eq!((&property["status"], &property["vacuous"]), (&json!("violated"), &json!("never-kept")));
    let text = place.host(&["run", "broken.wasm", "--nodes", "2", "--algo", "bdfs"]).exits(13);
    assert!(text.out.contains("there is no state at all in which this holds: bounded"), "{text:?}");
    // In the lock service some executions break it, and others keep it.
    let some = place.host(&lock(&[])).exits(13).json();
    assert_eq!(served(&some).get("vacuous"), None);
}

/// With `--continue` every way in which a promise is broken is reported, the most certain one first.
#[test]
fn all_ways_are_reported_with_continue() {
    let place = Place::new();
    let options = ["--set", "locked=queue", "--set", "release=application", "--nodes", "3", "--continue"];
    let run = place.host(&lock(&options)).exits(13).json();
    let classes: Vec<&Value> = run["violations"].as_array().expect("a list").iter().map(|it| &it["class"]).collect();
    assert_eq!(classes[0], "stuck");
    let fair = served(&run)["promises"][1]["fair_components"].as_u64();
    assert!(fair == Some(0) || classes.contains(&&json!("lasso")), "{classes:?}");
}

/// Drawings and other formats have the loop.
#[test]
fn a_loop_is_drawn_and_exported() {
    let place = Place::new();
    let options = ["--set", "locked=queue", "--set", "retry=timer", "--set", "loss=adversary", "--out", "found"];
    place.host(&lock(&options)).exits(13);
    let plugin = bundled("lock");
    let files = ["x.svg", "x.html", "x.mmd", "x.dot"];
    let out = files.map(|file| ["--out", file]).concat();
    place.host(&[&["draw", "found/trace.json", "--plugin", plugin], &out[..]].concat()).exits(0);
    for file in files.into_iter().chain(["found/trace.svg", "found/trace.html"]) {
        let drawing = std::fs::read_to_string(place.path(file)).expect("it is drawn");
        assert!(drawing.contains("again and again"), "{file}");
    }
    let export = ["export", "found/trace.json", "--plugin", plugin, "--format", "itf", "--out", "x.itf.json"];
    place.host(&export).exits(0);
    let document = trace(&place, "x.itf.json");
    // The loop begins after the first step, so its first state is the second; the last one is that of the first step again.
    assert_eq!(document["loop"], 2);
    let states = document["states"].as_array().expect("a list");
    assert_eq!(states.len(), 3);
    assert_eq!((&states[1]["nodes"], &states[1]["in_flight"]), (&states[2]["nodes"], &states[2]["in_flight"]));
    place.host(&["replay", "x.itf.json", "--plugin", plugin]).exits(13);
}

/// Walks prove that a state is dead, and name the critical step; for unproven promises they report their observations.
#[test]
fn walks_find_the_dead() {
    let place = Place::new();
    let walk = |options: &[&str]| {
        let lock = ["run", bundled("lock"), "--algo", "walk", "--walks", "100", "--json"];
        place.host(&[&lock[..], options].concat())
    };
    let run = walk(&["--out", "found"]).exits(13).json();
    let found = &run["violations"][0];
    let facts = ["property", "class", "node", "critical", "length", "sibling_length", "shortest", "confirmed"];
    let expected = json!(["served", "dead", 1, 6, 6, 3, false, true]);
    assert_eq!(facts.map(|fact| found[fact].clone()), expected.as_array().expect("a list")[..]);
    assert_eq!(served(&run)["sampled"][1]["dead"], 1);
    place.host(&["replay", "found/trace.json", "--plugin", bundled("lock")]).exits(13);
    // If it can always be kept, nothing is proven and nothing is wrong.
    let run = walk(&["--set", "locked=queue"]).exits(0).json();
    let sampled = &served(&run)["sampled"][1];
    assert_eq!((&run["result"], &served(&run)["status"]), (&json!("incomplete"), &json!("unknown")));
    assert_eq!((&sampled["owing"], &sampled["open"]), (&sampled["alive"], &json!(0)));
    assert_eq!(run["assumed"].get("progress"), None);
    // Walks do not look for cycles.
    for (option, value) in [("--fairness", "stable"), ("--timers", "late")] {
        walk(&[option, value])
            .exits(151)
            .says(&[option, "the strategy walk looks for where nothing can keep a promise any more"]);
    }
    // With a way back by resets that node can be helped, and no node is served forever once there are none left.
    walk(&["--recover-by", "resets"]).exits(151).says(&["--resets"]);
}

/// If nothing has to happen, the calls that lead on are named; if a call takes the last chance, one continuation from there is shown.
#[test]
fn calls_of_the_application_are_named_and_followed() {
    let place = Place::new();
    let run = ["run", bundled("lock"), "--algo", "bdfs", "--set", "locked=queue", "--nodes", "3"];
    let stuck = place.host(&[&run[..], &["--set", "release=application", "--out", "stuck"]].concat()).exits(13);
    let calls = ", only calls of the application lead on (finish at client ";
    assert!(stuck.out.lines().next().is_some_and(|verdict| verdict.contains(calls)), "{}", stuck.out);
    let replayed = place.host(&["replay", "stuck/trace.json", "--plugin", bundled("lock")]).exits(13);
    assert!(replayed.out.contains(calls), "{}", replayed.out);

    let scenario = "plugins/raft/scenarios/no-backtrack.toml";
    let raft = super::golden::repository();
    let dead = raft.host(&["run", scenario, "--out", "dead"]).exits(13);
    let (_, way) = dead.out.split_once("one way on, to where nothing has to happen any more\n").expect("it is shown");
    assert!(way.trim_start().starts_with("11. "), "{way}");
    let text = std::fs::read_to_string(raft.path("dead/trace.txt")).expect("it is written");
    assert!(text.contains("one way on"), "{text}");
}
