//! Streams between nodes, for ordered links.
//!
//! A node sends over streams that it makes, and receives over streams that others make; [`connections`](crate::connections) tracks which
//! of them form one connection, and when it breaks. Frames to a peer use one stream until the connection breaks; the frames that wait then
//! are discarded. So frames arrive in order or not at all.
//!
//! A stream begins with a greeting: magic, the number of the connection, and the [secret](crate::callback) of the stream. Then frames
//! follow, in one direction.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_model::contract::NodeId;

use crate::accept::Listening;
use crate::address;
use crate::budget::{Account, Budget, Share};
use crate::callback::Secret;
use crate::connections::Place;
use crate::receive::{Patient, listen};
use crate::shared::{MAGIC, PAUSE, Shared};
use crate::wire::Arrival;

/// The maximum pause between two attempts to connect to an unreachable peer.
const PAUSE_MAX: Duration = Duration::from_millis(160);
/// The pause after an attempt in which one end did not authenticate.
const DISTRUSTED: Duration = Duration::from_secs(1);
/// The length of the queue of frames to a peer.
pub(crate) const WAITING_MAX: usize = 10_000;
/// The length from which the queue counts as full for the protocol; the rest is room for the messages of one handler.
pub(crate) const WAITING_MANY: usize = WAITING_MAX / 2;

/// A frame in the queue.
struct Waiting {
    place: Place,
    frame: Vec<u8>,
    /// The share for its bytes, until it is sent or lost.
    _share: Share,
}

/// The queue to a peer.
struct Sender {
    frames: SyncSender<Waiting>,
    shared: Arc<Sending>,
}

/// The state of a queue, shared by the node and the thread that sends for it.
#[derive(Default)]
struct Sending {
    /// The current epoch; frames of earlier epochs are lost.
    epoch: AtomicU64,
    /// Frames in the queue.
    waiting: AtomicUsize,
    /// Whether a frame from the queue is on its way to the socket.
    is_busy: AtomicBool,
}

/// The streams of a node.
pub(crate) struct Tcp {
    senders: Vec<Sender>,
    budget: Budget,
    /// Held while the node runs.
    _listening: Listening,
}

impl Tcp {
    pub(crate) fn bind(addresses: &[Address], shared: &Shared) -> io::Result<Self> {
        let me = shared.identity.node;
        let listening = listen(&addresses[me as usize], shared)?;
        let senders = (0..).zip(addresses).map(|(peer, address)| {
            let (frames, waiting) = sync_channel(WAITING_MAX);
            let sending = Arc::<Sending>::default();
            let (shared, own, address) = (shared.clone(), Arc::clone(&sending), address.clone());
            // A node does not send to itself over the network.
            if peer != me {
                std::thread::spawn(move || send(&waiting, &own, (peer, &address), &shared));
            }
            Sender { frames, shared: sending }
        });
        Ok(Self { senders: senders.collect(), budget: shared.budget.clone(), _listening: listening })
    }

