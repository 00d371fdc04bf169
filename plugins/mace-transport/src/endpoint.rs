//! The state of one end of the transport, and its settings.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{LocalEvents, NodeId, ParameterError, Parameters, Timers};
use serde::{Deserialize, Serialize};

use crate::wire::{Seq, Syn};
use crate::{Bug, Bugs};

/// The settings of a transport, the same at all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// The maximum number of segments of a connection in flight, once the first one is acknowledged.
    pub window: u8,
    /// The maximum number of messages of a connection that wait for their acknowledgement.
    pub buffer: usize,
    /// The number of fragments of a message.
    pub fragments: u8,
    /// The number of retransmissions of a segment before its sender gives up.
    pub retries: u8,
    /// The number of connections that a node gives up.
    pub give_up: u8,
    /// The number of times that timers of a node fire while an answer is in flight.
    pub early: u8,
    /// The number of further times that the timer of each segment does.
    pub early_each: u8,
    /// Whether packets are dropped where they arrive, by chance.
    pub loses: bool,
    /// The deliberate mistakes.
    pub bugs: Bugs,
}

/// The maximum number of connections that one node opens between two resets.
const CONNECTIONS: Syn = 16;
/// The maximum number of segments of a connection.
const SEGMENTS: Seq = 64;

/// One end of the transport: all connections of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint<M> {
    /// This node.
    pub me: NodeId,
    /// The number of earlier starts of the node.
    pub starts: u8,
    /// The number of connections that it has opened since its start.
    pub opened: Syn,
    /// The connections to other nodes.
    pub outgoing: BTreeMap<NodeId, Outgoing<M>>,
    /// The connections from other nodes.
    pub incoming: BTreeMap<NodeId, Incoming<M>>,
    /// The last connection of each node known to this one.
    pub heard: BTreeMap<NodeId, Heard>,
    /// The timers of segments in flight.
    pub timers: Timers<(NodeId, Seq)>,
    /// The number of times that the application waits for permission to send to a node.
    pub waiting: BTreeMap<NodeId, u8>,
    /// The timers that notify it.
    pub clear: Timers<NodeId>,
    /// The number of times that a timer may still fire before its answer has arrived or is lost.
    pub early: u8,
    /// The number of connections that the node may still give up.
    pub give_up: u8,
}

/// A connection that a node has heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heard {
    /// Its number.
    pub syn: Syn,
    /// Whether the node has closed it.
    pub is_closed: bool,
    /// Whether it has done so for a Reset, which is about the connection in the other direction. Only the specification reads it.
    pub is_torn: bool,
}

/// The sender's end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outgoing<M> {
    /// Its number.
    pub syn: Syn,
    /// The number of the segment that is sent next for the first time.
    pub next: Seq,
    /// The unacknowledged segments.
    pub segments: BTreeMap<Seq, Segment<M>>,
    /// The maximum number of segments in flight: 1 at first and after each timeout, and one more for each segment that is
    /// acknowledged.
    pub window: u8,
}

/// A segment that is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment<M> {
    /// The index of this fragment in its message.
    pub part: u8,
    /// The message. It is sent with the first fragment, and kept until all of them are acknowledged.
    pub payload: M,
    /// The number of its retransmissions.
    pub retries: u8,
    /// The number of times that its timer may still fire before its answer has arrived or is lost, when that of the node may not.
    pub early: u8,
    /// Its place.
    pub place: Place,
}

/// The place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Place {
    /// It was not sent yet.
    Unsent,
    /// It was sent, and its timer is set.
    InFlight {
        /// Whether an answer can still come, as far as the sender knows.
        is_open: bool,
    },
    /// Its timer has fired, and there is no room in the window.
    Overdue,
}

/// The receiver's end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Incoming<M> {
    /// Its number.
    pub syn: Syn,
    /// The first segment that has not arrived.
    pub next: Seq,
    /// The first segment that was not delivered to the application.
    pub next_deliver: Seq,
    /// The received segments that were not delivered.
    pub buffer: BTreeMap<Seq, Buffered<M>>,
    /// The last acknowledgement sent. Only the specification reads it.
    pub acknowledged: Seq,
}

/// A segment that was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Buffered<M> {
    /// The index of this fragment in its message.
    pub part: u8,
    /// The number of fragments of the message.
    pub parts: u8,
    /// The number of fragments received, in the first one.
    pub arrived: u8,
    /// The number of repeated arrivals.
    pub copies: u8,
    /// The message, in its first fragment.
    pub payload: Option<M>,
}

