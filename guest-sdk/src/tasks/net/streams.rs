//! All connections of a node.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context as Polling, Poll, Waker};

use super::TcpStream;
use super::address::address_of;
use super::connection::{Connection, Failure, Half, Key, Phase, Rest, State};
use super::error;
use super::segment::{Bytes, Content, Segment};
use crate::NodeId;
use crate::tasks::current::{Current, present, required, within};

thread_local! {
    /// The connections of the node whose handler runs.
    static CURRENT: Current<Streams> = const { RefCell::new(None) };
}

/// The most bytes of a segment: it fits into a message on every link.
const SEGMENT_MAX: usize = 60_000;

/// Each segment of up to this many bytes is split everywhere; a longer one, in this many bytes in all at both of its ends.
const SPLIT_MAX: usize = 32;

/// The answers of a `choose`.
pub(in crate::tasks) type Choose<'c> = &'c mut dyn FnMut(u32) -> u32;

/// The connections, listeners and outgoing segments of a node.
pub(in crate::tasks) struct Streams {
    me: NodeId,
    nodes: u32,
    /// Whether the messages of the program carry segments.
    is_carried: bool,
    /// Segments that may still arrive in two parts.
    splits: Cell<u32>,
    /// In the order of their keys.
    connections: RefCell<Vec<Rc<Connection>>>,
    listeners: RefCell<Vec<Rc<Listening>>>,
    leaving: RefCell<Vec<Leaving>>,
}

/// A segment on its way out.
pub(in crate::tasks) struct Leaving {
    pub to: NodeId,
    pub segment: Segment,
}

/// A port that connections are accepted at.
pub(super) struct Listening {
    me: NodeId,
    port: u16,
    accepted: RefCell<Vec<TcpStream>>,
    waiting: RefCell<Vec<Waker>>,
}

impl Listening {
    pub(super) fn address(&self) -> SocketAddr {
        address_of(self.me, self.port)
    }

    pub(super) fn poll_accept(&self, polling: &mut Polling<'_>) -> Poll<TcpStream> {
        let mut accepted = self.accepted.borrow_mut();
        if accepted.is_empty() {
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(polling.waker())) {
                waiting.push(polling.waker().clone());
            }
            return Poll::Pending;
        }
        let first = accepted.remove(0);
        accepted.shrink_to_fit();
        Poll::Ready(first)
    }
}

/// A connection that waits for the answer of the other end. Dropped before that, it is abandoned.
pub(super) struct Opening(Option<Rc<Connection>>);

impl Opening {
    pub(super) fn poll(&mut self, polling: &mut Polling<'_>) -> Poll<io::Result<TcpStream>> {
        let Some(connection) = self.0.take() else { return Poll::Pending };
        let mut state = connection.state.borrow_mut();
        match state.phase {
            Phase::Failed(failure) => return Poll::Ready(Err(failure.error())),
            Phase::Opening | Phase::Abandoned => state.waiting = Some(polling.waker().clone()),
            Phase::Open => {
                drop(state);
                return Poll::Ready(Ok(TcpStream::new(connection)));
            }
        }
        drop(state);
        self.0 = Some(connection);
        Poll::Pending
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else { return };
        let mut state = connection.state.borrow_mut();
        if state.phase == Phase::Opening {
            state.phase = Phase::Abandoned;
            state.waiting = None;
            return;
        }
        let is_open = state.phase == Phase::Open;
        drop(state);
        if is_open {
            // It was answered, and nothing has taken it: its drop closes it.
            drop(TcpStream::new(connection));
        }
    }
}

impl Streams {
    pub(in crate::tasks) fn new(me: NodeId, nodes: u32, splits: Option<u32>) -> Self {
        Self {
            me,
            nodes,
            is_carried: splits.is_some(),
            splits: Cell::new(splits.unwrap_or(0)),
            connections: RefCell::default(),
            listeners: RefCell::default(),
            leaving: RefCell::default(),
        }
    }

