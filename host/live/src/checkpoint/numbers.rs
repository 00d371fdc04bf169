//! The numbers of checkpoints, across resets.

use serde::{Deserialize, Serialize};

/// The largest number of a checkpoint, with room to count above it. No node gets there, see [`Numbers::reach`].
pub(super) const NUMBER_MAX: u64 = 1 << 63;
/// The number up to which any packet raises its receiver: no cluster takes this many checkpoints.
const AT_ONCE_MAX: u64 = 1 << 62;
/// The largest step above that. From there it takes 2^38 packets to the largest number.
const STEP_MAX: u64 = 1 << 24;

/// The part of the manager's state that a node keeps on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The number of this start of the node, counted from 1.
    pub incarnation: u64,
    /// The highest number that it may have used.
    pub reserved: u64,
}

/// The numbering of checkpoints after a reset, and the requests that are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// The first number after a reset.
    pub after_reset: AfterReset,
    /// Whether a request is refused if its answer may have been discarded. Otherwise it is answered with the next checkpoint left.
    pub refuses_discarded: bool,
}

impl Rule {
    /// The rule under which every snapshot is consistent.
    ///
    /// Proof. Let `n` be the number requested, and let node `j` have received, before its checkpoint, a message that `i` sent after its
    /// own. The numbers of a node never fall, and its checkpoint has the first number of at least `n` that the node ever had: a request
    /// that a discarded checkpoint might have answered is refused, and a reset discards all checkpoints and continues above them. So `i`
    /// had a number of at least `n` when it sent the message, which carried it. Hence `j` had such a number before it processed the
    /// message, and its first checkpoint with one is earlier: a contradiction.
    pub const SOUND: Self = Self { after_reset: AfterReset::Next, refuses_discarded: true };

    /// The published rule, which covers neither resets nor discarded checkpoints. It admits inconsistent snapshots, as tests show.
    pub const PUBLISHED: Self = Self { after_reset: AfterReset::First, refuses_discarded: false };
}

/// The first number after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AfterReset {
    /// The same as after the first start, although it may have been used.
    First,
    /// The last number that may have been used.
    Last,
    /// The number above that.
    Next,
}

/// The numbers of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Numbers {
    /// The number of this start of the node.
    pub(super) incarnation: u64,
    /// The present number.
    pub(super) current: u64,
    /// The highest number of a discarded checkpoint; 0 for none.
    pub(super) discarded: u64,
    reserved: u64,
}

impl Numbers {
    /// The numbers at a start, from the record on the disk; none at the first start. Reserves `block` numbers.
    pub(super) fn new(rule: Rule, block: u64, durable: Option<Durable>) -> Self {
        let (last_incarnation, last) = durable.map_or((0, 0), |durable| (durable.incarnation, durable.reserved));
        let current = match rule.after_reset {
            AfterReset::First => 1,
            AfterReset::Last => last.max(1),
            AfterReset::Next => last + 1,
        };
        // Reserved numbers stay reserved, whichever number is used.
        let reserved = last.max(current + block - 1);
        Self { incarnation: last_incarnation + 1, current, discarded: last, reserved }
    }

    /// The record that must be on the disk before this number leaves the node.
    pub(super) fn durable(&self) -> Durable {
        Durable { incarnation: self.incarnation, reserved: self.reserved }
    }

    /// The highest number to which one packet raises the node.
    ///
    /// Any fixed limit can be reached with one forged packet, after which every packet of this node, even after a restart, is above the
    /// limit of all others. So a packet above the limit is not processed, but raises its receiver to the limit, and brings the next one
    /// within reach.
    pub(super) fn reach(&self) -> u64 {
        AT_ONCE_MAX.max(self.current + STEP_MAX)
    }

    /// Rises to a number. Returns whether the record has to be written.
    pub(super) fn rise(&mut self, number: u64, block: u64) -> bool {
        debug_assert!(number > self.current, "numbers never fall");
        self.current = number;
        let is_new = number > self.reserved;
        if is_new {
            self.reserved = number + block - 1;
        }
        is_new
    }
}
