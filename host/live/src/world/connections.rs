//! Connections between nodes with ordered links: frames arrive in order or not at all, and each end is notified of a break.
//!
//! On real machines, the ends of a connection agree on a break by numbers, see `host-live-net`; here both ends are notified at once, unless
//! they are paused. Frames that an end sends before it is notified are lost with the connection, as on a socket.

use std::collections::BTreeMap;

use host_model::contract::NodeId;

use crate::time::Time;
use crate::world::history::MessageId;
use crate::world::input::Over;

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// The breaks that it was notified of.
    heard: u64,
    /// Whether something was sent or received over the connection.
    is_used: bool,
}

/// The connections of a cluster.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// The number of breaks of each connection, by its ends.
    breaks: BTreeMap<(NodeId, NodeId), u64>,
    /// The ends, by node and peer.
    ends: BTreeMap<(NodeId, NodeId), End>,
    /// The arrival of the last frame, by sender and destination.
    arrivals: BTreeMap<(NodeId, NodeId), Time>,
    /// The connections of the model that an end refuses: by that end and its peer, the number of earlier breaks.
    refused: BTreeMap<(NodeId, NodeId), u64>,
    /// The last message taken, by sender and destination, with the number of the connection.
    taken: BTreeMap<(NodeId, NodeId), (u64, MessageId)>,
}

impl Connections {
    fn breaks(&self, one: NodeId, other: NodeId) -> u64 {
        self.breaks.get(&(one.min(other), one.max(other))).copied().unwrap_or(0)
    }

    fn end(&mut self, me: NodeId, peer: NodeId) -> &mut End {
        self.ends.entry((me, peer)).or_default()
    }

    /// Sends a frame over the connection that an end knows. None if that connection is broken by now.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId) -> Option<Over> {
        let breaks = self.breaks(from, to);
        let end = self.end(from, to);
        end.is_used = true;
        let number = end.heard;
        (number == breaks).then_some(Over { from, number })
    }

    /// The arrival of a frame, at the earliest at `at`, after the frames before it.
    pub(super) fn arrive(&mut self, from: NodeId, to: NodeId, at: Time) -> Time {
        let last = self.arrivals.entry((from, to)).or_default();
        *last = at.max(*last);
        *last
    }

    /// An end takes nothing more over the connection with this number of earlier breaks.
    pub(super) fn refuse(&mut self, me: NodeId, peer: NodeId, number: u64) {
        self.refused.insert((me, peer), number);
    }

    /// Whether an end takes nothing more over a connection.
    pub(super) fn is_refused(&self, me: NodeId, Over { from, number }: Over) -> bool {
        self.refused.get(&(me, from)) == Some(&number)
    }

    /// Like [`arrive`](Self::arrive), for a frame that does not delay those after it.
    pub(super) fn arrive_behind(&self, from: NodeId, to: NodeId, at: Time) -> Time {
        self.arrivals.get(&(from, to)).map_or(at, |last| at.max(*last))
    }

    /// Breaks the connection between two nodes. Returns the number of its breaks.
    pub(super) fn break_up(&mut self, one: NodeId, other: NodeId) -> u64 {
        let breaks = self.breaks.entry((one.min(other), one.max(other))).or_default();
        *breaks += 1;
        let number = *breaks;
        self.arrivals.remove(&(one, other));
        self.arrivals.remove(&(other, one));
        number
    }

    /// Whether this end takes a frame that arrives, because its connection exists there.
    pub(super) fn takes(&mut self, to: NodeId, Over { from, number }: Over) -> bool {
        let is_there = self.breaks(from, to) == number;
        let end = self.end(to, from);
        end.is_used |= is_there && end.heard == number;
        is_there && end.heard == number
    }

    /// Notes that a node has taken a message over a connection.
    ///
    /// # Errors
    ///
    /// The message is not the next one.
    pub(super) fn take(&mut self, id: MessageId, number: u64) -> Result<(), String> {
        let last = self.taken.insert((id.from.node, id.to), (number, id));
        let follows = |last: MessageId| last.from != id.from || id.sequence == last.sequence + 1;
        match last {
            Some((same, last)) if same == number && !follows(last) => {
                Err(format!("{id:?} follows {last:?} over one connection"))
            }
            _ => Ok(()),
        }
    }

    /// Notifies an end of a break of its connection. Returns whether its node has to be notified.
    pub(super) fn hear(&mut self, me: NodeId, peer: NodeId, number: u64) -> bool {
        let end = self.end(me, peer);
        if end.heard >= number {
            return false;
        }
        std::mem::replace(end, End { heard: number, is_used: false }).is_used
    }

    /// Begins an end for a new process, which knows no connections before its own. Returns the number of earlier breaks.
    pub(super) fn begin(&mut self, me: NodeId, peer: NodeId) -> u64 {
        let heard = self.breaks(me, peer);
        *self.end(me, peer) = End { heard, is_used: false };
        heard
    }
}
