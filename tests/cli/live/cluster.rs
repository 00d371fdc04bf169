//! The processes of a cluster, and the relays between them.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use super::certificates::Authority;
use super::http::request;
use super::relay::Relay;
use crate::cli::{Place, bundled};

/// The number of the next address.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// A process with this variable is a node: the words of its command line.
const NODE: &str = "HOST_TESTS_LIVE_NODE";

/// In a process of its own, a node that runs until it is killed; else nothing.
#[test]
fn node_of_another_test() {
    let Ok(words) = std::env::var(NODE) else { return };
    let ran = Place::new().host(&words.split(' ').collect::<Vec<_>>());
    panic!("it runs until it is killed: {ran:?}");
}

/// Addresses for this process alone: all of 127.0.0.0/8 is loopback, and the ports are below the ephemeral ones.
pub fn addresses(count: u16) -> Vec<SocketAddr> {
    const OF_A_PORT: u16 = 200;
    let [.., high, low] = std::process::id().to_be_bytes();
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    let address = |number: u16| {
        let last = 1 + number % OF_A_PORT;
        SocketAddr::from(([127, high | 1, low, last as u8], 7_432 + number / OF_A_PORT))
    };
    (first..first + count).map(address).collect()
}

/// The line of a file of a cluster that names the store.
pub fn plugin() -> String {
    format!("plugin = {:?}\n", bundled("raft-kv"))
}

/// The addresses of a cluster, and its relays.
pub struct Cluster {
    addresses: Vec<SocketAddr>,
    clients: Vec<SocketAddr>,
    metrics: Vec<SocketAddr>,
    relays: Vec<Relay>,
}

/// The processes.
pub struct Nodes {
    folder: tempfile::TempDir,
    /// Further words of the command line of each.
    words: &'static str,
    children: Vec<Child>,
}

impl Cluster {
    /// Three nodes, each behind a relay for the others. The network `encrypted` is ordered, with TLS.
    pub fn start(network: &str, bug: &str) -> (Nodes, Self) {
        Self::start_with(network, bug, "")
    }

    /// The same, with further words on the command line of each node.
    pub fn start_with(network: &str, bug: &str, words: &'static str) -> (Nodes, Self) {
        Self::start_as(network, &format!("bug = {bug:?}\n"), words)
    }

    /// The same, with further parameters, a line each.
    pub fn start_as(network: &str, parameters: &str, words: &'static str) -> (Nodes, Self) {
        let parameters = format!("terms = 0\nkept = 20\nheartbeats = true\n{parameters}");
        Self::start_of(&plugin(), network, &parameters, words)
    }

    /// The same for any plugin: the lines of the cluster's file that name it, and the lines with its parameters and further tables.
    pub fn start_of(head: &str, network: &str, parameters: &str, words: &'static str) -> (Nodes, Self) {
        Self::start_nodes(3, &format!("{head}[parameters]\n{parameters}"), network, words)
    }

    /// The same for any number of nodes: the lines of the cluster's file but for those about network and nodes.
    pub fn start_nodes(count: usize, lines: &str, network: &str, words: &'static str) -> (Nodes, Self) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all = addresses(4 * count as u16);
        let mut parts = all.chunks(count);
        let [addresses, seen, clients, metrics] = [(); 4].map(|()| parts.next().expect("there are four parts"));
        let relay = |(seen, address): (&SocketAddr, &SocketAddr)| match network {
            "ordered" | "encrypted" => Relay::tcp(*seen, *address, 400),
            _ => Relay::udp(*seen, *address),
        };
        let relays = seen.iter().zip(addresses).map(relay).collect();
        let is_encrypted = network == "encrypted";
        let network = if is_encrypted { "ordered" } else { network };
        if is_encrypted {
            write_credentials(folder.path());
        }
        for node in 0..count {
            let mut text = format!("network = {network:?}\n{lines}");
            for other in 0..count {
                let address = if other == node { addresses[other] } else { seen[other] };
                let (clients, metrics) = (clients[other], metrics[other]);
                text +=
                    &format!("[[node]]\naddress = \"{address}\"\nclients = \"{clients}\"\nmetrics = \"{metrics}\"\n");
                if is_encrypted {
                    text += &format!("certificate = \"node-{other}.pem\"\nkey = \"node-{other}.key\"\n");
                }
            }
            if is_encrypted {
                text += "[tls]\nauthority = \"ca.pem\"\n";
            }
            std::fs::write(folder.path().join(format!("{node}.toml")), text).expect("writable");
        }
        let mut nodes = Nodes { folder, words, children: Vec::new() };
        for node in 0..count {
            let child = nodes.spawn(node, words);
            nodes.children.push(child);
        }
        (nodes, Self { addresses: addresses.to_vec(), clients: clients.to_vec(), metrics: metrics.to_vec(), relays })
    }