    pub(in crate::tasks) fn within<R>(self: &Rc<Self>, run: impl FnOnce() -> R) -> R {
        within(&CURRENT, self, run)
    }

    pub(super) fn present() -> Option<Rc<Self>> {
        present(&CURRENT)
    }

    pub(super) fn required() -> Rc<Self> {
        let streams = required(&CURRENT);
        assert!(streams.is_carried, "byte streams need messages that carry them: define `Program::STREAMS`");
        streams
    }

    fn find(&self, key: Key) -> Option<Rc<Connection>> {
        let connections = self.connections.borrow();
        let at = connections.binary_search_by_key(&key, |connection| connection.key).ok()?;
        Some(Rc::clone(&connections[at]))
    }

    fn insert(&self, connection: Rc<Connection>) {
        let mut connections = self.connections.borrow_mut();
        let at = connections.partition_point(|other| other.key < connection.key);
        connections.reserve_exact(1);
        connections.insert(at, connection);
    }

    /// Forgets a connection: its number is free.
    fn remove(&self, connection: &Rc<Connection>) {
        let mut connections = self.connections.borrow_mut();
        connections.retain(|other| !Rc::ptr_eq(other, connection));
        connections.shrink_to_fit();
    }

    pub(super) fn listen(&self, port: u16) -> io::Result<Rc<Listening>> {
        let mut listeners = self.listeners.borrow_mut();
        if listeners.iter().any(|other| other.port == port) {
            return Err(error(io::ErrorKind::AddrInUse));
        }
        let listening =
            Rc::new(Listening { me: self.me, port, accepted: RefCell::default(), waiting: RefCell::default() });
        listeners.reserve_exact(1);
        listeners.push(Rc::clone(&listening));
        Ok(listening)
    }

    pub(super) fn stop_listening(&self, listening: &Rc<Listening>) {
        let mut listeners = self.listeners.borrow_mut();
        listeners.retain(|other| !Rc::ptr_eq(other, listening));
        listeners.shrink_to_fit();
        drop(listeners);
        drop(listening.accepted.take());
    }

    pub(super) fn open(&self, peer: NodeId, port: u16) -> io::Result<Opening> {
        assert!(peer < self.nodes, "connected to node {peer} of a cluster of {}", self.nodes);
        let is_free = |number: &u32| self.find(Key { peer, is_mine: true, number: *number }).is_none();
        let number = (0..).find(is_free).ok_or_else(|| error(io::ErrorKind::AddrInUse))?;
        let key = Key { peer, is_mine: true, number };
        let connection = Rc::new(Connection::new(self.me, key, port, Phase::Opening));
        self.insert(Rc::clone(&connection));
        self.send(key, Content::Open(port));
        Ok(Opening(Some(connection)))
    }

    /// # Errors
    ///
    /// The connection is broken, or was shut down.
    pub(super) fn write(&self, connection: &Connection, bytes: &[u8]) -> io::Result<usize> {
        let mut state = connection.state.borrow_mut();
        if let Phase::Failed(failure) = state.phase {
            return Err(failure.error());
        }
        if state.has_ended {
            return Err(error(io::ErrorKind::BrokenPipe));
        }
        for part in bytes.chunks(SEGMENT_MAX) {
            self.send_data(connection.key, &mut state, part, false);
        }
        Ok(bytes.len())
    }

    pub(super) fn shut_down(&self, connection: &Connection) {
        let mut state = connection.state.borrow_mut();
        if state.phase == Phase::Open && !state.has_ended {
            state.has_ended = true;
            self.send_data(connection.key, &mut state, &[], true);
        }
    }

