//! The numbers of checkpoints, across resets.

use serde::{Deserialize, Serialize};

use crate::mutant::{Mutant, is_present};

/// A number above this is nobody's, and from it there is room to count on: nobody comes so far, see [`Numbers::reach`].
pub(super) const NUMBER_MAX: u64 = 1 << 63;
/// Any packet takes its receiver up to this number: no cluster takes this many checkpoints.
const AT_ONCE_MAX: u64 = 1 << 62;
/// How far a packet takes its receiver beyond. From there to the highest number it is 2^38 packets.
const STEP_MAX: u64 = 1 << 24;

/// What a node has to keep on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// Which start of the node this is, counted from 1.
    pub incarnation: u64,
    /// The highest number that it may have used.
    pub reserved: u64,
}

/// How checkpoints are numbered after a reset, and which requests are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// The first number after a reset.
    pub after_reset: AfterReset,
    /// Whether a request is refused that a discarded checkpoint might have answered. Else the next one that is left is the answer.
    pub refuses_discarded: bool,
}

impl Rule {
    /// The rule under which every snapshot is consistent.
    ///
    /// Proof. Let `n` be the number that was asked for, and let node `j` have received, before its checkpoint, a message that `i` sent
    /// after its own. Numbers of a node never fall and its checkpoint has the first number from `n` on that it ever had, since no
    /// discarded one can have been the answer; a reset discards them all, and its new number is above them. So `i` had a number of at
    /// least `n` when it sent, and the message carried it. Hence `j` had such a number before it processed the message, and its first
    /// checkpoint with one is earlier: a contradiction.
    pub const SOUND: Self = Self { after_reset: AfterReset::Next, refuses_discarded: true };

    /// The rule as it is published, which says nothing of resets and of discarded checkpoints. It admits inconsistent snapshots;
    /// tests show them.
    pub const PUBLISHED: Self = Self { after_reset: AfterReset::First, refuses_discarded: false };
}

/// The first number after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AfterReset {
    /// That of the first start: it may have been used.
    First,
    /// The last one that may have been used.
    Last,
    /// The one above it.
    Next,
}

/// The numbers of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Numbers {
    /// Which start of the node this is.
    pub(super) incarnation: u64,
    /// The present number.
    pub(super) current: u64,
    /// The highest number that a discarded checkpoint had; 0 for none.
    pub(super) discarded: u64,
    reserved: u64,
}

impl Numbers {
    /// At a start, with what the disk says; none at the first one. `block` numbers are reserved.
    pub(super) fn new(rule: Rule, block: u64, durable: Option<Durable>) -> Self {
        let (last_incarnation, last) = durable.map_or((0, 0), |durable| (durable.incarnation, durable.reserved));
        let after_reset = match rule.after_reset {
            _ if is_present(Mutant::PublishedRule) => AfterReset::First,
            after_reset => after_reset,
        };
        let current = match after_reset {
            AfterReset::First => 1,
            AfterReset::Last => last.max(1),
            AfterReset::Next => last + 1,
        };
        // What was reserved stays so, whatever number is used.
        let reserved = last.max(current + block - 1);
        let discarded = if is_present(Mutant::ForgetsStarts) { 0 } else { last };
        Self { incarnation: last_incarnation + 1, current, discarded, reserved }
    }

    /// What the disk has to say before this number leaves the node.
    pub(super) fn durable(&self) -> Durable {
        Durable { incarnation: self.incarnation, reserved: self.reserved }
    }

    /// The highest number to which one packet takes the node.
    ///
    /// Wherever that ends, a packet can take a node there, and what this node says from then on is above the end for all others, even
    /// after a start. So what is above is not processed, but brings its receiver as far as that, and the next packet is within reach.
    pub(super) fn reach(&self) -> u64 {
        AT_ONCE_MAX.max(self.current + STEP_MAX)
    }

    /// Rises to a number; whether the disk has to be told.
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
