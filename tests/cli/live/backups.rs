//! Backups of a running store, and a new cluster from one.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::client::ask_until_told;
use super::cluster::Cluster;
use super::judge::{Operation, Outcome};
use super::operations::{STORE, Service};
use super::watched::{put, wait};

/// The output of a command, of both streams, and whether it succeeds.
fn types(service: &Service, command: &str) -> (bool, String) {
    let ran = service.desk.types(command);
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (ran.status.success(), said)
}

fn refuses(service: &Service, command: &str, words: &[&str]) {
    let (is_ok, said) = types(service, command);
    assert!(!is_ok && words.iter().all(|words| said.contains(words)), "{command}: {words:?}: {said}");
}

const BACK_UP: &str = "host live backup cluster.toml --out store.backup";
const RESTORE: &str = "host live restore cluster.toml store.backup --quiet";

/// A backup is taken while clients write. All nodes end, their data is lost, and a new cluster begins with the backup: it has all that was
/// acknowledged before the backup was taken.
#[test]
fn a_backup_under_load_restores_into_a_cluster_that_starts() {
    let Some(mut service) = Service::start(&format!("plugin = \"raft-kv.wasm\"\n{STORE}")) else { return };
    service.leader();
    let written = AtomicU64::new(0);
    let key = |number: u64| format!("kept-{number}");
    service.under_load(|service| {
        for number in 0..20 {
            let put = Operation::Put(key(number), b"value".to_vec());
            assert_eq!(ask_until_told(&service.clients, &put), Outcome::Done);
            written.fetch_add(1, Ordering::Relaxed);
        }
        let (is_ok, said) = types(service, BACK_UP);
        assert!(is_ok && said.starts_with("node ") && said.contains(" in the map: store.backup"), "{said}");
        refuses(service, BACK_UP, &["store.backup exists, and a backup replaces no file"]);
    });
    refuses(&service, RESTORE, &[" exists: the cluster has data"]);
    (0..3).for_each(|node| service.end(node));
    refuses(&service, "host live backup cluster.toml --out other", &["no running node reports its progress", "--id N"]);
    let (is_ok, said) = types(&service, "host live backup cluster.toml --id 1 --out stopped.backup");
    assert!(is_ok && said.starts_with("node 1, start 1, "), "{said}");
    refuses(&service, RESTORE, &[" exists: the cluster has data"]);
    std::fs::rename(service.desk.path("data"), service.desk.path("former")).expect("no node runs");
    refuses(&service, "host live backup cluster.toml --id 1 --out other", &["node 1 has no data"]);

    let good = std::fs::read(service.desk.path("store.backup")).expect("it was written");
    let (mut flipped, at) = (good.clone(), good.len() / 2);
    flipped[at] ^= 1;
    for (bytes, words) in [
        (&good[..good.len() - 1], "is damaged, or cut, at byte "),
        (&flipped, "is damaged, or cut, at byte "),
        (b"not a backup", "is no data of a node"),
        (b"", "is damaged, or cut, at byte 0"),
    ] {
        service.desk.put("wrong.backup", bytes);
        refuses(&service, "host live restore cluster.toml wrong.backup --quiet", &["wrong.backup", words]);
    }
    service.describe(&format!("plugin = \"raft-kv.wasm\"\n{}", STORE.replace("kept = 20", "kept = 30")));
    refuses(&service, RESTORE, &["was written by a node with parameters", "--take-data"]);
    service.desk.component("lock");
    service.describe("plugin = \"lock.wasm\"\n");
    refuses(&service, RESTORE, &["store.backup is of raft-kv, and the cluster runs lock"]);
    assert!(!service.desk.path("data").exists(), "nothing is restored in part, and no name is drawn");
    std::fs::create_dir(service.desk.path("data")).expect("a folder");
    service.desk.put("data/cluster-name", b"drawn-0\n");
    service.describe(&format!("plugin = \"raft-kv.wasm\"\n{STORE}"));
    refuses(&service, RESTORE, &["cluster-name exists: the cluster has data"]);
    std::fs::remove_dir_all(service.desk.path("data")).expect("no node runs");

    service.describe(&format!("plugin = \"raft-kv.wasm\"\n{STORE}"));
    let (is_ok, said) = types(&service, RESTORE);
    assert!(is_ok && said.starts_with("3 nodes with the state of node "), "{said}");
    (0..3).for_each(|node| service.run(node));
    service.leader();
    for number in 0..written.into_inner() {
        let read = ask_until_told(&service.clients, &Operation::Get(key(number)));
        assert_eq!(read, Outcome::Value(Some(b"value".to_vec())), "{number}");
    }
    assert_eq!(ask_until_told(&service.clients, &put("after it")), Outcome::Done);
    assert_eq!(
        ask_until_told(&service.clients, &Operation::Get("key".into())),
        Outcome::Value(Some(b"after it".to_vec()))
    );
}

/// Each line of a node is a JSON object with these members alone.
#[test]
fn the_log_of_a_node_is_json() {
    let (mut nodes, _cluster) = Cluster::start_with("ordered", "none", " --log json");
    let of_node_0 = "\"node\":0";
    wait("no start is logged", || nodes.lines("runs: start 1").iter().any(|line| line.contains(of_node_0)));
    nodes.kill(0);
    nodes.start(0);
    wait("no second start is logged", || nodes.lines("runs: start 2").iter().any(|line| line.contains(of_node_0)));
    let lines = nodes.lines("");
    for line in &lines {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let members = line.as_object().expect("an object");
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        assert!(line["node"].as_u64() < Some(3) && line["kind"].is_string() && line["message"].is_string(), "{line}");
        assert!(members.keys().all(|key| ["time", "node", "kind", "message", "left_out"].contains(&&**key)), "{line}");
    }
    assert!(lines.len() >= 4, "{lines:?}");
}
