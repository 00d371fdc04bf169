//! `cargo run -p host-tests --bin store -- --host target/release/host`: writes of clients at the bundled key-value store, and at etcd on the
//! same disk, in turns; prints tables in Markdown. docs/benchmarks.md explains them. It needs `apt install etcd-server`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;

const NODES: u16 = 3;
/// Bytes of a value.
const VALUE: usize = 256;
/// Upper bound for a start, and for the time until a leader answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes per second, their time, and bytes on the disk, of three nodes of raft-kv and of etcd on this machine.
#[derive(Parser)]
struct Arguments {
    /// The program `host`, of the profile to be measured
    #[arg(long, value_name = "PATH", default_value = "target/release/host")]
    host: PathBuf,
    /// The program `etcd`
    #[arg(long, value_name = "PATH", default_value = "etcd")]
    etcd: PathBuf,
    /// The folder of the data, on the disk to be measured [default: a temporary one]
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Numbers of clients
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Rounds; each has a turn of each store
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u16,
    /// Seconds of a turn for each number of clients
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    seconds: u64,
    /// Keys that are there when all nodes are killed
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keys: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RaftKv,
    Etcd,
}

/// The processes of a store.
struct Store<'a> {
    kind: Kind,
    arguments: &'a Arguments,
    folder: &'a Path,
    port: u16,
    children: Vec<Child>,
}

/// The results of a turn with one number of clients.
#[derive(Clone, Copy, Default)]
struct Row {
    writes: f64,
    median: f64,
    late: f64,
    bytes: f64,
}

