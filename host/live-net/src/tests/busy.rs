//! A node under endless load.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host_model::contract::aspects::{Clients, Durable, Transfer};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, NodeId, Request, Response,
    Snapshot, StateOwner, TransferError,
};
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use tempfile::TempDir;

use super::trial::{Trial, answer, at_once};
use crate::budget::PEER_MAX;
use crate::{Ended, Place, RunError, run};

/// The place of node 0 of a trial, with ports for clients and for metrics; and the address for metrics.
pub(super) fn place(trial: &Trial, folder: &TempDir) -> (Place, SocketAddr) {
    let with_port = |address: &SocketAddr, more| SocketAddr::new(address.ip(), address.port() + more);
    let clients = trial.seen[0].iter().map(|address| with_port(address, 2)).collect();
    let metrics = with_port(&trial.seen[0][0], 1);
    (Place { clients, metrics: Some(metrics), ..trial.place(0, folder.path().join("disk")) }, metrics)
}

/// Node 0 sends itself a message, and reacts to each by sending `answers`.
fn speaks_to_itself(answers: &[(NodeId, u8)], network: Network) -> Trial {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 1, &[(0, 1)]);
    let toy = toy.rule(0, 1, ToyTrigger::Message(0, 1), 1, answers);
    Trial { timers: [Duration::from_millis(5); 3], ..Trial::new(toy, network) }
}

/// Runs a node in a thread until it is stopped; the channel receives its end.
pub(super) fn start(
    machines: Arc<dyn MachineFactory>,
    place: &Place,
    stop: &Arc<AtomicBool>,
) -> Receiver<Result<Ended, RunError>> {
    let (at_end, ended) = sync_channel(1);
    let (for_node, to_stop) = (place.clone(), Arc::clone(stop));
    // A node that hangs could never be joined.
    thread::spawn(move || drop(at_end.send(run(&*machines, &for_node, None, &to_stop))));
    let begun = Instant::now();
    while TcpStream::connect(place.metrics.expect("it has some")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not start");
        thread::sleep(Duration::from_millis(5));
    }
    ended
}

/// The node answers each of its own messages with another one to itself; it still receives from others, and stops on request.
#[test]
fn who_talks_to_itself_without_an_end_does_not_go_deaf() {
    let trial = speaks_to_itself(&[(0, 1)], Network::Ordered);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (place, metrics) = place(&trial, &folder);
    let stop = Arc::<AtomicBool>::default();
    let ended = start(Arc::new(Arc::new(trial.toy)), &place, &stop);
    let begun = Instant::now();
    let messages = || {
        let text = answer(metrics, "/metrics");
        text.lines().find_map(|line| line.strip_prefix("host_live_messages_total ")?.parse::<u64>().ok())
    };
    while messages().is_none_or(|messages| messages <= 100) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not speak to itself");
        thread::sleep(Duration::from_millis(5));
    }
    // A toy refuses requests, with its own words.
    assert!(answer(place.clients[0], "/").starts_with("HTTP/1.1 501 "));
    assert!(answer(metrics, "/metrics").contains("incarnation"));
    stop.store(true, Ordering::Relaxed);
    let ended = ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
    assert!(ended.counts.messages > 100, "{ended:?}");
}

/// Each of its messages to itself leads to two more: these have the same room as those to a peer. Excess messages are lost as datagrams,
/// or with the connection; the node receives from others, and stops on request.
#[test]
fn who_talks_to_itself_ever_more_has_no_room() {
    at_once([Network::Ordered, Network::Unordered], |network| {
        let trial = speaks_to_itself(&[(0, 1), (0, 1)], network);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (place, metrics) = place(&trial, &folder);
        let stop = Arc::<AtomicBool>::default();
        let ended = start(Arc::new(Arc::new(trial.toy)), &place, &stop);
        let begun = Instant::now();
        while answer(metrics, "/metrics").contains("host_live_frames_unsent_total 0\n") {
            assert!(begun.elapsed() < Duration::from_secs(60), "everything has room");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(answer(place.clients[0], "/").starts_with("HTTP/1.1 501 "));
        stop.store(true, Ordering::Relaxed);
        let ended = ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
        assert!(ended.unsent > 0 && ended.holding.most < PEER_MAX, "{ended:?}");
    });
}

/// Whether a handler of a request has begun, and whether it may continue.
type Standing = Arc<(Mutex<(bool, bool)>, Condvar)>;

/// A protocol that only answers: the first request after permission, each later one after a while. Its timers change nothing.
#[derive(Clone, Default)]
struct Slow {
    standing: Standing,
    /// The duration of a request.
    takes: Duration,
    timers: Vec<LocalEvent>,
    /// Per event so far, whether it was a timer.
    happened: Arc<Mutex<Vec<bool>>>,
}

impl Slow {
    fn note(&self, is_timer: bool) {
        self.happened.lock().expect("no test panics with it in hand").push(is_timer);
    }

    fn wait_for_request(&self) {
        let (now, changed) = &*self.standing;
        let at = now.lock().expect("no test panics with it in hand");
        drop(changed.wait_while(at, |at| !at.0).expect("no test panics with it in hand"));
    }

    fn permit(&self) {
        let (now, changed) = &*self.standing;
        now.lock().expect("no test panics with it in hand").1 = true;
        changed.notify_all();
    }
}

impl MachineFactory for Slow {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(self.clone()))
    }
}

