//! The work of operators: the status, restarts one by one, and a new component.

use std::mem::take;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use super::client::{ask_one_until_told, ask_until_told};
use super::cluster::{Cluster, addresses, plugin};
use super::judge::{Judge, Operation, Told};
use super::watched::{put, wait};
use super::{CLIENTS, ask_on};
use crate::cli::printed::{Desk, Started};
use crate::cli::{Place, bundled};

/// The lines of a cluster's file about the bundled store.
pub(super) const STORE: &str = r#"[parameters]
terms = 0
kept = 20
heartbeats = true
steps-down = true
pre-vote = true
batches = true
reads = "index"
[operations]
status = "/?status"
progress = "commit"
ready = "/?ready"
hand-over = "/?hand-over"
"#;

/// The status of all nodes as JSON, if all of them say so.
fn status(place: &Place, file: &str) -> (u8, Vec<Value>) {
    let ran = place.host(&["live", "status", file, "--json"]);
    let nodes: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    (ran.code, nodes["nodes"].as_array().expect("it has nodes").clone())
}

/// The status names the leader and its term, which all agree on; a node that is down, or that is not ready, is noticed.
#[test]
fn the_status_has_the_leader_the_term_and_the_lag() {
    let (mut nodes, cluster) = Cluster::start_nodes(3, &format!("{}{STORE}", plugin()), "ordered", "");
    let (place, file) = (Place::new(), nodes.cluster_file(0));
    ask_until_told(cluster.clients(), &put("value"));
    let mut leader = 0;
    let agree = |all: &[Value]| {
        let of = |name: &str| all.iter().map(|node| node["protocol"][name].clone()).collect::<Vec<_>>();
        let is_same = |values: &[Value]| values.windows(2).all(|two| two[0] == two[1]) && !values[0].is_null();
        is_same(&of("leader")) && is_same(&of("term")) && is_same(&of("commit"))
    };
    wait("the nodes do not agree", || {
        let (code, all) = status(&place, &file);
        leader = all[0]["protocol"]["leader"].as_u64().unwrap_or_default() as usize;
        code == 0 && agree(&all) && all.iter().all(|node| node["ready"] == json!(true))
    });
    let (_, all) = status(&place, &file);
    let roles: Vec<&Value> = all.iter().map(|node| &node["protocol"]["role"]).collect();
    for (id, node) in all.iter().enumerate() {
        assert_eq!((&node["id"], &node["lag"]), (&json!(id), &json!(0.0)), "{all:?}");
        assert_eq!(roles[id], if id == leader { "leader" } else { "follower" }, "{all:?}");
    }
    let said = place.host(&["live", "status", &file]).exits(0).out;
    let has = |words: &str| said.contains(words);
    assert!(has("; ready; ") && has("role leader, term ") && has(", lag 0\n"), "{said}");
    // The others are dead, so the leader steps down, runs on, and is not ready.
    let others = [(leader + 1) % 3, (leader + 2) % 3];
    others.iter().for_each(|node| nodes.kill(*node));
    let of = |words: &[&str]| place.host(&[&["live", "status", &file, "--id"], words].concat()).code;
    let number = |node: usize| node.to_string();
    wait("the leader leads on", || of(&[&number(leader), "--ready"]) == 1);
    assert_eq!((of(&[&number(leader)]), of(&[&number(others[0])])), (0, 1));
    let said = place.host(&["live", "status", &file]).exits(1).out;
    assert!(said.contains("; not ready: there is no leader now; ") && said.contains(": does not run\n"), "{said}");
    place.host(&["live", "status", &file, "--id", "3"]).exits(151).says(&["`--id 3`", "numbered from 0"]);
}

/// The probes of a running store, and `/-/` in a key.
#[test]
fn keys_that_begin_like_a_probe_are_encoded() {
    let (_nodes, cluster) = Cluster::start_nodes(3, &format!("{}{STORE}", plugin()), "ordered", "");
    let hidden = Operation::Put("%2D/live".into(), b"hidden".to_vec());
    let (leader, _) = ask_one_until_told(cluster.clients(), 0, &hidden);
    let ask = |method, path| {
        let told = super::http::request(cluster.clients()[leader], method, path, b"").expect("it answers");
        (told.status, String::from_utf8_lossy(&told.body).into_owned())
    };
    assert_eq!(ask("GET", "/-/live"), (200, "the process answers\n".to_owned()));
    assert_eq!(ask("GET", "/-/ready"), (200, format!("node {leader} leads\n")));
    assert_eq!(ask("PUT", "/-/other").0, 404);
    let (_, read) = ask_one_until_told(cluster.clients(), leader, &Operation::Get("%2D/live".into()));
    assert_eq!(read, super::judge::Outcome::Value(Some(b"hidden".to_vec())));
}

/// Three processes of the program itself, which obey signals.
pub(super) struct Service {
    pub(super) desk: Desk,
    pub(super) clients: Vec<SocketAddr>,
    running: Vec<Option<Started>>,
    begun: Instant,
    /// All that clients have asked since then.
    judge: Judge,
}

