//! Keys with values, and operations on them.

use std::collections::BTreeMap;

use guest_sdk::linearizability::SequentialObject;
use serde::{Deserialize, Serialize};

/// Keys with their values.
pub type Store = BTreeMap<String, Vec<u8>>;

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// The value of a key.
    Get(String),
    /// A key gets a value.
    Put(String, #[serde(with = "serde_bytes")] Vec<u8>),
    /// A key has no value any more.
    Delete(String),
}

/// The results of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outcome {
    /// The key has this value, or none.
    Value(#[serde(with = "serde_bytes")] Option<Vec<u8>>),
    /// It is done.
    Done,
}

impl Operation {
    pub(crate) fn apply(&self, store: &mut Store) -> Outcome {
        match self {
            Self::Get(key) => return Outcome::Value(store.get(key).cloned()),
            Self::Put(key, value) => drop(store.insert(key.clone(), value.clone())),
            Self::Delete(key) => drop(store.remove(key)),
        }
        Outcome::Done
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
        call.apply(state)
    }
}

/// Encodes each value of a store at once instead of byte by byte. The bytes are the same, in far fewer steps: a
/// store is encoded after each event.
pub(crate) mod values {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_bytes::{ByteBuf, Bytes};

    use super::Store;

    pub(crate) fn serialize<S: Serializer>(store: &Store, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(store.iter().map(|(key, value)| (key, Bytes::new(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Store, D::Error> {
        let store = BTreeMap::<String, ByteBuf>::deserialize(deserializer)?;
        Ok(store.into_iter().map(|(key, value)| (key, value.into_vec())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct AtOnce(#[serde(with = "values")] Store);

    #[derive(Serialize)]
    enum ByteByByte<'v> {
        Get(&'v str),
        Put(&'v str, &'v Vec<u8>),
        Delete(&'v str),
    }

    /// Messages, states and data files are those of nodes that encode byte by byte.
    #[test]
    fn values_are_encoded_as_any_other_list() {
        for length in [0, 1, 127, 128, 70_000] {
            let value = vec![7; length];
            let store = Store::from([("color".to_owned(), value.clone()), ("size".to_owned(), Vec::new())]);
            let bytes = postcard::to_allocvec(&store).expect("it has an encoding");
            assert_eq!(postcard::from_bytes(&bytes), Ok(AtOnce(store.clone())));
            assert_eq!(postcard::to_allocvec(&AtOnce(store)).expect("it has an encoding"), bytes);
            let key = || "color".to_owned();
            let operations = [
                (Operation::Get(key()), ByteByByte::Get("color")),
                (Operation::Put(key(), value.clone()), ByteByByte::Put("color", &value)),
                (Operation::Delete(key()), ByteByByte::Delete("color")),
            ];
            for (operation, expected) in operations {
                let bytes = postcard::to_allocvec(&expected).expect("it has an encoding");
                assert_eq!(postcard::from_bytes(&bytes), Ok(operation.clone()));
                assert_eq!(postcard::to_allocvec(&operation).expect("it has an encoding"), bytes);
            }
        }
    }
}
