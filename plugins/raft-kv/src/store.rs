//! Keys with values, and operations on them.

use std::collections::BTreeMap;

use guest_sdk::linearizability::SequentialObject;
use serde::{Deserialize, Serialize};

/// Keys with their values.
pub type Store = BTreeMap<String, Vec<u8>>;

/// What clients ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// The value of a key.
    Get(String),
    /// A key gets a value.
    Put(String, Vec<u8>),
    /// A key has no value any more.
    Delete(String),
}

/// The results of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outcome {
    /// The key has this value, or none.
    Value(Option<Vec<u8>>),
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