impl Machine for Slow {
    fn restore(&mut self, _: Option<&Snapshot>) -> Result<(), MachineError> {
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        if matches!(input, Input::Local(_)) {
            self.note(true);
        }
        *effects = Effects::default();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(self.timers.clone())
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[])
    }

    host_model::without_properties!();

    host_model::offers!(Durable, Clients, Transfer);
}

impl Durable for Slow {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(None)
    }
}

impl Clients for Slow {
    fn request(&mut self, _: u64, _: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        self.note(false);
        thread::sleep(self.takes);
        let (standing, changed) = &*self.standing;
        let mut now = standing.lock().expect("no test panics with it in hand");
        now.0 = true;
        changed.notify_all();
        while !now.1 {
            now = changed.wait(now).expect("no test panics with it in hand");
        }
        Ok(Err(Response::words(200, "at last\n")))
    }
}

impl Transfer for Slow {
    fn export(&mut self, _: &Snapshot, _: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(Vec::new())
    }
}

/// The handler ends only after metrics were answered.
#[test]
fn metrics_are_answered_while_a_handler_runs() {
    let trial = Trial::new(Toy::new(3), Network::Ordered);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (place, metrics) = place(&trial, &folder);
    let client = place.clients[0];
    let (stop, slow) = (Arc::<AtomicBool>::default(), Slow::default());
    let ended = start(Arc::new(slow.clone()), &place, &stop);
    let asking = thread::spawn(move || answer(client, "/"));
    slow.wait_for_request();
    let text = answer(metrics, "/metrics");
    let busy = text.lines().find_map(|line| line.strip_prefix("host_live_busy_seconds "));
    assert!(busy.is_some_and(|seconds| seconds.parse::<f64>().is_ok_and(|seconds| seconds > 0.0)), "{text}");
    slow.permit();
    assert!(asking.join().expect("it is answered").ends_with("at last\n"));
    stop.store(true, Ordering::Relaxed);
    ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
}

/// While slow requests are queued, a timer fires on time, not after the last request.
#[test]
fn timers_do_not_wait_for_a_queue_of_requests() {
    const REQUESTS: usize = 40;
    let trial = Trial { timers: [Duration::from_millis(30); 3], ..Trial::new(Toy::new(3), Network::Ordered) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (place, _) = place(&trial, &folder);
    let client = place.clients[0];
    let timer = LocalEvent { name: "tick".into(), payload: Vec::new(), kind: LocalKind::Timer };
    let slow = Slow { takes: Duration::from_millis(10), timers: vec![timer], ..Slow::default() };
    let stop = Arc::<AtomicBool>::default();
    let ended = start(Arc::new(slow.clone()), &place, &stop);
    let ask = || thread::spawn(move || answer(client, "/"));
    let first = ask();
    slow.wait_for_request();
    let others: Vec<_> = (0..REQUESTS).map(|_| ask()).collect();
    // Long enough to queue all of them; fewer on a slow machine, which makes the test weaker and never wrong.
    thread::sleep(Duration::from_millis(200));
    slow.permit();
    for asked in [first].into_iter().chain(others) {
        assert!(asked.join().expect("it is answered").ends_with("at last\n"));
    }
    stop.store(true, Ordering::Relaxed);
    ended.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
    let happened = slow.happened.lock().expect("no test panics with it in hand");
    let between = happened.split(|is_timer| *is_timer).map(<[bool]>::len).max();
    assert!(between.is_some_and(|requests| requests < REQUESTS / 2), "{happened:?}");
}
