//! The durable map in unit tests: that of the node whose code a cluster runs.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The map of a node.
pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

thread_local! {
    /// The map of the node whose code runs.
    static PRESENT: RefCell<Option<Map>> = const { RefCell::new(None) };
}

/// Runs code of a node with this map.
pub(crate) fn at<R>(map: &mut Map, run: impl FnOnce() -> R) -> R {
    /// Puts the map back, also if the code of the node panics.
    struct Leaving<'m> {
        map: &'m mut Map,
        former: Option<Map>,
    }
    impl Drop for Leaving<'_> {
        fn drop(&mut self) {
            let former = self.former.take();
            *self.map = PRESENT.replace(former).unwrap_or_default();
        }
    }
    let former = PRESENT.replace(Some(std::mem::take(map)));
    let leaving = Leaving { map, former };
    let result = run();
    drop(leaving);
    result
}

fn present<R>(run: impl FnOnce(&mut Map) -> R) -> R {
    PRESENT.with_borrow_mut(|present| {
        let map = present.as_mut();
        run(map.expect(
            "a durable map belongs to a node: `guest_sdk::test::Cluster` provides it where it runs code of a node",
        ))
    })
}

pub(crate) struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

pub(crate) fn get(key: &[u8]) -> Option<Vec<u8>> {
    present(|map| map.get(key).cloned())
}

pub(crate) fn put(key: &[u8], value: &[u8]) {
    present(|map| map.insert(key.to_vec(), value.to_vec()));
}

pub(crate) fn delete(key: &[u8]) {
    present(|map| map.remove(key));
}

pub(crate) fn delete_range(start: &[u8], end: Option<&[u8]>) {
    present(|map| map.retain(|key, _| &key[..] < start || end.is_some_and(|end| &key[..] >= end)));
}

pub(crate) fn range(start: &[u8], end: Option<&[u8]>, order: Order, limit: u32) -> Vec<Entry> {
    present(|map| {
        let from = map.range::<[u8], _>((std::ops::Bound::Included(start), std::ops::Bound::Unbounded));
        let within = from.take_while(|(key, _)| end.is_none_or(|end| &key[..] < end));
        let mut found: Vec<Entry> =
            within.map(|(key, value)| Entry { key: key.clone(), value: value.clone() }).collect();
        if matches!(order, Order::Descending) {
            found.reverse();
        }
        found.truncate(limit as usize);
        found
    })
}

/// Clusters of unit tests have no outages: what is written stays.
pub(crate) mod durability {
    pub(crate) fn sync() {
        super::present(|_| ());
    }
}