/// The local events of an end of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// There was no acknowledgement of a segment to a node.
    Retransmit(NodeId, Seq),
    /// Notifies the application that it may send to a node.
    Clear(NodeId),
}

impl Transport {
    /// Reads the settings from parameters.
    ///
    /// # Errors
    ///
    /// A window, a buffer or a number of fragments of 0.
    pub fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let window = parameters.get("window", 2, "how many segments of a connection are in flight at most")?;
        let buffer =
            parameters.get("buffer", 4, "how many messages of a connection wait for acknowledgements at most")?;
        let fragments = parameters.get("fragments", 1, "how many fragments a message has")?;
        let retries = parameters.get("retries", 1, "how often a segment is sent again before its sender gives up")?;
        let give_up = parameters.get("give-up", 1, "how many connections a node gives up")?;
        let early = parameters.get("early", 1, "how often timers of a node fire while an answer is on its way")?;
        let what = "how often, besides, the timer of each segment does";
        let early_each = parameters.get("early-each", 0, what)?;
        let loss = [("none", false), ("chance", true)];
        let loses = parameters.choice("loss", &loss, "whether packets are dropped where they arrive, by chance")?;
        let bugs = Bugs::configure(parameters)?;
        for (name, is_empty) in [("window", window == 0), ("buffer", buffer == 0), ("fragments", fragments == 0)] {
            if is_empty {
                return Err(parameters.reject(name, "it is at least one"));
            }
        }
        Ok(Self { window, buffer, fragments, retries, give_up, early, early_each, loses, bugs })
    }

    /// The end of a node that was started this many times before.
    pub fn endpoint<M>(&self, me: NodeId, starts: u8) -> Endpoint<M> {
        Endpoint {
            me,
            starts,
            opened: 0,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            heard: BTreeMap::new(),
            timers: Timers::default(),
            waiting: BTreeMap::new(),
            clear: Timers::default(),
            early: self.early,
            give_up: self.give_up,
        }
    }
}

impl<M> Endpoint<M> {
    /// The timers that can fire now, with names for people.
    pub fn local_events<L>(&self, events: &mut LocalEvents<L>, wrap: impl Fn(Timer) -> L) {
        for &(peer, seq) in self.timers.iter() {
            let segment = self.outgoing.get(&peer).and_then(|out| out.segments.get(&seq));
            let waits = segment.filter(|segment| segment.place == Place::InFlight { is_open: true });
            if waits.is_none_or(|segment| self.early.max(segment.early) > 0) {
                events.timer("retransmit", wrap(Timer::Retransmit(peer, seq)));
            }
        }
        self.clear.list(events, |_| "clear-to-send", |peer| wrap(Timer::Clear(peer)));
    }

    /// The segments in flight to each node, which should have a timer set.
    pub fn in_flight(&self) -> BTreeSet<(NodeId, Seq)> {
        let all = self.outgoing.iter().flat_map(|(peer, out)| out.segments.iter().map(|entry| (*peer, entry)));
        let sent = all.filter(|(_, (_, segment))| matches!(segment.place, Place::InFlight { .. }));
        sent.map(|(peer, (seq, _))| (peer, *seq)).collect()
    }

    /// Opens a connection to a node.
    pub(crate) fn open(&mut self, to: NodeId) {
        assert!(self.opened < CONNECTIONS, "a node opens at most {CONNECTIONS} connections between two resets");
        let syn = Syn::from(self.starts) * CONNECTIONS + self.opened;
        self.opened += 1;
        self.outgoing.insert(to, Outgoing { syn, next: first(syn), segments: BTreeMap::new(), window: 1 });
    }

    /// The open connection from a node, as this one tells that node.
    pub(crate) fn echo(&self, peer: NodeId) -> Option<Syn> {
        self.heard.get(&peer).filter(|heard| !heard.is_closed).map(|heard| heard.syn)
    }

    /// The last connection from a node that this one has heard of, if it has noted that outside of the connection.
    pub(crate) fn last_heard(&self, peer: NodeId, bugs: Bugs) -> Option<Heard> {
        let is_kept = !bugs.has(Bug::MT3Forgets) || self.incoming.contains_key(&peer);
        self.heard.get(&peer).copied().filter(|_| is_kept)
    }
}

/// The number of the first segment of a connection.
pub(crate) fn first(syn: Syn) -> Seq {
    syn * SEGMENTS
}
