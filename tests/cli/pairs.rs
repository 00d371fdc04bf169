//! Pairs of options and of features that meet in no other test.

use host_sandbox::fixtures::{self, Guest};
use serde_json::{Value, json};

use super::assumptions::with;
use super::{Place, bundled, folder};

/// A goal that no state reaches.
const NEVER: [&str; 4] = ["--ignore", "served", "--sometimes", "three=size(nodes) == 3"];

fn statuses(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let all = report["properties"].as_array().expect("a list").iter();
    all.map(|it| (text(&it["name"]), text(&it["status"]))).collect()
}

/// `never-reached` is no violation: files of an earlier one are gone, other violations come first, and a watched run shows it.
#[test]
fn what_is_never_reached_is_so_with_each_output() {
    let mut place = Place::new();
    let never = [&["run", bundled("lock"), "--algo", "bdfs", "--quiet"][..], &NEVER].concat();
    let violated = ["--always", "one=size(nodes) == 1"];
    place.host(&[&never[..], &violated, &["--out", "found"]].concat()).exits(12);
    assert!(place.path("found/trace.json").is_file());
    let ran = place.host(&[&never[..], &["--out", "found"]].concat()).exits(15);
    assert!(ran.out.starts_with("never-reached: "), "{ran:?}");
    assert!(!place.path("found/trace.json").exists(), "{:?}", std::fs::read_dir(place.path("found")));

    let report = place.host(&[&never[..], &["--continue", "--json"]].concat()).exits(15).json();
    assert_eq!(report["result"], "never-reached", "{report:#}");
    let report = place.host(&[&never[..], &violated, &["--continue", "--json"]].concat()).exits(12).json();
    let expected = [("served", "not-checked"), ("three", "never-reached"), ("one", "violated")];
    let said = statuses(&report);
    for (name, status) in expected {
        assert!(said.contains(&(name.to_owned(), status.to_owned())), "{name}: {said:?}");
    }

    place.interrupted = Some(u64::MAX);
    place.host(&never).exits(15);
    place.interrupted = Some(place.asked.load(std::sync::atomic::Ordering::Relaxed) + 1);
    let ran = place.host(&[&never[..], &["--watch"]].concat()).exits(130);
    assert!(ran.out.starts_with("never-reached: ") && ran.err.contains("watch: waiting"), "{ran:?}");
}

/// Bounds on memory and time that are not hit change nothing; bounds that are hit leave promises undecided, and nothing is `ok`.
#[test]
fn promises_are_decided_within_memory_and_time() {
    let place = Place::new();
    let run = |plugin: &'static str, options: &[&str]| place.run_json(plugin, options);
    for plugin in ["lock", "query"] {
        let (free, bound) = (run(plugin, &[]), run(plugin, &["--memory", "1GiB", "--time", "1h"]));
        for part in ["result", "end", "counts", "properties"] {
            assert_eq!(free[part], bound[part], "{plugin}: {part}");
        }
    }
    for memory in ["1MiB", "32MiB"] {
        let report = run("raft-kv", &["--memory", memory, "--time", "1s"]);
        assert_eq!(report["result"], "incomplete", "{memory}: {report:#}");
        assert!(["memory-bound", "time-bound"].contains(&report["end"].as_str().expect("a word")), "{report:#}");
        let open = statuses(&report).into_iter().all(|(_, status)| ["unknown", "reached"].contains(&&*status));
        assert!(open, "{memory}: {report:#}");
    }
}

/// Whole numbers of more than 64 bits are also exact if a specification from outside judges.
#[test]
fn large_numbers_are_exact_with_a_specification() {
    let place = Place::new();
    let spec = ["--algo", "bdfs", "--property", "one-value", "--property", "large", "--spec", bundled("paxos-spec")];
    let power = "1267650600228229401496703205376";
    for (claim, result) in [
        (format!("large={power} + 1 == 1267650600228229401496703205377 && size(nodes) == 3"), "ok"),
        (format!("large={power} == 1267650600228229401496703205377 || size(nodes) != 3"), "violation"),
    ] {
        let report = place.run_json("paxos", &[&spec[..], &["--always", &claim]].concat());
        assert_eq!(report["result"], result, "{claim}: {report:#}");
    }
}

