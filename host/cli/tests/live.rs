//! `host live` from outside: starts, ends and refusals.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// The HTTP client of the tests of clients.
#[path = "../../../tests/cli/live/http.rs"]
mod http;

const HOST: &str = env!("CARGO_BIN_EXE_host");

/// The component, built once.
fn component() -> &'static Path {
    static COMPONENT: OnceLock<PathBuf> = OnceLock::new();
    COMPONENT.get_or_init(|| {
        let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins/raft-kv");
        let built = Command::new(HOST).args(["build", "--no-examine", plugin]).output().expect("it starts");
        let text = String::from_utf8(built.stdout).expect("a path is text");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        PathBuf::from(text.lines().last().expect("the last line is the path"))
    })
}

/// The last byte of the next address.
static NEXT: AtomicU8 = AtomicU8::new(0);

/// Addresses without another owner: all of 127.0.0.0/8 is loopback, and the system does not assign this port.
fn addresses(count: u8) -> Vec<SocketAddr> {
    let [.., high, low] = std::process::id().to_be_bytes();
    let first = NEXT.fetch_add(count, Ordering::Relaxed) + 1;
    (first..first + count).map(|last| SocketAddr::from(([127, high | 1, low, last], 7_432))).collect()
}

/// A folder with `cluster.toml`: nodes with an address for the others, for clients and for metrics each.
fn folder(all: &[SocketAddr], more: &str) -> TempDir {
    folder_with(all, more, "")
}

/// The same with further parameters, and tables behind them.
fn folder_with(all: &[SocketAddr], more: &str, parameters: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let plugin = component();
    let mut text = format!("plugin = {plugin:?}\n{more}\n[parameters]\nterms = 0\nheartbeats = true\n{parameters}\n");
    for node in all.chunks(3) {
        let [address, clients, metrics] = node else { panic!("three each") };
        text += &format!("[[node]]\naddress = \"{address}\"\nclients = \"{clients}\"\nmetrics = \"{metrics}\"\n");
    }
    std::fs::write(folder.path().join("cluster.toml"), text).expect("writable");
    folder
}

fn live(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(HOST);
    command.arg("live").args(words).current_dir(folder.path());
    command
}

fn output(folder: &TempDir, words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = live(folder, words).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("it is text");
    (status.code(), text(stdout), text(stderr))
}

/// Waits until a condition holds; gives up after a minute.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process that does not outlive its test. An interrupt lets it end its own children.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            interrupt(&self.0);
            let _ = self.0.wait();
        }
    }
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is not waited for yet");
}

#[test]
fn a_cluster_comes_up_answers_and_goes_down_with_its_data() {
    let all = addresses(9);
    let folder = folder(&all, "");
    let status = || output(&folder, &["status", "cluster.toml"]);
    assert_eq!(status().0, Some(1), "no node runs");
    for (start, stored) in [(1, None), (2, Some("blue"))] {
        let up = live(&folder, &["up", "cluster.toml"]).stderr(Stdio::piped()).spawn();
        let mut up = Running(up.expect("it starts"));
        // Some node leads after a while, and the others redirect clients to it.
        let ask = |method: &str, body: &str| {
            all.chunks(3).find_map(|node| {
                let answer = http::request(node[1], method, "/color", body.as_bytes()).ok()?;
                assert!(answer.status != 307 || answer.head.contains("\r\nLocation: http://"), "{}", answer.head);
                matches!(answer.status, 200 | 204 | 404).then_some(answer)
            })
        };
        wait("a node leads", || ask("GET", "").is_some());
        let answer = ask("GET", "").expect("a node leads");
        assert!(stored.map_or(answer.status == 404, |value| answer.body == value.as_bytes()), "{}", answer.status);
        wait("it is written", || ask("PUT", "blue").is_some_and(|answer| answer.status == 204));
        let (code, out, _) = status();
        assert_eq!((code, out.lines().count()), (Some(0), 3), "{out}");
        assert!(out.lines().all(|line| line.contains(&format!("start {start}; "))), "{out}");
        interrupt(&up.0);
        let mut said = String::new();
        up.0.stderr.take().expect("piped above").read_to_string(&mut said).expect("it is text");
        assert_eq!(up.0.wait().expect("it was started").code(), Some(0), "{said}");
        assert!(said.contains("3 nodes of raft-kv"), "{said}");
        wait("all nodes have ended", || status().0 == Some(1));
    }
}

