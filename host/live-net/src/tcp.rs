//! Streams between nodes, where links have an order.
//!
//! A node sends over streams that it makes, and receives over those that others make; which of them are one connection, and when that is
//! broken, is said in [`connections`](crate::connections). What is sent to a peer goes over one stream until the connection is broken: what is left of
//! it then is discarded. So frames come in their order or not at all.
//!
//! A stream begins with a greeting: magic, and the number of the connection. Then frames follow, in one direction.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use host_live::node::{Refusal, Splitter};
use host_model::contract::NodeId;

use crate::connections::Place;
use crate::tls::Tls;
use crate::wire::Arrival;

/// How often a thread looks whether the node has ended, or a peer is there by now.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a peer that is not there is left alone at most.
const PAUSE_MAX: Duration = Duration::from_millis(160);
/// How long a peer is left alone with whom there is no stream since one end does not take the other.
const DISTRUSTED: Duration = Duration::from_secs(1);
/// Streams from elsewhere at a time; others are closed at once.
const STREAMS_MAX: usize = 256;
/// Frames to a peer that wait.
const WAITING_MAX: usize = 10_000;
/// So many that a protocol which asks should send no more: what one handler sends fits.
const WAITING_MANY: usize = WAITING_MAX / 2;
/// What a stream begins with, before the number.
const MAGIC: [u8; 4] = *b"HCON";
/// How long the other end of a stream may take to say of which connection it is: a peer does at once, and streams are few.
const GREETING: Duration = Duration::from_secs(5);

/// What the threads of a node share.
#[derive(Clone)]
struct Shared {
    /// Without it, a peer is whoever it says that it is.
    tls: Option<Tls>,
    arrivals: SyncSender<Arrival>,
    stopped: Arc<AtomicBool>,
    /// The number of the next stream.
    next: Arc<AtomicU64>,
}

impl Shared {
    /// The number of a new stream.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What is sent to a peer.
struct Sender {
    frames: SyncSender<(Place, Vec<u8>)>,
    shared: Arc<Sending>,
}

/// What a node and the thread that sends for it know of a peer.
#[derive(Default)]
struct Sending {
    /// What was sent in an earlier one is lost.
    epoch: AtomicU64,
    /// Frames that wait.
    waiting: AtomicUsize,
}

/// The streams of a node.
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
            let sending = Arc::<Sending>::default();
            let (shared, own, address) = (shared.clone(), Arc::clone(&sending), *address);
            // A node does not send to itself over the network.
            if peer != me {
                std::thread::spawn(move || send(&waiting, &own, (peer, address), &shared));
            }
            Sender { frames, shared: sending }
        });
        Ok(Self { senders: senders.collect() })
    }

    /// Sends a frame over a connection; whether it waits for its turn. One that does not is lost, and the caller has to break the
    /// connection.
    pub(crate) fn send(&self, to: NodeId, place: Place, frame: Vec<u8>) -> bool {
        let sender = &self.senders[to as usize];
        sender.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let is_full = matches!(sender.frames.try_send((place, frame)), Err(TrySendError::Full(_)));
        sender.shared.waiting.fetch_sub(usize::from(is_full), Ordering::Relaxed);
        !is_full
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> NodeId {
        self.senders.len() as NodeId
    }

    /// Whether so much waits for a peer that nothing more should be sent.
    pub(crate) fn is_full(&self, peer: NodeId) -> bool {
        self.senders[peer as usize].shared.waiting.load(Ordering::Relaxed) >= WAITING_MANY
    }

    /// The connection with a peer is broken: what was sent in an earlier epoch is lost.
    pub(crate) fn discard(&self, peer: NodeId, epoch: u64) {
        self.senders[peer as usize].shared.epoch.store(epoch, Ordering::Release);
    }
}