/// The audit of functions that read finds one node of a mixed cluster. If memory distinguishes states, the writes of such a function are
/// undone, so there is no finding.
#[test]
fn what_reads_changes_nothing_by_memory_and_in_mixed_clusters() {
    let place = Place::new();
    let writes = "(i32.store8 (i32.const 1040) (i32.const 1))";
    let serialize = format!("(func (export \"cabi_post_host:protocol/node@0.1.0#serialize\") (param i32) {writes})");
    place.put("good.wasm", Guest::default().component());
    place.put("bad.wasm", Guest { fields: serialize, ..Guest::default() }.component());
    place.put("memory.wasm", fixtures::writes_where_it_reads_by_memory());
    let audited = |cluster: &[&str], algo: &str, code: u8| {
        let options = ["--nodes", "2", "--depth", "2", "--algo", algo, "--audit", "full", "--json"];
        place.host(&[&["run"], cluster, &options].concat()).exits(code).json()
    };
    for algo in ["auto", "bdfs", "unfold", "walk"] {
        for (cluster, node) in [(["good.wasm", "--node", "1=bad.wasm"], 1), (["bad.wasm", "--node", "1=good.wasm"], 0)]
        {
            let report = audited(&cluster, algo, 14);
            let broken = &report["audit"]["broken"][0];
            let promise = (&broken["promise"], &broken["function"]);
            assert_eq!(promise, (&json!("what reads changes nothing"), &json!("serialize")), "{algo}: {report:#}");
            let at = broken["place"].as_str().expect("a place");
            assert!(at.starts_with(&format!("node {node}, called twice")), "{algo}, {cluster:?}: {at}");
        }
        for cluster in [&["memory.wasm"][..], &["good.wasm"]] {
            let report = audited(cluster, algo, 0);
            assert_eq!(report["audit"]["broken"], json!([]), "{algo}, {cluster:?}: {report:#}");
        }
    }
}

/// A handler that writes a table, by a call that nothing shows at loading, is an error of the platform: in every search, in short
/// traces and in simulations.
#[test]
fn a_late_write_to_a_table_is_no_violation() {
    let place = Place::new();
    place.put("late.wasm", fixtures::writes_table_by_table());
    let is_platform = |ran: &super::Ran, which: &str| {
        let is_named = ran.out.contains("`handle-local` ran `table.set` after start-up");
        assert!(is_named && !ran.out.contains("violation:"), "{which}: {ran:?}");
    };
    for algo in ["auto", "bdfs", "unfold", "lmc", "walk"] {
        let run = ["run", "late.wasm", "--nodes", "2", "--algo", algo, "--no-minimize", "--out", algo];
        is_platform(&place.host(&run).exits(150), algo);
        let (long, short) = (format!("{algo}/trace.json"), format!("{algo}.json"));
        place.host(&["minimize", &long, "--plugin", "late.wasm", "--out", &short]).exits(0);
        is_platform(&place.host(&["replay", &short, "--plugin", "late.wasm"]).exits(150), algo);
    }
    is_platform(&place.host(&["simulate", "late.wasm", "--runs", "2", "--", "--nodes", "2"]).exits(150), "simulate");
}