#[test]
fn one_node_in_two_processes_ports_in_use_and_other_components_are_refused() {
    let all = addresses(3);
    let folder = folder(&all, "");
    let node = ["node", "cluster.toml", "--id", "0"];
    let mut first = Running(live(&folder, &node).stderr(Stdio::piped()).spawn().expect("it starts"));
    let mut line = String::new();
    let mut stderr = BufReader::new(first.0.stderr.take().expect("piped above"));
    stderr.read_line(&mut line).expect("it is text");
    assert!(line.starts_with("node 0 of raft-kv ("), "{line}");
    wait("it runs", || output(&folder, &["status", "cluster.toml"]).0 == Some(0));
    let (code, _, err) = output(&folder, &node);
    assert_eq!(code, Some(153), "{err}");
    assert!(err.contains("is in use: another process is this node"), "{err}");
    // Requests that a client must not send, and their statuses.
    let wrong = |method, path, body: &[u8]| http::request(all[1], method, path, body).expect("an answer").status;
    assert_eq!([wrong("POST", "/color", b""), wrong("GET", "*", b""), wrong("GET", "/", b"")], [405, 400, 404]);
    assert_eq!(wrong("PUT", "/color", &vec![0; (1 << 20) + 1]), 413);
    assert_eq!(http::request(all[2], "GET", "/", b"").expect("an answer").status, 404);
    let metrics = http::request(all[2], "GET", "/metrics", b"").expect("an answer").body;
    let metrics = String::from_utf8(metrics).expect("it is text");
    assert!(metrics.contains("\nhost_live_requests_refused_total{status=\"413\"} 1\n"), "{metrics}");
    assert!(metrics.contains("\nhost_live_incarnation 1\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    interrupt(&first.0);
    assert_eq!(first.0.wait().expect("it was started").code(), Some(0));

    let taken = UdpSocket::bind(all[0]).expect("it is free again");
    let (code, _, err) = output(&folder, &node);
    assert_eq!(code, Some(153), "{err}");
    assert!(err.contains(&format!("node 0: cannot listen at {}: Address already in use", all[0])), "{err}");
    drop(taken);
    let (code, _, err) = output(&self::folder(&all, "digest = \"00\""), &node);
    assert_eq!(code, Some(151), "{err}");
    assert!(err.contains("the cluster runs the component 00, and "), "{err}");
}

/// A steered node logs at its end what was filtered; if the file exists that ends steering, it logs that at its start.
#[test]
fn a_steered_node_says_what_was_filtered_and_whether_it_is_switched_off() {
    let all = addresses(9);
    let folder = folder(&all, "");
    for (is_off, said) in
        [(false, "0 refused by the immediate check\n"), (true, "0 refused by the immediate check, switched off\n")]
    {
        if is_off {
            std::fs::write(folder.path().join("data/steering-off"), "").expect("it has run there");
        }
        let words = ["node", "cluster.toml", "--id", "0", "--watch", "steer", "--every", "100ms"];
        let mut node = Running(live(&folder, &words).stderr(Stdio::piped()).spawn().expect("it starts"));
        let counted = |name: &str| {
            let text = http::request(all[2], "GET", "/metrics", b"").ok()?.body;
            let text = String::from_utf8(text).expect("it is text");
            text.lines().find_map(|line| line.strip_prefix(&format!("host_live_{name} "))).map(str::to_owned)
        };
        let active = if is_off { "0" } else { "1" };
        wait("it is steered or not", || counted("steering_active").is_some_and(|value| value == active));
        assert_eq!(
            ["filters", "filtered_total", "discarded_total"].map(counted),
            ["0"; 3].map(|zero| Some(zero.to_owned()))
        );
        interrupt(&node.0);
        let mut all_said = String::new();
        node.0.stderr.take().expect("piped above").read_to_string(&mut all_said).expect("it is text");
        assert_eq!(node.0.wait().expect("it was started").code(), Some(0), "{all_said}");
        assert!(all_said.contains(&format!("; steered: 0 events filtered, {said}")), "{all_said}");
        assert_eq!(all_said.contains("warning: node 0 is not steered: "), is_off, "{all_said}");
    }
}

/// The lines of a process in their order, also while it runs.
fn lines(child: &mut Child) -> Arc<Mutex<Vec<String>>> {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let (kept, stderr) = (Arc::clone(&lines), BufReader::new(child.stderr.take().expect("it is piped")));
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).for_each(|line| kept.lock().expect("no test panics with it").push(line));
    });
    lines
}

/// The last number in the first line that contains these words.
fn number_in(lines: &Mutex<Vec<String>>, words: &str) -> Option<i32> {
    let lines = lines.lock().expect("no test panics with it");
    lines.iter().find(|line| line.contains(words))?.rsplit(' ').next()?.parse().ok()
}

