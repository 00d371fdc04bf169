//! Reads the streams that others have made.
//!
//! A stream is a stranger until its first valid frame of a node in the cluster, for which there is a deadline. All strangers share
//! [few places](PLACES) and [few bytes](STRANGERS_MAX); when all places are taken, a new stranger evicts the oldest one, so that a peer,
//! which identifies itself at once, is served whatever else connects. Without TLS, the node that the first frame names is
//! [asked](crate::callback) whether it made the stream. Frames of a peer count against its own [budget](crate::budget).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_live::node::{Announced, HEAD, Refusal, announced, sender};
use host_model::contract::NodeId;

use crate::accept::Listening;
use crate::address;
use crate::budget::{Account, Exceeded, Share};
use crate::callback::{ASK, Secret, has_made};
use crate::connections::Handle;
use crate::shared::{MAGIC, PAUSE, Shared};
use crate::wire::Arrival;

/// The maximum number of strangers.
pub(crate) const PLACES: usize = 256;
/// Threads that read streams: of strangers, of strangers that are being evicted, and of peers.
const THREADS_MAX: usize = 2 * PLACES + 1_024;
/// The maximum time for the greeting of a stream, and then, without authentication, for its first frame.
const GREETING: Duration = Duration::from_secs(5);
/// The maximum time for the first frame of an authenticated peer.
const FIRST_FRAME: Duration = Duration::from_secs(30);
/// The maximum time that a frame waits for memory.
const ROOM: Duration = Duration::from_secs(30);
/// Bytes that are allocated for a frame before its content arrives.
const PIECE: usize = 64 << 10;

/// The streams of strangers, oldest first.
#[derive(Clone, Default)]
struct Strangers(Arc<Mutex<BTreeMap<u64, TcpStream>>>);

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a stranger. If all places are taken, the oldest one is closed.
    fn enter(&self, number: u64, handle: TcpStream) {
        let mut strangers = self.lock();
        strangers.insert(number, handle);
        if strangers.len() > PLACES
            && let Some((_, oldest)) = strangers.pop_first()
        {
            oldest.close();
        }
    }

    /// Closes the oldest stranger other than this one.
    fn evict(&self, number: u64) {
        let mut strangers = self.lock();
        let oldest = strangers.keys().find(|oldest| **oldest != number).copied();
        if let Some(oldest) = oldest.and_then(|oldest| strangers.remove(&oldest)) {
            oldest.close();
        }
    }

    /// Removes a stream that is no longer a stranger, or is gone; none if it was evicted.
    fn leave(&self, number: u64) -> Option<TcpStream> {
        self.lock().remove(&number)
    }
}

/// Accepts streams at an address, and reads each in a thread of its own.
pub(crate) fn listen(address: &Address, shared: &Shared) -> io::Result<Listening> {
    address::try_each(address, |address| listen_at(address, shared.clone()))
}

fn listen_at(address: SocketAddr, shared: Shared) -> io::Result<Listening> {
    let (threads, strangers) = (Arc::<AtomicUsize>::default(), Strangers::default());
    Listening::open(address, Arc::clone(&shared.stopped), move |stream| {
        let opened = stream.set_read_timeout(Some(PAUSE));
        let Ok(handle) = opened.and_then(|()| stream.try_clone()) else { return };
        if threads.load(Ordering::Relaxed) >= THREADS_MAX {
            return;
        }
        let number = shared.number();
        strangers.enter(number, handle);
        let (shared, threads, strangers) = (shared.clone(), Arc::clone(&threads), strangers.clone());
        threads.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            let ended = receive(stream, number, &strangers, &shared);
            // It fails only if the node is gone.
            let _ = shared.arrivals.send(ended);
            strangers.leave(number);
            threads.fetch_sub(1, Ordering::Relaxed);
        });
    })
}

/// Reads the frames of a stream until its end, which it returns.
fn receive(stream: TcpStream, number: u64, strangers: &Strangers, shared: &Shared) -> Arrival {
    let (proven, stream): (_, Box<dyn Read>) = match &shared.tls {
        None => (None, Box::new(stream)),
        Some(tls) => match tls.accept(stream, &|| shared.is_stopped()) {
            Ok((peer, stream)) => (Some(peer), Box::new(stream)),
            Err(distrust) => return Arrival::Distrusted(distrust),
        },
    };
    let until = Some(Instant::now() + GREETING);
    let stream = Patient { stream, until, shared };
    let mut frames = Frames { stream, number, secret: Secret::default(), strangers, shared, proven, is_met: false };
    let refusal = match frames.forward() {
        Err(End::Refused(refusal)) => Some(refusal),
        Ok(()) | Err(End::Gone) => None,
    };
    Arrival::Gone { stream: number, refusal }
}

/// The reason why a stream is not read any further.
enum End {
    /// The stream or the node is gone, or a deadline has passed.
    Gone,
    /// Its bytes are refused, and the start of the next frame is unknown.
    Refused(Refusal),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the frames of a stream.
struct Frames<'s> {
    stream: Patient<'s>,
    number: u64,
    /// The secret in the greeting.
    secret: Secret,
    strangers: &'s Strangers,
    shared: &'s Shared,
    /// The authenticated node at the other end, if any.
    proven: Option<NodeId>,
    /// Whether a valid frame of a node was received.
    is_met: bool,
}