/// A handler that hits a limit is a finding that is minimised, also at a node of another component, and that a higher limit removes.
#[test]
fn what_hits_a_limit_is_made_short() {
    let place = Place::new();
    // Both nodes can send node 0 a message, for which it needs a million turns of a loop.
    let loops = "(i32.store (i32.const 4000) (i32.const 1000000))
        (loop $again
            (i32.store (i32.const 4000) (i32.sub (i32.load (i32.const 4000)) (i32.const 1)))
            (br_if $again (i32.load (i32.const 4000))))
        (call $list (i32.const 0) (i32.const 0))";
    let local = "(i32.store (i32.const 1040) (i32.const 1)) (call $send (i32.const 0) (i32.const 1))".to_owned();
    place.put("loops.wasm", Guest { local: local.clone(), message: loops.into(), ..Guest::default() }.component());
    place.put("plain.wasm", Guest { local, ..Guest::default() }.component());
    for mixed in [&[][..], &["--node", "1=plain.wasm"]] {
        for (algo, bound) in [
            ("bdfs", "--depth"),
            ("unfold", "--depth"),
            ("walk", "--depth"),
            ("lmc", "--local-events"),
            ("dpor", "--depth"),
            ("consequence", "--depth"),
        ] {
            let limit = ["--limit", "fuel=100000"];
            let run = ["run", "loops.wasm", "--nodes", "2", "--algo", algo, bound, "2", "--out", "found"];
            place.host(&[&run[..], mixed, &limit].concat()).exits(14);
            let text = std::fs::read_to_string(place.path("found/trace.json")).expect("there is a trace");
            let trace: Value = serde_json::from_str(&text).expect("JSON");
            let steps = trace["steps"].as_array().expect("a list");
            assert_eq!(steps.len(), 2, "{algo} {mixed:?}: {trace:#}");
            let replay = ["replay", "found/trace.json", "--plugin", "loops.wasm"];
            let again = place.host(&[&replay[..], mixed, &limit].concat()).exits(14);
            assert!(again.out.contains("fuel"), "{algo} {mixed:?}: {again:?}");
            place.host(&[&run[..], mixed].concat()).exits(0);
        }
    }
}

/// Local events are in words at the nodes of a mixed cluster, with an expression for a property, and in the formats of other tools.
#[test]
fn local_events_are_in_words_in_mixed_clusters() {
    let place = Place::new();
    let register = bundled("linearizable-register");
    let other = format!("3={register}");
    let mistake = ["--set", "bug=no-query", "--set", "clients=w,w,r", "--algo", "walk", "--seed", "1"];
    for with in [["--always", "four=size(nodes) == 4"], ["--node", &other]] {
        let ran = place.host(&[&["run", register, "--quiet"][..], &mistake, &with].concat()).exits(12);
        assert!(ran.out.contains("node 0: write (application, 0)"), "{with:?}: {}", ran.out);
    }
    place.host(&[&["run", register, "--quiet", "--out", "found"][..], &mistake].concat()).exits(12);
    for (format, words) in [("shiviz", "write (application, 0)"), ("itf", "write"), ("json", "write")] {
        let ran = place.host(&["export", "found/trace.json", "--plugin", register, "--format", format]).exits(0);
        assert!(ran.out.contains(words), "{format}: {}", ran.out);
    }
}

/// The same if a specification from outside judges; its finding is replayed with it.
#[test]
fn local_events_are_in_words_with_a_specification() {
    let place = Place::new();
    let (paxos, spec) = (bundled("paxos"), bundled("paxos-spec"));
    let run = ["run", paxos, "--quiet", "--set", "bug=last-response", "--set", "proposers=2", "--algo", "walk"];
    let ran =
        place.host(&[&run[..], &["--spec", spec, "--property", "one-value", "--out", "found"]].concat()).exits(12);
    let replay = ["replay", "found/trace.json", "--plugin", paxos, "--spec", spec];
    let again = place.host(&replay).exits(12);
    for text in [&ran.out, &again.out] {
        assert!(text.contains("node 0: propose (application)\n"), "{text}");
        assert!(!text.contains("propose (application, "), "{text}");
    }
}

/// Options of walks are refused if `auto` makes none, and the two that exclude each other are named; one of them alone is accepted, and so
/// are both if a strategy honours them.
#[test]
fn options_of_walks_are_refused_where_auto_makes_none() {
    let place = Place::new();
    let run = ["run", bundled("lock"), "--ignore", "served", "--quiet", "--json"];
    for of_walks in [&["--seed", "5"][..], &["--schedule", "pos"]] {
        for other in [&["--continue"][..], &["--max-violations", "3"], &["--states", "1000000"]] {
            let refused = place.host(&[&run[..], of_walks, other].concat()).exits(151);
            refused.says(&[of_walks[0], other[0], "--algo walk"]);
            place.host(&[&run[..], other].concat()).exits(0);
            if other[0] != "--states" {
                place.host(&[&run[..], of_walks, other, &["--algo", "walk"]].concat()).exits(0);
            }
        }
        place.host(&[&run[..], of_walks, &["--max-violations", "1"]].concat()).exits(0);
    }
}

