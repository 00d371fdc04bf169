//! The durable state in the durable map: the log by index, the store by key, and the rest as one entry. A handler writes what it changes,
//! so states that differ in the durable state have different maps, and their identity needs only what is not durable.
//!
//! Votes, terms and the log are synced at the end of the handler that changes them: others rely on them. So is the commit index, with the
//! store that belongs to it. The log could give it back, but after a kill of all nodes nothing else says which entries clients rely on, and
//! checkers of a running cluster would predict no loss of them.
//!
//! Nodes of earlier versions have kept all of it as bytes, see [`data`](crate::data): it moves to the map at the next start.

use std::collections::BTreeMap;

use guest_sdk::linearizability::ClientId;
use guest_sdk::storage::{self, Key, Table};
use guest_sdk::{Context, Encoding, NodeId, NodeState, Payload};
use serde::{Deserialize, Serialize};

use crate::{
    Bug, Entry, History, Index, Item, Kept, Log, Mark, Members, Message, Operation, RaftKv, Revision, Session,
    SessionId, State, Store, Term,
};

const REST: Table<(), Rest> = Table::new("rest");
const LOG: Table<Index, Entry> = Table::new("log");
const ITEMS: Table<String, Item> = Table::new("items");
const SESSIONS: Table<SessionId, Session> = Table::new("sessions");

/// The state that survives a reset.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// The latest term that it knows.
    pub term: Term,
    /// The node that has its vote in this term.
    pub voted_for: Option<NodeId>,
    /// The entries that are not only in the store.
    pub log: Log,
    /// The last index that is committed and applied to the store.
    pub commit: Index,
    /// The store after these entries.
    pub store: Store,
    /// The number of requests that it has received in a search.
    pub asked: u64,
    /// Their operations; none where they are not recorded.
    pub history: Option<History>,
    /// The client that repeats writes in a search.
    pub client: Client,
}

/// The knowledge of a client about its session, in a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Client {
    /// Its session, once it has begun.
    pub session: Option<SessionId>,
    /// The number of requests that repeated a write.
    pub repeated: u64,
}

impl Disk {
    /// The last entry that is committed.
    pub(crate) fn committed(&self) -> Mark {
        self.log.mark(self.commit).expect("what is committed is not before the base, nor behind the end")
    }
}

/// The durable state without the entries of the log, the keys of the store and its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Rest {
    term: Term,
    voted_for: Option<NodeId>,
    base: Mark,
    commit: Index,
    revision: Revision,
    members: Option<Members>,
    asked: u64,
    history: Option<History>,
    client: Client,
}

impl Rest {
    pub(crate) fn of(disk: &Disk) -> Self {
        let Disk { term, voted_for, log, commit, store, asked, history, client } = disk;
        Self {
            term: *term,
            voted_for: *voted_for,
            base: log.base(),
            commit: *commit,
            revision: store.revision,
            members: store.members.clone(),
            asked: *asked,
            history: history.clone(),
            client: client.clone(),
        }
    }
}

/// The durable state at the beginning of a handler, as far as its end needs it.
pub(crate) struct Before {
    rest: Rest,
    last: Mark,
}

impl Before {
    pub(crate) fn of(disk: &Disk) -> Self {
        Self { rest: Rest::of(disk), last: disk.log.last() }
    }
}

/// The durable state at a start, which the map then has: that in the map, that of an earlier version, or that of a first start.
pub(crate) fn start(protocol: &RaftKv, ctx: &mut Context<Message>, durable: Option<Kept>) -> Disk {
    let mut saved = load();
    let before = saved.as_ref().map(Rest::of).filter(|_| protocol.bug != Bug::ForgetStore);
    if let (None, Some(disk)) = (&before, &mut saved) {
        disk.store = Store::default();
    }
    let mut disk = saved.or(durable.map(|Kept(disk)| disk)).unwrap_or_else(|| Disk {
        term: 0,
        voted_for: None,
        log: Log::default(),
        commit: 0,
        store: Store::default(),
        asked: 0,
        history: protocol.records.then(|| History::new(ctx.me() as ClientId)),
        client: Client::default(),
    });
    if protocol.members > 0 && disk.store.members.is_none() {
        disk.store.members = Some(Members::first(protocol.members, ctx.nodes()));
    }
    match before {
        Some(before) => save_rest(ctx, &before, &disk),
        None => save_all(ctx, &disk),
    }
    storage::sync(ctx);
    disk
}

/// The durable state in the map; none at the first start, and at the first one of this version.
fn load() -> Option<Disk> {
    let Rest { term, voted_for, base, commit, revision, members, asked, history, client } = REST.get(&())?;
    let log = Log::of(base, LOG.range(..).map(|(_, entry)| entry).collect());
    let store = Store { items: ITEMS.range(..).collect(), revision, sessions: SESSIONS.range(..).collect(), members };
    Some(Disk { term, voted_for, log, commit, store, asked, history, client })
}