/// One node of three is killed in an arbitrary state; a cluster without restarts then ends.
#[test]
fn a_node_that_is_killed_is_started_again_unless_it_is_not_to_be() {
    for restarts in [true, false] {
        let all = addresses(9);
        let folder = folder(&all, "");
        let words: &[&str] = if restarts { &["up", "cluster.toml"] } else { &["up", "cluster.toml", "--no-restart"] };
        let mut up = Running(live(&folder, words).stderr(Stdio::piped()).spawn().expect("it starts"));
        let told = lines(&mut up.0);
        wait("node 1 says that it runs", || number_in(&told, " node 1 runs: start 1, process ").is_some());
        let process = number_in(&told, " node 1 runs: start 1, process ").expect("it has said so");
        kill(Pid::from_raw(process), Signal::SIGKILL).expect("it is not waited for yet");
        let has = |words: &str| told.lock().expect("no test panics with it").iter().any(|line| line.contains(words));
        if restarts {
            wait("node 1 runs again", || has(" node 1 runs: start 2, process "));
            assert!(has("node 1 was ended by signal 9 (SIGKILL): by hand, or by the system for want of memory"));
            wait("all run", || output(&folder, &["status", "cluster.toml"]).0 == Some(0));
        } else {
            assert_eq!(up.0.wait().expect("it was started").code(), Some(153));
            wait("it says why", || has("signal 9 (SIGKILL)") && has("; the others end with it"));
            wait("all nodes have ended", || output(&folder, &["status", "cluster.toml"]).0 == Some(1));
        }
    }
}

/// Some of three nodes of the store, by their numbers, and their addresses.
struct Store {
    folder: TempDir,
    all: Vec<SocketAddr>,
    nodes: Vec<(usize, Running)>,
}

impl Store {
    fn start(network: &str, parameters: &str, running: &[usize]) -> Self {
        let all = addresses(9);
        let folder = folder_with(&all, &format!("network = {network:?}"), parameters);
        let mut store = Self { folder, all, nodes: Vec::new() };
        running.iter().for_each(|node| store.run(*node));
        store
    }

    fn run(&mut self, node: usize) {
        let words = ["node", "cluster.toml", "--id", &node.to_string(), "--quiet"];
        let child = live(&self.folder, &words).stderr(Stdio::null()).spawn().expect("it starts");
        self.nodes.push((node, Running(child)));
    }

    /// The status and body of the leader's answer, once a leader answers.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut told = None;
        wait("a leader answers", || {
            told = self.nodes.iter().find_map(|(node, _)| {
                let answer = http::request(self.all[3 * node + 1], method, path, body).ok()?;
                (!matches!(answer.status, 307 | 503 | 504)).then_some((answer.status, answer.body))
            });
            told.is_some()
        });
        told.expect("there is one")
    }

    /// The number of records on the disks of all nodes.
    fn records(&self) -> u64 {
        let of = |node: &usize| {
            let text = http::request(self.all[3 * node + 2], "GET", "/metrics", b"").expect("it runs").body;
            let text = String::from_utf8(text).expect("it is text");
            let line = text.lines().find_map(|line| line.strip_prefix("host_live_disk_writes_total "));
            line.expect("each node has disk writes").parse::<u64>().expect("a number")
        };
        self.nodes.iter().map(|(node, _)| of(node)).sum()
    }

    /// The number of undone handlers at the nodes, for these labels.
    fn undone(&self, labels: &str) -> u64 {
        let of = |node: &usize| {
            let text = http::request(self.all[3 * node + 2], "GET", "/metrics", b"").expect("it runs").body;
            let text = String::from_utf8(text).expect("it is text");
            let name = format!("host_live_undone_total{{{labels}}} ");
            text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or(0)
        };
        self.nodes.iter().map(|(node, _)| of(node)).sum()
    }

    fn all_run(&mut self) -> bool {
        self.nodes.iter_mut().all(|(_, node)| node.0.try_wait().expect("it is a child").is_none())
    }
}

/// While a node is down, more is written than fits one message; the node then receives all of it with one of the others absent.
#[test]
fn the_longest_values_reach_a_node_that_was_down() {
    let mut store = Store::start("ordered", "", &[0, 1]);
    let value = |key: u8| vec![key; 1 << 16];
    for key in 0..21 {
        assert_eq!(store.ask("PUT", &format!("/{key}"), &value(key)).0, 204, "{key}");
    }
    store.run(2);
    let last = http_status(&store, 2);
    wait("node 2 runs", || last().is_some());
    let (_, mut gone) = store.nodes.remove(0);
    gone.0.kill().expect("it runs");
    for key in 0..21 {
        assert!(store.ask("GET", &format!("/{key}"), b"") == (200, value(key)), "{key}");
    }
    assert!(store.all_run());
    assert_eq!(store.undone("event=\"request\",limit=\"message\""), 0);
}

