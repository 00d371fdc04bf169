//! The durable map: bundled protocols whose durable state is in it, compared with the same protocols that persist it.

use std::path::PathBuf;

use host_search::strategy::STRATEGIES;
use host_tests::identities::{ALL_IN_MAP, IN_MAP, SERIALIZE, Way, component};
use serde_json::{Value, json};

use super::Place;

/// The components of a protocol: as it is, with its durable state in the map, and with all of its state there.
fn components(protocol: &str) -> [(Way, PathBuf); 3] {
    [SERIALIZE, IN_MAP, ALL_IN_MAP].map(|way| (way, component(protocol, way).expect("it is built")))
}

/// The steps of the trace of a violation, without its states, which are bytes of the protocol.
fn steps(place: &Place, report: &Value) -> Vec<Value> {
    let Some(path) = report["violations"][0]["trace"].as_str() else { return Vec::new() };
    let trace: Value = serde_json::from_slice(&std::fs::read(place.path(path)).expect("it was written")).expect("JSON");
    let mut steps = trace["steps"].as_array().expect("a list").clone();
    steps.iter_mut().filter_map(Value::as_object_mut).for_each(|step| drop(step.remove("state")));
    steps
}

/// The result of a run: its verdict, the status of each property, all counts, and the path of the first violation.
fn searched(component: &str, options: &[&str]) -> Value {
    let place = Place::new();
    let ran = place.host(&[&["run", component, "--json", "--workers", "1"], options].concat());
    let report = ran.json();
    let properties = report["properties"].as_array().expect("a list").iter().map(|it| [&it["name"], &it["status"]]);
    let steps = steps(&place, &report);
    json!([
        ran.code,
        report["result"],
        report["end"],
        properties.collect::<Vec<_>>(),
        report["counts"],
        report["depth"],
        steps
    ])
}

/// Every strategy has the same result for a protocol wherever its durable state is.
fn agrees(protocol: &str, rows: &[&[&str]], with_alone: bool) {
    let components = components(protocol);
    for options in rows {
        let of = |(_, wasm): &(Way, PathBuf)| searched(wasm.to_str().expect("a path in words"), options);
        let expected = of(&components[0]);
        assert_ne!(expected[1], "error", "{protocol} {options:?}: {expected}");
        for stored in &components[1..2 + usize::from(with_alone)] {
            assert_eq!(of(stored), expected, "{protocol} {options:?}: {}", stored.0.name);
        }
    }
}

/// Raft with resets: one term, and mistakes that only a reset shows.
#[test]
fn raft_has_the_same_results_with_its_state_in_the_map() {
    let one_term = ["--set", "terms=1", "--set", "commands=0"];
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for strategy in STRATEGIES.iter().filter(|row| !row.only_reproduces()) {
        for resets in ["0", "1", "2"] {
            let bounded = ["--algo", strategy.name, "--resets", resets, "--nodes", "2"];
            rows.push([&bounded[..], &one_term[..], seeded(strategy.name)].concat());
        }
    }
    for bug in ["bug=vote-not-persisted", "bug=term-not-persisted", "bug=answer-before-write"] {
        for algo in ["auto", "bdfs", "unfold", "walk", "guided"] {
            let resets = ["--algo", algo, "--resets", "1", "--set", bug];
            rows.push([&resets[..], &one_term[..], seeded(algo)].concat());
        }
    }
    rows.push([&["--algo", "bdfs", "--reduce", "--resets", "1", "--safety-only"][..], &one_term[..]].concat());
    let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    agrees("raft", &rows, true);
}

/// Walks end after a number that the machine's speed does not decide.
fn seeded(algo: &str) -> &'static [&'static str] {
    match algo {
        "walk" | "guided" => &["--seed", "7", "--walks", "30", "--depth", "30"],
        "prefix" => &["--seed", "7", "--depth", "6"],
        "dpor" => &["--depth", "7"],
        _ => &[],
    }
}

/// Paxos, whose quorums and messages are other ones, and a transport with connections that break.
#[test]
fn other_protocols_have_the_same_results_with_their_states_in_the_map() {
    agrees(
        "paxos",
        &[
            &["--algo", "bdfs", "--resets", "1", "--set", "proposers=1"],
            &["--algo", "bdfs", "--resets", "1", "--set", "proposers=1", "--reduce", "--safety-only"],
            &["--algo", "unfold", "--resets", "1", "--set", "proposers=1", "--safety-only"],
            &["--algo", "lmc", "--set", "proposers=1", "--safety-only"],
            &["--algo", "bdfs", "--crashes", "1", "--set", "proposers=1", "--safety-only"],
        ],
        true,
    );
    agrees(
        "mace-transport",
        &[&["--algo", "bdfs", "--network", "ordered", "--breaks", "1", "--resets", "1", "--safety-only"]],
        true,
    );
}

/// The results of simulated runs, without digests, which depend on the bytes of states.
fn simulated(component: &str, options: &[&str]) -> Value {
    let place = Place::new();
    let ran = place.host(&[&["simulate", component, "--json", "--seed", "1"], options].concat());
    let said = ran.json();
    let of = ["result", "runs", "events", "delivered", "lost", "local", "resets", "ends", "checkers"];
    json!([ran.code, of.map(|name| &said[name])])
}

/// Simulated nodes that are killed, without checkers and with them, do the same wherever their durable state is.
#[test]
fn nodes_do_the_same_with_their_state_in_the_map() {
    let components = components("raft");
    let churn = ["--churn", "60/m", "--time", "5s"];
    let terms = ["--", "--nodes", "3", "--resets", "20", "--set", "terms=3"];
    let (bug, worse) = (["--set", "bug=vote-not-persisted"], ["--set", "bug=term-not-persisted"]);
    let rows: [(&[&str], &[&str]); 5] = [
        (&["--model", "--runs", "10"], &[]),
        (&["--runtime", "--runs", "10"], &[]),
        (&["--runtime", "--runs", "10"], &bug),
        (&["--watch", "observe", "--runs", "1"], &[]),
        (&["--watch", "steer", "--runs", "1"], &worse),
    ];
    for (options, mistake) in rows {
        let options = [options, &churn, &terms, mistake].concat();
        let of = |(_, wasm): &(Way, PathBuf)| simulated(wasm.to_str().expect("a path in words"), &options);
        let expected = of(&components[0]);
        assert!(expected[1][6].as_u64().is_some_and(|resets| resets > 0), "{options:?}: {expected}");
        for stored in &components[1..] {
            assert_eq!(of(stored), expected, "{options:?}: {}", stored.0.name);
        }
    }
}
