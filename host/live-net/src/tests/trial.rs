//! Three nodes in threads of this process, over loopback, with a checker beside each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host_live::checker::Limits;
use host_live::filter::Quota;
use host_live::node::{Identity, Settings};
use host_live::time::{Range, Share};
use host_model::contract::{LocalKind, Machine, MachineError, MachineFactory, NodeId};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{self, Origin, TraceStep};

use super::processes::{component, durable, free_addresses};
use crate::{Ended, Place, Steer, Tls, Watch, Ways, run};

/// The last number.
pub(super) const LAST: u8 = 5;

/// Node 0 counts and tells the others.
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

/// A checker that ends at once, in a panic.
pub(super) struct Panics;

impl MachineFactory for Panics {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        panic!("a checker that ends at once");
    }
}

/// A checker that never comes to an end.
pub(super) struct Sleeps;

impl MachineFactory for Sleeps {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        loop {
            thread::sleep(Duration::from_secs(3_600));
        }
    }
}

/// Does something for each of a few at once: trials wait most of the time.
pub(super) fn at_once<T: Send>(each: impl IntoIterator<Item = T>, run: impl Fn(T) + Sync) {
    thread::scope(|scope| each.into_iter().for_each(|one| drop(scope.spawn(|| run(one)))));
}

/// What a port answers.
pub(super) fn answer(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// How three nodes run.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) toy: Toy,
    pub(super) network: Network,
    /// The nodes that run.
    pub(super) running: Vec<NodeId>,
    /// What the checkers execute, if there are any.
    pub(super) checked: Option<Arc<dyn MachineFactory>>,
    pub(super) limits: Limits,
    pub(super) round_time: Duration,
    pub(super) every: Duration,
    pub(super) share: Share,
    /// Bytes per second that each node sends in checkpoints, if there is a limit.
    pub(super) bandwidth: Option<u64>,
    /// The nodes that are steered, and how much may be filtered.
    pub(super) steered: (Vec<NodeId>, Quota),
    /// How long these hold the effects of each event at most, to look ahead from it, if they do.
    pub(super) hold: Option<Duration>,
    /// Whether these break connections in place of messages that have an order.
    pub(super) breaks: bool,
    /// Paths to violations that earlier processes have predicted.
    pub(super) kept: Vec<Vec<TraceStep>>,
    /// How long a timer of each node takes at least; at most a third longer.
    pub(super) timers: [Duration; 3],
    /// Whether a checker panics once it has filters.
    pub(super) ends_with_filters: bool,
    /// What each node proves who it is by.
    pub(super) tls: [Option<Tls>; 3],
    /// Where each node thinks that the nodes are.
    pub(super) seen: [Vec<SocketAddr>; 3],
    /// Where the metrics of the node are, in a trial that runs a single one; else each has them at the port behind its own.
    pub(super) metrics: Option<SocketAddr>,
}

/// What has come of it.
pub(super) struct Trialed {
    pub(super) ended: Vec<Ended>,
    /// Predictions, each of which replays.
    pub(super) predictions: u64,
    /// The nodes in each snapshot that a checker looked at.
    pub(super) seen: Vec<Vec<NodeId>>,
}

/// What the checkers have seen.
#[derive(Clone, Default)]
struct Seen {
    nodes: Arc<Mutex<Vec<Vec<NodeId>>>>,
    replayed: Arc<Mutex<u64>>,
}

/// A trial whose nodes run.
pub(super) struct GoingOn {
    folder: tempfile::TempDir,
    /// Where the metrics of each node are.
    metrics: [SocketAddr; 3],
}

impl GoingOn {
    pub(super) fn disk(&self, node: NodeId) -> PathBuf {
        self.folder.path().join(format!("node-{node}.disk"))
    }

    /// What a node has on its disk.
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

    /// Waits until a node has counted so far; gives up after a minute.
    pub(super) fn wait(&self, node: NodeId, count: u8) {
        let begun = Instant::now();
        while self.count(node) < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "node {node} is at {}", self.count(node));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a node has counted under a name such as `messages`; none while it does not answer.
    pub(super) fn counted(&self, node: NodeId, name: &str) -> Option<u64> {
        let address = self.metrics[node as usize];
        TcpStream::connect(address).ok()?;
        let text = answer(address, "/metrics");
        let value = text.lines().find_map(|line| line.strip_prefix(&format!("host_live_{name} ")))?;
        value.parse().ok()
    }

