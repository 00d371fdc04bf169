//! The scheduled inputs of a run, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// A scheduled input. Entries are ordered by time, and at equal times by their creation.
struct Entry<I> {
    at: Time,
    number: u64,
    input: I,
}

impl<I> PartialEq for Entry<I> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<I> Eq for Entry<I> {}

impl<I> PartialOrd for Entry<I> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<I> Ord for Entry<I> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The scheduled inputs.
pub(crate) struct Agenda<I> {
    entries: BinaryHeap<Reverse<Entry<I>>>,
    made: u64,
}

impl<I> Default for Agenda<I> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new(), made: 0 }
    }
}

impl<I> Agenda<I> {
    /// The number of the next entry.
    pub(crate) fn next_number(&self) -> u64 {
        self.made
    }

    pub(crate) fn add(&mut self, at: Time, input: I) {
        self.entries.push(Reverse(Entry { at, number: self.made, input }));
        self.made += 1;
    }

    /// Removes the first input, unless it is later than `end`.
    pub(crate) fn next_until(&mut self, end: Time) -> Option<(Time, I)> {
        let Reverse(next) = self.entries.peek()?;
        if next.at > end {
            return None;
        }
        self.entries.pop().map(|Reverse(Entry { at, input, .. })| (at, input))
    }

    /// Whether nothing is scheduled.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether all scheduled inputs are of a kind.
    pub(crate) fn has_nothing_but(&self, is_of_kind: impl Fn(&I) -> bool) -> bool {
        self.entries.iter().all(|Reverse(entry)| is_of_kind(&entry.input))
    }
}
