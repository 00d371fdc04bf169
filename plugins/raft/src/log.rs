//! The replicated log. Indices begin at 1; index 0 is the place before the first entry, and its term is 0.

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

/// The number of an election. Terms begin at 1; 0 is before all of them.
pub type Term = u32;

/// A place in the log.
pub type Index = u32;

/// A command of the application, with its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// The term of the leader that took it.
    pub term: Term,
    /// The command: the number of the node that took it. So entries of two leaders differ even if both think that it is their term.
    pub command: NodeId,
}

/// A place in a log and the term of the entry there. By term first: this order says which of two logs is more up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    /// The term of the entry.
    pub term: Term,
    /// Its place.
    pub index: Index,
}

/// Entries in the order of their execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Log(Vec<Entry>);

impl Log {
    /// The last entry; index 0 and term 0 if there is none.
    pub fn last(&self) -> Mark {
        self.mark(self.0.len() as Index).expect("the last place is in the log")
    }

    /// The place `index` with its term; none behind the end.
    pub fn mark(&self, index: Index) -> Option<Mark> {
        let term = match index {
            0 => 0,
            _ => self.0.get(index as usize - 1)?.term,
        };
        Some(Mark { term, index })
    }

    /// The entries behind a place.
    pub fn after(&self, index: Index) -> &[Entry] {
        self.0.get(index as usize..).unwrap_or_default()
    }

    /// The entries up to a place, or all if there are fewer.
    pub fn up_to(&self, index: Index) -> &[Entry] {
        &self.0[..self.0.len().min(index as usize)]
    }

    /// The number of entries of a term.
    pub fn of_term(&self, term: Term) -> usize {
        self.0.iter().filter(|entry| entry.term == term).count()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Puts entries behind a place. Known entries stay, since an older message may arrive late; an entry that contradicts
    /// them is removed, with all behind it.
    pub(crate) fn replace_after(&mut self, index: Index, entries: &[Entry]) {
        for (place, entry) in (index as usize..).zip(entries) {
            if self.0.get(place).is_some_and(|known| known.term != entry.term) {
                self.0.truncate(place);
            }
            if place == self.0.len() {
                self.0.push(*entry);
            }
        }
    }
}

impl FromIterator<Entry> for Log {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}
