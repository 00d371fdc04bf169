//! The end of a node on a signal, and its probes.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use host_live::disk::records;
use host_model::contract::aspects::{Clients, Durable, Transfer};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, Request, Response, Snapshot,
    StateOwner, TransferError,
};
use host_model::scenario::Network;
use host_model::toys::{Medium, Toy, ToyTrigger, read_map};

use super::busy::{place, start};
use super::trial::{Trial, answer};
use crate::{Ended, Operations, Place, RunError, Sink};

/// The paths of requests so far, and the paths that are permitted.
type Paths = (Vec<String>, BTreeSet<String>);

/// A protocol that only answers, with 503 for the path `/no`; each request for `/wait` and `/hand-over` waits for permission.
#[derive(Clone, Default)]
struct Gated {
    seen: Arc<(Mutex<Paths>, Condvar)>,
}

impl Gated {
    fn wait_for(&self, path: &str) {
        let (seen, changed) = &*self.seen;
        let seen = seen.lock().expect("no test panics with it in hand");
        let is_missing = |seen: &mut Paths| !seen.0.iter().any(|other| other == path);
        drop(changed.wait_while(seen, is_missing).expect("no test panics with it in hand"));
    }

    fn permit(&self, path: &str) {
        let (seen, changed) = &*self.seen;
        seen.lock().expect("no test panics with it in hand").1.insert(path.to_owned());
        changed.notify_all();
    }

    fn paths(&self) -> Vec<String> {
        self.seen.0.lock().expect("no test panics with it in hand").0.clone()
    }
}

impl MachineFactory for Gated {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(self.clone()))
    }
}

impl Machine for Gated {
    fn restore(&mut self, _: Option<&Snapshot>) -> Result<(), MachineError> {
        Ok(())
    }

    fn handle(&mut self, _: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(Vec::new())
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[])
    }

    host_model::without_properties!();

    host_model::offers!(Durable, Clients, Transfer);
}

impl Durable for Gated {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }
}

impl Clients for Gated {
    fn request(&mut self, _: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        let (seen, changed) = &*self.seen;
        let mut seen = seen.lock().expect("no test panics with it in hand");
        seen.0.push(request.path.clone());
        changed.notify_all();
        while ["/wait", "/hand-over"].contains(&&*request.path) && !seen.1.contains(&request.path) {
            seen = changed.wait(seen).expect("no test panics with it in hand");
        }
        let status = if request.path == "/no" { 503 } else { 200 };
        Ok(Err(Response::words(status, format!("{} of {}\n", request.method, request.path))))
    }
}

impl Transfer for Gated {
    fn export(&mut self, _: &Snapshot, _: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(Vec::new())
    }
}

/// A node that runs.
struct Started {
    client: SocketAddr,
    metrics: SocketAddr,
    protocol: Gated,
    stop: Arc<AtomicBool>,
    all_end: Arc<AtomicBool>,
    lines: Arc<Mutex<Vec<String>>>,
    ended: Receiver<Result<Ended, RunError>>,
    _folder: tempfile::TempDir,
}