    /// Drops a half: without the one that writes the stream has ended, and without both the connection is closed.
    pub(super) fn drop_half(&self, connection: &Rc<Connection>, half: Half) {
        let mut state = connection.state.borrow_mut();
        match half {
            Half::Reader => {
                state.has_reader = false;
                state.waiting = None;
            }
            Half::Writer => state.has_writer = false,
        }
        if state.has_reader || state.has_writer {
            drop(state);
            if half == Half::Writer {
                self.shut_down(connection);
            }
            return;
        }
        let is_unread = !state.unread.is_empty() || state.rest.is_some() || state.has_discarded;
        let is_open = state.phase == Phase::Open;
        drop(state);
        if is_open {
            match is_unread {
                true => self.send(connection.key, Content::Reset),
                false => self.shut_down(connection),
            }
            self.remove(connection);
        }
    }

    fn send(&self, key: Key, content: Content) {
        let segment = Segment { connection: key.number, is_opener: key.is_mine, content };
        let mut leaving = self.leaving.borrow_mut();
        leaving.reserve_exact(1);
        leaving.push(Leaving { to: key.peer, segment });
    }

    /// Sends bytes, together with those that the same handler has sent before.
    fn send_data(&self, key: Key, state: &mut State, bytes: &[u8], is_last: bool) {
        let at = state.sent;
        state.sent = at.wrapping_add(bytes.len() as u32);
        let mut leaving = self.leaving.borrow_mut();
        let of_connection = |leaving: &&mut Leaving| {
            let Segment { connection, is_opener, .. } = leaving.segment;
            (leaving.to, connection, is_opener) == (key.peer, key.number, key.is_mine)
        };
        let last = leaving.iter_mut().rev().find(of_connection).map(|leaving| &mut leaving.segment.content);
        if let Some(Content::Data { bytes: before, is_last: last, .. }) = last
            && !*last
            && before.0.len() + bytes.len() <= SEGMENT_MAX
        {
            before.0.extend(bytes);
            *last = is_last;
            return;
        }
        drop(leaving);
        self.send(key, Content::Data { at, bytes: Bytes(bytes.to_vec()), is_last });
    }

    /// The segments of this handler.
    pub(in crate::tasks) fn take_leaving(&self) -> Vec<Leaving> {
        self.leaving.take()
    }

    /// A segment arrives.
    pub(in crate::tasks) fn arrive(&self, from: NodeId, segment: Segment, choose: Choose<'_>) {
        let key = Key { peer: from, is_mine: !segment.is_opener, number: segment.connection };
        let known = self.find(key);
        let phase = known.as_ref().map(|connection| connection.state.borrow().phase);
        match (segment.content, known, phase) {
            (Content::Open(port), former, _) => self.opened(key, port, former),
            (Content::Accept, Some(connection), Some(Phase::Opening)) => {
                let mut state = connection.state.borrow_mut();
                state.phase = Phase::Open;
                state.wake();
            }
            (Content::Accept, Some(connection), Some(Phase::Abandoned)) => {
                self.send(key, Content::Reset);
                self.remove(&connection);
            }
            (Content::Refuse, Some(connection), Some(Phase::Opening | Phase::Abandoned)) => {
                self.fail(&connection, Failure::Refused);
            }
            (Content::Data { at, bytes, is_last }, Some(connection), Some(Phase::Open)) => {
                if connection.state.borrow().received == at {
                    self.receive(&connection, Rest { bytes: bytes.0, is_last }, choose);
                } else {
                    self.send(key, Content::Reset);
                    self.fail(&connection, Failure::Broken);
                }
            }
            // Bytes of a former use of the number.
            (Content::Data { .. }, _, Some(Phase::Opening)) => {}
            (Content::Data { bytes, .. }, _, _) if !bytes.0.is_empty() => self.send(key, Content::Reset),
            (Content::Reset, Some(connection), Some(Phase::Open)) => self.fail(&connection, Failure::Broken),
            _ => {}
        }
    }

    fn opened(&self, key: Key, port: u16, former: Option<Rc<Connection>>) {
        if let Some(former) = former {
            self.fail(&former, Failure::Broken);
        }
        let listening = self.listeners.borrow().iter().find(|listening| listening.port == port).map(Rc::clone);
        let Some(listening) = listening else {
            self.send(key, Content::Refuse);
            return;
        };
        let connection = Rc::new(Connection::new(self.me, key, port, Phase::Open));
        self.insert(Rc::clone(&connection));
        self.send(key, Content::Accept);
        let mut accepted = listening.accepted.borrow_mut();
        accepted.reserve_exact(1);
        accepted.push(TcpStream::new(connection));
        drop(accepted);
        listening.waiting.take().into_iter().for_each(Waker::wake);
    }

