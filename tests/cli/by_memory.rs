//! A component whose states are distinguished by its memory, under the options of a run.

use host_sandbox::fixtures::{self, Identity};
use serde_json::{Value, json};

use super::Place;

/// A guest in which `go` counts modulo 2, while the garbage in its dead stack and of read-only calls grows.
fn guest() -> Place {
    let place = Place::new();
    place.put("guest.wasm", fixtures::by_memory("__stack_pointer"));
    place
}

fn run(place: &Place, guest: &str, options: &[&str]) -> Value {
    place.host(&[&["run", guest, "--json"], options].concat()).json()
}

/// Each of two nodes has three states, and one event in each: the one after `init`, whose result lies where that of the event lies
/// later, and the two values of the counter behind an event. So there are 9 global states and 18 transitions. With a reset a node has
/// three states before it and three behind it: 36 global states, and in each both nodes can go. A reset of the first state leads
/// to the same one, so it does not happen; from the two others it does, in any state of the other node: 72 + 2 * 2 * 6 transitions.
#[test]
fn states_distinguished_by_memory_are_counted_under_every_option() {
    let place = guest();
    let counted = |options: &[&str]| {
        let report = run(&place, "guest.wasm", &[&["--algo", "bdfs"], options].concat());
        assert_eq!(report["result"], "ok", "{options:?}: {report}");
        assert_eq!(report["assumed"]["identity"], "memory");
        (report["counts"]["global_states"].as_u64(), report["counts"]["transitions"].as_u64())
    };
    let cases: [&[&str]; 5] =
        [&[], &["--workers", "2"], &["--audit", "full"], &["--network", "ordered"], &["--deadlock"]];
    for options in cases {
        assert_eq!(counted(options), (Some(9), Some(18)), "{options:?}");
    }
    for options in [&["--resets", "1"][..], &["--resets", "1", "--audit", "full", "--workers", "2"]] {
        assert_eq!(counted(options), (Some(36), Some(96)), "{options:?}");
    }
    assert_eq!(run(&place, "guest.wasm", &["--algo", "bdfs", "--reduce"])["result"], "ok");
}

#[test]
fn every_strategy_agrees_on_states_distinguished_by_memory() {
    let place = guest();
    for algo in ["auto", "lmc", "lmc-gen", "consequence"] {
        assert_eq!(run(&place, "guest.wasm", &["--algo", algo])["exit_code"], 0, "{algo}");
        assert_eq!(run(&place, "guest.wasm", &["--algo", algo])["counts"]["local_states"], 6, "{algo}");
    }
}

#[test]
fn a_search_of_states_distinguished_by_memory_resumes() {
    let mut place = guest();
    let search = ["run", "guest.wasm", "--json", "--algo", "bdfs", "--resets", "1"];
    let whole = place.host(&search).json();
    place.resumes_to_the_same(&search, &whole);
}

/// Two guests that distinguish the same states, the first one by its memory.
fn both() -> Place {
    let place = Place::new();
    place.put("memory.wasm", fixtures::identified_by(Identity::Memory));
    place.put("serialized.wasm", fixtures::identified_by(Identity::Serialized));
    place
}

