//! The record that a node keeps of the messages to and from a peer.
//!
//! Messages are counted from 1 for each destination and each incarnation of the sender. Messages to or from a former incarnation
//! are not delivered once the receiver knows of the newer one, as on a connection that has broken: otherwise a node without memory
//! could not report which messages it has not received.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A set of sequence numbers, as ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sequences(VecDeque<(u64, u64)>);

impl Sequences {
    /// Whether the set contains a number.
    pub fn contains(&self, sequence: u64) -> bool {
        let next = self.0.partition_point(|(_, last)| *last < sequence);
        self.0.get(next).is_some_and(|(first, _)| *first <= sequence)
    }

    /// The highest number; 0 if the set is empty.
    pub fn last(&self) -> u64 {
        self.0.back().map_or(0, |(_, last)| *last)
    }

    /// The bounds of one range of consecutive numbers, a different range each turn. None if the set is empty.
    pub(super) fn range(&self, turn: u64) -> Option<(u64, u64)> {
        let place = turn.checked_rem(self.0.len() as u64)?;
        self.0.get(place as usize).copied()
    }

    /// Whether the set contains all numbers from 1 to this one.
    pub(super) fn has_all_up_to(&self, last: u64) -> bool {
        self.0.front().is_some_and(|(first, end)| *first == 1 && last <= *end)
    }

    /// Adds a number, and all numbers more than `late_max` below the highest one. Returns false if the set already had it.
    pub(super) fn insert(&mut self, sequence: u64, late_max: u64) -> bool {
        if self.contains(sequence) {
            return false;
        }
        let next = self.0.partition_point(|(_, last)| *last < sequence);
        let follows = next > 0 && self.0[next - 1].1 + 1 == sequence;
        let precedes = self.0.get(next).is_some_and(|(first, _)| *first == sequence + 1);
        match (follows, precedes) {
            (true, true) => {
                self.0[next - 1].1 = self.0[next].1;
                self.0.remove(next);
            }
            (true, false) => self.0[next - 1].1 = sequence,
            (false, true) => self.0[next].0 = sequence,
            (false, false) => self.0.insert(next, (sequence, sequence)),
        }
        self.fill(self.last().saturating_sub(late_max).saturating_sub(1));
        true
    }

    /// Adds all numbers from 1 to this one.
    fn fill(&mut self, mut last: u64) {
        if last == 0 {
            return;
        }
        while let Some((_, further)) = self.0.pop_front_if(|(first, _)| *first - 1 <= last) {
            last = last.max(further);
        }
        self.0.push_front((1, last));
    }
}

/// A message that was sent and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// Its sequence number.
    pub sequence: u64,
    /// The incarnation of the destination that it was for, if known; 0 for any.
    pub addressee: u64,
    /// The content, shared by the checkpoints of a node.
    #[serde(with = "shared")]
    pub payload: Arc<[u8]>,
}

/// Encodes shared bytes like owned ones. The feature `rc` of serde would do that, and recompile every crate that uses serde.
mod shared {
    use std::sync::Arc;

    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        serde_bytes::deserialize::<Vec<u8>, D>(deserializer).map(Arc::from)
    }
}

/// The record that a node keeps of the messages to and from a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// The latest known incarnation of the peer; 0 for none.
    pub incarnation: u64,
    /// Messages sent to the peer in the present incarnation of the node.
    pub sent: u64,
    /// Messages received from the peer in its latest incarnation, and those now too late to be taken.
    pub received: Sequences,
    /// Messages sent that may be in flight, oldest first.
    pub kept: VecDeque<Kept>,
    /// The last message dropped for lack of room, until all up to it are acknowledged; 0 for none.
    pub forgotten: u64,
    /// The last message that any incarnation of the peer takes, until all up to it are acknowledged; 0 for none.
    pub unaddressed: u64,
    /// Whether the protocol has sent or received a message since the connection to the peer last broke.
    pub is_open: bool,
}

impl Channel {
    /// A channel on which nothing was sent or received.
    pub(super) const NOTHING: Self = Self {
        incarnation: 0,
        sent: 0,
        received: Sequences(VecDeque::new()),
        kept: VecDeque::new(),
        forgotten: 0,
        unaddressed: 0,
        is_open: false,
    };

    /// Records a message to an incarnation of the peer, or to any. Returns its sequence number.
    pub(super) fn send(&mut self, payload: &[u8], addressee: u64, kept_max: usize, bytes_max: usize) -> u64 {
        self.sent += 1;
        self.is_open = true;
        if addressee == 0 {
            self.unaddressed = self.sent;
        }
        self.kept.push_back(Kept { sequence: self.sent, addressee, payload: payload.into() });
        let mut bytes: usize = self.kept.iter().map(|kept| kept.payload.len()).sum();
        while self.kept.len() > kept_max || bytes > bytes_max {
            let oldest = self.kept.pop_front().expect("more messages or bytes than the limits are more than none");
            bytes -= oldest.payload.len();
            self.forgotten = oldest.sequence;
        }
        self.sent
    }

    /// Records the incarnation in a packet of the peer. A newer one takes no message that was for a former one.
    pub(super) fn meet(&mut self, incarnation: u64) {
        if incarnation <= self.incarnation {
            return;
        }
        self.forgotten = self.forgotten.min(self.unaddressed);
        self.incarnation = incarnation;
        self.received = Sequences::default();
        self.kept.retain(|kept| kept.addressee == 0 || kept.addressee == incarnation);
    }

