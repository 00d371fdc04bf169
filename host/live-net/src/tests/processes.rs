//! A cluster of processes that are killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_live::disk::records;
use host_live::node::{Identity, Settings};
use host_live::time::Range;
use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::relay::Relay;
use crate::{Place, Recording, Ways, run};

/// A process with this variable is a node: its number, the network, the folder, and the addresses of all.
const NODE: &str = "HOST_LIVE_NET_TEST_NODE";
/// With this variable as well, it rejoins its cluster if necessary.
const REJOINS: &str = "HOST_LIVE_NET_TEST_REJOINS";
/// With this variable as well, it is recorded, in at most this number of bytes.
const RECORDED: &str = "HOST_LIVE_NET_TEST_RECORDED";
pub(super) const LAST: u8 = 250;
/// The number of the next address.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// Node 0 counts, stores the count on its disk, and sends it to the others, which store it on theirs. It sends the last one again and
/// again.
pub(super) fn counter() -> Toy {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer);
    let toy = toy.rule(0, LAST, ToyTrigger::Local(0), LAST, &[(1, LAST), (2, LAST)]);
    (0..LAST).fold(toy, |toy, count| {
        let next = count + 1;
        let toy = toy.rule(0, count, ToyTrigger::Local(0), next, &[(1, next), (2, next)]).keep(0, next, next);
        (1..3).fold(toy, |toy, node| {
            let toy = toy.keep(node, next, next);
            (0..=count).fold(toy, |toy, known| toy.rule(node, known, ToyTrigger::Message(0, next), next, &[]))
        })
    })
}

/// In a separate process, a node that runs until it is killed; otherwise nothing.
#[test]
fn node_of_another_test() {
    let Ok(what) = std::env::var(NODE) else { return };
    let words: Vec<&str> = what.split(' ').collect();
    let [node, network, folder, addresses @ ..] = &words[..] else { panic!("{what}") };
    let mut settings = Settings { network: Network::Ordered, ..Settings::default() };
    if *network == "udp" {
        settings.network = Network::Unordered;
    }
    settings.delays.timer = Range::milliseconds(5, 15);
    let node = node.parse().expect("a number");
    let session = std::process::id().into();
    let place = Place {
        identity: Identity { node, nodes: 3, config: String::new(), name: String::new(), cluster: [3; 16], session },
        settings,
        addresses: addresses.iter().map(|address| Address::parse(address).expect("an address")).collect(),
        tls: None,
        clients: Vec::new(),
        metrics: None,
        log: crate::Sink::none(),
        disk: Path::new(folder).join(format!("node-{node}.disk")),
        component: component(),
        recording: std::env::var(RECORDED).ok().map(|bytes| Recording {
            folder: Path::new(folder).join("recording"),
            bytes_max: bytes.parse().expect("a number"),
            component: component(),
            limits: BTreeMap::from([("fuel".to_owned(), 5)]),
        }),
        ways: Ways { rejoins: std::env::var_os(REJOINS).is_some(), ..Ways::default() },
        operations: Default::default(),
        all_end: Default::default(),
    };
    let ended = run(&Arc::new(counter()), &place, None, &AtomicBool::new(false));
    panic!("it runs until it is killed: {ended:?}");
}

/// Addresses of three nodes. All of 127.0.0.0/8 is loopback, and the system does not assign these ports: nothing else uses them. The next
/// nine ports are free as well.
pub(super) fn free_addresses() -> Vec<SocketAddr> {
    const OF_A_PORT: u16 = 240;
    let [.., high, low] = std::process::id().to_be_bytes();
    let first = NEXT.fetch_add(3, Ordering::Relaxed);
    let (last, port) = (1 + (first % OF_A_PORT) as u8, 7_431 + 10 * (first / OF_A_PORT));
    (last..last + 3).map(|last| SocketAddr::from(([127, high | 1, low, last], port))).collect()
}

/// The component in these tests.
pub(super) fn component() -> (String, String) {
    ("toy".to_owned(), "none".to_owned())
}

