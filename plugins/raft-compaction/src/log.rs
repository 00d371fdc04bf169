//! The log behind a snapshot. Indices begin at 1; index 0 is the place before the first entry, and its term is 0.

use serde::{Deserialize, Serialize};

/// The number of an election. Terms begin at 1; 0 is before all of them.
pub type Term = u32;

/// A place in the log.
pub type Index = u32;

/// A command and the term of the leader that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// The term of the leader.
    pub term: Term,
    /// The number of the command in this term, from 1.
    pub command: u32,
}

/// A place in a log and the term of the entry there. By term first: this order says which of two logs is more up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    /// The term of the entry.
    pub term: Term,
    /// Its place.
    pub index: Index,
}

/// The entries behind those that only the snapshot has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Log {
    /// The last entry in the snapshot.
    base: Mark,
    entries: Vec<Entry>,
}

impl Log {
    /// An empty log behind a snapshot.
    pub(crate) fn behind(base: Mark) -> Self {
        Self { base, entries: Vec::new() }
    }

    /// The last entry in the snapshot.
    pub fn base(&self) -> Mark {
        self.base
    }

    /// The last entry; that of the snapshot if none follows.
    pub fn last(&self) -> Mark {
        let index = self.base.index + self.entries.len() as Index;
        Mark { term: self.entries.last().map_or(self.base.term, |entry| entry.term), index }
    }

    /// The place `index` with its term; none before the base and behind the end.
    pub fn mark(&self, index: Index) -> Option<Mark> {
        match index.checked_sub(self.base.index)? {
            0 => Some(self.base),
            place => Some(Mark { term: self.entries.get(place as usize - 1)?.term, index }),
        }
    }

    /// The entries from a place on; none if the snapshot has the first of them.
    pub fn from(&self, index: Index) -> &[Entry] {
        let place = index.checked_sub(self.base.index + 1);
        place.and_then(|place| self.entries.get(place as usize..)).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Puts entries behind a place that is in the log. Equal entries stay, since an older message may arrive late; a different entry goes,
    /// with all behind it.
    pub(crate) fn replace_after(&mut self, index: Index, entries: &[Entry]) {
        for (place, entry) in ((index - self.base.index) as usize..).zip(entries) {
            if self.entries.get(place).is_some_and(|known| known.term != entry.term) {
                self.entries.truncate(place);
            }
            if place == self.entries.len() {
                self.entries.push(*entry);
            }
        }
    }

    /// Leaves the entries up to a place that is in the log to the snapshot.
    pub(crate) fn forget_up_to(&mut self, last: Mark) {
        self.entries.drain(..(last.index - self.base.index) as usize);
        self.base = last;
    }
}
