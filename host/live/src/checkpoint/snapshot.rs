//! Snapshots: their consistency, and the messages in flight.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::channel::{Channel, Kept};
use crate::checkpoint::numbers::NUMBER_MAX;
use crate::checkpoint::packet::Checkpoint;

/// The checkpoints of some nodes that form a cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number requested.
    pub number: u64,
    /// The checkpoints.
    pub checkpoints: BTreeMap<NodeId, Checkpoint>,
    /// The nodes that were asked and are unreachable.
    pub absent: BTreeSet<NodeId>,
}

/// A message that was received inside of a snapshot and sent outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("node {to} has received what node {from} has not sent")]
pub struct Inconsistency {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
}

/// The channel between nodes that have exchanged no messages.
static NOTHING: Channel = Channel::NOTHING;

/// The messages in flight from one node to another in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents<'s> {
    /// Messages in flight: each can still be delivered unless the network loses it.
    pub in_flight: Vec<&'s Kept>,
    /// Messages that are in flight, or were received before a reset of the destination.
    pub uncertain: Vec<&'s Kept>,
    /// Whether there may be unknown messages: of a former incarnation of the sender, or too many to be kept.
    pub is_partial: bool,
}

impl Snapshot {
    /// Searches for a message that was received inside and sent outside: the second line of defence. Under the
    /// [sound rule](crate::checkpoint::Rule::SOUND) there is none, but a peer with another program can send any answer. It misses
    /// messages received before a reset of the receiver, which has forgotten the receipt.
    ///
    /// # Errors
    ///
    /// The first such message, in the order of the nodes.
    pub fn verify(&self) -> Result<(), Inconsistency> {
        for (to, receiver) in &self.checkpoints {
            for (from, heard) in &receiver.channels {
                let Some(sender) = self.checkpoints.get(from) else { continue };
                let sent = sender.channels.get(to).map_or(0, |channel| channel.sent);
                let is_later = heard.incarnation > sender.incarnation;
                if is_later || heard.incarnation == sender.incarnation && heard.received.last() > sent {
                    return Err(Inconsistency { from: *from, to: *to });
                }
            }
        }
        Ok(())
    }

    /// Whether a node's end of the connection to a peer is open: the node has exchanged messages with the peer since the last break, and the
    /// peer has not broken the connection meanwhile. It has if it has started again, or if its end is closed and no message to it is in
    /// flight. Where that is unknown, the end counts as closed, so that no break is predicted that cannot happen.
    pub fn is_open(&self, node: NodeId, peer: NodeId) -> bool {
        let Some(own) = self.checkpoints[&node].channels.get(&peer).filter(|channel| channel.is_open) else {
            return false;
        };
        let Some(other) = self.checkpoints.get(&peer) else { return true };
        let has_started = own.incarnation != other.incarnation && (own.incarnation > 0 || other.incarnation > 1);
        let is_open = other.channels.get(&node).is_some_and(|channel| channel.is_open);
        !has_started && (is_open || !self.contents(node, peer).in_flight.is_empty())
    }

    /// The messages in flight from one node to another, both in a consistent snapshot.
    ///
    /// # Panics
    ///
    /// One of the nodes is absent.
    pub fn contents(&self, from: NodeId, to: NodeId) -> Contents<'_> {
        let (sender, receiver) = (&self.checkpoints[&from], &self.checkpoints[&to]);
        let sent = sender.channels.get(&to).unwrap_or(&NOTHING);
        let heard = receiver.channels.get(&from).unwrap_or(&NOTHING);
        let is_current = heard.incarnation == sender.incarnation;
        // The messages of a former incarnation are forgotten, and are delivered until the destination knows the new one.
        let is_known = is_current || sender.incarnation == 1;
        let has_forgotten = sent.forgotten > 0 && !(is_current && heard.received.has_all_up_to(sent.forgotten));
        let mut contents = Contents { is_partial: !is_known || has_forgotten, ..Contents::default() };
        let is_received = |kept: &Kept| is_current && heard.received.contains(kept.sequence);
        for kept in sent.kept.iter().filter(|kept| !is_received(kept)) {
            match kept.addressee {
                0 if receiver.incarnation > 1 => contents.uncertain.push(kept),
                addressee if addressee == 0 || addressee == receiver.incarnation => contents.in_flight.push(kept),
                // The destination was reset since, and does not take it.
                _ => {}
            }
        }
        contents
    }
}

impl Checkpoint {
    /// Whether it is a valid answer to a request with this number.
    pub(super) fn answers(&self, number: u64) -> bool {
        (number..=NUMBER_MAX).contains(&self.number) && self.incarnation > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Node 0 has exchanged messages with node 1: its end is open unless node 1 has broken the connection, by a start or otherwise, and
    /// node 0 is yet to be notified.
    #[test]
    fn an_end_is_open_unless_the_peer_has_broken_the_connection() {
        let checkpoint = |incarnation, peer, channel| Checkpoint {
            number: 1,
            incarnation,
            content: Vec::new(),
            channels: BTreeMap::from([(peer, channel)]),
        };
        let is_open = |own: &Channel, start: u64, other: Channel| {
            let checkpoints = BTreeMap::from([(0, checkpoint(1, 1, own.clone())), (1, checkpoint(start, 0, other))]);
            Snapshot { number: 1, checkpoints, absent: BTreeSet::new() }.is_open(0, 1)
        };
        let closed = Channel { incarnation: 1, ..Channel::default() };
        let open = Channel { is_open: true, ..closed.clone() };
        let mut sending = closed.clone();
        sending.send(&[7], 1, 1, 1);
        // A message to a peer that has sent nothing.
        let mut first = Channel::default();
        first.send(&[7], 0, 1, 1);
        let of_start = |incarnation: u64| Channel { incarnation, is_open: true, ..Channel::default() };
        assert!(is_open(&open, 1, open.clone()) && !is_open(&closed, 1, open.clone()));
        assert!(is_open(&sending, 1, closed.clone()) && !is_open(&open, 1, closed.clone()));
        assert!(is_open(&first, 1, closed.clone()) && !is_open(&first, 2, closed.clone()));
        assert!(!is_open(&open, 2, open.clone()) && is_open(&of_start(2), 2, open.clone()));
        let checkpoints = BTreeMap::from([(0, checkpoint(1, 1, open))]);
        assert!(Snapshot { number: 1, checkpoints, absent: BTreeSet::from([1]) }.is_open(0, 1));
    }
}