/// Takes streams.
fn listen(listener: &TcpListener, shared: &Shared) {
    let open = Arc::<AtomicUsize>::default();
    while !shared.is_stopped() {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if open.load(Ordering::Relaxed) >= STREAMS_MAX {
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

/// Reads frames from a stream that somebody has made until it is gone.
fn receive(stream: TcpStream, shared: &Shared) {
    let opened = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PAUSE)));
    let Ok(handle) = opened.and_then(|()| stream.try_clone()) else { return };
    let (proven, stream): (_, Box<dyn Read>) = match &shared.tls {
        None => (None, Box::new(stream)),
        Some(tls) => match tls.accept(stream, &|| shared.is_stopped()) {
            Ok((peer, stream)) => (Some(peer), Box::new(stream)),
            Err(distrust) => {
                // If the node is gone, nobody has to know.
                let _ = shared.arrivals.send(Arrival::Distrusted(distrust));
                return;
            }
        },
    };
    let until = Some(Instant::now() + GREETING);
    let (number, mut stream) = (shared.number(), Patient { stream, until, shared });
    let refusal = match greeting(&mut stream) {
        Ok(connection) => {
            stream.until = None;
            let accepted = Arrival::Accepted { stream: number, proven, number: connection, handle };
            if shared.arrivals.send(accepted).is_err() {
                return;
            }
            read(&mut stream, number)
        }
        Err(refusal) => refusal,
    };
    let _ = shared.arrivals.send(Arrival::Gone { stream: number, refusal });
}

/// What a stream of the connection with this number begins with.
pub(crate) fn begins_with(number: u64) -> Vec<u8> {
    [&MAGIC[..], &number.to_le_bytes()].concat()
}

/// The number that a stream begins with. An error if it does not, and why, if there is more to say than that it was too short.
fn greeting(stream: &mut dyn Read) -> Result<u64, Option<Refusal>> {
    let (mut magic, mut number) = ([0; 4], [0; 8]);
    stream.read_exact(&mut magic).map_err(|_| None)?;
    if magic != MAGIC {
        return Err(Some(Refusal::Magic));
    }
    stream.read_exact(&mut number).map_err(|_| None)?;
    Ok(u64::from_le_bytes(number))
}

/// Passes on the frames that come over a stream. What is wrong with it in the end, if it has not just ended.
fn read(stream: &mut Patient<'_>, number: u64) -> Option<Refusal> {
    let (mut splitter, mut bytes) = (Splitter::default(), vec![0; 1 << 16]);
    while let Ok(length @ 1..) = stream.read(&mut bytes) {
        splitter.push(&bytes[..length]);
        loop {
            match splitter.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let frame = Arrival::Frame { stream: Some(number), bytes: frame.to_vec() };
                    stream.shared.arrivals.send(frame).ok()?;
                }
                Err(refusal) => return Some(refusal),
            }
        }
    }
    None
}

/// Reads from a stream with a time-out as if it had none, until the node ends or it is too late: that is an error.
struct Patient<'s> {
    stream: Box<dyn Read>,
    /// When it is too late for what does not come all at once.
    until: Option<Instant>,
    shared: &'s Shared,
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.stream.read(bytes) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.shared.is_stopped() {
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// A stream that this node has made.
struct Open {
    epoch: u64,
    number: u64,
    stream: Box<dyn Write>,
}

/// Sends what waits for a peer.
fn send(waiting: &Receiver<(Place, Vec<u8>)>, sending: &Sending, to: (NodeId, SocketAddr), shared: &Shared) {
    let mut open: Option<Open> = None;
    // The first epoch that may have a stream.
    let mut next_epoch = 0;
    let mut not_before = Instant::now();
    while let Ok((place, frame)) = waiting.recv() {
        sending.waiting.fetch_sub(1, Ordering::Relaxed);
        let is_over = || place.epoch < sending.epoch.load(Ordering::Acquire) || shared.is_stopped();
        open.take_if(|open| open.epoch < place.epoch);
        if is_over() || place.epoch < next_epoch {
            continue;
        }
        if open.is_none() {
            let Some((handle, stream)) = connect(to, &mut not_before, shared, &is_over) else { continue };
            let Some((number, stream)) = begin((to.0, place), (handle, stream), shared) else { return };
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

/// Begins a stream of a connection, and looks when it ends: nothing comes over it. None if the node is gone.
fn begin(
    (peer, place): (NodeId, Place),
    (handle, mut stream): (TcpStream, Box<dyn Write>),
    shared: &Shared,
) -> Option<(u64, Box<dyn Write>)> {
    let (number, shared) = (shared.number(), shared.clone());
    let other_end = handle.try_clone();
    shared.arrivals.send(Arrival::Connected { stream: number, peer, place, handle }).ok()?;
    // Where it is gone already, the first frame will show.
    let _ = stream.write_all(&begins_with(place.number));
    if let Ok(other_end) = other_end {
        std::thread::spawn(move || {
            let mut end = Patient { stream: Box::new(other_end), until: None, shared: &shared };
            while let Ok(1..) = end.read(&mut [0; 1 << 10]) {}
            let _ = shared.arrivals.send(Arrival::Gone { stream: number, refusal: None });
        });
    }
    Some((number, stream))
}

/// Connects, as often as it takes, unless there is no need any more. What can close the stream, and what writes to it.
fn connect(
    (peer, address): (NodeId, SocketAddr),
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
                // What there is no need for any more was not refused.
                if !is_over() && shared.arrivals.send(Arrival::Distrusted(distrust)).is_err() {
                    return None;
                }
            }
        }
    }
    None
}

/// A stream to an address, twice.
fn reach(address: SocketAddr) -> io::Result<(TcpStream, TcpStream)> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    if leads_to_itself(&stream)? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    // A node waits for single messages, so they must not wait for others.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PAUSE))?;
    Ok((stream.try_clone()?, stream))
}

