//! The states within reach of the cluster and of one node.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Page;
use crate::cli::golden::repository;

/// The naive reference of the map: the states and transitions that a search counts.
#[test]
fn the_map_has_the_states_and_transitions_of_a_search() {
    let place = repository();
    for (plugin, options) in [
        ("plugins/paxos", &["--nodes", "2"][..]),
        ("plugins/rand-tree", &["--nodes", "2", "--breaks", "1"]),
        ("plugins/rand-tree", &["--nodes", "2", "--resets", "1"]),
        ("plugins/paxos", &["--nodes", "2", "--network", "ordered"]),
        ("plugins/query", &["--nodes", "2", "--network", "unordered"]),
        ("plugins/query", &["--nodes", "2", "--network", "unordered-duplicating"]),
        ("plugins/query", &["--nodes", "2", "--network", "ordered"]),
        ("plugins/query", &["--nodes", "2", "--network", "ordered", "--losses", "1"]),
    ] {
        let Some(page) = Page::of(&place, &[&[plugin, "--quiet", "--"], options].concat()) else { return };
        let map = page.get("map?limit=1000");
        let search = ["run", plugin, "--quiet", "--json", "--algo", "bdfs", "--safety-only", "--continue"];
        let counts = place.host(&[&search, options].concat()).json()["counts"].clone();
        assert_eq!(map["complete"], true);
        assert_eq!(map["states"].as_array().map(Vec::len), counts["global_states"].as_u64().map(|it| it as usize));
        assert_eq!(map["edges"].as_array().map(Vec::len), counts["transitions"].as_u64().map(|it| it as usize));
        // Each state can be visited.
        let last = counts["global_states"].as_u64().expect("a count") - 1;
        let moved = page.post("map/go", &json!({ "state": last, "limit": 1_000 }));
        let again = page.get("map?limit=1000");
        assert_eq!(again["states"][last as usize]["place"], moved["place"], "{plugin} {options:?}");
        page.ends();
    }
}

/// The graph of a node has its states and steps in the map of all, each once.
#[test]
fn the_graph_of_a_node_is_that_of_the_map() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/paxos", "--quiet", "--", "--nodes", "2"]) else { return };
    let map = page.get("map?limit=1000");
    let states = map["states"].as_array().expect("a list");
    let edges = map["edges"].as_array().expect("a list");
    let end = page.take(0, 0);
    for node in 0..2 {
        let of_node = |state: usize| {
            let lines = states[state]["local"].as_str().expect("a text").lines();
            let line = lines.clone().nth(node).expect("a line for each node");
            line.split_once(": ").expect("it begins with the name").1.to_owned()
        };
        let local = page.get(&format!("local?node={node}&limit=1000&at={end}"));
        let shown = local["states"].as_array().expect("a list");
        let ours: BTreeSet<String> =
            shown.iter().map(|state| state["local"].as_str().expect("a text").to_owned()).collect();
        let all: BTreeSet<String> = (0..states.len()).map(of_node).collect();
        assert_eq!(ours, all, "node {node}");
        assert_eq!(shown.len(), all.len(), "each once");
        assert!(shown.len() < states.len(), "{} of {} states: it is no smaller", shown.len(), states.len());
        let number = |value: &Value| value.as_u64().expect("a number") as usize;
        let steps: BTreeSet<(String, String, &str)> = edges
            .iter()
            .filter(|edge| number(&edge["node"]) == node)
            .map(|edge| {
                (of_node(number(&edge["from"])), of_node(number(&edge["to"])), edge["text"].as_str().expect("a text"))
            })
            .collect();
        let text = |state: &Value| shown[number(state)]["local"].as_str().expect("a text").to_owned();
        let ours: BTreeSet<(String, String, &str)> = (local["edges"].as_array().expect("a list").iter())
            .map(|edge| (text(&edge["from"]), text(&edge["to"]), edge["text"].as_str().expect("a text")))
            .collect();
        assert_eq!(ours, steps, "node {node}");
        assert_eq!(local["edges"].as_array().map(Vec::len), Some(ours.len()), "each once");
        // The levels are those of a breadth-first search, and the state at the place is one of them.
        assert!(shown.windows(2).all(|pair| pair[0]["level"].as_u64() <= pair[1]["level"].as_u64()));
        assert!(local["here"].as_u64().is_some());
    }
    assert_eq!(page.ask("GET", "local?node=2", &Value::Null).0, 404);
    page.ends();
}
