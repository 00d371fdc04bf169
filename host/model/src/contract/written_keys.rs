//! The keys of the durable map that handlers have written.

use std::collections::BTreeSet;

/// The keys of the durable map that handlers have written, whether an entry has changed or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenKeys {
    keys: BTreeSet<Box<[u8]>>,
    bytes: usize,
}

impl WrittenKeys {
    /// Adds a key.
    pub fn add(&mut self, key: &[u8]) {
        if !self.keys.contains(key) {
            self.bytes += key.len();
            self.keys.insert(key.into());
        }
    }

    /// Adds the keys of a later handler.
    pub fn extend(&mut self, later: Self) {
        self.bytes += later.bytes;
        for key in later.keys {
            let length = key.len();
            if !self.keys.insert(key) {
                self.bytes -= length;
            }
        }
    }

    /// The keys, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &**key)
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The sum of their lengths in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