/// The start and the count in a node's file, which may be in use.
pub(super) fn durable(disk: &Path) -> (u64, u8) {
    let Ok(bytes) = std::fs::read(disk) else { return (0, 0) };
    let record = records::read(&bytes).expect("it is whole but for its end").last;
    record.map_or((0, 0), |record| (record.numbers.incarnation, record.protocol.map_or(0, |count| count[0])))
}

pub(super) struct Cluster {
    pub(super) folder: tempfile::TempDir,
    network: &'static str,
    addresses: Vec<SocketAddr>,
    /// The address of each node as the others know it, if a relay stands in between.
    seen: Vec<SocketAddr>,
    relays: Vec<Relay>,
    children: Vec<Child>,
    /// The most bytes of the recording of a node; none without recordings.
    recorded: Option<u64>,
}

impl Cluster {
    fn new(network: &'static str, is_rough: bool) -> Self {
        Self::recorded(network, is_rough, None)
    }

    pub(super) fn recorded(network: &'static str, is_rough: bool, recorded: Option<u64>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let addresses = free_addresses();
        let seen = if is_rough { free_addresses() } else { addresses.clone() };
        let relay = |(seen, address): (&SocketAddr, &SocketAddr)| match network {
            "tcp" => Relay::tcp(*seen, *address, 40),
            _ => Relay::udp(*seen, *address),
        };
        let relays = if is_rough { seen.iter().zip(&addresses).map(relay).collect() } else { Vec::new() };
        let mut cluster = Self { folder, network, addresses, seen, relays, children: Vec::new(), recorded };
        for node in 0..3 {
            let child = cluster.command(node).spawn().expect("it starts");
            cluster.children.push(child);
        }
        cluster
    }

    fn command(&self, node: usize) -> Command {
        let folder = self.folder.path().display().to_string();
        let mut words = vec![node.to_string(), self.network.to_owned(), folder];
        let mut addresses = self.seen.clone();
        addresses[node] = self.addresses[node];
        words.extend(addresses.iter().map(ToString::to_string));
        let mut command = Command::new(std::env::current_exe().expect("this is a program"));
        command
            .args(["--exact", "tests::processes::node_of_another_test", "--nocapture"])
            .env(NODE, words.join(" "))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.envs(self.recorded.map(|bytes| (RECORDED, bytes.to_string())));
        command
    }

    /// Kills a node, which it cannot prevent.
    pub(super) fn stop(&mut self, node: usize) {
        assert_eq!(self.children[node].try_wait().expect("it is a child"), None, "node {node} runs until then");
        self.children[node].kill().expect("it runs");
        self.children[node].wait().expect("it is a child");
    }

    /// Kills a node and restarts it.
    pub(super) fn kill(&mut self, node: usize) {
        self.stop(node);
        self.start(node);
    }

    pub(super) fn start(&mut self, node: usize) {
        self.children[node] = self.command(node).spawn().expect("it starts");
    }

    /// The start and the count on the disk of a node. Its process may run, so a copy is opened.
    fn durable(&self, node: usize) -> (u64, u8) {
        durable(&self.folder.path().join(format!("node-{node}.disk")))
    }

    /// Waits until a node has reached a count; gives up after a minute.
    pub(super) fn wait(&mut self, node: usize, count: u8) {
        self.wait_until(node, |cluster| cluster.durable(node).1 >= count);
    }

