//! The timeouts of snapshots, and the nodes that have answered none for too long.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::Outcome;
use crate::time::Time;

/// The interval and the timeout of snapshots from the start of a node until the first one is complete, which should precede an election.
const FIRST: Duration = Duration::from_millis(50);
/// The longest timeout of a snapshot, in intervals.
const LONGEST: u32 = 16;
/// The time after which a node that is in no snapshot is reported, in intervals, and the minimum of that time.
const MISSING: u32 = 10;
const MISSING_MIN: Duration = Duration::from_secs(5);

/// A node that has been in no snapshot for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The node.
    pub node: NodeId,
    /// For how long.
    pub time: Duration,
    /// Whether it answers that its bandwidth is used up; otherwise it does not answer in time.
    pub is_capped: bool,
}

/// The times that answers take, and the last answer of each node.
#[derive(Debug)]
pub(super) struct Patience {
    every: Duration,
    /// The recent time of answers, late ones included.
    usual: Duration,
    /// Whether there was a snapshot with another node.
    has_begun: bool,
    /// The last time that each other node was in a snapshot, or the first time that it was asked.
    present: BTreeMap<NodeId, Time>,
    reported: BTreeSet<NodeId>,
}

impl Patience {
    pub(super) fn new(every: Duration) -> Self {
        let (present, reported) = (BTreeMap::new(), BTreeSet::new());
        Self { every, usual: Duration::ZERO, has_begun: false, present, reported }
    }

    /// Whether there was a snapshot with another node.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The minimum time between two snapshots.
    pub(super) fn every(&self) -> Duration {
        if self.has_begun { self.every } else { self.every.min(FIRST) }
    }

    /// The timeout of the next snapshot: a small multiple of the time of answers, and at least the interval.
    pub(super) fn longest(&self) -> Duration {
        (self.usual * 4).clamp(self.every(), self.every.saturating_mul(LONGEST))
    }

    /// Notes the time of a late answer. The timeout of the next snapshot at most doubles.
    pub(super) fn late(&mut self, time: Duration) {
        self.usual = self.usual.max(time.min(self.longest() / 2));
    }

    /// Notes the end of a snapshot that took `time`. Returns the nodes that have been missing for a while, each once.
    pub(super) fn ended(&mut self, now: Time, time: Duration, me: NodeId, outcome: &Outcome) -> Vec<Missing> {
        let (absent, is_capped) = match outcome {
            Outcome::Complete(snapshot) => {
                let present: BTreeSet<NodeId> = snapshot.checkpoints.keys().copied().filter(|it| *it != me).collect();
                if !present.is_empty() {
                    self.usual = time.max(self.usual * 7 / 8);
                    self.has_begun = true;
                }
                self.reported.retain(|node| !present.contains(node));
                self.present.extend(present.into_iter().map(|node| (node, now)));
                return Vec::new();
            }
            Outcome::TimedOut(silent) => (silent.clone(), false),
            Outcome::Capped(node) => (BTreeSet::from([*node]), true),
            Outcome::Inconsistent(..) | Outcome::Refused => return Vec::new(),
        };
        let mut missing = Vec::new();
        for node in absent {
            let since = *self.present.entry(node).or_insert(now);
            let time = Duration::from_nanos(now.0.saturating_sub(since.0));
            if time >= self.every.saturating_mul(MISSING).max(MISSING_MIN) && self.reported.insert(node) {
                missing.push(Missing { node, time, is_capped });
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{Checkpoint, Snapshot};

    const SECOND: Duration = Duration::from_secs(1);

    fn complete(nodes: &[NodeId]) -> Outcome {
        let channels = BTreeMap::new();
        let checkpoint = Checkpoint { number: 1, incarnation: 1, content: Vec::new(), channels };
        let checkpoints = nodes.iter().map(|node| (*node, checkpoint.clone())).collect();
        Outcome::Complete(Snapshot { number: 1, checkpoints, absent: BTreeSet::new() })
    }

    fn at(seconds: u64) -> Time {
        Time(0).after(SECOND * seconds as u32)
    }

    /// Answers take 3 s, and snapshots are due every second: after the second late answer the node waits long enough. A delay of an hour
    /// does not become the timeout.
    #[test]
    fn a_node_waits_as_long_as_answers_take() {
        let mut patience = Patience::new(SECOND);
        patience.ended(at(0), SECOND / 1_000, 0, &complete(&[0, 1]));
        assert_eq!(patience.longest(), SECOND);
        let longest = [3, 3, 3].map(|seconds| {
            patience.late(SECOND * seconds);
            patience.longest().as_secs()
        });
        assert_eq!(longest, [2, 4, 8]);
        (0..9).for_each(|_| patience.late(SECOND * 3_600));
        assert_eq!(patience.longest(), SECOND * 16);
        (0..100).for_each(|_| drop(patience.ended(at(9), SECOND / 1_000, 0, &complete(&[0, 1]))));
        assert_eq!(patience.longest(), SECOND);
    }

    /// At its start a node asks soon and has a short timeout, until another node is in a snapshot.
    #[test]
    fn the_first_snapshot_is_asked_for_at_once() {
        let mut patience = Patience::new(SECOND);
        assert_eq!([patience.every(), patience.longest()], [FIRST; 2]);
        patience.ended(at(0), FIRST, 0, &Outcome::TimedOut([1].into()));
        patience.ended(at(0), FIRST, 0, &complete(&[0]));
        assert_eq!([patience.every(), patience.longest()], [FIRST; 2]);
        patience.ended(at(0), FIRST / 10, 0, &complete(&[0, 1]));
        assert_eq!([patience.every(), patience.longest()], [SECOND; 2]);
        // A shorter interval than that is used as it is.
        let often = Patience::new(FIRST / 5);
        assert_eq!([often.every(), often.longest()], [FIRST / 5; 2]);
    }

    /// Node 1 answers, node 2 does not, and node 3 sends no checkpoints: after ten intervals of a second each of the two is reported once,
    /// until it is in a snapshot again.
    #[test]
    fn missing_nodes_are_reported_once() {
        let mut patience = Patience::new(SECOND);
        let mut reported = Vec::new();
        for second in 0..30 {
            patience.ended(at(second), Duration::ZERO, 0, &complete(&[0, 1]));
            for outcome in [Outcome::TimedOut([2].into()), Outcome::Capped(3)] {
                reported.extend(patience.ended(at(second), SECOND, 0, &outcome));
            }
        }
        let missing = |node, is_capped| Missing { node, time: SECOND * 10, is_capped };
        assert_eq!(reported, [missing(2, false), missing(3, true)]);
        patience.ended(at(30), SECOND, 0, &complete(&[0, 2, 3]));
        assert_eq!(patience.ended(at(39), SECOND, 0, &Outcome::TimedOut([2].into())), []);
        assert_eq!(patience.ended(at(41), SECOND, 0, &Outcome::TimedOut([2].into())).len(), 1);
    }
}
