//! A node from its start to its end: it receives inputs and executes outputs.
//!
//! | module | what it holds |
//! |---|---|
//! | `input` | its inputs: frames, connections and requests |
//! | `end` | its end on a signal |
//! | `open` | its ports, its gate, and the checks before a start |
//! | `record` | its recording |
//! | `tell` | its log and its metrics |

mod end;
mod input;
mod open;
mod record;
mod tell;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_live::disk::{Owner, Ways};
use host_live::kinds::Kinds;
use host_live::node::{Counts, DiskId, Failure, Identity, Node, Output, Settings};
use host_live::recording::{Recorded, Tape};
use host_live::time::Time;
use host_model::contract::{MachineError, MachineFactory, NodeId};
use host_model::scenario::Network;

use crate::board::{Board, Phase};
use crate::budget::{Account, Budget, Holding, Share};
use crate::connections::Connections;
use crate::disk::{Disk, DiskError};
use crate::drive::open::{check, gate, ports};
use crate::log::{Log, Sink};
use crate::record::{RecordError, Recorder, Recording};
use crate::requests::Waiting;
use crate::shared::Shared;
use crate::steer::{Inbox, LOOK, Steerer, SteeringCounts};
use crate::tcp::{Tcp, WAITING_MANY, WAITING_MAX};
use crate::tls::Tls;
use crate::udp::Udp;
use crate::watch::{CheckerThread, Watch, Watched};
use crate::wire::{ARRIVALS_MAX, Arrival, Asked};

/// The longest wait for an arrival between two checks whether the node has to stop.
const PATIENCE: Duration = Duration::from_millis(20);
/// Arrivals handled before timers, requests and outputs.
const ARRIVALS_AT_ONCE: usize = 256;
/// Frames of the node to itself handled before other frames.
const OWN_AT_ONCE: usize = 64;

/// The configuration of a node on this machine: identity, addresses and files.
#[derive(Clone, Debug)]
pub struct Place {
    /// The node and its cluster.
    pub identity: Identity,
    /// Network model, delays, seed and limits.
    pub settings: Settings,
    /// The address of each node, on loopback unless there is TLS.
    pub addresses: Vec<Address>,
    /// Authenticates peers on ordered links.
    pub tls: Option<Tls>,
    /// The address for the clients of each node, on loopback; empty without clients.
    pub clients: Vec<SocketAddr>,
    /// The address of its metrics, on loopback.
    pub metrics: Option<SocketAddr>,
    /// The destination of its log.
    pub log: Sink,
    /// Its data file; the file next to it with the extension `lock` marks it as in use.
    pub disk: PathBuf,
    /// Name and digest of the component that the data file must belong to.
    pub component: (String, String),
    /// The place of its recording, if it is recorded.
    pub recording: Option<Recording>,
    /// The files that it accepts although it refuses them by default.
    pub ways: Ways,
    /// The requests that the host makes of it by itself.
    pub operations: Operations,
    /// Set if all nodes end together: then a node ends at once, and hands nothing over.
    pub all_end: Arc<AtomicBool>,
}

/// The paths of requests that the host makes of a node by itself, as a client would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// GET: a status from 200 to 299 says that the node is ready.
    pub ready: Option<String>,
    /// POST, when the node is about to end: it hands over to other nodes what only one node does. The answer comes when that is done.
    pub hand_over: Option<String>,
}

/// The reason why a node ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address is reachable from other machines.
    #[error("{0} is no loopback address, and nothing here proves who a peer is; use 127.0.0.1 or [::1]")]
    NotLoopback(Address),
    /// TLS is not available for datagrams.
    #[error("TLS is for links with an order: there is none over UDP")]
    Datagrams,
    /// The number of addresses differs from the number of nodes.
    #[error("there are {addresses} addresses for {nodes} nodes")]
    Addresses {
        /// The number of addresses.
        addresses: usize,
        /// The number of nodes.
        nodes: u32,
    },
    /// For example, the address is in use.
    #[error("cannot listen at {address}: {error}")]
    Bind {
        /// The address of the node.
        address: Address,
        /// The error of the system.
        error: io::Error,
    },
    /// The checker cannot be started.
    #[error("cannot start a thread for the checker: {0}")]
    Checker(io::Error),
    /// For example, the disk is full.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The protocol has failed, or the host cannot continue.
    #[error(transparent)]
    Node(#[from] Failure),
}