    /// Waits for a condition on a node; gives up after a minute.
    fn wait_until(&mut self, node: usize, is_there: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_there(self) {
            assert!(begun.elapsed() < Duration::from_secs(60), "node {node} is at {:?}", self.durable(node));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Nodes are killed in turns. Node 0 sends a count only when it is durable, so no other node is ever ahead of it, and the durable count of
/// a node never decreases.
fn nothing_is_lost(network: &'static str, is_rough: bool) {
    let mut cluster = Cluster::new(network, is_rough);
    let mut last = [0; 3];
    for (round, count) in (10..=100).step_by(10).enumerate() {
        cluster.wait(round % 3, count);
        cluster.kill(round % 3);
        for node in [1, 2, 0] {
            let now = cluster.durable(node).1;
            assert!(now >= last[node], "round {round}: node {node} has {now} after {}", last[node]);
            last[node] = now;
        }
        assert!(last[0] >= last[1].max(last[2]), "round {round}: {last:?}");
    }
    (0..3).for_each(|node| cluster.wait(node, LAST));
    // Ten rounds: node 0 was killed four times, the others three times each.
    assert_eq!([0, 1, 2].map(|node| cluster.durable(node).0), [5, 4, 4]);
    for child in &mut cluster.children {
        assert_eq!(child.try_wait().expect("it is a child"), None, "all of them run");
    }
    // No node sends to node 0.
    for relay in cluster.relays.iter().skip(1) {
        let troubles = relay.troubles.load(Ordering::Relaxed);
        assert!(troubles >= 3, "{troubles}");
    }
}

#[test]
fn nothing_on_a_disk_is_lost_over_connections_when_nodes_are_killed() {
    nothing_is_lost("tcp", false);
}

#[test]
fn nothing_on_a_disk_is_lost_over_datagrams_when_nodes_are_killed() {
    nothing_is_lost("udp", false);
}

#[test]
fn nothing_on_a_disk_is_lost_where_connections_are_cut() {
    nothing_is_lost("tcp", true);
}

#[test]
fn nothing_on_a_disk_is_lost_where_datagrams_are_lost_repeated_and_swapped() {
    nothing_is_lost("udp", true);
}

#[test]
fn a_foreign_protocol_is_cut_off_without_harm() {
    let mut cluster = Cluster::new("tcp", false);
    cluster.wait(1, 5);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"HLIV\xff\xff", &[0; 100_000]] {
        let mut stream = TcpStream::connect(cluster.addresses[1]).expect("it listens");
        // The node may cut the stream off meanwhile.
        let _ = stream.write_all(bytes);
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can");
        let end = std::io::Read::read(&mut stream, &mut [0; 1]);
        assert!(matches!(&end, Ok(0)) || end.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    }
    let now = cluster.durable(1).1;
    cluster.wait(1, now + 20);
}

/// Node 0 loses its disk while no other node runs, and starts more often than before. The others know it by its disk, so they refuse its
/// frames, and it refuses to start again with the new disk. Once it has rejoined, they accept its frames.
#[test]
fn a_node_that_lost_its_disk_is_refused_however_often_it_starts() {
    for network in ["tcp", "udp"] {
        let mut cluster = Cluster::new(network, false);
        cluster.wait(1, 3);
        cluster.wait(2, 3);
        (0..3).for_each(|node| cluster.stop(node));
        let before = [1, 2].map(|node| cluster.durable(node).1);
        let path = cluster.folder.path().join("node-0.disk");
        let lock = path.with_extension("lock");
        std::fs::remove_file(&path).and_then(|()| std::fs::remove_file(&lock)).expect("both are there");
        for start in 1..=3 {
            cluster.start(0);
            cluster.wait_until(0, |cluster| cluster.durable(0).0 >= start);
            cluster.stop(0);
        }
        cluster.start(0);
        // Its count exceeds the counts of the others.
        cluster.wait(0, before[0].max(before[1]) + 5);
        [1, 2].iter().for_each(|node| cluster.start(*node));
        let is_noted = |_: &Cluster| std::fs::read_to_string(&lock).is_ok_and(|note| note.contains("another disk"));
        cluster.wait_until(0, is_noted);
        assert_eq!([1, 2].map(|node| cluster.durable(node).1), before, "{network}");
        cluster.kill(0);
        let ended = cluster.children[0].wait().expect("it is a child");
        assert!(!ended.success() && ended.code().is_some(), "it ends by itself: {ended}");
        cluster.children[0] = cluster.command(0).env(REJOINS, "true").spawn().expect("it starts");
        cluster.wait(1, before[0] + 5);
        cluster.wait(2, before[1] + 5);
        assert_eq!(cluster.durable(0).0, 5, "{network}");
    }
}
