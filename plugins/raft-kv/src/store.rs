//! Keys with values, and operations on them.

use std::collections::BTreeMap;
use std::ops::Bound;

use guest_sdk::linearizability::SequentialObject;
use serde::{Deserialize, Serialize};

use crate::sessions::{self, Once, Session, SessionId};
use crate::{Index, Members};

/// A number of changes of a store.
pub type Revision = u64;

/// Keys, and bytes of keys and values, in one page of a range; a page has at least one key if there is one.
pub(crate) const PAGE_KEYS_MAX: u32 = 1_000;
const PAGE_BYTES_MAX: usize = 256 << 10;

/// The room of a key and a value of no bytes.
const KEY_ROOM: usize = 64;

/// Keys with their values, and the number of changes that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Store {
    /// The keys.
    pub items: BTreeMap<String, Item>,
    /// The number of changes by [`Operation::Write`]: others do not count, so that a store without revisions has none.
    pub revision: Revision,
    /// The sessions of clients.
    pub sessions: BTreeMap<SessionId, Session>,
    /// The members of the cluster by the entries up to here; none if all nodes are members for good.
    pub members: Option<Members>,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// The revision of the store after the last change of the key; 0 if that change did not count.
    pub revision: Revision,
    /// The value.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
}

/// An operation of a client. A variant keeps its place, since it names the entries in data files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// The value of a key.
    Get(String),
    /// A key gets a value.
    Put(String, #[serde(with = "serde_bytes")] Vec<u8>),
    /// A key has no value any more.
    Delete(String),
    /// A write that counts.
    Write(Write),
    /// The value of a key with its revision.
    Find(String),
    /// A page of keys with their values.
    Range(Range),
    /// A session begins; with it there are at most this number of sessions.
    Open(u32),
    /// A write of a session.
    Once(Once),
    /// The members of the cluster.
    Members,
    /// The cluster has these members; a leader writes it for a change of one of them.
    Configure(Members),
}

/// A write that counts as a revision of the store if it changes anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Write {
    /// The key.
    pub key: String,
    /// Its value from then on; none to delete it.
    #[serde(with = "serde_bytes")]
    pub value: Option<Vec<u8>>,
    /// The condition without which nothing happens.
    pub condition: Condition,
}

/// A condition on the present value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Condition {
    /// It always holds.
    None,
    /// The key has no value.
    Absent,
    /// The key has a value.
    Present,
    /// The key has a value of this revision.
    Revision(Revision),
}

/// The keys with a prefix, in their order, from one place on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    /// The beginning of each key.
    pub prefix: String,
    /// The last key of the page before; empty for the first page.
    pub after: String,
    /// The maximum number of keys.
    pub limit: u32,
}

/// The results of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outcome {
    /// The key has this value, or none.
    Value(#[serde(with = "serde_bytes")] Option<Vec<u8>>),
    /// It is done.
    Done,
    /// It is done, and this is the revision of the store.
    Written(Revision),
    /// The condition does not hold, and nothing has happened: the key has this revision, or no value.
    Unmet(Option<Revision>),
    /// The key has this value with its revision, or none.
    Item(Option<Item>),
    /// The keys of a page.
    Page(Page),
    /// The session has begun.
    Opened(SessionId),
    /// There is no such session, or it has expired, and nothing has happened.
    NoSession(SessionId),
    /// The session has a later write, with this number, and nothing has happened.
    Late(u64),
    /// The members of the cluster.
    Members(Members),
}

/// Keys with their values, in the order of the keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Page {
    /// The revision of the store.
    pub revision: Revision,
    /// The keys.
    pub items: Vec<(String, Item)>,
    /// Whether further keys follow.
    pub has_more: bool,
}

impl Item {
    /// The room that it takes with its key: a start reads, and a node that was far behind writes, no more keys than the usual fuel is
    /// enough for.
    fn room(&self, key: &str) -> usize {
        key.len() + self.value.len() + KEY_ROOM
    }
}

impl Store {
    /// A store of this revision without keys and sessions.
    pub(crate) fn empty(&self) -> Self {
        Self { revision: self.revision, members: self.members.clone(), ..Self::default() }
    }

    /// Adds the keys and sessions of another part of the same store.
    pub(crate) fn extend(&mut self, part: Self) {
        self.items.extend(part.items);
        self.sessions.extend(part.sessions);
    }