/// The counts of a node at its end.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The counts of the node itself.
    pub counts: Counts,
    /// The number of this start of the node.
    pub incarnation: u64,
    /// Bytes of a torn record that were cut off at the start.
    pub torn: usize,
    /// Frames dropped before they were sent: longer than a datagram, or behind a full queue.
    pub unsent: u64,
    /// Memory that others have made it hold.
    pub holding: Holding,
    /// Attempts at a connection in which one end did not authenticate, by the name of the reason.
    pub distrusted: BTreeMap<&'static str, u64>,
    /// The results of its checker, if it was watched.
    pub watched: Option<Watched>,
    /// The results of steering, if it was steered.
    pub steered: Option<SteeringCounts>,
}

/// Runs a node until it receives a request to stop, with or without a checker, which may steer it.
///
/// # Errors
///
/// It cannot start, or cannot continue. Acknowledged state is on the disk.
pub fn run(
    factory: &dyn MachineFactory,
    place: &Place,
    watch: Option<Watch>,
    stop: &AtomicBool,
) -> Result<Ended, RunError> {
    check(place)?;
    let Place { identity, settings, addresses, tls, log, disk, .. } = place;
    let settings = *settings;
    let owner = Owner::new(identity, settings.network, &place.component);
    let (disk, record) = Disk::open(disk, &owner, place.ways)?;
    let (mut recorder, tape) = recorded(place)?;
    let (begun, me, nodes, inbox) = (Instant::now(), identity.node, identity.nodes, Arc::<Inbox>::default());
    let steer = watch.as_ref().and_then(|watch| watch.steer.clone());
    let kinds = steer.is_some().then(|| Kinds::new(factory)).transpose().map_err(Failure::from)?;
    let mut gate = gate(watch.as_ref(), me, nodes, kinds, &inbox)?;
    let mut switch = steer.map(|steer| Switch { file: steer.switch, next: Time(0) });
    if let (Some(switch), Some(gate)) = (&mut switch, &mut gate) {
        switch.look(Time(0), gate);
    }
    let node = Node::start_or_return(factory, identity.clone(), settings, Recorded { gate, tape }, record, Time(0))
        .map_err(|not_started| record::failed(recorder.as_mut(), not_started))?;
    let (sender, arrivals) = sync_channel(ARRIVALS_MAX);
    let budget = Budget::new(nodes);
    let shared = Shared::new(identity, addresses, tls.clone(), sender, budget.clone());
    let stopped = Arc::clone(&shared.stopped);
    let board = Arc::new(Board::new(begun));
    // Open until this is dropped.
    let _ports = ports(place, &shared, &board)?;
    let net = match settings.network {
        Network::Ordered => Tcp::bind(addresses, &shared).map(Net::Tcp),
        _ => Udp::bind(addresses, shared).map(Net::Udp),
    };
    let net = net.map_err(|error| RunError::Bind { address: addresses[me as usize].clone(), error })?;
    let checker = watch.map(|watch| CheckerThread::start(watch, me, inbox)).transpose().map_err(RunError::Checker)?;
    let mut running = Running {
        node,
        checker,
        switch,
        recorder,
        disk,
        net,
        me,
        begun,
        board,
        published: begun,
        executed: begun,
        log: Log::new(me, log.clone()),
        own: VecDeque::new(),
        connections: Connections::default(),
        unsent: 0,
        budget,
        distrusted: BTreeMap::new(),
        asked: VecDeque::new(),
        waiting: Waiting::default(),
        written: (0, Duration::ZERO),
        known: (0, DiskId::default()),
    };
    running.publish(false);
    // The start is durable before the log names it: a node that is killed right after the line starts with the next number.
    let result = running.execute().and_then(|()| {
        running.tell_start();
        running.board.enter(Phase::Runs);
        running.run(&arrivals, stop)?;
        running.end(&arrivals, place)
    });
    stopped.store(true, Ordering::Relaxed);
    end_of(result, stop)?;
    Ok(running.ended())
}

/// The end of a run: the node may see the request to stop before its thread does.
fn end_of(result: Result<(), RunError>, stop: &AtomicBool) -> Result<(), RunError> {
    match result {
        Err(RunError::Node(Failure::Machine(MachineError::Stopped(_)))) if stop.load(Ordering::Relaxed) => Ok(()),
        result => result,
    }
}