    /// Records that the latest incarnation of the peer has received these messages, or no longer takes them.
    pub(super) fn acknowledge(&mut self, first: u64, last: u64) {
        self.kept.retain(|kept| kept.sequence < first || kept.sequence > last);
        let is_open = |end: &u64| first > 1 || last < *end;
        self.forgotten = Some(self.forgotten).filter(is_open).unwrap_or(0);
        self.unaddressed = Some(self.unaddressed).filter(is_open).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequences(channel: &Channel) -> Vec<u64> {
        channel.kept.iter().map(|kept| kept.sequence).collect()
    }

    /// Each number once, in an order that opens and closes gaps: 7 is coprime to 50.
    #[test]
    fn sequences_are_a_set() {
        let mut sequences = Sequences::default();
        for (count, sequence) in (0..50_u64).map(|index| index * 7 % 50 + 1).enumerate() {
            assert!(!sequences.contains(sequence) && sequences.insert(sequence, 50), "{sequence}");
            assert!(sequences.contains(sequence) && !sequences.insert(sequence, 50), "{sequence}");
            let size: u64 = sequences.0.iter().map(|(first, last)| last - first + 1).sum();
            assert_eq!(size, count as u64 + 1);
        }
        assert_eq!(sequences.range(7), Some((1, 50)));
        assert_eq!(sequences.last(), 50);
    }

    /// The highest number is 12, so 1 to 4 are more than 7 below; 5, 7, 9 and 11 are not.
    #[test]
    fn old_gaps_close() {
        let mut sequences = Sequences::default();
        assert!((1..=6).all(|index| sequences.insert(2 * index, 7)));
        assert_eq!(sequences.0, [(1, 4), (6, 6), (8, 8), (10, 10), (12, 12)]);
        assert!(sequences.insert(5, 7) && !sequences.insert(3, 7));
        assert_eq!((0..4).filter_map(|turn| sequences.range(turn)).collect::<VecDeque<_>>(), sequences.0);
        assert!(sequences.insert(100, 7));
        assert_eq!(sequences.0, [(1, 92), (100, 100)]);
        assert!(sequences.insert(u64::MAX, 0));
        assert_eq!(sequences.0, [(1, u64::MAX)]);
        assert_eq!(Sequences::default().range(3), None);
    }

    /// The 101st of 200 messages is lost. If it is too late to arrive, all others are acknowledged in one range; otherwise in two, by
    /// turns.
    #[test]
    fn a_gap_keeps_no_message_that_was_received() {
        for (late_max, kept) in [(0, vec![]), (1_000, vec![101])] {
            let (mut sender, mut received) = (Channel::default(), Sequences::default());
            (1..=200).for_each(|_| _ = sender.send(&[], 0, 1_024, 0));
            assert!((1..=200).filter(|sequence| *sequence != 101).all(|sequence| received.insert(sequence, late_max)));
            for turn in 7..9 {
                let (first, last) = received.range(turn).expect("there is one");
                sender.acknowledge(first, last);
            }
            assert_eq!(sequences(&sender), kept);
        }
    }

    #[test]
    fn what_is_kept_has_a_limit_and_says_so() {
        let mut channel = Channel::default();
        for sequence in 1..=5 {
            assert_eq!(channel.send(&[], 0, 3, 0), sequence);
        }
        assert_eq!((channel.kept.len(), channel.forgotten), (3, 2));
        channel.acknowledge(1, 1);
        channel.acknowledge(3, 4);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![5], 2));
        channel.acknowledge(1, 4);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![5], 0));
    }

    /// A limit of 100 bytes keeps three messages of 30 bytes, and none of 101.
    #[test]
    fn what_is_kept_has_a_limit_in_bytes() {
        let mut channel = Channel::default();
        (1..=5).for_each(|_| _ = channel.send(&[0; 30], 0, 1_024, 100));
        assert_eq!((sequences(&channel), channel.forgotten), (vec![3, 4, 5], 2));
        channel.send(&[0; 101], 0, 1_024, 100);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![], 6));
        channel.send(&[0; 100], 0, 1_024, 100);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![7], 6));
    }

    /// Sends to the known incarnation of the peer.
    fn send(channel: &mut Channel) -> u64 {
        channel.send(&[], channel.incarnation, 3, 0)
    }

    /// Messages for a former incarnation of the peer are no longer in flight, kept or not; messages for any incarnation are.
    #[test]
    fn what_is_not_kept_is_over_with_the_incarnation_that_it_was_for() {
        let mut channel = Channel::default();
        channel.meet(1);
        (1..=5).for_each(|_| _ = send(&mut channel));
        channel.meet(2);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![], 0));
        let mut channel = Channel::default();
        (1..=4).for_each(|_| _ = send(&mut channel));
        channel.meet(1);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![2, 3, 4], 1));
        (5..=9).for_each(|_| _ = send(&mut channel));
        assert_eq!((sequences(&channel), channel.forgotten), (vec![7, 8, 9], 6));
        channel.meet(2);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![], 4));
        channel.acknowledge(1, 4);
        (10..=14).for_each(|_| _ = send(&mut channel));
        channel.meet(3);
        assert_eq!((sequences(&channel), channel.forgotten), (vec![], 0));
    }
}