/// The status of an ordinary request to a node, if it answers.
fn http_status(store: &Store, node: usize) -> impl Fn() -> Option<u16> + use<> {
    let address = store.all[3 * node + 2];
    move || http::request(address, "GET", "/metrics", b"").ok().map(|answer| answer.status)
}

/// A request that exceeds the limits, and one that fits them but whose consequences do not.
#[test]
fn a_client_that_makes_a_node_hit_a_limit_is_answered_and_the_node_lives() {
    let mut store = Store::start("ordered", "piece = 36_864\n[limits]\nmessage = \"40KiB\"\n", &[0, 1]);
    assert_eq!(store.ask("PUT", "/first", b"one").0, 204);
    assert_eq!(store.ask("PUT", "/second", &vec![0; 50_000]).0, 413);
    // The resulting event fits by two bytes, but not the message about it, with its terms and places.
    let (status, body) = store.ask("PUT", "/second", &vec![0; 40_940]);
    let body = String::from_utf8(body).expect("it is text");
    assert_eq!(status, 507, "{body}");
    assert!(body.contains("has not happened: ") && body.contains("`--limit message=N` allows more"), "{body}");
    assert_eq!(store.undone("event=\"request\",limit=\"message\""), 2);
    assert!(store.all_run());
    assert_eq!(store.ask("GET", "/second", b"").0, 404);
    assert_eq!(store.ask("PUT", "/second", b"two").0, 204);
    assert_eq!(store.ask("GET", "/first", b""), (200, b"one".to_vec()));
}

/// Limits in the file of a cluster, and on the command line.
#[test]
fn limits_are_read_and_those_of_no_use_are_refused() {
    let all = addresses(3);
    for (file, words, said) in [
        ("[limits]\nmagic = 1\n", &[][..], "`magic` under `[limits]`: there is no limit `magic`; there are: fuel"),
        ("[limits]\nfuel = 1\n", &[], "`fuel` under `[limits]`: the limit `fuel` must be between"),
        ("[limits]\nfuel = true\n", &[], "`fuel` under `[limits]`: expected a number"),
        (
            "[limits]\nmessage = \"17MiB\"\n",
            &[],
            "the limit `message` of a node that runs must be at most 16773120 bytes",
        ),
        ("", &["--limit", "output=64MiB"], "the limit `output` of a node that runs must be at most 67104768 bytes"),
    ] {
        let folder = folder_with(&all, "", file);
        for command in [&["up", "cluster.toml"][..], &["node", "cluster.toml", "--id", "0"]] {
            let (code, _, err) = output(&folder, &[command, words].concat());
            assert_eq!(code, Some(151), "{err}");
            assert!(err.contains(said), "{said}: {err}");
        }
    }
    // The command line overrides the file.
    let folder = folder_with(&all, "", "[limits]\nfuel = 10000\n");
    let (code, _, err) = output(&folder, &["node", "cluster.toml", "--id", "0"]);
    assert_eq!(code, Some(150), "{err}");
    assert!(err.contains("`--limit fuel=N` allows more"), "{err}");
    let words = ["node", "cluster.toml", "--id", "0", "--limit", "fuel=1000000000"];
    let _node = Running(live(&folder, &words).stderr(Stdio::null()).spawn().expect("it starts"));
    wait("it runs", || output(&folder, &["status", "cluster.toml"]).0 == Some(0));
}

/// Writes that wait for the disk together share a record: the disks get fewer records than writes. Each write alone takes two at the
/// leader and one at each other node. Reads by index take none.
#[test]
fn writes_of_many_clients_share_records_and_reads_take_none() {
    const CLIENTS: u64 = 32;
    let mut store = Store::start("ordered", "batches = true\nreads = \"index\"", &[0, 1, 2]);
    assert_eq!(store.ask("PUT", "/key", b"value").0, 204);
    let mut all_at_once = |method: &str| {
        let before = store.records();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let store = &store;
                scope.spawn(move || assert!(store.ask(method, &format!("/{client}"), b"value").0 < 300));
            }
        });
        assert!(store.all_run());
        store.records() - before
    };
    // On a busy machine the requests may arrive one after the other.
    wait("writes share records", || all_at_once("PUT") < CLIENTS);
    wait("reads take no records", || all_at_once("GET") < CLIENTS / 4);
}