/// Whether a stream has nobody at its other end: where no one listens at a port that the system gives away, it may be given to the very
/// stream that is made to it. While that is open, the node that is to listen there cannot.
fn leads_to_itself(stream: &TcpStream) -> io::Result<bool> {
    Ok(stream.local_addr()? == stream.peer_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system gives such ports away one after the other, so it comes to each of them.
    #[test]
    fn a_stream_that_leads_to_itself_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has one");
        let other = TcpStream::connect(address).expect("it listens");
        assert!(!leads_to_itself(&other).expect("it is open"));
        drop((listener, other));
        // Not every system does: Linux gives some of the odd ports to no stream.
        if let Some(stream) = (0..100_000).find_map(|_| TcpStream::connect(address).ok()) {
            assert!(leads_to_itself(&stream).expect("it is open"));
        }
    }

    /// As many as there is room for say nothing, some of them slowly.
    #[test]
    fn those_that_say_nothing_leave_room_for_peers_in_time() {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = free.local_addr().expect("it has one");
        drop(free);
        let ((arrivals, arrived), stopped) = (sync_channel(STREAMS_MAX), Arc::<AtomicBool>::default());
        let _tcp = Tcp::bind(&[address], 0, None, arrivals, Arc::clone(&stopped)).expect("it listens");
        let connect = || TcpStream::connect(address).expect("it listens");
        let mut strangers: Vec<TcpStream> = (0..STREAMS_MAX).map(|_| connect()).collect();
        strangers.iter_mut().step_by(2).for_each(|stranger| stranger.write_all(&MAGIC).expect("it is open"));
        let mut turned_away = 0;
        let _peer = loop {
            let mut peer = connect();
            let _ = peer.write_all(&begins_with(7));
            match arrived.recv_timeout(Duration::from_secs(1)) {
                Ok(Arrival::Accepted { number: 7, .. }) => break peer,
                // One of the strangers.
                Ok(Arrival::Gone { .. }) => {}
                Ok(_) => panic!("nobody else said anything"),
                Err(_) => turned_away += 1,
            }
        };
        assert!(turned_away > 0, "there was room all the time");
        stopped.store(true, Ordering::Relaxed);
    }

    /// Nobody is there to take what is sent, and then somebody.
    #[test]
    fn a_peer_that_takes_nothing_has_no_room() {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let addresses = ["127.0.0.1:0".parse().expect("an address"), free.local_addr().expect("it has one")];
        drop(free);
        let ((arrivals, _kept), stopped) = (sync_channel(16), Arc::<AtomicBool>::default());
        let tcp = Tcp::bind(&addresses, 0, None, arrivals, Arc::clone(&stopped)).expect("it listens");
        let mut sent = 0;
        while !tcp.is_full(1) {
            assert!(
                tcp.send(1, Place { epoch: 0, number: 0 }, vec![1]),
                "there is room for more than a protocol should send"
            );
            sent += 1;
        }
        // The thread that sends has one of them in hand.
        assert!((WAITING_MANY..=WAITING_MANY + 1).contains(&sent), "{sent}");
        let listener = TcpListener::bind(addresses[1]).expect("nobody else has it");
        let (mut stream, _) = listener.accept().expect("the node tries again");
        stream.read_exact(&mut vec![0; begins_with(0).len() + sent]).expect("all of it comes");
        assert!(!tcp.is_full(1));
        stopped.store(true, Ordering::Relaxed);
    }
}