/// The walks of the default begin after a prefix, whatever their schedule: what they find is a trace from the start, the same each time.
#[test]
fn walks_of_the_default_begin_after_a_prefix() {
    let place = Place::new();
    let live = folder("paxos").join("scenarios/live-state.json").display().to_string();
    let run = ["run", bundled("paxos"), "--prefix", &live, "--set", "bug=last-response", "--seed", "3", "--json"];
    for schedule in ["uniform", "pct:1", "pct:8", "pos", "mix"] {
        let found = || {
            let words = [&run[..], &["--schedule", schedule, "--out", schedule]].concat();
            let mut report = place.host(&words).exits(12).json();
            (report["decided_by"].take(), report["violations"].take())
        };
        let (decided, violations) = found();
        assert_eq!((&decided, &violations), (&found().0, &found().1), "{schedule}");
        assert_eq!(violations[0]["prefix_length"], 9, "{schedule}: {violations}");
        place.host(&["replay", &format!("{schedule}/trace.json"), "--plugin", bundled("paxos")]).exits(12);
    }
}

/// Memory that runs out in a resumed search, once and again, takes nothing from its checkpoint: the next process ends as one search does.
#[test]
fn memory_that_runs_out_in_a_resumed_search_loses_nothing() {
    let mut place = Place::new();
    let run =
        ["run", bundled("paxos"), "--algo", "bdfs", "--safety-only", "--workers", "1", "--audit", "off", "--json"];
    let whole = place.host(&run).exits(0).json();
    place.interrupted = Some(40);
    place.host(&[&run[..], &["--checkpoint", "kept"]].concat()).exits(130);
    place.interrupted = None;
    for _ in 0..2 {
        let narrow = place.host(&["run", "--resume", "kept", "--memory", "1MiB", "--json"]).exits(0).json();
        assert_eq!((&narrow["result"], &narrow["end"]), (&json!("incomplete"), &json!("memory-bound")), "{narrow:#}");
    }
    let resumed = place.host(&["run", "--resume", "kept", "--json"]).exits(0).json();
    for part in ["result", "end", "counts", "properties"] {
        assert_eq!(resumed[part], whole[part], "{part}");
    }
}

/// The advice of a run with a checkpoint is accepted with it, and so is that of a scenario that names its fairness.
#[test]
fn advice_is_accepted_with_checkpoints_and_scenarios_with_fairness() {
    let place = Place::new();
    let fair = |fairness: &str| {
        let plugin = bundled("lock");
        let text = format!("plugin = {plugin:?}\n[strategy]\nalgo = \"bdfs\"\n{fairness}[bounds]\nstates = 5\n");
        place.put("fair.scenario.toml", text);
    };
    let runs: [&[&str]; 2] = [
        &["run", bundled("lock"), "--quiet", "--algo", "bdfs", "--states", "5", "--checkpoint", "kept"],
        &["run", "fair.scenario.toml", "--quiet"],
    ];
    for run in runs {
        fair("fairness = \"none\"\n");
        let result = place.host(&[run, &["--json"]].concat()).json();
        let advised = result["not_covered"].as_array().expect("a list");
        assert!(!advised.is_empty(), "{result:#}");
        for advice in advised {
            // A run that is continued is the one that it was.
            let _ = std::fs::remove_dir_all(place.path("kept"));
            let words = |value: &Value| value.as_str().expect("options").to_owned();
            let option = words(&advice["option"]);
            let option: Vec<&str> = option.split(' ').collect();
            let without: Vec<String> = advice["without"].as_array().into_iter().flatten().map(words).collect();
            // The scenario omits its own setting there.
            let leaves_fairness_out = without.iter().any(|option| option == "--fairness");
            fair(if leaves_fairness_out { "" } else { "fairness = \"none\"\n" });
            let ran = place.host(&with(run, &option, &without));
            assert!(ran.code != 2 && ran.code < 150, "{run:?} is advised {advice}: {}", ran.err);
        }
    }
}