    pub fn clients(&self) -> &[SocketAddr] {
        &self.clients
    }

    /// Sends bytes without TLS to node 0, and returns whether it counts them as plaintext.
    pub fn refuses_plaintext(&self) -> bool {
        let count = || self.counted(0, "connections_refused_total{reason=\"plaintext\"}").unwrap_or_default();
        let before = count();
        let mut stream = TcpStream::connect(self.addresses[0]).expect("it listens");
        let _ = stream.write_all(b"HLIV and so on").and_then(|()| stream.read_to_end(&mut Vec::new()));
        let begun = Instant::now();
        while count() == before && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        count() > before
    }

    /// The metric of a node with this name.
    pub fn counted(&self, node: usize, name: &str) -> Option<f64> {
        let text = request(self.metrics[node], "GET", "/metrics", &[]).ok()?.body;
        let text = String::from_utf8(text).expect("metrics are text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("host_live_{name} ")));
        line.map(|value| value.parse().expect("a number"))
    }

    /// The sum of a metric over all nodes; a node that does not run counts as 0.
    pub fn counted_by_all(&self, name: &str) -> f64 {
        (0..self.metrics.len()).filter_map(|node| self.counted(node, name)).sum()
    }

    /// Sets whether the relay discards everything for a node; messages from the node still arrive.
    pub fn cut(&self, node: usize, is_cut: bool) {
        self.relays[node].is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// The number of disturbances by the relays.
    pub fn troubles(&self) -> u64 {
        self.relays.iter().map(|relay| relay.troubles.load(Ordering::Relaxed)).sum()
    }
}

/// Writes the certificates of three nodes and of their authority.
pub fn write_credentials(folder: &Path) {
    let authority = Authority::new();
    let write = |name: String, text: &str| std::fs::write(folder.join(name), text).expect("writable");
    for node in 0..3 {
        let shown = authority.credentials(&[&format!("node-{node}")]);
        write("ca.pem".to_owned(), &shown.authority);
        write(format!("node-{node}.pem"), &shown.certificate);
        write(format!("node-{node}.key"), &shown.key);
    }
}

impl Nodes {
    fn spawn(&self, node: usize, words: &str) -> Child {
        let cluster = self.folder.path().join(format!("{node}.toml"));
        Command::new(std::env::current_exe().expect("this is a program"))
            .args(["--exact", "cli::live::cluster::node_of_another_test", "--nocapture"])
            .env(NODE, format!("live node {} --id {node} --quiet{words}", cluster.display()))
            .stdout(Stdio::null())
            .stderr(self.told(node).1)
            .spawn()
            .expect("it starts")
    }

    /// The file with the output of a node, of all its processes, open for more.
    fn told(&self, node: usize) -> (PathBuf, File) {
        let path = self.folder.path().join(format!("{node}.told"));
        let file = File::options().create(true).append(true).open(&path);
        (path, file.expect("writable"))
    }

    /// A file in the folder of the data.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    /// The lines of the nodes' output that contain these words.
    pub fn lines(&self, words: &str) -> Vec<String> {
        let text = |node| std::fs::read_to_string(self.told(node).0).expect("it is text");
        let all: String = (0..self.children.len()).map(text).collect();
        let is_stamp = |word: &str| word.starts_with("20") && word.ends_with('Z');
        let is_stamped_twice = |line: &&str| line.split(' ').take(2).filter(|word| is_stamp(word)).count() > 1;
        assert_eq!(all.lines().find(is_stamped_twice), None);
        all.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }

    /// Kills a node, which cannot do anything about it.
    pub fn kill(&mut self, node: usize) {
        assert_eq!(self.children[node].try_wait().expect("it is a child"), None, "node {node} runs until then");
        self.children[node].kill().expect("it runs");
        self.children[node].wait().expect("it is a child");
    }

    /// Starts a node again that was killed.
    pub fn start(&mut self, node: usize) {
        self.start_with(node, self.words);
    }
}

impl Nodes {
    /// The same with other words on its command line.
    pub fn start_with(&mut self, node: usize, words: &str) {
        self.children[node] = self.spawn(node, words);
    }

    /// The file of the cluster as a node sees it.
    pub fn cluster_file(&self, node: usize) -> String {
        self.folder.path().join(format!("{node}.toml")).display().to_string()
    }

    /// Changes words in it.
    pub fn edit(&self, node: usize, from: &str, to: &str) {
        let path = self.cluster_file(node);
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).expect("writable");
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
