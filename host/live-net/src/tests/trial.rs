//! Three nodes with checkers, in threads of this process, over loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_live::checker::Limits;
use host_live::filter::Quota;
use host_live::node::{Identity, Settings};
use host_live::time::{Range, Share};
use host_model::contract::{LocalKind, Machine, MachineError, MachineFactory, NodeId};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{self, Origin, TraceStep};

use super::gated::{Gate, Gated};
use super::processes::{component, durable, free_addresses};
use crate::{Ended, Place, Steer, Tls, Watch, Ways, run};

/// The last number.
pub(super) const LAST: u8 = 5;

/// Node 0 counts by its timer, and sends each number to the others.
pub(super) fn counter() -> Toy {
    (0..LAST).fold(Toy::new(3).of_kind(0, LocalKind::Timer), |toy, count| {
        let next = count + 1;
        let toy = toy.rule(0, count, ToyTrigger::Local(0), next, &[(1, next), (2, next)]).keep(0, next, next);
        (1..3).fold(toy, |toy, node| {
            let toy = toy.keep(node, next, next);
            (0..=count).fold(toy, |toy, known| toy.rule(node, known, ToyTrigger::Message(0, next), next, &[]))
        })
    })
}

/// A checker that panics at once.
pub(super) struct Panics;

impl MachineFactory for Panics {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        panic!("a checker that ends at once");
    }
}

/// A checker that never starts a round.
pub(super) struct Sleeps;

impl MachineFactory for Sleeps {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        loop {
            thread::sleep(Duration::from_secs(3_600));
        }
    }
}

/// Runs a function for each item in its own thread: trials wait most of the time.
pub(super) fn at_once<T: Send>(each: impl IntoIterator<Item = T>, run: impl Fn(T) + Sync) {
    thread::scope(|scope| each.into_iter().for_each(|one| drop(scope.spawn(|| run(one)))));
}

/// The answer of a port to a GET request.
pub(super) fn answer(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// The configuration of three nodes.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) toy: Toy,
    pub(super) network: Network,
    /// The nodes that run.
    pub(super) running: Vec<NodeId>,
    /// The machines of the checkers, if there are checkers.
    pub(super) checked: Option<Arc<dyn MachineFactory>>,
    pub(super) limits: Limits,
    pub(super) round_time: Duration,
    pub(super) every: Duration,
    pub(super) share: Share,
    /// Bytes per second that each node sends in checkpoints, if there is a limit.
    pub(super) bandwidth: Option<u64>,
    /// The nodes that are steered, and their quota.
    pub(super) steered: (Vec<NodeId>, Quota),
    /// The maximum time that the steered nodes hold the effects of an event, if they do.
    pub(super) hold: Option<Duration>,
    /// Whether the steered nodes break connections in place of messages on ordered links.
    pub(super) breaks: bool,
    /// Paths to violations that earlier processes have predicted.
    pub(super) kept: Vec<Vec<TraceStep>>,
    /// The minimum time of a timer of each node; the maximum is a third longer.
    pub(super) timers: [Duration; 3],
    /// Steps that wait for reports of checkers.
    pub(super) gates: Vec<Arc<Gate>>,
    /// Whether a checker panics once it has filters.
    pub(super) ends_with_filters: bool,
    /// The credentials of each node, with TLS.
    pub(super) tls: [Option<Tls>; 3],
    /// The addresses of all nodes in the configuration of each node.
    pub(super) seen: [Vec<SocketAddr>; 3],
    /// The address for metrics in a trial of a single node; otherwise each node has its metrics at the next port after its own.
    pub(super) metrics: Option<SocketAddr>,
}

/// The results of a trial.
pub(super) struct Trialed {
    pub(super) ended: Vec<Ended>,
    /// Predictions; each of them replayed.
    pub(super) predictions: u64,
    /// The nodes in each snapshot of a round.
    pub(super) seen: Vec<Vec<NodeId>>,
}

/// The reports of the checkers.
#[derive(Clone, Default)]
struct Seen {
    nodes: Arc<Mutex<Vec<Vec<NodeId>>>>,
    replayed: Arc<Mutex<u64>>,
}

