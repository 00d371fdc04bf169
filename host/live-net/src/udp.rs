//! Datagrams between nodes, for links without an order.
//!
//! A datagram is a frame followed by the token that its destination has given to its sender. Each node draws tokens when it starts, and
//! sends each only to the address of its node: so a process that does not receive at the address of a node cannot speak for it. A node
//! without a token sends its frame with [`NONE`], which asks for a token, and again once it has one. A node with an old token loses its
//! frames until it has the new one, as a datagram may be lost.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_live::address::Address;
use host_live::node::{HEAD, Refusal, TOKEN, announced};
use host_model::contract::NodeId;

use crate::address;
use crate::budget::{Account, Budget, Exceeded, Share};
use crate::callback::{Secret, secret};
use crate::shared::Shared;
use crate::wire::Arrival;

type Token = [u8; TOKEN];

/// The placeholder of a sender without a token.
const NONE: Token = [0; TOKEN];
/// The first bytes of a datagram that gives a token. Cluster, sender, destination and token follow.
const GIVES: [u8; 4] = *b"HTOK";
const GIFT: usize = 4 + 16 + 4 + 4 + TOKEN;
/// Frames to a node that wait for its token.
const WAITING_MAX: usize = 64;

/// The tokens of a node, one for each other node.
struct Tokens(Secret);

impl Tokens {
    fn new() -> Self {
        Self(secret())
    }

    fn of(&self, node: NodeId) -> Token {
        let hash = blake3::hash(&[&self.0[..], &node.to_le_bytes()].concat());
        let mut token = NONE;
        token.copy_from_slice(&hash.as_bytes()[..TOKEN]);
        // No token equals `NONE`.
        token[0] |= 1;
        token
    }
}

/// The state of sending to a peer.
#[derive(Default)]
struct Peer {
    /// The latest token that it has given.
    token: Option<Token>,
    /// Frames that wait for the first token, with their shares of the budget.
    waiting: Vec<(Vec<u8>, Share)>,
}

/// The peers of a node.
type Peers = Arc<Mutex<Vec<Peer>>>;

fn lock(peers: &Peers) -> MutexGuard<'_, Vec<Peer>> {
    peers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A received datagram, judged before it is kept.
enum Datagram {
    Arrives(Arrival),
    /// The sender has no token, or an old one.
    Asks(NodeId, Option<Refusal>),
}

fn judge(datagram: &[u8], shared: &Shared, tokens: &Tokens) -> Datagram {
    let refused = |refusal| Datagram::Arrives(Arrival::Refused(refusal));
    let Some((frame, token)) = datagram.len().checked_sub(TOKEN).map(|at| datagram.split_at(at)) else {
        return refused(Refusal::Length);
    };
    let Some(head) = frame.first_chunk::<HEAD>() else { return refused(Refusal::Length) };
    let from = match announced(&shared.identity, head).and_then(|announced| announced.from) {
        Ok(from) => from,
        Err(refusal) => return refused(refusal),
    };
    if token != tokens.of(from) {
        return Datagram::Asks(from, (token != NONE).then_some(Refusal::Unproven(from)));
    }
    match shared.budget.take(Account::From(from), frame.len()) {
        Ok(share) => Datagram::Arrives(Arrival::Frame { stream: None, bytes: frame.to_vec(), share }),
        Err(Exceeded) => refused(Refusal::OverBudget),
    }
}

/// A datagram that gives a token.
fn gift(cluster: &[u8; 16], from: NodeId, to: NodeId, token: Token) -> Vec<u8> {
    [&GIVES[..], cluster, &from.to_le_bytes(), &to.to_le_bytes(), &token].concat()
}

/// The token that a datagram gives to this node, and the node that gives it; none for any other datagram.
fn given(datagram: &[u8], shared: &Shared) -> Option<(NodeId, Token)> {
    let word = |at: usize| datagram[at..at + 4].try_into().map(NodeId::from_le_bytes).ok();
    let is_gift = datagram.len() == GIFT && datagram.starts_with(&GIVES) && datagram[4..20] == shared.identity.cluster;
    let (from, to) = is_gift.then(|| word(20).zip(word(24)))??;
    let token = datagram[GIFT - TOKEN..].try_into().ok()?;
    (to == shared.identity.node && from < shared.identity.nodes).then_some((from, token))
}

/// The socket of a node.
pub(crate) struct Udp {
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
    peers: Peers,
    budget: Budget,
}