/// Begins the recording of a node, if it is recorded.
fn recorded(place: &Place) -> Result<(Option<Recorder>, Option<Tape>), RunError> {
    let Some(recording) = &place.recording else { return Ok((None, None)) };
    let owner = Owner::new(&place.identity, place.settings.network, &recording.component);
    let (recorder, head) = Recorder::open(recording, owner)?;
    Ok((Some(recorder), Some(Tape::new(head))))
}

/// The file that ends steering.
struct Switch {
    file: PathBuf,
    /// The time of the next check.
    next: Time,
}

impl Switch {
    fn look(&mut self, now: Time, gate: &mut Steerer) {
        if now >= self.next {
            self.next = now.after(LOOK);
            // An error counts as absence.
            if Path::exists(&self.file) {
                gate.kill();
            }
        }
    }
}

enum Net {
    Tcp(Tcp),
    Udp(Udp),
}

struct Running {
    /// The node; with a gate if it is steered.
    node: Node<'static, Recorded<Option<Steerer>>>,
    /// The checker, if there is one.
    checker: Option<CheckerThread>,
    /// The file that ends steering, if the node is steered.
    switch: Option<Switch>,
    /// The files of its recording, if it is recorded.
    recorder: Option<Recorder>,
    disk: Disk,
    net: Net,
    me: NodeId,
    begun: Instant,
    board: Arc<Board>,
    /// The last update of the board.
    published: Instant,
    /// The time since which outputs wait at the earliest.
    executed: Instant,
    log: Log,
    /// Frames of the node to itself, with their bytes.
    own: VecDeque<(Vec<u8>, Share)>,
    connections: Connections<TcpStream>,
    unsent: u64,
    /// Memory that others make the node hold.
    budget: Budget,
    distrusted: BTreeMap<&'static str, u64>,
    /// The requests of clients that have not reached the node; at most one per connection.
    asked: VecDeque<Asked>,
    /// The requests of clients that wait for an answer.
    waiting: Waiting,
    /// The number of records, and the disk's time for them.
    written: (u64, Duration),
    /// The latest start that others know, if it is later, and the disk by which they know the node, if it is another one.
    known: (u64, DiskId),
}

impl Running {
    fn run(&mut self, arrivals: &Receiver<Arrival>, stop: &AtomicBool) -> Result<(), RunError> {
        loop {
            self.execute()?;
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.turn(arrivals, stop)?;
        }
    }