/// The handler ends: writes the rest, and syncs what others will rely on. Two logs with the same last entry are the same.
pub(crate) fn end(protocol: &RaftKv, ctx: &mut Context<Message>, before: &Before, disk: &Disk) {
    save_rest(ctx, &before.rest, disk);
    let Rest { term, voted_for, commit, asked, history, client, .. } = &before.rest;
    let votes = (*term, *voted_for) != (disk.term, disk.voted_for) && protocol.bug != Bug::ForgetSyncVotes;
    let entries = before.last != disk.log.last() && protocol.bug != Bug::ForgetSyncEntries;
    // Clients of a search are no part of the node, so an outage does not touch what they know.
    let clients = (*asked, history, client) != (disk.asked, &disk.history, &disk.client);
    let commits = *commit != disk.commit && protocol.bug != Bug::ForgetSyncCommits;
    if votes || entries || commits || clients {
        storage::sync(ctx);
    }
}

/// Writes the rest, if it has changed.
fn save_rest(ctx: &mut Context<Message>, before: &Rest, disk: &Disk) {
    let rest = Rest::of(disk);
    if rest != *before {
        REST.put(ctx, &(), &rest);
    }
}

/// Writes all of the durable state in place of what is in the map.
fn save_all(ctx: &mut Context<Message>, disk: &Disk) {
    REST.put(ctx, &(), &Rest::of(disk));
    LOG.delete_range(ctx, ..);
    ITEMS.delete_range(ctx, ..);
    SESSIONS.delete_range(ctx, ..);
    put_entries(ctx, &disk.log, disk.log.base().index + 1);
    disk.store.items.iter().for_each(|(key, item)| ITEMS.put(ctx, key, item));
    disk.store.sessions.iter().for_each(|(id, session)| SESSIONS.put(ctx, id, session));
}

/// A store came in place of another one, and the log has entries behind it alone.
pub(crate) fn installed(ctx: &mut Context<Message>, before: &Store, disk: &Disk) {
    forgot(ctx, &disk.log);
    if disk.log.last() == disk.log.base() {
        LOG.delete_range(ctx, ..);
    }
    replace(ctx, &ITEMS, &before.items, &disk.store.items);
    replace(ctx, &SESSIONS, &before.sessions, &disk.store.sessions);
}

/// Writes what differs between two contents of a table.
fn replace<K: Key + Ord, V: Payload + PartialEq>(
    ctx: &mut Context<Message>,
    table: &Table<K, V>,
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) {
    before.keys().filter(|key| !after.contains_key(*key)).for_each(|key| table.delete(ctx, key));
    let differs = |(key, value): &(&K, &V)| before.get(*key) != Some(*value);
    after.iter().filter(differs).for_each(|(key, value)| table.put(ctx, key, value));
}

/// The log has other entries from a place on.
pub(crate) fn replaced(ctx: &mut Context<Message>, log: &Log, from: Index) {
    LOG.delete_range(ctx, from..);
    put_entries(ctx, log, from);
}

/// The log has an entry more.
pub(crate) fn pushed(ctx: &mut Context<Message>, log: &Log) {
    put_entries(ctx, log, log.last().index);
}

fn put_entries(ctx: &mut Context<Message>, log: &Log, from: Index) {
    (from..).zip(log.after(from - 1)).for_each(|(index, entry)| LOG.put(ctx, &index, entry));
}

/// The log has no entries any more up to its base.
pub(crate) fn forgot(ctx: &mut Context<Message>, log: &Log) {
    LOG.delete_range(ctx, ..=log.base().index);
}

/// An operation has changed the store.
pub(crate) fn applied(ctx: &mut Context<Message>, store: &Store, operation: &Operation) {
    match operation {
        Operation::Put(key, _) | Operation::Delete(key) => save_item(ctx, store, key),
        Operation::Write(write) => save_item(ctx, store, &write.key),
        Operation::Once(once) => {
            if let Some(session) = store.sessions.get(&once.session) {
                SESSIONS.put(ctx, &once.session, session);
            }
            applied(ctx, store, &once.write);
        }
        Operation::Open(_) => {
            let ended = SESSIONS.range(..).map(|(id, _)| id).filter(|id| !store.sessions.contains_key(id));
            ended.collect::<Vec<_>>().iter().for_each(|id| SESSIONS.delete(ctx, id));
            // It is named by its entry, so it is the last one.
            store.sessions.last_key_value().into_iter().for_each(|(id, session)| SESSIONS.put(ctx, id, session));
        }
        Operation::Get(_) | Operation::Find(_) | Operation::Range(_) | Operation::Members | Operation::Configure(_) => {
        }
    }
}

fn save_item(ctx: &mut Context<Message>, store: &Store, key: &String) {
    match store.items.get(key) {
        Some(item) => ITEMS.put(ctx, key, item),
        None => ITEMS.delete(ctx, key),
    }
}

/// The map has the durable state.
impl NodeState for State {
    fn identity(&self, encoding: Encoding) -> Vec<u8> {
        [self.role.to_bytes(encoding), self.incoming.to_bytes(encoding)].concat()
    }

    fn shown(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| error.to_string())
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}