impl Started {
    fn new(operations: Operations) -> Self {
        let trial = Trial::new(Toy::new(3), Network::Ordered);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ((place, metrics), lines) = (place(&trial, &folder), Arc::<Mutex<Vec<String>>>::default());
        let (kept, all_end) = (Arc::clone(&lines), Arc::<AtomicBool>::default());
        let log = Sink::new(move |line| kept.lock().expect("no holder panics").push(line.to_string()));
        let place = Place { log, operations, all_end: Arc::clone(&all_end), ..place };
        let (stop, protocol) = (Arc::<AtomicBool>::default(), Gated::default());
        let ended = start(Arc::new(protocol.clone()), &place, &stop);
        while answer(metrics, "/-/ready").ends_with("the node starts\n") {
            thread::sleep(Duration::from_millis(5));
        }
        Self { client: place.clients[0], metrics, protocol, stop, all_end, lines, ended, _folder: folder }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The lines of the log, once the node has ended without an error.
    fn told(self) -> String {
        self.ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
        self.lines.lock().expect("no holder panics").join("\n")
    }
}

fn operations(ready: Option<&str>, hand_over: Option<&str>) -> Operations {
    let [ready, hand_over] = [ready, hand_over].map(|path| path.map(str::to_owned));
    Operations { ready, hand_over }
}

/// The answer to a request without a body, with further headers.
fn ask_as(port: SocketAddr, method: &str, path: &str, headers: &str) -> String {
    let (mut stream, mut told) = (TcpStream::connect(port).expect("it listens"), String::new());
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    stream.read_to_string(&mut told).expect("it answers");
    told
}

/// Sends a request in another thread.
fn asking(client: SocketAddr, path: &'static str) -> Receiver<String> {
    let (sender, told) = channel();
    thread::spawn(move || sender.send(answer(client, path)));
    told
}

fn until_told(told: &Receiver<String>) -> String {
    told.recv_timeout(Duration::from_secs(60)).expect("it is answered")
}

/// A signal ends a node while one request is being handled and others wait. All of them are answered, and later ones refused, while the
/// protocol hands over.
#[test]
fn a_node_that_ends_answers_what_it_has_and_refuses_the_rest() {
    let node = Started::new(operations(None, Some("/hand-over")));
    let first = asking(node.client, "/wait");
    node.protocol.wait_for("/wait");
    let others: Vec<_> = (0..8).map(|_| asking(node.client, "/other")).collect();
    // Long enough to queue all of them; on a slow machine some come too late, which makes the test weaker and never wrong.
    thread::sleep(Duration::from_millis(200));
    node.stop();
    node.protocol.permit("/wait");
    node.protocol.wait_for("/hand-over");
    let late = answer(node.client, "/late");
    assert!(
        late.starts_with("HTTP/1.1 503 ") && late.contains("\r\nRetry-After: 1\r\nConnection: close\r\n"),
        "{late}"
    );
    assert!(late.ends_with("the node ends: nothing has happened; ask another node\n"), "{late}");
    for (path, status) in [("/-/live", 200), ("/-/ready", 503)] {
        assert!(answer(node.client, path).starts_with(&format!("HTTP/1.1 {status} ")), "{path}");
    }
    node.protocol.permit("/hand-over");
    assert!(until_told(&first).ends_with("GET of /wait\n"));
    for told in &others {
        let told = until_told(told);
        assert!(told.ends_with("GET of /other\n") || told.starts_with("HTTP/1.1 503 "), "{told}");
    }
    let paths = node.protocol.paths();
    assert_eq!(paths.iter().filter(|path| *path == "/hand-over").count(), 1);
    assert!(!paths.contains(&"/late".to_owned()));
    let told = node.told();
    assert!(told.contains("has handed over after "), "{told}");
}

/// Writes that the protocol has not synced wait in memory, and are on the disk of a node that has ended, alone or with all others.
#[test]
fn a_node_that_ends_leaves_on_its_disk_what_it_has_not_synced() {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer).in_medium(Medium::Map).sync(&[]);
    let toy = (0..3)
        .fold(toy, |toy, state| toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]).keep(0, state + 1, state + 1));
    let written = |disk: &Path| {
        let bytes = std::fs::read(disk).expect("the start is there");
        let record = records::read(&bytes).expect("it is whole").last.expect("the start is there");
        read_map(&record.map).0
    };
    for is_alone in [true, false] {
        let trial = Trial { timers: [Duration::from_millis(5); 3], ..Trial::new(toy.clone(), Network::Ordered) };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (place, metrics) = place(&trial, &folder);
        let stop = Arc::<AtomicBool>::default();
        let ended = start(Arc::new(Arc::new(toy.clone())), &place, &stop);
        while !answer(metrics, "/metrics").contains("\nhost_live_local_events_total 3\n") {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(written(&place.disk), None);
        place.all_end.store(!is_alone, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
        assert_eq!(written(&place.disk), Some(3));
    }
}

#[test]
fn a_node_ends_also_if_the_protocol_does_not_hand_over() {
    let node = Started::new(operations(None, Some("/no")));
    node.stop();
    assert!(node.told().contains("node 0 has not handed over: 503 POST of /no"));
    // Nodes that end together hand nothing over to each other.
    let node = Started::new(operations(None, Some("/other")));
    node.all_end.store(true, Ordering::Relaxed);
    node.stop();
    let protocol = node.protocol.clone();
    assert!(!node.told().contains("handed over"));
    assert_eq!(protocol.paths(), Vec::<String>::new());
}

/// Probes are answered at both ports, by the host alone unless a path of the protocol is given, and under the same protection from web
/// pages as other requests.
#[test]
fn probes_say_whether_a_node_lives_and_is_ready() {
    for (ready, status) in [(None, 200), (Some("/yes"), 200), (Some("/no"), 503)] {
        let node = Started::new(operations(ready, None));
        node.protocol.permit("/wait");
        for port in [node.client, node.metrics] {
            for (method, path, expected) in [
                ("GET", "/-/live", 200),
                ("HEAD", "/-/live", 200),
                ("GET", "/-/ready", status),
                ("HEAD", "/-/ready", status),
                ("POST", "/-/live", 405),
                ("PUT", "/-/ready", 405),
                ("GET", "/-/other", 404),
                ("PUT", "/-/", 404),
            ] {
                let told = ask_as(port, method, path, "");
                assert!(told.starts_with(&format!("HTTP/1.1 {expected} ")), "{method} {path} {ready:?}: {told}");
            }
            let told = ask_as(port, "GET", "/-/live", "Origin: http://localhost\r\n");
            assert!(told.starts_with("HTTP/1.1 403 "), "{told}");
        }
        let paths: BTreeSet<String> = node.protocol.paths().into_iter().collect();
        assert_eq!(paths, ready.map(str::to_owned).into_iter().collect());
        node.stop();
        node.told();
    }
}