    /// The room that its keys take.
    pub(crate) fn room(&self) -> usize {
        self.items.iter().map(|(key, item)| item.room(key)).sum()
    }

    /// The room that the key of an operation takes, if it has one with a value.
    pub(crate) fn room_of(&self, operation: &Operation) -> usize {
        let key = match operation {
            Operation::Put(key, _) | Operation::Delete(key) => key,
            Operation::Write(write) => &write.key,
            Operation::Once(once) => return self.room_of(&once.write),
            _ => return 0,
        };
        self.items.get(key).map_or(0, |item| item.room(key))
    }
}

impl Operation {
    /// Executes the entry at a place of the log.
    pub(crate) fn apply(&self, store: &mut Store, index: Index) -> Outcome {
        match self {
            Self::Get(key) => return Outcome::Value(store.items.get(key).map(|item| item.value.clone())),
            Self::Put(key, value) => {
                store.items.insert(key.clone(), Item { revision: 0, value: value.clone() });
            }
            Self::Delete(key) => drop(store.items.remove(key)),
            Self::Write(write) => return write.apply(store),
            Self::Find(key) => return Outcome::Item(store.items.get(key).cloned()),
            Self::Range(range) => return Outcome::Page(range.page(store)),
            Self::Open(sessions_max) => return sessions::open(store, index, *sessions_max),
            Self::Once(once) => return once.apply(store, index),
            Self::Members => return Outcome::Members(store.members.clone().unwrap_or_default()),
            Self::Configure(members) => {
                store.members = Some(members.clone());
                return Outcome::Members(members.clone());
            }
        }
        Outcome::Done
    }

    /// Whether it gives a key a value, for which the store needs room.
    pub(crate) fn has_value(&self) -> bool {
        match self {
            Self::Put(..) | Self::Write(Write { value: Some(_), .. }) => true,
            Self::Once(once) => once.write.has_value(),
            _ => false,
        }
    }

    /// Whether it changes no store.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Self::Get(_) | Self::Find(_) | Self::Range(_) | Self::Members)
    }

    /// Bytes of its keys and values.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Get(key) | Self::Delete(key) | Self::Find(key) => key.len(),
            Self::Put(key, value) => key.len() + value.len(),
            Self::Write(Write { key, value, .. }) => key.len() + value.as_ref().map_or(0, Vec::len),
            Self::Range(range) => range.prefix.len() + range.after.len(),
            Self::Open(_) | Self::Members | Self::Configure(_) => 0,
            Self::Once(once) => once.write.size(),
        }
    }
}

impl Write {
    /// The outcome if the condition does not hold.
    pub(crate) fn unmet(&self, store: &Store) -> Option<Outcome> {
        let known = store.items.get(&self.key).map(|item| item.revision);
        let holds = match self.condition {
            Condition::None => true,
            Condition::Absent => known.is_none(),
            Condition::Present => known.is_some(),
            Condition::Revision(revision) => known == Some(revision),
        };
        (!holds).then_some(Outcome::Unmet(known))
    }

    fn apply(&self, store: &mut Store) -> Outcome {
        if let Some(unmet) = self.unmet(store) {
            return unmet;
        }
        if self.value.is_some() || store.items.contains_key(&self.key) {
            store.revision += 1;
        }
        match &self.value {
            Some(value) => {
                let item = Item { revision: store.revision, value: value.clone() };
                store.items.insert(self.key.clone(), item);
            }
            None => drop(store.items.remove(&self.key)),
        }
        Outcome::Written(store.revision)
    }
}

impl Range {
    fn page(&self, store: &Store) -> Page {
        let begin = match self.after >= self.prefix {
            true => Bound::Excluded(self.after.as_str()),
            false => Bound::Included(self.prefix.as_str()),
        };
        let mut rest = store
            .items
            .range::<str, _>((begin, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(self.prefix.as_str()));
        let (mut items, mut bytes, mut has_more) = (Vec::new(), 0, false);
        for (key, item) in &mut rest {
            bytes += key.len() + item.value.len();
            has_more = items.len() >= self.limit as usize || !items.is_empty() && bytes > PAGE_BYTES_MAX;
            if has_more {
                break;
            }
            items.push((key.clone(), item.clone()));
        }
        Page { revision: store.revision, items, has_more }
    }
}

/// A store that no other node has.
#[derive(Clone, Copy, Debug)]
pub struct Sequential;

impl SequentialObject for Sequential {
    type State = Store;
    type Call = Operation;
    type Return = Outcome;