impl Frames<'_> {
    /// Forwards the frames to the node.
    fn forward(&mut self) -> Result<(), End> {
        let number = self.number;
        let connection = self.greeting()?;
        let first = if self.proven.is_some() { FIRST_FRAME } else { GREETING };
        self.stream.until = Some(Instant::now() + first);
        loop {
            let Some((bytes, share)) = self.next_frame()? else { continue };
            if !self.is_met {
                // An evicted stream is closed already.
                let handle = self.strangers.leave(number).ok_or(End::Gone)?;
                let accepted = Arrival::Accepted { stream: number, proven: self.proven, number: connection, handle };
                self.send(accepted)?;
                (self.is_met, self.stream.until) = (true, None);
            }
            self.send(Arrival::Frame { stream: Some(number), bytes, share })?;
        }
    }

    fn send(&self, arrival: Arrival) -> Result<(), End> {
        self.shared.arrivals.send(arrival).map_err(|_| End::Gone)
    }

    /// Reads the greeting: the number of the connection.
    fn greeting(&mut self) -> Result<u64, End> {
        let (mut magic, mut number) = ([0; 4], [0; 8]);
        self.stream.read_exact(&mut magic)?;
        if magic == ASK && self.proven.is_none() {
            let mut handle = self.strangers.leave(self.number).ok_or(End::Gone)?;
            self.shared.made.answer(&mut self.stream, &mut handle)?;
            return Err(End::Gone);
        }
        if magic != MAGIC {
            return Err(End::Refused(Refusal::Magic));
        }
        self.stream.read_exact(&mut number)?;
        self.stream.read_exact(&mut self.secret)?;
        Ok(u64::from_le_bytes(number))
    }

    /// Reads the next frame, with memory allocated as its bytes arrive; none if it was refused and discarded.
    fn next_frame(&mut self) -> Result<Option<(Vec<u8>, Share)>, End> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let Announced { length, from } = announced(&self.shared.identity, &head).map_err(End::Refused)?;
        let from = from.and_then(|from| match self.proven {
            Some(proven) if proven != from => Err(Refusal::Impostor(from)),
            _ => Ok(from),
        });
        let from = match from {
            Ok(from) => from,
            Err(refusal) => {
                self.send(Arrival::Refused(refusal))?;
                self.skip(length - HEAD)?;
                return Ok(None);
            }
        };
        let is_known = self.is_met || self.proven.is_some();
        let account = if is_known { Account::From(from) } else { Account::Strangers };
        let (bytes, mut share) = self.rest(&head, length, account)?;
        if !self.is_met {
            if let Err(refusal) = sender(&self.shared.identity, &bytes) {
                self.send(Arrival::Refused(refusal))?;
                return Ok(None);
            }
            self.prove(from)?;
            share.hand_over(Account::From(from)).map_err(|_| End::Refused(Refusal::OverBudget))?;
        }
        Ok(Some((bytes, share)))
    }

    /// Asks the node that the first frame names whether it made the stream, unless the peer is authenticated.
    fn prove(&mut self, from: NodeId) -> Result<(), End> {
        if self.proven.is_some() {
            return Ok(());
        }
        let Shared { addresses, identity, .. } = self.shared;
        let until = self.stream.until.unwrap_or_else(|| Instant::now() + GREETING);
        let is_over = || self.shared.is_stopped();
        let is_made = |address: &Address| has_made(address, identity.node, &self.secret, until, &is_over);
        if !addresses.get(from as usize).is_some_and(is_made) {
            return Err(End::Refused(Refusal::Unproven(from)));
        }
        self.proven = Some(from);
        Ok(())
    }

    /// Reads the rest of a frame with this head. Memory grows by as many bytes as were received, and by one piece at first.
    fn rest(&mut self, head: &[u8], length: usize, account: Account) -> Result<(Vec<u8>, Share), End> {
        let (mut bytes, mut share) = (Vec::new(), self.shared.budget.share(account));
        let mut received = head.len();
        while received < length {
            let room = length.min(received + received.max(PIECE));
            self.make_room(&mut share, room)?;
            bytes.reserve_exact(room - bytes.len());
            if bytes.is_empty() {
                bytes.extend(head);
            }
            bytes.resize(room, 0);
            self.stream.read_exact(&mut bytes[received..])?;
            received = room;
        }
        Ok((bytes, share))
    }

    /// Waits for memory in the budget: further bytes stay in the network, so the sender waits as well. A stranger evicts other strangers.
    fn make_room(&self, share: &mut Share, room: usize) -> Result<(), End> {
        let until = Instant::now() + ROOM;
        let until = self.stream.until.map_or(until, |end| end.min(until));
        while share.resize(room) == Err(Exceeded) {
            if self.shared.is_stopped() {
                return Err(End::Gone);
            }
            if Instant::now() >= until {
                return Err(End::Refused(Refusal::OverBudget));
            }
            if !self.is_met && self.proven.is_none() {
                self.strangers.evict(self.number);
            }
            self.shared.budget.wait(PAUSE);
        }
        Ok(())
    }

    /// Reads bytes and discards them.
    fn skip(&mut self, mut left: usize) -> Result<(), End> {
        let mut bytes = [0; 1 << 13];
        while left > 0 {
            let piece = left.min(bytes.len());
            self.stream.read_exact(&mut bytes[..piece])?;
            left -= piece;
        }
        Ok(())
    }
}

