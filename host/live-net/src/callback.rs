//! Identifies the maker of a stream without TLS, by a callback to the address of the node.
//!
//! Without TLS, any process that reaches a port can claim to be a node. So each stream begins with a random [`Secret`], and before the
//! first frame is accepted, the receiver connects to the address of the node that the frame names, and asks whether it made the stream.
//! Only the process at the address of a node can speak for it: no forged frame makes a node believe in a start of a peer that never was.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use host_live::address::Address;
use host_model::contract::NodeId;

use crate::address;
use crate::limited::Limited;

/// The first bytes of a question.
pub(crate) const ASK: [u8; 4] = *b"HASK";
/// The maximum time to connect for a question.
const CONNECTING: Duration = Duration::from_secs(1);

/// The secret of a stream, known to its two ends only.
pub(crate) type Secret = [u8; 16];

/// Bytes that cannot be guessed.
pub(crate) fn secret() -> Secret {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64 | u128::from(half())).to_le_bytes()
}

/// The streams that a node has made, the latest one to each peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made(Arc<Mutex<BTreeMap<NodeId, Secret>>>);

impl Made {
    /// The secret of a new stream to a peer.
    pub(crate) fn make(&self, peer: NodeId) -> Secret {
        let secret = secret();
        self.lock().insert(peer, secret);
        secret
    }

    /// Reads the rest of a question, and answers it.
    pub(crate) fn answer(&self, question: &mut dyn Read, answer: &mut dyn Write) -> io::Result<()> {
        let (mut peer, mut secret) = ([0; 4], [0; 16]);
        question.read_exact(&mut peer)?;
        question.read_exact(&mut secret)?;
        let has_made = self.lock().get(&NodeId::from_le_bytes(peer)) == Some(&secret);
        answer.write_all(&[has_made.into()])
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NodeId, Secret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the node at this address has made a stream with this secret to this node.
pub(crate) fn has_made(
    address: &Address,
    me: NodeId,
    secret: &Secret,
    until: Instant,
    is_over: &dyn Fn() -> bool,
) -> bool {
    let ask = || {
        let stream = address::connect(address, CONNECTING)?;
        let mut limited = Limited::new(&stream, until, is_over)?;
        limited.write_all(&[&ASK[..], &me.to_le_bytes(), secret].concat())?;
        let mut answer = [0];
        limited.read_exact(&mut answer)?;
        Ok::<_, io::Error>(answer == [1])
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{SocketAddr, TcpStream};

    use super::*;
    use crate::accept::Listening;

    /// Listens at an address and confirms every stream, until it is dropped.
    pub(crate) fn stand_in(address: SocketAddr) -> Listening {
        let says_yes = |mut stream: TcpStream| {
            std::thread::spawn(move || {
                let mut question = [0; 24];
                drop(stream.read_exact(&mut question).and_then(|()| stream.write_all(&[1])));
            });
        };
        // The previous listener may take a moment to end.
        let mut opened = (0..3_000).filter_map(|_| {
            let opened = Listening::open(address, Arc::default(), says_yes).ok();
            opened.is_none().then(|| std::thread::sleep(Duration::from_millis(20)));
            opened
        });
        opened.next().expect("the address is free")
    }

    /// A secret is confirmed only to the node at the other end, and only until the next stream.
    #[test]
    fn a_node_has_made_its_latest_stream_to_each_peer_and_no_other() {
        let made = Made::default();
        let says = |peer: NodeId, secret: &Secret| {
            let (question, mut answer) = ([&peer.to_le_bytes()[..], secret].concat(), Vec::new());
            made.answer(&mut &question[..], &mut answer).expect("it is whole");
            answer == [1]
        };
        assert!(!says(0, &[0; 16]));
        let (first, other) = (made.make(0), made.make(1));
        assert_ne!(first, other);
        assert_eq!([says(0, &first), says(1, &first), says(1, &other), says(2, &other)], [true, false, true, false]);
        let next = made.make(0);
        assert_eq!([says(0, &first), says(0, &next), says(1, &other)], [false, true, true]);
        assert!(made.answer(&mut &[0; 19][..], &mut Vec::new()).is_err(), "it is cut off");
    }
}
