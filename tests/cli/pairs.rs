//! Pairs of options and of features that meet in no other test.

use host_sandbox::fixtures::{self, Guest};
use serde_json::{Value, json};

use super::{Place, bundled};

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

/// Bounds on memory and time that are not hit change nothing; those that are leave promises undecided, and nothing is `ok`.
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

/// Whole numbers of more than 64 bits are exact where a specification from outside is judged as well.
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

/// The audit's promise about functions that read finds one node of a mixed cluster. Where memory tells states apart, what such a function writes
/// is taken back, so there is nothing to find.
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

/// A table that is written when a handler runs, by a call that nothing shows when it is loaded, is an error of the platform: in every search, in short traces
/// and in simulations.
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
