//! The replicated log behind a snapshot. Indices begin at 1; index 0 is the place before the first entry, and its term is 0.

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

use crate::{Members, Operation};

/// The number of an election. Terms begin at 1; 0 is before all of them.
pub type Term = u32;

/// A place in the log.
pub type Index = u32;

/// An operation, with the node and the number of its request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Command {
    /// The node that was asked.
    pub node: NodeId,
    /// The number of the request there.
    pub number: u64,
    /// The operation.
    pub operation: Operation,
}

/// An entry of the log: a command, and the term of its leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// The term of the leader that took it.
    pub term: Term,
    /// The command; none in the first entry of a term, with which a leader commits the entries of earlier leaders.
    pub command: Option<Command>,
}

/// A place in a log and the term of the entry there. By term first: this order says which of two logs is more up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    /// The term of the entry.
    pub term: Term,
    /// Its place.
    pub index: Index,
}

/// The entries behind those that only the store has, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Log {
    /// The last entry before them.
    base: Mark,
    entries: Vec<Entry>,
}

impl Log {
    /// A log whose entries are in a store, up to this one.
    pub(crate) fn behind(base: Mark) -> Self {
        Self { base, entries: Vec::new() }
    }

    /// A log with these entries behind this one.
    pub(crate) fn of(base: Mark, entries: Vec<Entry>) -> Self {
        Self { base, entries }
    }

    /// The last entry that is in the store alone.
    pub fn base(&self) -> Mark {
        self.base
    }

    /// The last entry.
    pub fn last(&self) -> Mark {
        self.mark(self.base.index + self.entries.len() as Index).expect("the last place is in the log")
    }

    /// The place `index` with its term; none before the base and behind the end.
    pub fn mark(&self, index: Index) -> Option<Mark> {
        match index.checked_sub(self.base.index)? {
            0 => Some(self.base),
            place => Some(Mark { term: self.entries.get(place as usize - 1)?.term, index }),
        }
    }

    /// The entry at a place that is in the log.
    pub fn entry(&self, index: Index) -> Option<&Entry> {
        self.entries.get(index.checked_sub(self.base.index + 1)? as usize)
    }

    /// The entries behind a place that is in the log.
    pub fn after(&self, index: Index) -> &[Entry] {
        self.entries.get((index - self.base.index) as usize..).unwrap_or_default()
    }

    /// The members by the last entry that changes them, of the entries behind a place that is in the log.
    pub(crate) fn members_after(&self, index: Index) -> Option<&Members> {
        self.after(index).iter().rev().find_map(|entry| match &entry.command.as_ref()?.operation {
            Operation::Configure(members) => Some(members),
            _ => None,
        })
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Puts entries behind a place that is in the log. Entries that are already there stay, since an older message may arrive late; those
    /// that contradict them are removed, with all entries behind. Returns the first place with another entry than before.
    pub(crate) fn replace_after(&mut self, index: Index, entries: &[Entry]) -> Option<Index> {
        let mut changed = None;
        for (place, entry) in ((index - self.base.index) as usize..).zip(entries) {
            if self.entries.get(place).is_some_and(|known| known.term != entry.term) {
                self.entries.truncate(place);
            }
            if place == self.entries.len() {
                self.entries.push(entry.clone());
                changed.get_or_insert(self.base.index + self.entries.len() as Index);
            }
        }
        changed
    }

    /// Removes the entries up to a place, if it is behind the base.
    pub(crate) fn forget_up_to(&mut self, index: Index) {
        if let Some(base) = self.mark(index) {
            self.entries.drain(..(index - self.base.index) as usize);
            self.base = base;
        }
    }
}