impl Store<'_> {
    fn address(&self, node: u16, of: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port + NODES * of + node))
    }

    fn start(&mut self) {
        let cluster = self.folder.join("cluster.toml");
        if self.kind == Kind::RaftKv && !cluster.exists() {
            let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/raft-kv");
            let built = host_build::build(&plugin, &host_build::Options::default(), &mut |_| {});
            let built = built.unwrap_or_else(|error| panic!("{error}")).wasm;
            let mut text = format!("name = \"bench\"\nplugin = {built:?}\nnetwork = \"ordered\"\n");
            // Those of plugins/raft-kv/cluster.toml.
            text += "[parameters]\nterms = 0\nkept = 100\nheartbeats = true\nsteps-down = true\npre-vote = true\nbatches = true\n\
                     reads = \"index\"\nrevisions = true\nsessions = 1000\nroom = 16777216\n[limits]\nfuel = 1000000000\n";
            for node in 0..NODES {
                let [address, clients] = [0, 1].map(|of| self.address(node, of));
                text += &format!("[[node]]\naddress = \"{address}\"\nclients = \"{clients}\"\n");
            }
            std::fs::write(&cluster, text).expect("the folder is writable");
        }
        for node in 0..NODES {
            let mut command = match self.kind {
                Kind::RaftKv => {
                    let mut command = Command::new(&self.arguments.host);
                    command.args(["live", "node"]).arg(&cluster).args(["--id", &node.to_string(), "--quiet"]);
                    command
                }
                Kind::Etcd => {
                    let peers: Vec<String> =
                        (0..NODES).map(|node| format!("n{node}=http://{}", self.address(node, 0))).collect();
                    let [peer, client] = [0, 1].map(|of| format!("http://{}", self.address(node, of)));
                    let mut command = Command::new(&self.arguments.etcd);
                    command.args(["--name", &format!("n{node}"), "--data-dir"]).arg(self.folder.join(node.to_string()));
                    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
                    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
                    command.args(["--initial-cluster", &peers.join(","), "--log-level", "error"]);
                    command
                }
            };
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            self.children.push(child.unwrap_or_else(|why| panic!("{command:?}: {why}")));
        }
    }

    /// Kills all nodes, which cannot do anything about it.
    fn kill(&mut self) {
        for mut child in self.children.drain(..) {
            child.kill().expect("it runs");
            child.wait().expect("it is a child");
        }
    }

    /// Waits for a leader, by a write.
    fn leader(&self) -> SocketAddr {
        let begun = Instant::now();
        loop {
            for node in 0..NODES {
                let client = self.address(node, 1);
                if self.leads(client) && self.write(&mut None, client, 0).is_ok() {
                    return client;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "{:?} has no leader", self.kind);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether a node leads; a node of raft-kv that does not refuses the write itself.
    fn leads(&self, client: SocketAddr) -> bool {
        if self.kind == Kind::RaftKv {
            return true;
        }
        let answer = ask(&mut None, client, "POST", "/v3/maintenance/status", b"{}");
        let text = answer.map(|(_, body)| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
        let value = |name: &str| {
            let rest = text.split_once(&format!("\"{name}\":\""))?.1;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        value("leader").is_some() && value("leader") == value("member_id")
    }

    fn write(&self, stream: &mut Option<BufReader<TcpStream>>, at: SocketAddr, key: u64) -> io::Result<()> {
        let key = format!("key-{key:08}");
        let (status, _) = match self.kind {
            Kind::RaftKv => ask(stream, at, "PUT", &format!("/{key}"), &[b'x'; VALUE])?,
            Kind::Etcd => {
                let body =
                    format!("{{\"key\":\"{}\",\"value\":\"{}\"}}", base64(key.as_bytes()), base64(&[b'x'; VALUE]));
                ask(stream, at, "POST", "/v3/kv/put", body.as_bytes())?
            }
        };
        if status == 200 { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    }

    /// Bytes that all nodes have sent to the disk.
    fn bytes(&self) -> u64 {
        let of = |child: &Child| {
            let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).expect("it runs");
            let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
            line.and_then(|value| value.parse::<u64>().ok()).expect("Linux says it")
        };
        self.children.iter().map(of).sum()
    }

    /// Clients write at the leader, each one value after the other: until all keys are written, or for some time.
    fn load(&self, clients: usize, keys: Option<u64>) -> Row {
        let leader = self.leader();
        let (next, is_over, before, begun) = (AtomicU64::new(0), AtomicBool::new(false), self.bytes(), Instant::now());
        let write = || {
            let (mut stream, mut waited, mut at) = (None, Vec::new(), leader);
            while !is_over.load(Ordering::Relaxed) {
                let key = next.fetch_add(1, Ordering::Relaxed);
                if keys.is_some_and(|keys| key >= keys) {
                    break;
                }
                let begun = Instant::now();
                while let Err(why) = self.write(&mut stream, at, key % self.arguments.keys) {
                    assert!(begun.elapsed() < PATIENCE, "{:?}: {why}", self.kind);
                    // Another node leads, perhaps.
                    let next = (at.port() - self.address(0, 1).port() + 1) % NODES;
                    (stream, at) = (None, self.address(next, 1));
                    thread::sleep(Duration::from_millis(20));
                }
                waited.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            waited
        };
        let mut waited: Vec<f64> = thread::scope(|scope| {
            let writing: Vec<_> = (0..clients).map(|_| scope.spawn(write)).collect();
            if keys.is_none() {
                thread::sleep(Duration::from_secs(self.arguments.seconds));
                is_over.store(true, Ordering::Relaxed);
            }
            writing.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
        });
        let (count, seconds) = (waited.len() as f64, begun.elapsed().as_secs_f64());
        waited.sort_by(f64::total_cmp);
        let at = |share: f64| waited.get((share * count) as usize).copied().unwrap_or_default();
        let bytes = (self.bytes() - before) as f64 / f64::from(NODES) / count;
        Row { writes: count / seconds, median: at(0.5), late: at(0.99), bytes }
    }
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a request over a connection that stays, and returns the status and the content of the answer.
fn ask(
    stream: &mut Option<BufReader<TcpStream>>,
    at: SocketAddr,
    method: &str,
    path: &str,
    body: &[u8],
) -> io::Result<(u16, Vec<u8>)> {
    let open = match stream {
        Some(open) => open,
        None => {
            let new = TcpStream::connect(at)?;
            new.set_nodelay(true)?;
            new.set_read_timeout(Some(PATIENCE))?;
            stream.insert(BufReader::new(new))
        }
    };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: {}\r\n\r\n", body.len());
    open.get_mut().write_all(&[head.as_bytes(), body].concat())?;
    let mut line = || {
        let mut line = String::new();
        match open.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok::<String, io::Error>(line.trim_end().to_ascii_lowercase()),
        }
    };
    let status = line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    let mut length = 0;
    loop {
        let header = line()?;
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        }
    }
    let mut content = vec![0; length];
    open.read_exact(&mut content)?;
    Ok((status, content))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, place| number << 8 | usize::from(three.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let is_there = place <= three.len();
            text.push(if is_there { DIGITS[number >> (18 - 6 * place) & 63] as char } else { '=' });
        }
    }
    text
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn main() {
    let arguments = Arguments::parse();
    let kinds = [Kind::RaftKv, Kind::Etcd];
    let mut rows = kinds.map(|_| arguments.clients.iter().map(|_| Vec::new()).collect::<Vec<Vec<Row>>>());
    let mut recovered = kinds.map(|_| Vec::new());
    for round in 0..arguments.rounds {
        for (place, kind) in kinds.into_iter().enumerate() {
            let folder = match &arguments.folder {
                Some(folder) => tempfile::tempdir_in(folder),
                None => tempfile::tempdir(),
            };
            let folder = folder.expect("a folder for the data");
            let port = 20_000 + 10 * (2 * round + place as u16);
            let mut store = Store { kind, arguments: &arguments, folder: folder.path(), port, children: Vec::new() };
            store.start();
            for (number, clients) in arguments.clients.iter().enumerate() {
                rows[place][number].push(store.load(*clients, None));
            }
            store.load(64, Some(arguments.keys));
            store.kill();
            let begun = Instant::now();
            store.start();
            store.leader();
            recovered[place].push(begun.elapsed().as_secs_f64());
            store.kill();
            eprintln!("round {}, {kind:?}: done", round + 1);
        }
    }
    println!("| clients | store | writes/s | median ms | 99 % ms | bytes on disk of a node per write |");
    println!("|---|---|---|---|---|---|");
    for (number, clients) in arguments.clients.iter().enumerate() {
        for (place, kind) in kinds.into_iter().enumerate() {
            let of = |value: fn(&Row) -> f64| median(rows[place][number].iter().map(value).collect());
            println!(
                "| {clients} | {kind:?} | {:.0} | {:.2} | {:.2} | {:.0} |",
                of(|row| row.writes),
                of(|row| row.median),
                of(|row| row.late),
                of(|row| row.bytes)
            );
        }
    }
    for (kind, seconds) in kinds.into_iter().zip(recovered) {
        println!("{kind:?}: {:.2} s until the first write after the kill, {} keys", median(seconds), arguments.keys);
    }
}
