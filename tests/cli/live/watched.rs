//! Clusters with a checker for each node.

use std::time::{Duration, Instant};

use super::client::ask_until_told;
use super::cluster::{Cluster, addresses};
use super::judge::{Operation, Outcome};
use crate::cli::Place;
use crate::cli::printed::{Desk, commands};

/// Waits until a condition holds; gives up after a minute.
pub(super) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(super) fn put(value: &str) -> Operation {
    Operation::Put("key".into(), value.into())
}

/// A killed node starts again with a store that does not fit its log: the checkers predict it before any node is killed, and the trace
/// replays. Then a node is killed, and they see the violation.
#[test]
fn what_a_kill_would_do_is_predicted_before_anybody_is_killed() {
    let (mut nodes, cluster) =
        Cluster::start_with("ordered", "forget-store", " --watch observe --every 200ms --round-time 1m");
    assert_eq!(ask_until_told(cluster.clients(), &put("value")), Outcome::Done);
    let predicted = " predicts that state-machine-safety is violated";
    wait("no node predicts it", || !nodes.lines(predicted).is_empty());
    assert_eq!(nodes.lines(" sees that "), Vec::<String>::new());
    let line = nodes.lines(predicted).remove(0);
    replays(&line);
    // With all three killed, the stores would be equal again.
    nodes.kill(0);
    nodes.start(0);
    wait("no node sees it", || !nodes.lines(" sees that ").is_empty());
    let seen = nodes.lines(" sees that ").remove(0);
    assert!(seen.contains(" sees that state-machine-safety is violated: nodes "), "{seen}");
    replays(&seen);
}

/// The command in a line replays a violation.
fn replays(line: &str) {
    let command: Vec<&str> = line.split('`').nth(1).expect("a command").split(' ').collect();
    let ran = Place::new().host(&command[1..]);
    assert!(ran.out.contains("replayed: state-machine-safety is violated"), "{ran:?}");
}

/// The program in a folder with relative paths only: the commands that a node prints run there, and a later start keeps the traces of
/// earlier ones.
#[test]
fn predictions_are_kept_where_the_printed_command_finds_them() {
    let Some(desk) = Desk::new() else { return };
    desk.component("raft-kv");
    let all = addresses(6);
    let node = |at: usize| format!("[[node]]\naddress = \"{}\"\nclients = \"{}\"\n", all[at], all[at + 3]);
    let head = "plugin = \"raft-kv.wasm\"\nnetwork = \"ordered\"\ndata = \"the data\"\n";
    let parameters = "[parameters]\nterms = 0\nkept = 20\nheartbeats = true\nbug = \"forget-store\"\n";
    desk.put("cluster.toml", format!("{head}{parameters}{}{}{}", node(0), node(1), node(2)));
    let mut kept = Vec::new();
    for start in 1..=2 {
        let words = "host live up cluster.toml --quiet --watch observe --every 200ms --share 100% --round-time 1m";
        let up = desk.starts(&format!("{words} 2> told-{start}.txt"));
        assert_eq!(ask_until_told(&all[3..], &put("value")), Outcome::Done);
        let told = || desk.read(&format!("told-{start}.txt"));
        let ends = || (0..3).all(|node| told().contains(&format!("node {node} predicts that state-machine-safety")));
        wait("not all predict it", ends);
        drop(up);
        let commands = commands(&told());
        assert!(commands.len() >= 3, "{commands:?}");
        for command in commands {
            let ran = desk.types(&command);
            let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
            assert!(shown.contains("replayed: state-machine-safety is violated"), "{command}: {ran:?}");
            kept.push(command);
        }
    }
    let all = kept.len();
    kept.sort();
    kept.dedup();
    assert_eq!(kept.len(), all, "a later start keeps the traces of the first: {kept:?}");
}

/// Clients have the same answers, and nothing is predicted or filtered.
#[test]
fn a_store_without_a_mistake_answers_the_same_when_it_is_watched_or_steered() {
    let observe = " --watch observe --every 100ms --share 100%";
    let steer = " --watch steer --every 100ms --share 100%";
    for (network, words) in [("ordered", observe), ("unordered", observe), ("ordered", steer), ("unordered", steer)] {
        let (nodes, cluster) = Cluster::start_with(network, "none", words);
        for value in 0..10 {
            let value = value.to_string();
            assert_eq!(ask_until_told(cluster.clients(), &put(&value)), Outcome::Done);
            let read = ask_until_told(cluster.clients(), &Operation::Get("key".into()));
            assert_eq!(read, Outcome::Value(Some(value.into_bytes())));
        }
        for node in 0..3 {
            let counted = |name| cluster.counted(node, name).unwrap_or(-1.0);
            wait("no checker has run", || counted("check_rounds_total") > 1.0);
            assert_eq!(["predictions_total", "violated_rounds_total", "checker_up"].map(counted), [0.0, 0.0, 1.0]);
            assert_eq!(["filtered_total", "discarded_total"].map(counted), [0.0, 0.0]);
            // Only steering reports it.
            assert_eq!(cluster.counted(node, "steering_active"), (words == steer).then_some(1.0));
            assert!(counted("snapshot_bytes_total") > 0.0 && counted("check_seconds_total") > 0.0);
        }
        assert_eq!(nodes.lines(" predicts "), Vec::<String>::new());
    }
}
