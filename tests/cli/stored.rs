//! The durable map: bundled protocols whose durable state is in it, compared with the same protocols that persist it.

use std::path::PathBuf;

use host_sandbox::fixtures;
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

/// Running nodes keep no map: neither in a simulation nor on sockets.
#[test]
fn nodes_with_a_map_are_refused_where_they_would_lose_it() {
    let place = Place::new();
    place.put("stores.wasm", fixtures::stores("well"));
    let words = ["imports `storage`, and a running node keeps no durable map", "help: "];
    place.host(&["simulate", "stores.wasm", "--runtime", "--", "--nodes", "2"]).exits(151).says(&words);
    let simulate = |options: &[&str]| {
        place.host(&[&["simulate", "stores.wasm", "--runs", "2"], options, &["--", "--nodes", "2"]].concat())
    };
    simulate(&["--runtime"]).exits(151).says(&["simulate the model: --model, without --runtime"]);
    simulate(&["--watch", "observe"]).exits(151).says(&["simulate the model: --model, without --watch"]);
    simulate(&["--model"]).exits(0);
    let nodes = "[[node]]\naddress = \"127.0.0.1:1\"\n[[node]]\naddress = \"127.0.0.1:2\"\n";
    place.put("cluster.toml", format!("plugin = \"stores.wasm\"\ndata = \"data\"\n{nodes}"));
    let up = place.host(&["live", "up", "cluster.toml"]).exits(151);
    up.says(&[words[0], "check it with `host run` or `host simulate`"]);
}
