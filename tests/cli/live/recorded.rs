//! Clusters that are recorded: replayed, compared with another version, and followed as logs.

use std::time::{Duration, Instant};

use serde_json::json;

use super::cluster::Cluster;
use super::http::request;
use crate::cli::{Place, bundled};

/// Writes a value through any node that leads; gives up after two minutes.
fn put(cluster: &Cluster, path: &str, body: &[u8]) {
    let begun = Instant::now();
    let is_done = |node: &std::net::SocketAddr| request(*node, "PUT", path, body).is_ok_and(|told| told.status == 204);
    while !cluster.clients().iter().any(is_done) {
        assert!(begun.elapsed() < Duration::from_secs(120), "no leader answers");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A store is recorded while nodes are killed. Its recording replays, an execution explains it, another version differs by name, and
/// damage, another plugin and a missing segment are refused.
#[test]
fn a_store_that_is_killed_replays_and_is_explained() {
    let place = Place::new();
    let folder: &'static str = Box::leak(place.path("recording").display().to_string().into_boxed_str());
    let words: &'static str = Box::leak(format!(" --record {folder}").into_boxed_str());
    let (mut nodes, cluster) = Cluster::start_with("unordered", "none", words);
    for round in 0..3 {
        put(&cluster, &format!("/key{round}"), b"value");
        nodes.kill(round);
        put(&cluster, &format!("/again{round}"), b"value");
        nodes.start(round);
    }
    put(&cluster, "/last", b"value");
    (0..3).for_each(|node| nodes.kill(node));
    let kv = bundled("raft-kv");
    let replayed = place.host(&["live", "replay", folder, "--plugin", kv, "--log", "log.ndjson", "--json"]).json();
    assert_eq!(replayed["exit_code"], 0, "{replayed}");
    for node in replayed["nodes"].as_array().expect("a list") {
        // The majority does not wait for the node that was killed last, which may be killed again before it has started.
        let has_started = node["starts"] == 2 || node["node"] == 2 && node["starts"] == 1;
        assert!(node["events"].as_u64() > Some(20) && has_started, "{node}");
        assert_eq!((&node["differs"], &node["failed"]), (&json!(null), &json!([])), "{node}");
    }
    let same = place.host(&["live", "replay", folder, "--plugin", kv, "--against", kv]).exits(0);
    assert_eq!(same.out.matches("replayed to equal states").count(), 3, "{same:?}");
    assert!(!same.out.contains("the other component"), "{same:?}");
    let other = bundled("paxos");
    let refused = ["the recording is of raft-kv (", ") is ", "`--against` compares another version with it"];
    place.host(&["live", "replay", folder, "--plugin", other]).exits(151).says(&[refused[0], refused[2]]);
    let compared = place.host(&["live", "replay", folder, "--plugin", kv, "--against", other, "--id", "0"]).exits(1);
    assert!(compared.out.contains("the other component does something else first at event 1: start"), "{compared:?}");
    // Damage has its place, and so has a missing segment.
    let segment = place.path("recording/node-1.000001.rec");
    let mut bytes = std::fs::read(&segment).expect("it is there");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes).expect("writable");
    let damaged = place.host(&["live", "replay", folder, "--plugin", kv]).exits(151);
    damaged.says(&["node-1.000001.rec is damaged at byte "]);
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes[..at]).expect("writable");
    let torn = place.host(&["live", "replay", folder, "--plugin", kv, "--id", "1"]).exits(0);
    assert!(torn.out.contains("node-1.000001.rec: the last ") && torn.out.contains("not written whole"), "{torn:?}");
    place.host(&["live", "replay", "log.ndjson", "--plugin", kv]).exits(151).says(&["is no segment of a recording"]);
    place
        .host(&["live", "replay", folder, "--plugin", kv, "--id", "7"])
        .exits(151)
        .says(&["has no recording of node 7"]);
}