/// The comparable parts of a report: end, counts and violations.
fn said(place: &Place, guest: &str, options: &[&str]) -> Value {
    let ran = place.host(&[&["run", guest, "--json"], options].concat());
    if ran.code == 151 {
        assert!(ran.err.contains("quorum"), "{options:?}: {ran:?}");
        return json!([["refused"], ran.err]);
    }
    assert!([0, 12, 14, 20].contains(&ran.code), "{options:?}: {ran:?}");
    let mut report = ran.json();
    let violations = report["violations"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let found: Vec<Value> = violations.iter().map(|it| json!([it["property"], it["length"], it["message"]])).collect();
    let parts = ["result", "end", "counts", "symmetry", "depth", "properties"].map(|part| report[part].clone());
    json!([parts, found])
}

/// Three nodes: two of them take a step each, and then node 0 may receive both messages in one event. So there are five
/// global states and five transitions. All else is compared with the guest whose states `serialize` distinguishes.
#[test]
fn memory_and_serialize_say_the_same_of_quorums_under_every_strategy_and_option() {
    let place = both();
    let whole = run(&place, "memory.wasm", &["--algo", "bdfs", "--nodes", "3"]);
    assert_eq!([&whole["counts"]["global_states"], &whole["counts"]["transitions"]], [5, 5], "{whole}");
    let cases: [&[&str]; 26] = [
        &["--algo", "bdfs"],
        &["--algo", "bdfs", "--continue"],
        &["--algo", "bdfs", "--reduce"],
        &["--algo", "bdfs", "--reduce", "--no-symmetry"],
        &["--algo", "bdfs", "--depth", "2"],
        &["--algo", "bdfs", "--local-events", "1"],
        &["--algo", "bdfs", "--resets", "1"],
        &["--algo", "bdfs", "--crashes", "1"],
        &["--algo", "bdfs", "--losses", "1"],
        &["--algo", "bdfs", "--workers", "2", "--audit", "full"],
        &["--algo", "unfold"],
        &["--algo", "unfold", "--depth", "3"],
        &["--algo", "unfold", "--resets", "1"],
        &["--algo", "unfold", "--audit", "full"],
        &["--algo", "lmc"],
        &["--algo", "dpor", "--depth", "4"],
        &["--algo", "dpor-ds"],
        &["--algo", "dpor-ds-tree"],
        &["--algo", "dpor-ds-tree", "--depth", "3"],
        &["--algo", "lmc-gen"],
        &["--algo", "lmc-gen", "--local-events", "1"],
        &["--algo", "consequence", "--depth", "4"],
        &["--algo", "walk", "--walks", "60", "--seed", "5", "--resets", "1"],
        &["--algo", "prefix", "--seed", "5"],
        &["--algo", "prefix", "--seed", "5", "--resets", "1", "--depth", "4"],
        &["--algo", "auto"],
    ];
    // If messages wait for others of their quorum, a deadlock cannot be recognised.
    for guest in ["memory.wasm", "serialized.wasm"] {
        let refused = place.host(&["run", guest, "--algo", "bdfs", "--deadlock", "--nodes", "3"]).exits(151);
        refused.says(&["a cluster with quorums", "have the plugin take messages one by one"]);
    }
    let mut violated = 0;
    for (case, nodes) in cases.iter().flat_map(|case| [(case, "3"), (case, "5")]) {
        let options = [case, &["--nodes", nodes][..]].concat();
        let [memory, serialized] = ["memory.wasm", "serialized.wasm"].map(|guest| said(&place, guest, &options));
        assert_eq!(memory, serialized, "{options:?}");
        violated += usize::from(memory[0][0] == "violation");
    }
    assert!(violated >= 10, "{violated}");
}

/// The identity of states belongs to each node alone, and no strategy depends on it.
#[test]
fn every_strategy_says_the_same_of_mixed_clusters() {
    let place = both();
    let mixed = |guest: &str, other: &str| {
        let at = [format!("1={other}.wasm"), format!("3={other}.wasm")];
        ["--node", &at[0], "--node", &at[1]]
            .map(str::to_owned)
            .into_iter()
            .chain([guest.to_owned()])
            .collect::<Vec<_>>()
    };
    let clusters = [
        mixed("serialized.wasm", "serialized"),
        mixed("memory.wasm", "serialized"),
        mixed("serialized.wasm", "memory"),
        mixed("memory.wasm", "memory"),
    ];
    let cases: [&[&str]; 14] = [
        &["--algo", "bdfs"],
        &["--algo", "bdfs", "--reduce"],
        &["--algo", "bdfs", "--local-events", "1"],
        &["--algo", "bdfs", "--resets", "1", "--workers", "2", "--audit", "full"],
        &["--algo", "unfold"],
        &["--algo", "lmc"],
        &["--algo", "lmc-gen"],
        &["--algo", "consequence", "--depth", "4"],
        &["--algo", "dpor", "--depth", "4"],
        &["--algo", "dpor-ds"],
        &["--algo", "dpor-ds-tree"],
        &["--algo", "walk", "--walks", "60", "--seed", "5", "--resets", "1"],
        &["--algo", "prefix", "--seed", "5", "--resets", "1"],
        &["--algo", "auto"],
    ];
    let mut violated = 0;
    for case in cases {
        let options = [case, &["--nodes", "5"]].concat();
        let all = clusters.each_ref().map(|cluster| {
            let (guest, placed) = cluster.split_last().expect("the plugin");
            let placed: Vec<&str> = placed.iter().map(String::as_str).collect();
            said(&place, guest, &[&options[..], &placed].concat())
        });
        assert!(all.iter().all(|one| *one == all[0]), "{case:?}: {all:?}");
        violated += usize::from(all[0][0][0] == "violation");
    }
    assert!(violated >= 6, "{violated}");
}

/// Two nodes are renamed in two ways, four in 24.
#[test]
fn nodes_that_memory_tells_apart_are_interchangeable() {
    let place = both();
    for (nodes, renamings) in [("3", 2), ("5", 24)] {
        for guest in ["memory.wasm", "serialized.wasm"] {
            let report = run(&place, guest, &["--algo", "bdfs", "--reduce", "--nodes", nodes]);
            assert_eq!(report["symmetry"]["renamings"], renamings, "{guest}: {report}");
        }
    }
}

/// All nodes have the same states by either component, so only their identity differs, and the report has it for each node.
#[test]
fn a_mixed_cluster_says_of_each_node_what_tells_its_states_apart() {
    let place = both();
    let at = |node: u32, guest: &str| format!("{node}={guest}.wasm");
    let alone = run(&place, "memory.wasm", &["--algo", "bdfs", "--nodes", "3"]);
    assert_eq!(alone["assumed"].get("identity_on"), None);
    let mixed = |guest: &str, options: &[&str]| {
        let report = run(&place, guest, &[&["--algo", "bdfs", "--nodes", "3"], options].concat());
        (report["counts"].clone(), report["assumed"]["identity"].clone(), report["assumed"]["identity_on"].clone())
    };
    let counts = &alone["counts"];
    let [by_memory, serialized] = ["memory", "serialized"].map(|guest| at(1, guest));
    let both = ["--node", &serialized, "--node", &at(2, "serialized")];
    let same = |(counted, own, on): (Value, Value, Value), expected: (&str, Value)| {
        assert_eq!((&counted, &own, &on), (counts, &json!(expected.0), &expected.1));
    };
    same(mixed("memory.wasm", &["--node", &serialized]), ("memory", json!({ "1": "serialized" })));
    same(mixed("memory.wasm", &both), ("memory", json!({ "1": "serialized", "2": "serialized" })));
    same(mixed("serialized.wasm", &["--node", &by_memory]), ("serialized", json!({ "1": "memory" })));
    same(mixed("memory.wasm", &["--node", &by_memory]), ("memory", Value::Null));
    // The twin of node 1 is node 3.
    let (_, _, on) = mixed("memory.wasm", &["--node", &serialized, "--twin", "1"]);
    assert_eq!(on, json!({ "1": "serialized", "3": "serialized" }));
    let (_, _, on) = mixed("memory.wasm", &["--adversary", &serialized]);
    assert_eq!(on, json!({ "1": "serialized" }));
}