    /// Queues a frame for a connection. If it returns false, the frame is lost, and the caller has to break the connection.
    pub(crate) fn send(&self, to: NodeId, place: Place, frame: Vec<u8>) -> bool {
        let sender = &self.senders[to as usize];
        let Ok(share) = self.budget.take(Account::To(to), frame.len()) else { return false };
        sender.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting { place, frame, _share: share };
        let is_full = matches!(sender.frames.try_send(waiting), Err(TrySendError::Full(_)));
        sender.shared.waiting.fetch_sub(usize::from(is_full), Ordering::Relaxed);
        !is_full
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> NodeId {
        self.senders.len() as NodeId
    }

    /// Whether the queue to a peer counts as full for the protocol.
    pub(crate) fn is_full(&self, peer: NodeId) -> bool {
        let waiting = self.senders[peer as usize].shared.waiting.load(Ordering::Relaxed);
        waiting >= WAITING_MANY || self.budget.is_half_full(Account::To(peer))
    }

    /// Whether no frame waits or is on its way to a socket.
    pub(crate) fn is_idle(&self) -> bool {
        let is_idle = |Sending { waiting, is_busy, .. }: &Sending| {
            waiting.load(Ordering::Acquire) == 0 && !is_busy.load(Ordering::Acquire)
        };
        self.senders.iter().all(|sender| is_idle(&sender.shared))
    }

    /// Discards the frames of epochs before this one, after the connection with the peer broke.
    pub(crate) fn discard(&self, peer: NodeId, epoch: u64) {
        self.senders[peer as usize].shared.epoch.store(epoch, Ordering::Release);
    }
}

/// The greeting of a stream with this secret, for the connection with this number.
pub(crate) fn begins_with(number: u64, secret: &Secret) -> Vec<u8> {
    [&MAGIC[..], &number.to_le_bytes(), secret].concat()
}

/// A stream that this node has made.
struct Open {
    epoch: u64,
    number: u64,
    stream: Box<dyn Write>,
}

/// The thread that sends the frames in the queue to a peer.
fn send(waiting: &Receiver<Waiting>, sending: &Sending, to: (NodeId, &Address), shared: &Shared) {
    let mut open: Option<Open> = None;
    // The first epoch that may have a stream.
    let mut next_epoch = 0;
    let mut not_before = Instant::now();
    loop {
        sending.is_busy.store(false, Ordering::Release);
        let Ok(Waiting { place, frame, _share }) = waiting.recv() else { return };
        // Set before the frame is no longer counted, so that it is never overlooked.
        sending.is_busy.store(true, Ordering::Release);
        sending.waiting.fetch_sub(1, Ordering::Release);
        let is_over = || place.epoch < sending.epoch.load(Ordering::Acquire) || shared.is_stopped();
        open.take_if(|open| open.epoch < place.epoch);
        if is_over() || place.epoch < next_epoch {
            continue;
        }
        if open.is_none() {
            let Some((handle, stream)) = connect(to.0, to.1, &mut not_before, shared, &is_over) else { continue };
            let Some((number, stream)) = begin(to.0, place, handle, stream, shared) else { return };
            open = Some(Open { epoch: place.epoch, number, stream });
        }
        let Some(Open { epoch, number, stream }) = &mut open else { continue };
        if stream.write_all(&frame).and_then(|()| stream.flush()).is_err() {
            let gone = Arrival::Gone { stream: *number, refusal: None };
            (next_epoch, open) = (*epoch + 1, None);
            if shared.arrivals.send(gone).is_err() {
                return;
            }
        }
    }
}

/// Sends the greeting of a stream, and starts a thread that reports its end: the peer sends nothing over it. None if the node is gone.
fn begin(
    peer: NodeId,
    place: Place,
    handle: TcpStream,
    mut stream: Box<dyn Write>,
    shared: &Shared,
) -> Option<(u64, Box<dyn Write>)> {
    let (number, shared) = (shared.number(), shared.clone());
    let other_end = handle.try_clone();
    shared.arrivals.send(Arrival::Connected { stream: number, peer, place, handle }).ok()?;
    // If the stream is gone already, the first frame fails.
    let _ = stream.write_all(&begins_with(place.number, &shared.made.make(peer)));
    if let Ok(other_end) = other_end {
        std::thread::spawn(move || {
            let mut end = Patient { stream: Box::new(other_end), until: None, shared: &shared };
            while let Ok(1..) = end.read(&mut [0; 1 << 10]) {}
            let _ = shared.arrivals.send(Arrival::Gone { stream: number, refusal: None });
        });
    }
    Some((number, stream))
}

/// Connects to a peer, and retries until it succeeds or the stream is no longer needed. Returns a handle to close the stream, and its
/// writing end.
fn connect(
    peer: NodeId,
    address: &Address,
    not_before: &mut Instant,
    shared: &Shared,
    is_over: &dyn Fn() -> bool,
) -> Option<(TcpStream, Box<dyn Write>)> {
    let mut pause = PAUSE;
    while !is_over() {
        if Instant::now() < *not_before {
            std::thread::sleep(PAUSE);
            continue;
        }
        let Ok((handle, stream)) = reach(address) else {
            std::thread::sleep(pause);
            pause = PAUSE_MAX.min(pause * 2);
            continue;
        };
        let Some(tls) = &shared.tls else { return Some((handle, Box::new(stream))) };
        match tls.connect(stream, peer, is_over) {
            Ok(stream) => return Some((handle, Box::new(stream))),
            Err(distrust) => {
                *not_before = Instant::now() + DISTRUSTED;
                // An attempt that is no longer needed may have failed because it was aborted.
                if !is_over() && shared.arrivals.send(Arrival::Distrusted(distrust)).is_err() {
                    return None;
                }
            }
        }
    }
    None
}

/// A stream to an address, twice.
fn reach(address: &Address) -> io::Result<(TcpStream, TcpStream)> {
    let stream = address::try_each(address, |address| {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        if leads_to_itself(&stream)? { Err(ErrorKind::ConnectionRefused.into()) } else { Ok(stream) }
    })?;
    // A node waits for single messages, so they must not be delayed to fill a packet.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PAUSE))?;
    Ok((stream.try_clone()?, stream))
}

/// Whether both ends of a stream are the same socket: without a listener at an ephemeral port, the system may assign this port to the very
/// stream that connects to it. While that stream is open, the node at this port cannot listen.
fn leads_to_itself(stream: &TcpStream) -> io::Result<bool> {
    Ok(stream.local_addr()? == stream.peer_addr()?)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;
    use crate::budget::PEER_MAX;

    /// The system assigns ephemeral ports in turn, so each of them is assigned within 100,000 attempts.
    #[test]
    fn a_stream_that_leads_to_itself_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has one");
        let other = TcpStream::connect(address).expect("it listens");
        assert!(!leads_to_itself(&other).expect("it is open"));
        drop((listener, other));
        // Not on every system: Linux assigns some of the odd ports to no stream.
        if let Some(stream) = (0..100_000).find_map(|_| TcpStream::connect(address).ok()) {
            assert!(leads_to_itself(&stream).expect("it is open"));
        }
    }

