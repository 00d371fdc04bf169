//! Connections between nodes, where links have an order.
//!
//! A node sends over connections that it makes, and receives over those that others make. What is sent to a peer belongs to an *epoch*, and
//! there is one connection per epoch: when it breaks, the next epoch begins, and what is left of the last one is discarded. So frames
//! come in their order or not at all.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use host_live::node::Splitter;
use host_model::contract::NodeId;

use crate::tls::Tls;
use crate::wire::Arrival;

/// How often a thread looks whether the node has ended, or a peer is there by now.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a peer is left alone with whom there is no connection since one end does not take the other.
const DISTRUSTED: Duration = Duration::from_secs(1);
/// Connections from elsewhere at a time; others are closed at once.
const CONNECTIONS_MAX: usize = 256;
/// Frames to a peer that wait.
const WAITING_MAX: usize = 10_000;

/// What the threads of a node share.
#[derive(Clone)]
struct Shared {
    /// Without it, a peer is whoever it says that it is.
    tls: Option<Tls>,
    arrivals: SyncSender<Arrival>,
    stopped: Arc<AtomicBool>,
    /// The number of the next connection.
    next: Arc<AtomicU64>,
}

/// What is sent to a peer.
struct Sender {
    frames: SyncSender<(u64, Vec<u8>)>,
    epoch: Arc<AtomicU64>,
}

/// The connections of a node.
pub(crate) struct Tcp {
    senders: Vec<Sender>,
}

impl Tcp {
    pub(crate) fn bind(
        addresses: &[SocketAddr],
        me: NodeId,
        tls: Option<Tls>,
        arrivals: SyncSender<Arrival>,
        stopped: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let shared = Shared { tls, arrivals, stopped, next: Arc::default() };
        let listener = TcpListener::bind(addresses[me as usize])?;
        listener.set_nonblocking(true)?;
        let for_listener = shared.clone();
        std::thread::spawn(move || listen(&listener, &for_listener));
        let senders = (0..).zip(addresses).map(|(peer, address)| {
            let (frames, waiting) = sync_channel(WAITING_MAX);
            let epoch = Arc::<AtomicU64>::default();
            let (shared, own, address) = (shared.clone(), Arc::clone(&epoch), *address);
            // A node does not send to itself over the network.
            if peer != me {
                std::thread::spawn(move || send(&waiting, &own, (peer, address), &shared));
            }
            Sender { frames, epoch }
        });
        Ok(Self { senders: senders.collect() })
    }

    /// Sends a frame; whether it waits for its turn. One that does not is lost, and the caller has to break the connection.
    pub(crate) fn send(&self, to: NodeId, frame: Vec<u8>) -> bool {
        let sender = &self.senders[to as usize];
        let waiting = (sender.epoch.load(Ordering::Acquire), frame);
        !matches!(sender.frames.try_send(waiting), Err(TrySendError::Full(_)))
    }

    /// The connection to a peer is broken: what waits for it is lost.
    pub(crate) fn begin_epoch(&self, peer: NodeId) {
        self.senders[peer as usize].epoch.fetch_add(1, Ordering::AcqRel);
    }
}

/// Takes connections.
fn listen(listener: &TcpListener, shared: &Shared) {
    let open = Arc::<AtomicUsize>::default();
    while !shared.stopped.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        let (shared, open) = (shared.clone(), Arc::clone(&open));
        open.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            receive(stream, &shared);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Reads frames from a connection until it is gone.
fn receive(stream: TcpStream, shared: &Shared) {
    let connection = shared.next.fetch_add(1, Ordering::Relaxed);
    let opened = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PAUSE)));
    let Ok(handle) = opened.and_then(|()| stream.try_clone()) else { return };
    let (proven, mut stream): (_, Box<dyn Read>) = match &shared.tls {
        None => (None, Box::new(stream)),
        Some(tls) => match tls.accept(stream, &|| shared.stopped.load(Ordering::Relaxed)) {
            Ok((peer, stream)) => (Some(peer), Box::new(stream)),
            Err(distrust) => {
                // If the node is gone, nobody has to know.
                let _ = shared.arrivals.send(Arrival::Distrusted(distrust));
                return;
            }
        },
    };
    if shared.arrivals.send(Arrival::Opened { connection, peer: None, proven, stream: handle }).is_err() {
        return;
    }
    let (mut splitter, mut bytes) = (Splitter::default(), vec![0; 1 << 16]);
    let refusal = 'stream: loop {
        match stream.read(&mut bytes) {
            Ok(0) => break None,
            Ok(length) => splitter.push(&bytes[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if shared.stopped.load(Ordering::Relaxed) {
                    return;
                }
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break None,
        }
        loop {
            match splitter.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let frame = Arrival::Frame { connection: Some(connection), bytes: frame.to_vec() };
                    if shared.arrivals.send(frame).is_err() {
                        return;
                    }
                }
                Err(refusal) => break 'stream Some(refusal),
            }
        }
    };
    // If the node is gone, nobody has to know.
    let _ = shared.arrivals.send(Arrival::Closed { connection, refusal });
}

/// Sends what waits for a peer.
fn send(waiting: &Receiver<(u64, Vec<u8>)>, epoch: &AtomicU64, (peer, address): (NodeId, SocketAddr), shared: &Shared) {
    let mut open: Option<(u64, u64, Box<dyn Write>)> = None;
    // The first epoch that may have a connection.
    let mut next_epoch = 0;
    let mut not_before = Instant::now();
    while let Ok((of, frame)) = waiting.recv() {
        let is_over = || of < epoch.load(Ordering::Acquire) || shared.stopped.load(Ordering::Relaxed);
        open.take_if(|(open, ..)| *open < of);
        if is_over() || of < next_epoch {
            continue;
        }
        if open.is_none() {
            let connection = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some((handle, stream)) = connect((peer, address), &mut not_before, shared, &is_over) else { continue };
            open = Some((of, connection, stream));
            let opened = Arrival::Opened { connection, peer: Some(peer), proven: None, stream: handle };
            if shared.arrivals.send(opened).is_err() {
                return;
            }
        }
        if let Some((_, connection, stream)) = &mut open
            && stream.write_all(&frame).and_then(|()| stream.flush()).is_err()
        {
            let connection = *connection;
            (open, next_epoch) = (None, of + 1);
            if shared.arrivals.send(Arrival::Closed { connection, refusal: None }).is_err() {
                return;
            }
        }
    }
}

/// Connects, as often as it takes, unless there is no need any more. What can close the connection, and what writes to it.
fn connect(
    (peer, address): (NodeId, SocketAddr),
    not_before: &mut Instant,
    shared: &Shared,
    is_over: &dyn Fn() -> bool,
) -> Option<(TcpStream, Box<dyn Write>)> {
    while !is_over() {
        if Instant::now() < *not_before {
            std::thread::sleep(PAUSE);
            continue;
        }
        let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
            std::thread::sleep(PAUSE);
            continue;
        };
        // A node waits for single messages, so they must not wait for others.
        let handle = stream.set_nodelay(true).and_then(|()| stream.try_clone()).ok()?;
        let Some(tls) = &shared.tls else { return Some((handle, Box::new(stream))) };
        match tls.connect(stream, peer, is_over) {
            Ok(stream) => return Some((handle, Box::new(stream))),
            Err(distrust) => {
                *not_before = Instant::now() + DISTRUSTED;
                // What there is no need for any more was not refused.
                if !is_over() && shared.arrivals.send(Arrival::Distrusted(distrust)).is_err() {
                    return None;
                }
            }
        }
    }
    None
}