    fn fail(&self, connection: &Rc<Connection>, failure: Failure) {
        connection.state.borrow_mut().fail(failure);
        self.remove(connection);
    }

    /// Bytes of a connection arrive, as a whole or in two parts.
    fn receive(&self, connection: &Connection, mut new: Rest, choose: Choose<'_>) {
        let mut state = connection.state.borrow_mut();
        state.received = state.received.wrapping_add(new.bytes.len() as u32);
        match &mut state.rest {
            Some(rest) => {
                rest.bytes.append(&mut new.bytes);
                rest.is_last |= new.is_last;
            }
            None => self.split(&mut state, new, choose),
        }
    }

    fn split(&self, state: &mut State, mut new: Rest, choose: Choose<'_>) {
        let length = new.bytes.len();
        let places = split_places(length, new.is_last);
        let answer = match self.splits.get() {
            0 => 0,
            _ if places.is_empty() => 0,
            _ => choose(places.len() as u32 + 1),
        };
        let Some(place) = (answer as usize).checked_sub(1).map(|index| places[index]) else {
            state.arrive(&new.bytes, new.is_last);
            return;
        };
        self.splits.set(self.splits.get() - 1);
        let behind = new.bytes.split_off(place);
        if place > 0 {
            state.arrive(&new.bytes, false);
        }
        state.rest = Some(Rest { bytes: behind, is_last: new.is_last });
    }

    /// The connections with a split segment whose rest has not arrived.
    pub(in crate::tasks) fn split_ones(&self) -> Vec<Key> {
        let connections = self.connections.borrow();
        let split = connections.iter().filter(|connection| connection.state.borrow().rest.is_some());
        split.map(|connection| connection.key).collect()
    }

    /// The rest of a segment arrives.
    ///
    /// # Panics
    ///
    /// The connection has none.
    pub(in crate::tasks) fn rest(&self, key: Key) {
        let connection = self.find(key);
        let mut state = connection.as_ref().map(|connection| connection.state.borrow_mut());
        let rest = state.as_mut().and_then(|state| Some((state.rest.take()?, state)));
        let (rest, state) = rest.expect("the event is listed for a connection with a split segment");
        state.arrive(&rest.bytes, rest.is_last);
    }

    /// The link to a peer is broken, and all connections with it.
    pub(in crate::tasks) fn broken(&self, peer: NodeId) {
        let is_to_peer = |connection: &&Rc<Connection>| connection.key.peer == peer;
        let broken: Vec<_> = self.connections.borrow().iter().filter(is_to_peer).map(Rc::clone).collect();
        for connection in broken {
            self.fail(&connection, Failure::Broken);
        }
    }
}

/// The numbers of bytes that can arrive first.
fn split_places(length: usize, is_last: bool) -> Vec<usize> {
    // An end alone that is late is a segment that is late.
    let end = if length == 0 { 0 } else { length + usize::from(is_last) };
    (0..end).filter(|place| end <= SPLIT_MAX || *place < SPLIT_MAX / 2 || *place >= end - SPLIT_MAX / 2).collect()
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.connections.borrow().iter().map(|connection| connection.text())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_split_everywhere_or_near_its_ends() {
        assert!(split_places(0, true).is_empty());
        assert_eq!(split_places(3, false), [0, 1, 2]);
        // The end can be late.
        assert_eq!(split_places(3, true), [0, 1, 2, 3]);
        assert_eq!(split_places(32, false), (0..32).collect::<Vec<_>>());
        assert_eq!(split_places(100, false), (0..16).chain(84..100).collect::<Vec<_>>());
    }
}