impl Service {
    /// Three nodes by a file that begins with these lines. None if the program is not built.
    pub(super) fn start(head: &str) -> Option<Self> {
        let desk = Desk::new()?;
        desk.component("raft-kv");
        let all = addresses(9);
        let node = |at: usize| {
            let (own, clients, metrics) = (all[at], all[at + 3], all[at + 6]);
            format!("[[node]]\naddress = \"{own}\"\nclients = \"{clients}\"\nmetrics = \"{metrics}\"\n")
        };
        desk.put("nodes", (0..3).map(node).collect::<String>());
        let (clients, running) = (all[3..6].to_vec(), vec![None, None, None]);
        let mut service = Self { desk, clients, running, begun: Instant::now(), judge: Judge::default() };
        service.describe(head);
        (0..3).for_each(|node| service.run(node));
        Some(service)
    }

    /// Writes the file of the cluster, with these lines at its beginning.
    pub(super) fn describe(&self, head: &str) {
        let nodes = self.desk.read("nodes");
        self.desk.put("cluster.toml", format!("network = \"ordered\"\n{head}\n{nodes}"));
    }

    pub(super) fn run(&mut self, node: usize) {
        let words = format!("host live node cluster.toml --id {node} --quiet 2>> {node}.txt");
        self.running[node] = Some(self.desk.starts(&words));
    }

    /// Sends a node SIGTERM, and waits for its end.
    pub(super) fn end(&mut self, node: usize) {
        let ended = self.running[node].take().expect("it runs").end();
        assert!(ended.success(), "{ended:?}: {}", self.told(node));
    }

    /// The start of a node fails, and says so.
    fn refuses(&self, node: usize, words: &[&str]) {
        let ran = self.desk.types(&format!("host live node cluster.toml --id {node} --quiet"));
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && words.iter().all(|words| said.contains(words)), "{words:?}: {said}");
    }

    fn told(&self, node: usize) -> String {
        self.desk.read(&format!("{node}.txt"))
    }

    /// The node that leads, once all are ready.
    pub(super) fn leader(&self) -> usize {
        let mut leader = None;
        wait("the nodes are not ready", || {
            let ran = self.desk.types("host live status cluster.toml --json --ready");
            let told: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
            leader = told["nodes"][0]["protocol"]["leader"].as_u64();
            ran.status.success() && leader.is_some()
        });
        leader.expect("it was found") as usize
    }

    /// Clients ask while something else happens. Their answers are linearizable, and no acknowledged write is lost.
    pub(super) fn under_load(&mut self, during: impl FnOnce(&mut Self)) -> Told {
        let (begun, judge, is_over) = (self.begun, Mutex::new(take(&mut self.judge)), AtomicBool::new(false));
        let clients = self.clients.clone();
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let (clients, judge, is_over) = (&clients, &judge, &is_over);
                scope.spawn(move || ask_on(number, clients, begun, judge, is_over));
            }
            during(self);
            is_over.store(true, Ordering::Relaxed);
        });
        self.judge = judge.into_inner().expect("no client has panicked");
        self.judge.read_all(|operation| ask_until_told(&clients, operation));
        self.judge.verdict().unwrap_or_else(|why| panic!("{why}"))
    }
}

/// Each node gets SIGTERM and starts again, the leader first, while clients ask. It hands over, and answers what it has taken: no client
/// is left without an answer.
#[test]
fn a_rolling_restart_hands_over_and_loses_nothing() {
    let Some(mut service) = Service::start(&format!("plugin = \"raft-kv.wasm\"\n{STORE}")) else { return };
    let first = service.leader();
    let told = service.under_load(|service| {
        for node in [first, (first + 1) % 3, (first + 2) % 3] {
            service.leader();
            service.end(node);
            service.run(node);
        }
        service.leader();
    });
    assert!(told.answered > 20, "{told:?}");
    let told = service.told(first);
    assert!(told.contains("hands over to node ") && told.contains("has handed over after "), "{told}");
}

/// A component with an empty custom section at its end: it does the same, and has another digest.
fn rebuilt(component: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"another build";
    let section = [&[NAME.len() as u8][..], NAME].concat();
    [component, &[0, section.len() as u8], &section].concat()
}

fn digest(component: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(component))
}

