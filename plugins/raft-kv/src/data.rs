//! The durable state as a data file holds it, also as earlier versions have written it.

use std::collections::BTreeMap;

use guest_sdk::NodeId;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;

use crate::{Client, Disk, History, Index, Item, Log, Revision, Session, SessionId, Store, Term};

/// The first number of a data file of this version and of the one before. The first version begins with the term, which elections never
/// count that far.
const VERSION_3: Term = Term::MAX - 1;
const VERSION_2: Term = Term::MAX;

/// The durable state in a data file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kept(pub Disk);

/// The parts behind the term in the first version: values had no revisions.
#[derive(Deserialize)]
struct First {
    voted_for: Option<NodeId>,
    log: Log,
    commit: Index,
    store: BTreeMap<String, ByteBuf>,
    asked: u64,
    history: Option<History>,
}

/// The second version: all nodes were members.
#[derive(Deserialize)]
struct Second {
    term: Term,
    voted_for: Option<NodeId>,
    log: Log,
    commit: Index,
    store: SecondStore,
    asked: u64,
    history: Option<History>,
    client: Client,
}

#[derive(Deserialize)]
struct SecondStore {
    items: BTreeMap<String, Item>,
    revision: Revision,
    sessions: BTreeMap<SessionId, Session>,
}

impl Second {
    fn disk(self) -> Disk {
        let Self { term, voted_for, log, commit, store, asked, history, client } = self;
        let SecondStore { items, revision, sessions } = store;
        let store = Store { items, revision, sessions, members: None };
        Disk { term, voted_for, log, commit, store, asked, history, client }
    }
}

impl First {
    fn disk(self, term: Term) -> Disk {
        let Self { voted_for, log, commit, store, asked, history } = self;
        let items =
            store.into_iter().map(|(key, value)| (key, Item { revision: 0, value: value.into_vec() })).collect();
        Disk {
            term,
            voted_for,
            log,
            commit,
            store: Store { items, ..Store::default() },
            asked,
            history,
            client: Client::default(),
        }
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (VERSION_3, &self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, Versions)
    }
}

struct Versions;

impl<'de> Visitor<'de> for Versions {
    type Value = Kept;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a durable state")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Kept, A::Error> {
        let missing = || A::Error::custom("a durable state has two parts");
        let first: Term = parts.next_element()?.ok_or_else(missing)?;
        match first {
            VERSION_3 => parts.next_element()?.map(Kept).ok_or_else(missing),
            VERSION_2 => parts.next_element()?.map(|rest: Second| Kept(rest.disk())).ok_or_else(missing),
            term => parts.next_element()?.map(|rest: First| Kept(rest.disk(term))).ok_or_else(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Entry, Operation};

    /// The durable state of the first version.
    #[derive(Serialize)]
    struct Earlier {
        term: Term,
        voted_for: Option<NodeId>,
        log: Log,
        commit: Index,
        store: BTreeMap<String, Vec<u8>>,
        asked: u64,
        history: Option<History>,
    }

    fn log() -> Log {
        let mut log = Log::default();
        let operations = [
            Operation::Get("size".to_owned()),
            Operation::Put("color".to_owned(), b"red".to_vec()),
            Operation::Delete("size".to_owned()),
        ];
        log.push(Entry { term: 1, command: None });
        for (number, operation) in (0..).zip(operations) {
            log.push(Entry { term: 2, command: Some(Command { node: 1, number, operation }) });
        }
        log
    }

    /// The bytes of these entries as the first version wrote them: `postcard` writes each number below 128 as one byte.
    #[test]
    fn entries_have_the_bytes_of_the_first_version() {
        let expected: &[&[u8]] = &[
            &[0, 0, 4, 1, 0],
            &[2, 1, 1, 0, 0, 4],
            b"size",
            &[2, 1, 1, 1, 1, 5],
            b"color",
            &[3],
            b"red",
            &[2, 1, 1, 2, 2, 4],
            b"size",
        ];
        assert_eq!(postcard::to_allocvec(&log()), Ok(expected.concat()));
    }

    #[test]
    fn data_of_the_first_version_is_read() {
        for voted_for in [None, Some(2)] {
            let values = BTreeMap::from([("color".to_owned(), b"blue".to_vec()), ("none".to_owned(), Vec::new())]);
            let earlier =
                Earlier { term: 7, voted_for, log: log(), commit: 2, store: values.clone(), asked: 3, history: None };
            let bytes = postcard::to_allocvec(&earlier).expect("it has an encoding");
            let Kept(disk) = postcard::from_bytes(&bytes).expect("it is read");
            assert_eq!((disk.term, disk.voted_for, disk.commit, disk.asked), (7, voted_for, 2, 3));
            assert_eq!((&disk.log, disk.store.revision), (&log(), 0));
            let read = disk.store.items.iter().map(|(key, item)| (key.clone(), item.value.clone())).collect();
            assert_eq!(values, read);
            assert!(disk.store.items.values().all(|item| item.revision == 0));
            // It is written as this version does, and read again.
            let bytes = postcard::to_allocvec(&Kept(disk.clone())).expect("it has an encoding");
            let Kept(again) = postcard::from_bytes(&bytes).expect("it is read");
            assert_eq!(again, disk);
            assert!(postcard::from_bytes::<Kept>(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    /// The durable state of the second version.
    #[derive(Serialize)]
    struct SecondEarlier {
        term: Term,
        voted_for: Option<NodeId>,
        log: Log,
        commit: Index,
        store: (BTreeMap<String, Item>, Revision, BTreeMap<SessionId, Session>),
        asked: u64,
        history: Option<History>,
        client: Client,
    }

    #[test]
    fn data_of_the_second_version_is_read() {
        let items = BTreeMap::from([("color".to_owned(), Item { revision: 4, value: b"blue".to_vec() })]);
        let sessions = BTreeMap::from([(2, Session { used: 3, serial: 1, outcome: None })]);
        let store = (items.clone(), 5, sessions.clone());
        let (history, client) = (None, Client { session: Some(2), repeated: 1 });
        let earlier =
            SecondEarlier { term: 7, voted_for: Some(1), log: log(), commit: 2, store, asked: 3, history, client };
        let bytes = postcard::to_allocvec(&(VERSION_2, earlier)).expect("it has an encoding");
        let Kept(disk) = postcard::from_bytes(&bytes).expect("it is read");
        assert_eq!((disk.term, disk.voted_for, disk.commit, disk.asked, &disk.log), (7, Some(1), 2, 3, &log()));
        assert_eq!(disk.store, Store { items, revision: 5, sessions, members: None });
        assert_eq!(disk.client, Client { session: Some(2), repeated: 1 });
        let bytes = postcard::to_allocvec(&Kept(disk.clone())).expect("it has an encoding");
        let Kept(again) = postcard::from_bytes(&bytes).expect("it is read");
        assert_eq!(again, disk);
        assert!(postcard::from_bytes::<Kept>(&bytes[..bytes.len() - 1]).is_err());
    }
}
