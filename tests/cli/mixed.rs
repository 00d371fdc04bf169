//! Clusters whose nodes run different components; adversaries and twins.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

/// The register in two languages that need no further tools.
fn registers() -> [&'static str; 2] {
    ["register", "register-text"].map(bundled)
}

fn at(node: u32, path: &str) -> String {
    format!("{node}={path}")
}

/// States and messages have the same bytes in every language, so nothing but the digests differs.
#[test]
fn a_mixed_cluster_has_the_counts_of_one_language() {
    let place = Place::new();
    let [rust, text] = registers();
    let run = |plugin: &str, options: &[&str]| {
        place
            .host(&[&["run", plugin, "--set", "reads=1", "--algo", "bdfs", "--json"], options].concat())
            .exits(0)
            .json()
    };
    let alone = run(rust, &[]);
    let same = |mixed: &Value| {
        assert_eq!((&mixed["counts"], &mixed["properties"]), (&alone["counts"], &alone["properties"]));
        mixed["assumed"]["placements"].as_array().expect("there are some").len()
    };
    assert_eq!(same(&run(rust, &["--node", &at(1, text)])), 1);
    assert_eq!(same(&run(rust, &["--node", &at(1, text), "--node", &at(2, text)])), 2);
    assert_eq!(same(&run(text, &["--node", &at(2, rust)])), 1);
    assert_eq!(alone["assumed"].get("placements"), None);
}

/// A trace names the components of all nodes by their digests, and replays with these only.
#[test]
fn a_trace_of_a_mixed_cluster_replays() {
    let place = Place::new();
    let [rust, text] = registers();
    let run = ["run", rust, "--node", &at(2, text), "--set", "bug=no-write-back", "--out", "found", "--json"];
    let found = place.host(&run).exits(12).json();
    let replay = found["violations"][0]["replay"].as_str().expect("a command");
    assert!(replay.ends_with(&format!(" --node 2={text}")), "{replay}");
    let trace: Value =
        serde_json::from_slice(&std::fs::read(place.path("found/trace.json")).expect("the trace")).expect("JSON");
    assert_eq!(trace["placements"], found["assumed"]["placements"]);
    assert!(trace["placements"][0]["plugin"]["digest"].as_str().is_some_and(|digest| digest.starts_with("blake3:")));

    let replay = |options: &[&str]| place.host(&[&["replay", "found/trace.json", "--plugin", rust], options].concat());
    let ran = replay(&["--node", &at(2, text)]).exits(12);
    assert!(ran.out.contains("sends {kind: query, op: 1} to nodes 0, 1, 2"), "{ran:?}");
    assert!(ran.out.ends_with("a read returned version 0 after 1\n"), "{ran:?}");
    replay(&[]).exits(151).says(&["node 2 of this trace runs register-text", "--node 2=PLUGIN"]);
    replay(&["--node", &at(2, rust)]).exits(151).says(&["was recorded with another node 2: register-text 0.1.0"]);
    replay(&["--node", &at(2, rust), "--any-plugin"]).exits(12);
}

/// A new version that is wrong, on one node of three: a rolling upgrade in which one reader forgets to write back.
#[test]
fn one_node_can_be_configured_by_itself() {
    let place = Place::new();
    let [rust, _] = registers();
    let run = |option: &str| place.host(&["run", rust, "--set-on", option, "--json"]);
    // Only the reader reads, so the writer may have the bug.
    run("0:bug=no-write-back").exits(0);
    let found = run("2:bug=no-write-back").exits(12).json();
    assert_eq!(found["violations"][0]["property"], "monotone");
    let placements = json!([{ "node": 2, "parameters": { "bug": "no-write-back" } }]);
    assert_eq!(found["assumed"]["placements"], placements);
}

/// Two instances of acceptor 1 promise and accept behind each other's back, and both propose: nodes 0 and 2 choose different
/// values. Without the twin they agree (plugins/paxos). The twin is node 3 for the search, and no node for the protocol.
#[test]
fn a_twin_breaks_agreement_among_the_others() {
    let place = Place::new();
    let paxos = bundled("paxos");
    let found =
        place.host(&["run", paxos, "--set", "proposers=2", "--twin", "1", "--out", "o", "--json"]).exits(12).json();
    let message = found["violations"][0]["message"].as_str().expect("a message");
    assert!(!message.contains("node 1") && !message.contains("node 3"), "{message}");
    assert_eq!(found["assumed"]["placements"], json!([{ "node": 3, "twin_of": 1 }]));
    assert_eq!(found["scenario"]["nodes"], 4);
    place.host(&["replay", "o/trace.json", "--plugin", paxos]).exits(12);
}