/// A component replaces another one node by node, while clients ask: both digests are in the file, the former one first. Without the list,
/// a node with another component is refused by its data; with a list that lacks its component, by that.
#[test]
fn a_component_is_replaced_node_by_node_and_nothing_is_lost() {
    let former = std::fs::read(bundled("raft-kv")).expect("it is built");
    let new = rebuilt(&former);
    let head = |plugin: &str, digests: &str| format!("plugin = \"{plugin}\"\n{digests}\n{STORE}");
    let Some(mut service) = Service::start(&head("raft-kv.wasm", "")) else { return };
    service.desk.put("new.wasm", &new);
    let allowed = format!("digest = [\"{}\", \"{}\"]", digest(&former), digest(&new));
    let first = service.leader();
    let told = service.under_load(|service| {
        for node in [first, (first + 1) % 3, (first + 2) % 3] {
            service.leader();
            service.end(node);
            if node == first {
                service.describe(&head("new.wasm", ""));
                service.refuses(node, &["component blake3:", "not component blake3:", "`--take-data`"]);
                service.describe(&head("new.wasm", &format!("digest = [\"{}\"]", digest(&former))));
                service.refuses(
                    node,
                    &["the cluster runs the component ", "make `digest` a list of the former and the new one"],
                );
                service.describe(&head("new.wasm", &allowed));
            }
            service.run(node);
        }
        service.leader();
    });
    assert!(told.answered > 20, "{told:?}");
    // The way back works as well: to the former component, with the data that the new one has written.
    let told = service.under_load(|service| {
        service.describe(&head("raft-kv.wasm", &allowed));
        service.end(first);
        service.run(first);
        service.leader();
    });
    assert!(told.answered > 0, "{told:?}");
    service.refuses(first, &["in use: another process is this node"]);
    service.describe(&format!("{}\n", head("new.wasm", &allowed)));
    let watched = service.desk.types(&format!("host live node cluster.toml --id {first} --quiet --watch observe"));
    let said = String::from_utf8_lossy(&watched.stderr).into_owned();
    assert!(watched.status.code() == Some(151) && said.contains("a checker reads the states of other nodes"), "{said}");
}

/// Nodes at `[::1]` and at `localhost` are one cluster, over TCP and over UDP.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn nodes_have_addresses_of_either_version_and_names() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        eprintln!("skipped: this machine has no ::1");
        return;
    };
    drop(listener);
    let ports = addresses(9);
    // All of ::1 is one address, so ports have to differ: those of no other test.
    let port = |number: usize| 20_000 + (std::process::id() % 500) as usize * 20 + number;
    for (network, hosts) in [("ordered", ["[::1]", "localhost", "127.0.0.1"]), ("unordered", ["localhost"; 3])] {
        let Some(desk) = Desk::new() else { return };
        desk.component("raft-kv");
        let clients = if network == "ordered" { "[::1]" } else { "127.0.0.1" };
        let node = |at: usize| {
            let (own, clients, metrics) = (hosts[at], format!("{clients}:{}", port(at + 3)), ports[at]);
            format!("[[node]]\naddress = \"{own}:{}\"\nclients = \"{clients}\"\nmetrics = \"{metrics}\"\n", port(at))
        };
        let nodes: String = (0..3).map(node).collect();
        desk.put("c.toml", format!("plugin = \"raft-kv.wasm\"\nnetwork = \"{network}\"\n{STORE}{nodes}"));
        let _up = desk.starts("host live up c.toml --quiet 2> up.txt");
        let clients: Vec<SocketAddr> =
            (3..6).map(|at| format!("{clients}:{}", port(at)).parse().expect("an address")).collect();
        assert_eq!(ask_until_told(&clients, &put("value")), super::judge::Outcome::Done);
        wait("not all nodes are ready", || desk.types("host live status c.toml --ready").status.success());
        let said = String::from_utf8_lossy(&desk.types("host live status c.toml").stdout).into_owned();
        assert!(said.contains(&format!("node 1 at localhost:{}: runs", port(1))), "{said}");
    }
}

/// The command lines in the unit and in the compose file of the book are understood: the file of the cluster is all that is missing.
/// systemd checks the unit as well, where it is installed.
#[expect(clippy::print_stderr, reason = "a check that is skipped says so")]
#[test]
fn the_unit_and_the_compose_file_of_the_book_have_valid_commands() {
    let page = std::fs::read_to_string(crate::cli::folder("../docs").join("running.md")).expect("the page is there");
    let block = |language: &str| {
        let begin = format!("```{language}\n");
        let rest = page.split_once(&begin).expect("the page has such a block").1;
        rest.split_once("```").expect("it has an end").0.to_owned()
    };
    let (unit, compose) = (block("ini"), block("yaml"));
    let in_unit = unit.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/host "));
    let in_compose = compose.lines().filter_map(|line| line.split_once(": host ")).map(|(_, words)| words);
    let commands: Vec<String> = in_unit.chain(in_compose).map(|words| words.replace("%i", "0")).collect();
    assert_eq!(commands.len(), 7, "{commands:?}");
    for command in commands {
        let ran = Place::new().host(&command.split(' ').collect::<Vec<_>>());
        ran.exits(151).says(&["cannot read cluster.toml"]);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store@.service");
    // The program is not installed here.
    std::fs::write(&path, unit.replace("/usr/local/bin/host", "/bin/sh")).expect("writable");
    match std::process::Command::new("systemd-analyze").arg("verify").arg(&path).output() {
        Ok(verified) => {
            // A key that systemd does not know is only a warning.
            let said = String::from_utf8_lossy(&verified.stderr).into_owned();
            assert!(verified.status.success() && !said.contains("store@"), "{said}");
        }
        Err(_) => eprintln!("skipped: there is no systemd-analyze to check the unit"),
    }
}