impl Udp {
    /// Opens the socket of a node. A name leads to its first address, the same for all nodes on loopback.
    pub(crate) fn bind(addresses: &[Address], shared: Shared) -> io::Result<Self> {
        let first = |address: &Address| address::try_each(address, Ok);
        let addresses = addresses.iter().map(first).collect::<io::Result<Vec<SocketAddr>>>()?;
        let socket = UdpSocket::bind(addresses[shared.identity.node as usize])?;
        let peers: Peers = Arc::new(Mutex::new(addresses.iter().map(|_| Peer::default()).collect()));
        let (shared_peers, to) = (Arc::clone(&peers), addresses.clone());
        let receiver =
            Receiver { socket: socket.try_clone()?, addresses: to, shared: shared.clone(), peers: shared_peers };
        receiver.socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        std::thread::spawn(move || receiver.run(&Tokens::new()));
        Ok(Self { socket, addresses, peers, budget: shared.budget })
    }

    /// Sends a frame, and returns whether it has left. A frame that has not left, or that has no room while it waits for a token, is lost.
    pub(crate) fn send(&self, to: NodeId, frame: &[u8]) -> bool {
        let address = self.addresses[to as usize];
        let mut peers = lock(&self.peers);
        let peer = &mut peers[to as usize];
        if let Some(token) = peer.token {
            drop(peers);
            return send(&self.socket, address, frame, token);
        }
        if peer.waiting.len() < WAITING_MAX
            && let Ok(share) = self.budget.take(Account::To(to), frame.len())
        {
            peer.waiting.push((frame.to_vec(), share));
        }
        drop(peers);
        send(&self.socket, address, frame, NONE)
    }
}

fn send(socket: &UdpSocket, to: SocketAddr, frame: &[u8], token: Token) -> bool {
    socket.send_to(&[frame, &token].concat(), to).is_ok()
}

/// The thread that receives the datagrams of a node.
struct Receiver {
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
    shared: Shared,
    peers: Peers,
}

impl Receiver {
    fn run(&self, tokens: &Tokens) {
        let mut bytes = vec![0; 1 << 16];
        while !self.shared.is_stopped() {
            // An error is a time-out, or reports that an earlier datagram did not reach its destination.
            let Ok(length) = self.socket.recv(&mut bytes) else { continue };
            let datagram = &bytes[..length];
            if let Some((from, token)) = given(datagram, &self.shared) {
                self.take(from, token);
                continue;
            }
            let arrival = match judge(datagram, &self.shared, tokens) {
                Datagram::Arrives(arrival) => arrival,
                Datagram::Asks(from, refusal) => {
                    self.give(from, tokens.of(from));
                    let Some(refusal) = refusal else { continue };
                    Arrival::Refused(refusal)
                }
            };
            if self.shared.arrivals.send(arrival).is_err() {
                return;
            }
        }
    }

    /// Gives a node its token, at its address.
    fn give(&self, to: NodeId, token: Token) {
        let identity = &self.shared.identity;
        let gift = gift(&identity.cluster, identity.node, to, token);
        // After a loss, the next frame asks for it again.
        let _ = self.socket.send_to(&gift, self.addresses[to as usize]);
    }

    /// Takes a token from a node, and sends the frames that wait for it.
    fn take(&self, from: NodeId, token: Token) {
        let address = self.addresses[from as usize];
        let mut peers = lock(&self.peers);
        peers[from as usize].token = Some(token);
        let waiting = std::mem::take(&mut peers[from as usize].waiting);
        drop(peers);
        for (frame, _) in &waiting {
            send(&self.socket, address, frame, token);
        }
    }
}

/// Tests speak for a node from its address, with the token that the destination gives it.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Sends a frame from the address of a node; the frame may be lost.
    pub(crate) fn speak_from(own: SocketAddr, to: SocketAddr, frame: &[u8]) {
        let socket = UdpSocket::bind(own).expect("the address is free");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a socket can");
        let mut bytes = [0; 1 << 10];
        loop {
            assert!(send(&socket, to, frame, NONE));
            if let Ok(GIFT) = socket.recv(&mut bytes)
                && let Ok(token) = bytes[GIFT - TOKEN..GIFT].try_into()
            {
                assert!(send(&socket, to, frame, token));
                return;
            }
        }
    }

    /// Sends a frame from another address, with a forged token.
    pub(crate) fn forge(to: SocketAddr, frame: &[u8]) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("there is a port");
        assert!(send(&socket, to, frame, [7; TOKEN]));
    }

    #[test]
    fn tokens_differ_by_node_and_start() {
        let [first, second] = [Tokens::new(), Tokens::new()];
        let all = [first.of(0), first.of(1), second.of(0), second.of(1)];
        assert!(all.iter().all(|token| *token != NONE));
        assert!((0..4).all(|one| (0..one).all(|other| all[one] != all[other])), "{all:?}");
        assert_eq!(first.of(0), first.of(0));
    }
}
