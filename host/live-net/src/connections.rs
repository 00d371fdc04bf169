//! Which connections there are with each peer, and when one of them breaks.
//!
//! A *connection* with a peer is two streams: one that this node has made, over which it sends, and one that the peer has made. Where one
//! of them is gone, the connection is broken: this end gives up both, and the node hears of it before anything comes over the next one.
//! So that both ends agree on which streams belong together, each counts how often the connection was broken, as it does in a search, and
//! a stream begins with that number:
//!
//! - A stream with the number of this end is part of the connection that is there.
//! - One with a greater number tells that the peer has broken the connection: it breaks at this end, too, before anything is taken from it.
//! - One with a smaller number is from before a break that the peer has yet to hear of, and is closed.
//!
//! So a break at one end leads to one at the other, and to no other: ends that break the same connection at the same time come to the same
//! number. A node that starts again has forgotten its number; what it says first continues from that of its peer.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};

use host_model::contract::NodeId;

/// What a stream is closed by.
pub(crate) trait Handle {
    /// Closes it; one that is closed already is so.
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
    /// The peer that it is to, or that was heard over it.
    peer: Option<NodeId>,
    /// Who has made it, if that was proven.
    proven: Option<NodeId>,
    /// What it began with.
    number: u64,
    handle: H,
}

/// The end of a connection at this node.
#[derive(Debug, Default)]
struct End {
    /// How often it was broken, as far as is known here.
    number: u64,
    /// How often it was broken here, since this node has started.
    epoch: u64,
    /// Which start of the peer was heard last.
    start: Option<u64>,
    /// Whether that was over the connection that is there.
    is_heard: bool,
    /// Whether something was sent or came over it.
    is_used: bool,
}

/// Where something belongs that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// How often this node had heard of a break by then.
    pub(crate) epoch: u64,
    /// The number of the connection.
    pub(crate) number: u64,
}

/// A connection is broken at this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) peer: NodeId,
    /// What was sent in an earlier epoch is lost.
    pub(crate) epoch: u64,
    /// Whether anything was sent or came over it: who has had no connection hears of no break.
    pub(crate) was_used: bool,
}

/// What becomes of a stream with its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// It is part of the connection.
    Taken,
    /// It is part of the next one, since the peer has broken the last one.
    Next(Broken),
    /// It is closed: the connection that it was part of is broken.
    Late,
}

impl<H> Default for Connections<H> {
    fn default() -> Self {
        Self { streams: BTreeMap::new(), ends: BTreeMap::new() }
    }
}

impl<H: Handle> Connections<H> {
    /// A peer has opened a stream, and may have proven to be a node.
    pub(crate) fn accepted(&mut self, stream: u64, proven: Option<NodeId>, number: u64, handle: H) {
        self.streams.insert(stream, Stream { peer: None, proven, number, handle });
    }

    /// This node has made a stream to a peer, for what was sent at a place.
    pub(crate) fn connected(&mut self, stream: u64, (peer, Place { epoch, number }): (NodeId, Place), handle: H) {
        if epoch < self.ends.entry(peer).or_default().epoch {
            handle.close();
        } else {
            self.streams.insert(stream, Stream { peer: Some(peer), proven: None, number, handle });
        }
    }

    /// Something is sent to a peer: where it belongs.
    pub(crate) fn send(&mut self, peer: NodeId) -> Place {
        let end = self.ends.entry(peer).or_default();
        end.is_used = true;
        Place { epoch: end.epoch, number: end.number }
    }

    /// Who may speak over a stream: any peer, until one has, unless it was proven. None if it was closed.
    pub(crate) fn speaker(&self, stream: u64) -> Option<Speaker> {
        let Stream { peer, proven, .. } = self.streams.get(&stream)?;
        Some(Speaker { node: proven.or(*peer), is_met: peer.is_some() })
    }

    /// A peer is heard over a stream for the first time, in one of its starts.
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

    /// A stream is gone. Those that were closed here are not among them.
    pub(crate) fn gone(&mut self, stream: u64) -> Option<Broken> {
        let peer = self.streams.remove(&stream)?.peer?;
        Some(self.break_off(peer))
    }

    /// This node breaks the connection with a peer.
    pub(crate) fn break_off(&mut self, peer: NodeId) -> Broken {
        let end = self.ends.entry(peer).or_default();
        // A peer may claim any number; the highest one it has to keep.
        end.number = end.number.saturating_add(1);
        self.break_up(peer)
    }

    /// Gives up the streams of a connection.
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

/// Who may speak over a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speaker {
    /// Only this node, if it is known.
    pub(crate) node: Option<NodeId>,
    /// Whether a peer has.
    pub(crate) is_met: bool,
}