/// Reads from a stream with a time-out, and retries until bytes arrive. The end of the node and a deadline that has passed are errors.
pub(crate) struct Patient<'s> {
    pub(crate) stream: Box<dyn Read + 's>,
    /// The deadline, if there is one.
    pub(crate) until: Option<Instant>,
    pub(crate) shared: &'s Shared,
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use host_live::node::VERSION;

    use super::*;

    /// A frame of node 1 to node 0.
    fn frame(packet: &[u8]) -> Vec<u8> {
        let head = [&b"HLIV"[..], &VERSION.to_le_bytes(), &[4; 16], &[1, 0, 0, 0], &[0; 4], &[7; 8]].concat();
        let length = u32::try_from(packet.len()).expect("it is short").to_le_bytes();
        let content = [&head[..], &length, &[9; 16], &[0; 16], packet].concat();
        [&content[..], &blake3::hash(&content).as_bytes()[..8]].concat()
    }

    /// A reader of these bytes that returns at most this many at a time.
    struct Pieces(Vec<u8>, usize);

    impl Read for Pieces {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let length = bytes.len().min(self.1).min(self.0.len());
            bytes[..length].copy_from_slice(&self.0[..length]);
            self.0.drain(..length);
            Ok(length)
        }
    }

    /// A reader of frames that has authenticated node 1.
    fn of_node_1<'s>(pieces: Pieces, shared: &'s Shared, strangers: &'s Strangers) -> Frames<'s> {
        let stream = Patient { stream: Box::new(pieces), until: None, shared };
        Frames { stream, number: 0, secret: [0; 16], strangers, shared, proven: Some(1), is_met: true }
    }

    /// Reads a stream: all frames, the refusals, and the end.
    fn read(stream: Vec<u8>, piece: usize) -> (Vec<Vec<u8>>, Vec<Refusal>, End) {
        let (arrivals, arrived) = sync_channel(64);
        let (shared, strangers) = (Shared::of_tests(arrivals, 2), Strangers::default());
        let mut frames = of_node_1(Pieces(stream, piece), &shared, &strangers);
        let mut found = Vec::new();
        let end = loop {
            match frames.next_frame() {
                Ok(frame) => found.extend(frame.map(|(bytes, _)| bytes)),
                Err(end) => break end,
            }
        };
        assert_eq!(shared.budget.holding().bytes, 0, "dropped frames return their memory");
        let refused = arrived.try_iter().map(|arrival| match arrival {
            Arrival::Refused(refusal) => refusal,
            _ => panic!("nothing else arrives"),
        });
        (found, refused.collect(), end)
    }

    #[test]
    fn a_stream_is_split_wherever_it_is_cut() {
        let frames = [frame(&[1]), frame(&[2; 300]), frame(&[])];
        let stream = frames.concat();
        for piece in 1..stream.len() {
            let (found, refused, end) = read(stream.clone(), piece);
            assert_eq!((&found[..], refused), (&frames[..], vec![]), "{piece}");
            assert!(matches!(end, End::Gone));
        }
        // A refused frame is discarded, and the next frame begins at its end.
        let mut foreign = frame(&[3; 100]);
        foreign[6] ^= 1;
        let (found, refused, _) = read([&foreign[..], &frames[0]].concat(), 7);
        assert_eq!((found, refused), (vec![frames[0].clone()], vec![Refusal::Cluster]));
        let (found, _, end) = read([&frames[0][..], &[b'G'; HEAD]].concat(), 7);
        assert!(found.len() == 1 && matches!(end, End::Refused(Refusal::Magic)));
        // A length above the limit is refused.
        let mut long = frame(&[]);
        long[38..42].copy_from_slice(&(16_u32 << 20).to_le_bytes());
        assert!(matches!(read(long, 7).2, End::Refused(Refusal::TooLong)));
    }

    /// A frame that announces 15 MiB and has a few bytes gets memory for one piece; a longer one gets memory for twice its bytes.
    #[test]
    fn memory_grows_with_the_received_bytes() {
        for (received, most) in [(100, PIECE + HEAD), (PIECE + 100, 2 * (PIECE + HEAD)), (1_000_000, 2 << 20)] {
            let (arrivals, _arrived) = sync_channel(64);
            let (shared, strangers) = (Shared::of_tests(arrivals, 2), Strangers::default());
            let mut begun = frame(&vec![0; received]);
            begun[38..42].copy_from_slice(&(15_u32 << 20).to_le_bytes());
            let mut frames = of_node_1(Pieces(begun, 1_000), &shared, &strangers);
            assert!(frames.next_frame().is_err());
            assert!(shared.budget.holding().most <= most, "{:?}", shared.budget.holding());
        }
    }
}
