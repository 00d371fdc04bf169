//! Connections between nodes, where links have an order: frames come in their order or not at all, and each end hears of a break.
//!
//! The connections of a machine agree on a break by numbers, see `host-live-net`; here both ends hear of it at once, unless they are
//! paused. What an end sends before it hears of a break is lost with the connection, as it is over a socket.

use std::collections::BTreeMap;

use host_model::contract::NodeId;

use crate::time::Time;
use crate::world::history::MessageId;
use crate::world::input::Over;

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// How many breaks it has heard of.
    heard: u64,
    /// Whether something was sent or received over the connection.
    is_used: bool,
}

/// The connections of a cluster.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// How often each connection has broken, by its ends.
    breaks: BTreeMap<(NodeId, NodeId), u64>,
    /// By node and peer.
    ends: BTreeMap<(NodeId, NodeId), End>,
    /// When the last frame arrives, by sender and destination.
    arrivals: BTreeMap<(NodeId, NodeId), Time>,
    /// The last message that was taken, by sender and destination, and the connection.
    taken: BTreeMap<(NodeId, NodeId), (u64, MessageId)>,
}

impl Connections {
    fn breaks(&self, one: NodeId, other: NodeId) -> u64 {
        self.breaks.get(&(one.min(other), one.max(other))).copied().unwrap_or(0)
    }

    fn end(&mut self, me: NodeId, peer: NodeId) -> &mut End {
        self.ends.entry((me, peer)).or_default()
    }

    /// A frame is sent over the connection that an end knows: how often that had broken, or none if it is broken by now.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId) -> Option<Over> {
        let breaks = self.breaks(from, to);
        let end = self.end(from, to);
        end.is_used = true;
        let number = end.heard;
        (number == breaks).then_some(Over { from, number })
    }

    /// When a frame arrives that could arrive at this time, behind those before it.
    pub(super) fn arrive(&mut self, from: NodeId, to: NodeId, at: Time) -> Time {
        let last = self.arrivals.entry((from, to)).or_default();
        *last = at.max(*last);
        *last
    }

    /// The same of one that does not delay those after it.
    pub(super) fn arrive_behind(&self, from: NodeId, to: NodeId, at: Time) -> Time {
        self.arrivals.get(&(from, to)).map_or(at, |last| at.max(*last))
    }

    /// The connection between two nodes breaks; how often it has by now.
    pub(super) fn break_up(&mut self, one: NodeId, other: NodeId) -> u64 {
        let breaks = self.breaks.entry((one.min(other), one.max(other))).or_default();
        *breaks += 1;
        let number = *breaks;
        self.arrivals.remove(&(one, other));
        self.arrivals.remove(&(other, one));
        number
    }

    /// A frame arrives; whether its connection is there at this end.
    pub(super) fn takes(&mut self, to: NodeId, Over { from, number }: Over) -> bool {
        let is_there = self.breaks(from, to) == number;
        let end = self.end(to, from);
        end.is_used |= is_there && end.heard == number;
        is_there && end.heard == number
    }

    /// A node has taken a message over a connection.
    ///
    /// # Errors
    ///
    /// It is not the next one.
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

    /// An end hears of this break of its connection; whether that is news for its node.
    pub(super) fn hear(&mut self, me: NodeId, peer: NodeId, number: u64) -> bool {
        let end = self.end(me, peer);
        if end.heard >= number {
            return false;
        }
        std::mem::replace(end, End { heard: number, is_used: false }).is_used
    }

    /// An end begins, of a process that knows of no connections before its own; how often it had broken before.
    pub(super) fn begin(&mut self, me: NodeId, peer: NodeId) -> u64 {
        let heard = self.breaks(me, peer);
        *self.end(me, peer) = End { heard, is_used: false };
        heard
    }
}