    fn start(&self) -> Store {
        Store::default()
    }

    fn apply(&self, state: &mut Store, call: &Operation) -> Outcome {
        // Sessions are those of attempts, and no operations of clients: no place in a log matters.
        call.apply(state, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(key: &str, value: Option<&str>, condition: Condition) -> Operation {
        Operation::Write(Write { key: key.to_owned(), value: value.map(Into::into), condition })
    }

    #[test]
    fn a_write_happens_only_if_its_condition_holds() {
        let mut store = Store::default();
        let mut does = |value, condition| write("color", value, condition).apply(&mut store, 1);
        assert_eq!(does(Some("red"), Condition::Present), Outcome::Unmet(None));
        assert_eq!(does(Some("red"), Condition::Revision(0)), Outcome::Unmet(None));
        assert_eq!(does(None, Condition::None), Outcome::Written(0));
        assert_eq!(does(Some("red"), Condition::Absent), Outcome::Written(1));
        assert_eq!(does(Some("blue"), Condition::Absent), Outcome::Unmet(Some(1)));
        assert_eq!(does(Some("blue"), Condition::Revision(2)), Outcome::Unmet(Some(1)));
        assert_eq!(does(Some("blue"), Condition::Revision(1)), Outcome::Written(2));
        assert_eq!(does(None, Condition::Revision(1)), Outcome::Unmet(Some(2)));
        assert_eq!(does(None, Condition::Present), Outcome::Written(3));
        assert_eq!(does(Some("red"), Condition::None), Outcome::Written(4));
        // A value of an earlier version has the revision 0.
        Operation::Put("color".to_owned(), b"old".to_vec()).apply(&mut store, 1);
        assert_eq!(write("color", Some("new"), Condition::Revision(0)).apply(&mut store, 1), Outcome::Written(5));
    }

    /// Pages of all lengths, compared with a filter over all keys.
    #[test]
    fn pages_have_the_keys_of_a_filter_in_their_order() {
        let mut store = Store::default();
        let keys = ["", "a", "a/", "a/b", "a/c", "a0", "b", "b/x", "\u{7f}", "ä", "ä/b"];
        keys.iter().for_each(|key| drop(write(key, Some(key), Condition::None).apply(&mut store, 1)));
        for prefix in ["", "a", "a/", "b", "ä", "z"] {
            for after in ["", "A", "a", "a/b", "a/bb", "b", "c", "ä", "ö"] {
                let all: Vec<&str> = store
                    .items
                    .keys()
                    .map(String::as_str)
                    .filter(|key| key.starts_with(prefix) && (*key > after || after.is_empty() && prefix.is_empty()))
                    .collect();
                // The empty key has no place before it; clients cannot name it.
                let all: Vec<&str> = all.into_iter().filter(|key| !key.is_empty()).collect();
                for limit in 0..5 {
                    let range = Range { prefix: prefix.to_owned(), after: after.to_owned(), limit };
                    let page = range.page(&store);
                    let found: Vec<&str> = page.items.iter().map(|(key, _)| key.as_str()).collect();
                    let expected = &all[..all.len().min(limit as usize)];
                    assert_eq!((&found[..], page.has_more), (expected, all.len() > limit as usize), "{range:?}");
                }
            }
        }
    }

    #[test]
    fn a_page_has_a_bounded_number_of_bytes() {
        let mut store = Store::default();
        let key = |number: usize| format!("{number:02}");
        let value = "x".repeat(60 << 10);
        (0..10).for_each(|number| drop(write(&key(number), Some(&value), Condition::None).apply(&mut store, 1)));
        let (mut after, mut seen) = (String::new(), Vec::new());
        loop {
            let page = Range { prefix: String::new(), after: after.clone(), limit: 100 }.page(&store);
            let bytes: usize = page.items.iter().map(|(key, item)| key.len() + item.value.len()).sum();
            assert!((1..=PAGE_BYTES_MAX).contains(&bytes), "{bytes}");
            seen.extend(page.items.iter().map(|(key, _)| key.clone()));
            after = seen.last().expect("a page has a key").clone();
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, (0..10).map(key).collect::<Vec<_>>());
    }
}
