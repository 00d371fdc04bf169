//! One end of a connection, and the rules of its life.
//!
//! *Numbers.* A connection has the lowest number that is free at the node that opens it. An end that is closed or broken is forgotten, and
//! what still arrives for it is answered with a reset. So a number is used again while segments of its former use are in flight. They
//! come before the answer to the new use, and until that answer the opener ignores all others. It does not use the number of an
//! attempt that was abandoned before it has the answer, so no answer is taken for another one. The other end forgets an older
//! connection when a new one has its number: its opener was reset, and came back without it.
//!
//! *Gaps.* Segments carry the number of bytes before them. A link that breaks can lose some of them without an error at either end: then the
//! next one does not fit, and the connection breaks.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::task::{Context as Polling, Poll, Waker};

use serde::{Deserialize, Serialize};

use super::address::{EPHEMERAL, address_of};
use super::error;
use crate::NodeId;

/// The name of a connection at one of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The node at the other end.
    pub peer: NodeId,
    /// Whether this node opened it.
    pub is_mine: bool,
    /// Its number among those with the same opener and the same other end.
    pub number: u32,
}

/// One end of a connection.
pub(super) struct Connection {
    pub key: Key,
    me: NodeId,
    port: u16,
    pub state: RefCell<State>,
}

/// The parts of an end that change. An empty list holds no memory.
#[derive(Debug)]
pub(super) struct State {
    pub phase: Phase,
    /// Bytes sent, modulo 2^32.
    pub sent: u32,
    /// Bytes received, modulo 2^32, with those in `rest`.
    pub received: u32,
    /// Bytes that have arrived and were not read.
    pub unread: Vec<u8>,
    /// The second part of a segment that was split.
    pub rest: Option<Rest>,
    /// Whether the peer has sent its last byte, and all have arrived.
    pub is_at_end: bool,
    /// Whether this end has sent its last byte.
    pub has_ended: bool,
    /// Whether bytes arrived behind the drop of the reader.
    pub has_discarded: bool,
    /// Whether there is a half that reads, and one that writes.
    pub has_reader: bool,
    pub has_writer: bool,
    /// The task that waits for an answer or for bytes.
    pub waiting: Option<Waker>,
}

/// The second part of a split segment.
#[derive(Debug)]
pub(super) struct Rest {
    pub bytes: Vec<u8>,
    pub is_last: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Opened by this node, and not answered.
    Opening,
    /// As `Opening`, and nothing waits for it any more.
    Abandoned,
    Open,
    /// Refused or broken.
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Refused,
    Broken,
}

impl Failure {
    pub(super) fn error(self) -> io::Error {
        error(match self {
            Self::Refused => io::ErrorKind::ConnectionRefused,
            Self::Broken => io::ErrorKind::ConnectionReset,
        })
    }
}

/// A half of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Reader,
    Writer,
}

impl Connection {
    pub(super) fn new(me: NodeId, key: Key, port: u16, phase: Phase) -> Self {
        let state = RefCell::new(State {
            phase,
            sent: 0,
            received: 0,
            unread: Vec::new(),
            rest: None,
            is_at_end: false,
            has_ended: false,
            has_discarded: false,
            has_reader: true,
            has_writer: true,
            waiting: None,
        });
        Self { key, me, port, state }
    }

    /// The addresses of this end and of the other one.
    pub(super) fn local(&self) -> SocketAddr {
        self.end(self.me, self.key.is_mine)
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.end(self.key.peer, !self.key.is_mine)
    }

    fn end(&self, node: NodeId, is_opener: bool) -> SocketAddr {
        let port = if is_opener { EPHEMERAL.saturating_add(self.key.number as u16) } else { self.port };
        address_of(node, port)
    }

    /// The connection for people.
    pub(super) fn text(&self) -> String {
        let state = self.state.borrow();
        let phase = match state.phase {
            Phase::Open if state.has_ended && state.is_at_end => "ended".to_owned(),
            Phase::Failed(failure) => failure.error().kind().to_string(),
            phase => format!("{phase:?}").to_lowercase(),
        };
        let [from, to] = match self.key.is_mine {
            true => [self.local(), self.peer()],
            false => [self.peer(), self.local()],
        };
        format!("{from} to {to}: {phase}")
    }

    pub(super) fn poll_read(&self, polling: &mut Polling<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.state.borrow_mut();
        if !state.unread.is_empty() || buffer.is_empty() {
            let length = state.unread.len().min(buffer.len());
            buffer[..length].copy_from_slice(&state.unread[..length]);
            state.unread.drain(..length);
            state.unread.shrink_to_fit();
            return Poll::Ready(Ok(length));
        }
        match state.phase {
            _ if state.is_at_end => Poll::Ready(Ok(0)),
            Phase::Failed(failure) => Poll::Ready(Err(failure.error())),
            _ => {
                state.waiting = Some(polling.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl State {
    /// The end of the connection by an error.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Failed(failure);
        self.rest = None;
        self.wake();
    }

    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// Bytes arrive where they can be read.
    pub(super) fn arrive(&mut self, bytes: &[u8], is_last: bool) {
        if self.has_reader {
            self.unread.reserve_exact(bytes.len());
            self.unread.extend(bytes);
        } else {
            self.has_discarded |= !bytes.is_empty();
        }
        self.is_at_end |= is_last;
        self.wake();
    }
}