    /// Waits for an arrival, and handles what has arrived and what is due.
    fn turn(&mut self, arrivals: &Receiver<Arrival>, stop: &AtomicBool) -> Result<(), RunError> {
        self.look_for_room();
        self.publish(true);
        let arrival = arrivals.recv_timeout(self.patience());
        self.board.begin();
        self.executed = Instant::now();
        match arrival {
            Ok(arrival) => {
                self.take(arrival)?;
                // Each may take as long as a handler, and a node that has to stop takes the rest later.
                let may_continue = || !stop.load(Ordering::Relaxed);
                for _ in 0..ARRIVALS_AT_ONCE {
                    let Some(arrival) = may_continue().then(|| arrivals.try_recv().ok()).flatten() else { break };
                    self.take(arrival)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The threads of the network outlive the node.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PATIENCE),
        }
        let now = self.now();
        if let (Some(switch), Some(gate)) = (&mut self.switch, &mut self.node.gate_mut().gate) {
            switch.look(now, gate);
        }
        self.node.elapse(now);
        self.take_requests(stop)?;
        // A collection that took too long names the silent nodes, and the next one leaves them out.
        self.execute()?;
        if let Some((left_out, time)) = self.checker.as_mut().and_then(|checker| checker.due(now)) {
            self.node.gather_within(time, now, &left_out);
        }
        self.waiting.expire().into_iter().for_each(|number| self.node.forget(number));
        Ok(())
    }

    /// The longest wait for an arrival.
    fn patience(&self) -> Duration {
        if !self.own.is_empty() || !self.asked.is_empty() {
            return Duration::ZERO;
        }
        let due = self.node.deadline().into_iter().chain(self.checker.as_ref().and_then(CheckerThread::deadline)).min();
        let until = due.map(|at| Duration::from_nanos(at.0.saturating_sub(self.now().0)));
        until.map_or(PATIENCE, |until| until.min(PATIENCE))
    }

    /// Passes the peers with full queues to the node, which then sends them nothing more.
    fn look_for_room(&mut self) {
        if let Net::Tcp(tcp) = &self.net {
            (0..tcp.nodes()).for_each(|peer| self.node.set_full(peer, tcp.is_full(peer)));
            let is_full = self.own.len() >= WAITING_MANY || self.budget.is_half_full(Account::To(self.me));
            self.node.set_full(self.me, is_full);
        }
    }

    fn ended(self) -> Ended {
        let (watched, steered) = (self.checker.as_ref().map(CheckerThread::watched), self.steered());
        let Self { node, disk, unsent, budget, distrusted, .. } = self;
        Ended {
            counts: node.counts().clone(),
            incarnation: node.incarnation(),
            torn: disk.torn(),
            unsent,
            holding: budget.holding(),
            distrusted,
            watched,
            steered,
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Executes the outputs of the node, and a bounded number of the events that follow from them at the node itself.
    fn execute(&mut self) -> Result<(), RunError> {
        if self.published.elapsed() >= PATIENCE {
            self.publish(false);
        }
        for _ in 0..OWN_AT_ONCE {
            while let Some(output) = self.next_output() {
                match output {
                    Output::Persist { ticket, record, written } => {
                        let begun = Instant::now();
                        self.disk.write(&record, &written)?;
                        self.written = (self.written.0 + 1, self.written.1 + begun.elapsed());
                        self.node.persisted(ticket);
                    }
                    Output::Send { to, frame } if to == self.me => self.keep_own(frame),
                    Output::Send { to, frame } => self.send(to, frame),
                    Output::Answer { number, response } => {
                        // Counted before the client has its answer.
                        self.publish(false);
                        self.waiting.answer(number, response);
                    }
                    Output::Disconnect { peer } => {
                        let broken = self.connections.break_off(peer);
                        self.broken(broken);
                    }
                    Output::Gathered(outcome) => {
                        let now = self.now();
                        if let Some(checker) = &mut self.checker {
                            checker.gathered(now, outcome);
                        }
                    }
                    Output::Undone(undone) => self.tell_undone(&undone),
                    Output::Said(lines) => lines.iter().for_each(|line| self.log.tell("said", line)),
                    Output::Late { time } => self.checker.iter_mut().for_each(|checker| checker.late(time)),
                    Output::Failed(failure) => return Err(failure.into()),
                }
            }
            let Some((frame, _share)) = self.own.pop_front() else { break };
            self.receive(&frame)?;
        }
        self.executed = Instant::now();
        Ok(())
    }

    /// The next output, once the events before it are recorded.
    fn next_output(&mut self) -> Option<Output> {
        self.record();
        self.node.next_output()
    }

    /// Sends a frame of the node to itself. Without room, it is treated like a frame to a peer: a datagram is lost; a connection breaks
    /// and loses its queue.
    fn keep_own(&mut self, frame: Vec<u8>) {
        if self.own.len() < WAITING_MAX
            && let Ok(share) = self.budget.take(Account::To(self.me), frame.len())
        {
            self.own.push_back((frame, share));
            return;
        }
        self.unsent += 1;
        if matches!(self.net, Net::Tcp(_)) {
            self.unsent += self.own.len() as u64;
            self.own.clear();
            self.log.tell("broken own", &"has lost its connection with itself: too much waits for it");
            self.node.disconnected(self.now(), self.me);
        }
    }

    fn send(&mut self, to: NodeId, frame: Vec<u8>) {
        let is_sent = match &self.net {
            Net::Udp(udp) => udp.send(to, &frame),
            Net::Tcp(tcp) => tcp.send(to, self.connections.send(to), frame),
        };
        if !is_sent {
            self.unsent += 1;
            if matches!(self.net, Net::Tcp(_)) {
                let broken = self.connections.break_off(to);
                self.broken(broken);
            }
        }
    }

    fn steered(&self) -> Option<SteeringCounts> {
        let gate = self.node.gate().gate.as_ref()?;
        Some(SteeringCounts {
            unhelpful: self.checker.as_ref().map_or(0, |checker| checker.watched().checker.unhelpful),
            ..gate.counts(self.now())
        })
    }
}
