//! The connections with each peer, and their breaks.
//!
//! A *connection* with a peer is two streams: one that this node has made, over which it sends, and one that the peer has made. When one
//! of them ends, the connection is broken: this end closes both, and notifies the node before it accepts a frame of the next connection.
//! To agree on which streams belong together, each end counts the breaks of the connection, as a search does, and a stream begins with
//! that number:
//!
//! - A stream with the number of this end is part of the current connection.
//! - A greater number means that the peer has broken the connection: it breaks at this end, too, before a frame of the stream is accepted.
//! - A smaller number is from before a break that the peer has yet to learn of, and the stream is closed.
//!
//! So a break at one end causes exactly one at the other: ends that break the same connection at the same time reach the same number. A
//! node that starts again has lost its number, and continues from the number of its peer.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};

use host_model::contract::NodeId;

/// A handle that closes a stream.
pub(crate) trait Handle {
    /// Closes the stream; no effect if it is closed already.
    fn close(&self);
}

impl Handle for TcpStream {
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// The streams of a node, by their own numbers, and the ends of its connections.
#[derive(Debug)]
pub(crate) struct Connections<H> {
    streams: BTreeMap<u64, Stream<H>>,
    ends: BTreeMap<NodeId, End>,
}

#[derive(Debug)]
struct Stream<H> {
    /// The peer that it leads to, or whose frame was received over it.
    peer: Option<NodeId>,
    /// The authenticated node that made it, if any.
    proven: Option<NodeId>,
    /// The number in its greeting.
    number: u64,
    handle: H,
}

/// The end of a connection at this node.
#[derive(Debug, Default)]
struct End {
    /// The number of breaks known here.
    number: u64,
    /// The number of breaks at this end since this node started.
    epoch: u64,
    /// The start of the peer in its latest first frame.
    start: Option<u64>,
    /// Whether the peer has sent its first frame over the current connection.
    is_heard: bool,
    /// Whether a frame was sent or received over it.
    is_used: bool,
}

/// The connection that a sent frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of breaks at this end when it was sent.
    pub(crate) epoch: u64,
    /// The number of the connection.
    pub(crate) number: u64,
}

/// A break of a connection at this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) peer: NodeId,
    /// The new epoch: frames sent in an earlier one are lost.
    pub(crate) epoch: u64,
    /// Whether a frame was sent or received over it: a node is not notified of the break of an unused connection.
    pub(crate) was_used: bool,
}

/// The connection of a stream, known from its first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// The stream is part of the current connection.
    Taken,
    /// It is part of the next connection, since the peer has broken the last one.
    Next(Broken),
    /// It was part of a broken connection, and is closed.
    Late,
}

impl<H> Default for Connections<H> {
    fn default() -> Self {
        Self { streams: BTreeMap::new(), ends: BTreeMap::new() }
    }
}

impl<H: Handle> Connections<H> {
    /// Adds a stream that a peer has opened; `proven` if the peer is authenticated.
    pub(crate) fn accepted(&mut self, stream: u64, proven: Option<NodeId>, number: u64, handle: H) {
        self.streams.insert(stream, Stream { peer: None, proven, number, handle });
    }

    /// Adds a stream that this node has made to a peer, for the connection of a sent frame.
    pub(crate) fn connected(&mut self, stream: u64, peer: NodeId, place: Place, handle: H) {
        let Place { epoch, number } = place;
        if epoch < self.ends.entry(peer).or_default().epoch {
            handle.close();
        } else {
            self.streams.insert(stream, Stream { peer: Some(peer), proven: None, number, handle });
        }
    }

    /// Returns the connection of a frame that is sent to a peer now.
    pub(crate) fn send(&mut self, peer: NodeId) -> Place {
        let end = self.ends.entry(peer).or_default();
        end.is_used = true;
        Place { epoch: end.epoch, number: end.number }
    }

    /// The permitted senders over a stream: the authenticated node, else any peer until the first frame. None if the stream was closed.
    pub(crate) fn speaker(&self, stream: u64) -> Option<Speaker> {
        let Stream { peer, proven, .. } = self.streams.get(&stream)?;
        Some(Speaker { node: proven.or(*peer), is_met: peer.is_some() })
    }

    /// Handles the first frame over a stream: from this peer, in this start of it.
    pub(crate) fn meet(&mut self, stream: u64, peer: NodeId, start: u64) -> Meeting {
        let Some(number) = self.streams.get(&stream).map(|stream| stream.number) else { return Meeting::Late };
        let end = self.ends.entry(peer).or_default();
        let is_same = end.start == Some(start);
        if is_same && number < end.number {
            self.close(stream);
            return Meeting::Late;
        }
        // A peer makes one stream for each connection.
        let is_next = end.is_heard || (is_same && number > end.number);
        let broken = is_next.then(|| self.break_up(peer));
        let end = self.ends.entry(peer).or_default();
        *end = End { number: end.number.max(number), start: Some(start), is_heard: true, is_used: true, ..*end };
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.peer = Some(peer);
        }
        broken.map_or(Meeting::Taken, Meeting::Next)
    }

    /// Removes a stream that is gone. Streams that were closed here are removed already.
    pub(crate) fn gone(&mut self, stream: u64) -> Option<Broken> {
        let peer = self.streams.remove(&stream)?.peer?;
        Some(self.break_off(peer))
    }

    /// Breaks the connection with a peer.
    pub(crate) fn break_off(&mut self, peer: NodeId) -> Broken {
        let end = self.ends.entry(peer).or_default();
        // A peer may claim any number, even the highest.
        end.number = end.number.saturating_add(1);
        self.break_up(peer)
    }

    /// Closes the streams of a connection.
    fn break_up(&mut self, peer: NodeId) -> Broken {
        let theirs = self.streams.extract_if(.., |_, stream| stream.peer == Some(peer));
        theirs.for_each(|(_, stream)| stream.handle.close());
        let end = self.ends.entry(peer).or_default();
        let (epoch, was_used) = (end.epoch + 1, end.is_used);
        *end = End { epoch, is_heard: false, is_used: false, ..*end };
        Broken { peer, epoch, was_used }
    }

    fn close(&mut self, stream: u64) {
        if let Some(stream) = self.streams.remove(&stream) {
            stream.handle.close();
        }
    }
}

/// The permitted sender over a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speaker {
    /// The only permitted node, if it is known.
    pub(crate) node: Option<NodeId>,
    /// Whether a frame was received over the stream.
    pub(crate) is_met: bool,
}