/// A trial whose nodes run.
pub(super) struct RunningTrial {
    folder: tempfile::TempDir,
    /// The address for metrics of each node.
    metrics: [SocketAddr; 3],
}

impl RunningTrial {
    pub(super) fn disk(&self, node: NodeId) -> PathBuf {
        self.folder.path().join(format!("node-{node}.disk"))
    }

    /// The count in the durable state of a node.
    pub(super) fn count(&self, node: NodeId) -> u8 {
        durable(&self.disk(node)).1
    }

    /// Waits until a node runs; gives up after a minute.
    pub(super) fn wait_for_start(&self, node: NodeId) {
        let begun = Instant::now();
        while durable(&self.disk(node)).0 == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "node {node} does not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a node has this count on its disk; gives up after a minute.
    pub(super) fn wait(&self, node: NodeId, count: u8) {
        let begun = Instant::now();
        while self.count(node) < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "node {node} is at {}", self.count(node));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The metric of a node with a name such as `messages`; none while the node does not answer.
    pub(super) fn counted(&self, node: NodeId, name: &str) -> Option<u64> {
        let address = self.metrics[node as usize];
        TcpStream::connect(address).ok()?;
        let text = answer(address, "/metrics");
        let value = text.lines().find_map(|line| line.strip_prefix(&format!("host_live_{name} ")))?;
        value.parse().ok()
    }

    /// Waits until a metric of a node reaches a value; gives up after a minute.
    pub(super) fn wait_for(&self, node: NodeId, name: &str, least: u64) {
        self.wait_until(node, name, |count| count >= least);
    }

    /// Waits until a metric of a node satisfies a condition; gives up after a minute.
    pub(super) fn wait_until(&self, node: NodeId, name: &str, is_right: impl Fn(u64) -> bool) {
        let begun = Instant::now();
        while !self.counted(node, name).is_some_and(&is_right) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} of node {node}: {:?}", self.counted(node, name));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the metrics of the node contain each of these texts; gives up after a minute.
    pub(super) fn wait_for_metrics(&self, address: SocketAddr, texts: &[String]) {
        let begun = Instant::now();
        loop {
            let metrics = answer(address, "/metrics");
            let missing: Vec<_> = texts.iter().filter(|text| !metrics.contains(*text)).collect();
            if missing.is_empty() {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{missing:?} are not in {metrics}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends all steering.
    pub(super) fn pull_the_switch(&self) {
        std::fs::write(self.switch(), "").expect("writable");
    }

    fn switch(&self) -> PathBuf {
        self.folder.path().join("steering-off")
    }
}

impl Trial {
    /// Nodes whose timers take 300 to 400 ms, with checkers that run the same toy and want a snapshot every 100 ms.
    pub(super) fn new(toy: Toy, network: Network) -> Self {
        let addresses = free_addresses();
        Self {
            checked: Some(Arc::new(Arc::new(toy.clone()))),
            toy,
            network,
            running: vec![0, 1, 2],
            limits: Limits::default(),
            round_time: Duration::from_secs(3_600),
            every: Duration::from_millis(100),
            share: Share::ALL,
            bandwidth: None,
            steered: (Vec::new(), Quota::default()),
            hold: None,
            breaks: false,
            kept: Vec::new(),
            timers: [Duration::from_millis(300); 3],
            gates: Vec::new(),
            ends_with_filters: false,
            tls: [const { None }; 3],
            seen: [addresses.clone(), addresses.clone(), addresses],
            metrics: None,
        }
    }

    /// The same, with these nodes steered.
    pub(super) fn steering(toy: Toy, network: Network, steered: &[NodeId]) -> Self {
        Self { steered: (steered.to_vec(), Quota::default()), ..Self::new(toy, network) }
    }

    /// Runs the nodes until a function returns.
    pub(super) fn run(&self, meanwhile: impl FnOnce(&RunningTrial)) -> Trialed {
        self.run_after(|_| (), meanwhile)
    }

    /// The same, with another function that runs before any node starts.
    pub(super) fn run_after(
        &self,
        before: impl FnOnce(&RunningTrial),
        meanwhile: impl FnOnce(&RunningTrial),
    ) -> Trialed {
        let metrics = [0, 1, 2].map(|node| self.metrics(node));
        let running = RunningTrial { folder: tempfile::tempdir().expect("a temporary folder"), metrics };
        before(&running);
        let stop = AtomicBool::new(false);
        let seen = Seen::default();
        let one = |node: u32| {
            let place = self.place(node, running.disk(node));
            let watch = self.watch(node, seen.clone(), running.switch());
            let gated = Gated { toy: Arc::new(self.toy.clone()), gates: self.gates.clone() };
            run(&gated, &place, watch, &stop).expect("it runs")
        };
        let ended = thread::scope(|scope| {
            let one = &one;
            let nodes: Vec<_> = self.running.iter().map(|node| scope.spawn(move || one(*node))).collect();
            // The nodes end even if the function panics.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(&running)));
            stop.store(true, Ordering::Relaxed);
            let ended = nodes.into_iter().map(|node| node.join().expect("no node panics")).collect();
            done.unwrap_or_else(|why| std::panic::resume_unwind(why));
            ended
        });
        let predictions = *seen.replayed.lock().expect("no holder panics");
        let seen = std::mem::take(&mut *seen.nodes.lock().expect("no holder panics"));
        Trialed { ended, predictions, seen }
    }

    /// The address for metrics of a node.
    pub(super) fn metrics(&self, node: NodeId) -> SocketAddr {
        let own = self.seen[node as usize][node as usize];
        self.metrics.unwrap_or_else(|| SocketAddr::new(own.ip(), own.port() + 1))
    }

    /// The configuration of a node.
    pub(super) fn place(&self, node: NodeId, disk: PathBuf) -> Place {
        let timer = self.timers[node as usize];
        let (network, bandwidth) = (self.network, self.bandwidth);
        let mut settings = Settings { network, bandwidth, ..Settings::default() };
        settings.delays.timer = Range { from: timer, to: timer * 4 / 3 };
        Place {
            identity: Identity {
                node,
                nodes: 3,
                config: String::new(),
                name: String::new(),
                cluster: [4; 16],
                session: node.into(),
            },
            settings,
            addresses: self.seen[node as usize].iter().copied().map(Address::from).collect(),
            tls: self.tls[node as usize].clone(),
            clients: Vec::new(),
            metrics: Some(self.metrics(node)),
            log: crate::Sink::none(),
            disk,
            component: component(),
            recording: None,
            ways: Ways::default(),
            operations: Default::default(),
            all_end: Default::default(),
        }
    }

    /// The scenario of the checkers. If steered nodes may break connections, it has resets, so that fault states have connections.
    fn ahead(&self) -> Scenario {
        let faults = Faults { resets: u32::from(self.breaks), ..Faults::default() };
        Scenario { network: self.network, faults, ..Scenario::new(3) }
    }

    fn watch(&self, node: NodeId, seen: Seen, switch: PathBuf) -> Option<Watch> {
        let (toy, ends) = (Arc::new(self.toy.clone()), self.ends_with_filters);
        let (steered, quota, gates) = (&self.steered.0, self.steered.1, self.gates.clone());
        Some(Watch {
            factory: Arc::clone(self.checked.as_ref()?),
            scenario: self.ahead(),
            limits: Limits { breaks: self.breaks, ..self.limits },
            round_time: self.round_time,
            every: self.every,
            share: self.share,
            report: Box::new(move |round, scenario, steering| {
                let nodes = round.beginning.states.iter().map(|state| state.node).collect();
                seen.nodes.lock().expect("no holder panics").push(nodes);
                for prediction in round.predictions.iter().chain(&round.dead) {
                    let origin = Origin::States(Arc::clone(&round.beginning));
                    trace::confirm(&toy, scenario, &origin, &prediction.steps, &prediction.finding)
                        .expect("it replays");
                }
                *seen.replayed.lock().expect("no holder panics") += round.predictions.len() as u64;
                gates.iter().for_each(|gate| gate.report(node, round));
                assert!(!ends || steering.is_none_or(|steering| steering.patterns.is_empty()), "a checker ends");
            }),
            missing: Arc::new(|_| {}),
            kept: self.kept.clone(),
            steer: steered.contains(&node).then_some(Steer { quota, switch, hold: self.hold, breaks: self.breaks }),
        })
    }
}