    /// Frames are queued while no peer listens, and arrive once one does. The queue holds twice as much as a protocol should send, by the
    /// number of frames or by their bytes, and no more.
    #[test]
    fn a_peer_that_takes_nothing_has_no_room() {
        for (length, many) in [(1, WAITING_MANY), (1 << 20, PEER_MAX >> 21)] {
            let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
            let addresses: [SocketAddr; 2] =
                ["127.0.0.1:0".parse().expect("an address"), free.local_addr().expect("it has one")];
            drop(free);
            let (arrivals, _kept) = sync_channel(16);
            let shared = Shared::of_tests(arrivals, 2);
            let tcp = Tcp::bind(&addresses.map(Address::from), &shared).expect("it listens");
            let send = || tcp.send(1, Place { epoch: 0, number: 0 }, vec![1; length]);
            let mut sent = 0;
            while !tcp.is_full(1) {
                assert!(send(), "there is room for more than a protocol should send");
                sent += 1;
            }
            // The thread that sends has taken one of them out of the queue.
            assert!((many..=many + 1).contains(&sent), "{sent}");
            while send() {
                sent += 1;
            }
            assert!((2 * many..=2 * many + 1).contains(&sent), "{sent}");
            assert!(shared.budget.holding().most <= PEER_MAX, "{:?}", shared.budget.holding());
            let listener = TcpListener::bind(addresses[1]).expect("the port is free");
            let (mut stream, _) = listener.accept().expect("the node tries again");
            stream.read_exact(&mut vec![0; begins_with(0, &[0; 16]).len() + length * sent]).expect("all of it comes");
            assert!(!tcp.is_full(1));
            shared.stopped.store(true, Ordering::Relaxed);
        }
    }
}
