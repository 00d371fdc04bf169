//! The durable map of a node, as typed tables.
//!
//! A write costs as much as the change, however large the map is: a log has an entry per index, a store an entry per key. The writes of a
//! handler are durable before its messages leave, and [`init`](crate::Protocol::init) after a reset finds them. The map is part of the state of the
//! node, so [`State`](crate::Protocol::State) need not contain it.
//!
//! [`sync`] lets a protocol choose the writes that its messages depend on; the others can be lost in a power outage.
//!
//! A running node adds what a handler has written to its data file.
//!
//! ```
//! use guest_sdk::storage::Table;
//! use guest_sdk::Context;
//!
//! const LOG: Table<u64, String> = Table::new("log");
//!
//! /// Replaces the end of the log from an index on.
//! fn replace(ctx: &mut Context<()>, from: u64, entries: &[String]) {
//!     LOG.delete_range(ctx, from..);
//!     for (index, entry) in (from..).zip(entries) {
//!         LOG.put(ctx, &index, entry);
//!     }
//! }
//!
//! /// The first index without an entry. Reading needs no context: `view` and `local_events` can do it, too.
//! fn end() -> u64 {
//!     LOG.last().map_or(0, |(index, _)| index + 1)
//! }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `key` | the types of keys, and their bytes |
//! | `native` | maps in unit tests |

mod key;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod native;

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

pub use key::Key;

use crate::codec::Postcard;
use crate::{Context, Payload};

#[cfg(target_arch = "wasm32")]
use crate::wasm::bindings::host::protocol::{durability, storage as map};
#[cfg(not(target_arch = "wasm32"))]
use native::{self as map, durability};

/// Entries per call of the host: eight of the longest values take half of the limit `output`.
const PAGE: u32 = 8;

/// A part of the durable map with keys of one type and values of another, in the order of the keys.
///
/// Tables with different names share nothing. A name must not change while nodes with data run.
pub struct Table<K, V> {
    name: &'static str,
    types: PhantomData<fn(&K) -> V>,
}

impl<K: Key, V: Payload> Table<K, V> {
    /// The table of this name.
    ///
    /// # Panics
    ///
    /// The name has a zero byte.
    pub const fn new(name: &'static str) -> Self {
        let (bytes, mut at) = (name.as_bytes(), 0);
        while at < bytes.len() {
            assert!(bytes[at] != 0, "the name of a table has no zero byte");
            at += 1;
        }
        Self { name, types: PhantomData }
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<V> {
        map::get(&self.bytes(key)).map(|value| self.value(&value))
    }

    /// Sets the value of a key.
    pub fn put<M>(&self, _: &mut Context<'_, M>, key: &K, value: &V) {
        self.write(key, value);
    }

    /// As [`put`](Self::put), within a task.
    pub(crate) fn write(&self, key: &K, value: &V) {
        map::put(&self.bytes(key), &value.to_bytes_as::<Postcard>());
    }

    /// Removes a key, if it is there.
    pub fn delete<M>(&self, _: &mut Context<'_, M>, key: &K) {
        self.remove(key);
    }

    /// As [`delete`](Self::delete), within a task.
    pub(crate) fn remove(&self, key: &K) {
        map::delete(&self.bytes(key));
    }

    /// Removes the keys in a range.
    pub fn delete_range<M>(&self, _: &mut Context<'_, M>, keys: impl RangeBounds<K>) {
        self.remove_range(keys);
    }

    /// As [`delete_range`](Self::delete_range), within a task.
    pub(crate) fn remove_range(&self, keys: impl RangeBounds<K>) {
        let (start, end) = self.bounds(&keys);
        map::delete_range(&start, Some(&end));
    }

    /// The entries in a range, in the order of their keys. They are read eight at a time, so a write in
    /// between shows in later reads only.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (K, V)> {
        let (mut start, end) = self.bounds(&keys);
        let mut page: VecDeque<map::Entry> = VecDeque::new();
        let mut is_last = false;
        std::iter::from_fn(move || {
            if page.is_empty() && !is_last {
                page = map::range(&start, Some(&end), map::Order::Ascending, PAGE).into();
                is_last = page.len() < PAGE as usize;
                if let Some(last) = page.back() {
                    start = behind(last.key.clone());
                }
            }
            page.pop_front().map(|entry| self.entry(entry))
        })
    }

    /// The entry with the least key.
    pub fn first(&self) -> Option<(K, V)> {
        self.end_of(.., map::Order::Ascending)
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Option<(K, V)> {
        self.end_of(.., map::Order::Descending)
    }

    /// The entry with the greatest key in a range.
    pub fn last_in(&self, keys: impl RangeBounds<K>) -> Option<(K, V)> {
        self.end_of(keys, map::Order::Descending)
    }

    fn end_of(&self, keys: impl RangeBounds<K>, order: map::Order) -> Option<(K, V)> {
        let (start, end) = self.bounds(&keys);
        map::range(&start, Some(&end), order, 1).pop().map(|entry| self.entry(entry))
    }

    /// The name, which a byte below all others separates from the key.
    fn prefix(&self) -> Vec<u8> {
        let mut bytes = self.name.as_bytes().to_vec();
        bytes.push(0);
        bytes
    }

    fn bytes(&self, key: &K) -> Vec<u8> {
        let mut bytes = self.prefix();
        key.write(&mut bytes);
        bytes
    }

    /// The first key of a range, and the first one behind it.
    fn bounds(&self, keys: &impl RangeBounds<K>) -> (Vec<u8>, Vec<u8>) {
        let start = match keys.start_bound() {
            Bound::Unbounded => self.prefix(),
            Bound::Included(key) => self.bytes(key),
            Bound::Excluded(key) => behind(self.bytes(key)),
        };
        let end = match keys.end_bound() {
            Bound::Unbounded => {
                let mut bytes = self.name.as_bytes().to_vec();
                bytes.push(1);
                bytes
            }
            Bound::Included(key) => behind(self.bytes(key)),
            Bound::Excluded(key) => self.bytes(key),
        };
        (start, end)
    }

    fn entry(&self, map::Entry { key, value }: map::Entry) -> (K, V) {
        let mut rest = &key[self.name.len() + 1..];
        let read = K::read(&mut rest).filter(|_| rest.is_empty());
        let read = read.unwrap_or_else(|| panic!("table `{}` has keys of another type", self.name));
        (read, self.value(&value))
    }

    fn value(&self, bytes: &[u8]) -> V {
        V::from_bytes_as::<Postcard>(bytes)
            .unwrap_or_else(|| panic!("table `{}` has values of another type", self.name))
    }
}

/// Makes all writes so far durable before the messages of this handler leave.
///
/// A component that calls it anywhere decides itself what is durable: a power outage (`host run --outages`) can lose the writes after the
/// last call, those of whole handlers, the latest first. In a component without a call each handler is durable as a whole.
pub fn sync<M>(_: &mut Context<'_, M>) {
    sync_in_task();
}

/// As [`sync`], within a task.
pub(crate) fn sync_in_task() {
    durability::sync();
}

/// The least key behind a key.
fn behind(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}
