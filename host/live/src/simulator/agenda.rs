//! What is going to happen, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use host_model::contract::NodeId;
use host_model::lts::{LocalEventId, MessageId};

use crate::time::Time;

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A message or a notice arrives.
    Arrival(MessageId),
    /// What separates a sender from a destination between which messages have an order is over.
    Departure((NodeId, NodeId)),
    /// A local event happens, unless it was called off or armed again since: then it has another number.
    Local { node: NodeId, event: LocalEventId, armed: u64 },
    /// Some node begins anew.
    Reset,
    /// A partition comes.
    Partition,
    /// It ends.
    Reunion,
    /// A phase of the script begins.
    Phase(usize),
    /// The checker of a node begins a round.
    Check(NodeId),
    /// It ends one.
    Checked(NodeId),
}

impl Input {
    /// Whether it is nothing that happens to the cluster.
    pub(super) fn is_of_checker(self) -> bool {
        matches!(self, Self::Check(_) | Self::Checked(_))
    }
}

/// An entry; of those at the same time the one comes first that was made first.
struct Entry {
    at: Time,
    number: u64,
    input: Input,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What is going to happen.
#[derive(Default)]
pub(super) struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    made: u64,
}

impl Agenda {
    /// The number that the next entry gets.
    pub(super) fn next_number(&self) -> u64 {
        self.made
    }

    pub(super) fn add(&mut self, at: Time, input: Input) {
        self.entries.push(Reverse(Entry { at, number: self.made, input }));
        self.made += 1;
    }

    /// Takes what comes next, unless that is later.
    pub(super) fn next_until(&mut self, end: Time) -> Option<(Time, Input)> {
        let Reverse(next) = self.entries.peek()?;
        if next.at > end {
            return None;
        }
        self.entries.pop().map(|Reverse(Entry { at, input, .. })| (at, input))
    }

    /// Whether nothing is going to happen but rounds of checkers.
    pub(super) fn is_quiet(&self) -> bool {
        self.entries.iter().all(|Reverse(entry)| entry.input.is_of_checker())
    }
}