/// A component with other properties can only be an adversary; its messages mean nothing to the others here.
#[test]
fn no_property_reads_an_adversary() {
    let place = Place::new();
    let (paxos, fanout) = (bundled("paxos"), bundled("fanout"));
    let other = at(1, fanout);
    place
        .host(&["run", paxos, "--node", &other])
        .exits(151)
        .says(&["fanout has no property `agreement`", "--adversary"]);
    let ran = place.host(&["run", paxos, "--adversary", &other, "--json"]).json();
    assert_eq!(ran["assumed"]["placements"][0]["adversary"], true, "{ran}");
}

#[test]
fn clusters_that_cannot_be_are_refused() {
    let place = Place::new();
    let [rust, text] = registers();
    let (other, far) = (at(1, text), at(3, text));
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--node", &far], &["there is no node 3 in a cluster of 3", "from 0 to 2"]),
        (&["--twin", "3"], &["there is no node 3"]),
        (&["--twin", "1", "--twin", "1"], &["`--twin 1` is given twice"]),
        (&["--node", &other, "--adversary", &other], &["node 1 is given two components"]),
        (&["--adversary", &other, "--twin", "1"], &["node 1 is an adversary and has a twin"]),
        (&["--set-on", "1:colour=red"], &["register, which runs on node 1, has no parameter `colour`", "writes"]),
        (&["--set", "colour=red", "--node", &other], &["register has no parameter `colour`"]),
    ];
    for (options, words) in cases {
        place.host(&[&["run", rust], options].concat()).exits(151).says(words);
    }
    assert_eq!(place.host(&["run", rust, "--node", "one=x"]).code, 2, "not understood");
    assert_eq!(place.list(), [""; 0]);
}

/// A limit that the component of one node hits, among nodes of another component: a finding of that node in a search and in walks. Its
/// minimised trace has one step, keeps the limits and replays.
#[test]
fn limits_of_one_node_are_findings_and_their_traces_replay() {
    let cases: [(&str, Vec<u8>, &str, &str); 3] = [
        ("divergence", fixtures::loops(), "fuel=2000000", "fuel"),
        ("memory-limit", fixtures::memory_bomb(), "memory=2MiB", "memory"),
        ("output-limit", fixtures::many_messages(), "items=100", "messages"),
    ];
    let place = Place::new();
    place.put("good.wasm", fixtures::counts());
    for (kind, bad, limit, words) in cases {
        place.put("bad.wasm", bad);
        let (name, cluster) = (limit.split('=').next(), ["--nodes", "3", "--node", "2=bad.wasm", "--limit", limit]);
        let trace = |file: &str| -> Value {
            let trace: Value = serde_json::from_slice(&std::fs::read(place.path(file)).expect(file)).expect("JSON");
            let fault = &trace["finding"]["fault"];
            assert_eq!((&trace["finding"]["node"], &fault["kind"]), (&json!(2), &json!(kind)), "{file}: {trace:#}");
            assert!(name.is_some_and(|name| trace["limits"].get(name).is_some()), "{file}: {:#}", trace["limits"]);
            trace
        };
        let steps = |file: &str| trace(file)["steps"].as_array().map_or(0, Vec::len);
        let plugins = ["--plugin", "good.wasm", "--node", "2=bad.wasm"];
        for (algo, seed) in [("bdfs", "0"), ("walk", "1"), ("walk", "2"), ("walk", "3")] {
            let seed = if algo == "walk" { &["--seed", seed][..] } else { &[] };
            let run = ["run", "good.wasm", "--algo", algo, "--depth", "8", "--no-minimize", "--out", "found"];
            let ran = place.host(&[&run[..], seed, &cluster].concat()).exits(14);
            assert!(ran.out.contains(words), "{kind}: {ran:?}");
            let minimize = ["minimize", "found/trace.json", "--out", "short.json"];
            place.host(&[&minimize[..], &plugins].concat()).exits(0);
            assert_eq!(steps("short.json"), 1, "{kind}: one event of node 2 is enough");
            let replay = place.host(&[&["replay", "short.json"][..], &plugins].concat()).exits(14);
            assert!(replay.out.contains("replayed: ") && replay.out.contains(words), "{kind}: {replay:?}");
        }
    }
}