    /// Waits until a node has counted this many under a name; gives up after a minute.
    pub(super) fn wait_for(&self, node: NodeId, name: &str, least: u64) {
        self.wait_until(node, name, |count| count >= least);
    }

    /// Waits until a number of a node is right; gives up after a minute.
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
    /// Nodes whose timers take 300 to 400 ms, with checkers that run the same toy and look at a snapshot every 100 ms.
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

    /// Runs the nodes until something else is done.
    pub(super) fn run(&self, meanwhile: impl FnOnce(&GoingOn)) -> Trialed {
        self.run_after(|_| (), meanwhile)
    }

    /// The same after something that is done before any node starts.
    pub(super) fn run_after(&self, before: impl FnOnce(&GoingOn), meanwhile: impl FnOnce(&GoingOn)) -> Trialed {
        let metrics = [0, 1, 2].map(|node| self.metrics(node));
        let going_on = GoingOn { folder: tempfile::tempdir().expect("a temporary folder"), metrics };
        before(&going_on);
        let stop = AtomicBool::new(false);
        let seen = Seen::default();
        let one = |node: u32| {
            let place = self.place(node, going_on.disk(node));
            let watch = self.watch(node, seen.clone(), going_on.switch());
            run(&Arc::new(self.toy.clone()), &place, watch, &stop).expect("it runs")
        };
        let ended = thread::scope(|scope| {
            let one = &one;
            let nodes: Vec<_> = self.running.iter().map(|node| scope.spawn(move || one(*node))).collect();
            // Whatever is wrong, the nodes end.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(&going_on)));
            stop.store(true, Ordering::Relaxed);
            let ended = nodes.into_iter().map(|node| node.join().expect("no node panics")).collect();
            done.unwrap_or_else(|why| std::panic::resume_unwind(why));
            ended
        });
        let predictions = *seen.replayed.lock().expect("nobody panics with it in hand");
        let seen = std::mem::take(&mut *seen.nodes.lock().expect("nobody panics with it in hand"));
        Trialed { ended, predictions, seen }
    }

    /// Where the metrics of a node are.
    pub(super) fn metrics(&self, node: NodeId) -> SocketAddr {
        let own = self.seen[node as usize][node as usize];
        self.metrics.unwrap_or_else(|| SocketAddr::new(own.ip(), own.port() + 1))
    }

    /// Where a node runs.
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
            addresses: self.seen[node as usize].clone(),
            tls: self.tls[node as usize].clone(),
            clients: Vec::new(),
            metrics: Some(self.metrics(node)),
            log: crate::Sink::none(),
            disk,
            component: component(),
            ways: Ways::default(),
        }
    }

    /// The cluster as checkers look ahead: where connections may break in place of messages, nodes know of theirs.
    fn ahead(&self) -> Scenario {
        let faults = Faults { resets: u32::from(self.breaks), ..Faults::default() };
        Scenario { network: self.network, faults, ..Scenario::new(3) }
    }

    fn watch(&self, node: NodeId, seen: Seen, switch: PathBuf) -> Option<Watch> {
        let (toy, ends) = (Arc::new(self.toy.clone()), self.ends_with_filters);
        let (steered, quota) = (&self.steered.0, self.steered.1);
        Some(Watch {
            factory: Arc::clone(self.checked.as_ref()?),
            scenario: self.ahead(),
            limits: Limits { breaks: self.breaks, ..self.limits },
            round_time: self.round_time,
            every: self.every,
            share: self.share,
            report: Box::new(move |round, scenario, steering| {
                let nodes = round.beginning.states.iter().map(|state| state.node).collect();
                seen.nodes.lock().expect("nobody panics with it in hand").push(nodes);
                for prediction in round.predictions.iter().chain(&round.dead) {
                    let origin = Origin::States(Arc::clone(&round.beginning));
                    trace::confirm(&toy, scenario, &origin, &prediction.steps, &prediction.finding)
                        .expect("it replays");
                }
                *seen.replayed.lock().expect("nobody panics with it in hand") += round.predictions.len() as u64;
                assert!(!ends || steering.is_none_or(|steering| steering.patterns.is_empty()), "a checker ends");
            }),
            missing: Arc::new(|_| {}),
            kept: self.kept.clone(),
            steer: steered.contains(&node).then_some(Steer { quota, switch, hold: self.hold, breaks: self.breaks }),
        })
    }
}
