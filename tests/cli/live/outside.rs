//! Clusters with properties from outside, stated in their files.

use host_sandbox::fixtures::Stated;

use super::cluster::{Cluster, Nodes};
use super::watched::wait;
use crate::cli::{Place, bundled};

/// The store, with elections that no node holds before this many times 150 ms.
fn start(network: &str, patience: u32, (spec, properties): (&str, &str), words: &'static str) -> (Nodes, Cluster) {
    let head = format!("plugin = {:?}\n{spec}\n", bundled("raft-kv"));
    let parameters = format!("terms = 0\nkept = 20\nheartbeats = true\npatience = {patience}\n");
    Cluster::start_of(&head, network, &format!("{parameters}{properties}\n"), words)
}

/// A property that the first election violates.
const SILENT: &str = "[always]\nsilent = \"nodes.all(n, n.disk.term == 0)\"";

/// No node has voted, and none will for minutes; the checkers predict the first vote, and the trace replays.
#[test]
fn what_an_expression_forbids_is_predicted() {
    let words = " --watch observe --every 200ms --round-time 1m";
    let (nodes, _cluster) = start("ordered", 1_000, ("", SILENT), words);
    wait("no node predicts it", || !nodes.lines(" predicts that silent is violated").is_empty());
    assert_eq!(nodes.lines("sees that"), Vec::<String>::new());
    let line = nodes.lines(" predicts that silent is violated").remove(0);
    let command: Vec<&str> = line.split('`').nth(1).expect("a command").split(' ').collect();
    let ran = Place::new().host(&command[1..]).exits(12);
    assert!(ran.out.contains("replayed: silent is violated"), "{ran:?}");
}

/// The immediate check or a filter prevents each node from standing for election. Nothing else happens.
#[test]
fn what_an_expression_forbids_is_kept_from_happening() {
    for network in ["ordered", "unordered"] {
        let words = " --watch steer --every 200ms --round-time 1m";
        let (nodes, cluster) = start(network, 1, ("", SILENT), words);
        let kept = |node| {
            let counted = |name| cluster.counted(node, name).unwrap_or_default();
            counted("filtered_total") + counted("discarded_total")
        };
        wait("a node stands for election", || (0..3).all(|node| kept(node) >= 3.0));
        assert_eq!(nodes.lines("sees that"), Vec::<String>::new());
        assert_eq!(cluster.counted_by_all("checker_up"), 3.0);
    }
}

/// The properties of a specification over all nodes are judged as well.
#[test]
fn what_a_specification_says_is_seen() {
    let place = Place::new();
    let wrong = "(call $tagged (i32.const 1) (i32.const 0) (i32.const 0))";
    place.put("stated.wasm", Stated { invariant: wrong, ..Stated::default() }.component());
    let spec = format!("spec = {:?}", place.path("stated.wasm"));
    let (nodes, _cluster) = start("ordered", 1_000, (&spec, ""), " --watch observe --every 200ms");
    wait("no node sees it", || !nodes.lines(" sees that ").is_empty());
}

#[test]
fn properties_that_do_not_fit_are_named_with_the_file() {
    let place = Place::new();
    place.put("stated.wasm", Stated::default().component());
    place.put("bare.wasm", host_sandbox::fixtures::ping_pong());
    std::fs::create_dir(place.path("folder")).expect("writable");
    let nodes = "[[node]]\naddress = \"127.0.0.1:7101\"\n[[node]]\naddress = \"127.0.0.1:7102\"\n";
    let paxos = bundled("paxos");
    let cases = [
        (paxos, "", "[always]\na = \"1 +\"", 151, "c.toml: `--always a`: "),
        (
            paxos,
            "",
            "[always]\nagreement = \"size(nodes) > 0\"",
            151,
            "c.toml: `--always agreement`: paxos has a property of this name",
        ),
        (
            paxos,
            "",
            "[always]\na = \"node.nothing\"",
            151,
            "c.toml: a cannot be evaluated: at character 6: there is no field",
        ),
        (paxos, "", "[eventually]\na = 1", 151, "c.toml:4: invalid type: integer `1`, expected a string"),
        (paxos, "", "[sometimes]\na = \"true\"", 151, "c.toml:3: unknown field `sometimes`"),
        (paxos, "spec = 1", "", 151, "c.toml:2: `spec` is the path of a component, or a list of such paths"),
        (paxos, "spec = \"none.wasm\"", "", 150, "cannot load none.wasm"),
        (paxos, "spec = [\"folder\"]", "", 151, "c.toml: the spec folder would have to be built"),
        (paxos, "spec = [\"stated.wasm\", \"stated.wasm\"]", "", 151, "c.toml: `--spec stated.wasm`: there is another"),
        ("bare.wasm", "spec = \"stated.wasm\"", "", 151, "does not describe its states"),
    ];
    for (plugin, spec, properties, code, said) in cases {
        place.put("c.toml", format!("plugin = {plugin:?}\n{spec}\n{properties}\n{nodes}"));
        for command in [&["live", "up", "c.toml"][..], &["live", "node", "c.toml", "--id", "0"]] {
            let ran = place.host(command).exits(code);
            assert!(ran.err.contains(said), "no {said:?} in {ran:?}");
        }
    }
}
