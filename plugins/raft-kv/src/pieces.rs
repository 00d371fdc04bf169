//! Logs and stores in messages of bounded length.

use serde::{Deserialize, Serialize};

use crate::{Command, Entry, Item, Mark, Raft, Session, SessionId, Store};

/// Heartbeats without progress of any node until the copy of a store for pieces is discarded.
const IDLE_MAX: u32 = 20;

/// The maximum overhead of a log entry or of a key of a store, in bytes, in addition to its key and value; and of a session.
const AROUND: usize = 32;

/// A store as it was after some entry, from which pieces are made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    /// The last entry in the store.
    pub last: Mark,
    /// The store after all entries up to there.
    pub store: Store,
    /// Heartbeats since a node has taken a piece of it.
    pub idle: u32,
}

/// The pieces of a store received so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Incoming {
    /// The last entry that is in the store.
    pub last: Mark,
    /// The number of pieces.
    pub count: u32,
    /// The contents of the pieces.
    pub store: Store,
}

/// A piece of a store, see [`Raft::Install`].
pub(crate) struct Piece {
    pub(crate) last: Mark,
    pub(crate) number: u32,
    pub(crate) store: Store,
    pub(crate) is_last: bool,
}

impl Snapshot {
    pub(crate) fn new(last: Mark, store: &Store) -> Self {
        Self { last, store: store.clone(), idle: 0 }
    }

    /// Counts a heartbeat; returns whether the snapshot is still of use.
    pub(crate) fn grow_old(&mut self) -> bool {
        self.idle += 1;
        self.idle < IDLE_MAX
    }
}

impl Incoming {
    /// Adds a piece; a repeated or early one has no effect. Returns the whole store after the last piece.
    pub(crate) fn take(incoming: &mut Option<Self>, piece: Piece) -> Option<Store> {
        let Piece { last, number, store, is_last } = piece;
        let known = incoming.take_if(|incoming| incoming.last == last);
        let mut now = match known {
            None if number == 0 => Self { last, count: 1, store },
            Some(mut known) if number == known.count => {
                known.store.extend(store);
                known.count += 1;
                known
            }
            known => {
                *incoming = known.or_else(|| incoming.take());
                return None;
            }
        };
        if is_last {
            *incoming = None;
            return Some(std::mem::take(&mut now.store));
        }
        *incoming = Some(now);
        None
    }

    /// The number of received pieces of the store up to an entry.
    pub(crate) fn count_of(incoming: Option<&Self>, last: Mark) -> u32 {
        incoming.filter(|incoming| incoming.last == last).map_or(0, |incoming| incoming.count)
    }
}

/// An element of a store.
enum Element<'a> {
    Session(SessionId, &'a Session),
    Item(&'a String, &'a Item),
}

/// The piece of the store with this number, counted from 0; the last one if there are fewer. It is the same at every node with this store.
pub(crate) fn piece(last: Mark, store: &Store, number: u32, bytes_max: usize) -> Raft {
    let sessions = store.sessions.iter().map(|(id, session)| (AROUND, Element::Session(*id, session)));
    let items = store.items.iter();
    let items = items.map(|(key, item)| (key.len() + item.value.len() + AROUND, Element::Item(key, item)));
    let (mut part, mut at, mut bytes) = (store.empty(), 0, 0);
    for (more, element) in sessions.chain(items) {
        if bytes > 0 && bytes + more > bytes_max {
            if at == number {
                return Raft::Install { last, number, store: part, is_last: false };
            }
            (part, at, bytes) = (store.empty(), at + 1, 0);
        }
        match element {
            Element::Session(id, session) => drop(part.sessions.insert(id, session.clone())),
            Element::Item(key, item) => drop(part.items.insert(key.clone(), item.clone())),
        }
        bytes += more;
    }
    Raft::Install { last, number: at, store: part, is_last: true }
}

/// The first of these entries, up to the size of a message, but at least one if there is one.
pub(crate) fn batch(entries: &[Entry], bytes_max: usize) -> &[Entry] {
    let mut bytes = 0;
    let fits = |entry: &&Entry| {
        bytes += size(entry) + AROUND;
        bytes <= bytes_max
    };
    let count = entries.iter().take_while(fits).count();
    &entries[..count.max(entries.len().min(1))]
}

/// Bytes of the keys and values of an entry.
pub(crate) fn size(entry: &Entry) -> usize {
    entry.command.as_ref().map_or(0, |Command { operation, .. }| operation.size())
}
