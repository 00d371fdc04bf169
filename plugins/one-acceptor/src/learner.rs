//! The learner: the values that the acceptor reports as chosen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Index, Value};

/// The values that a node has learned since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Learner {
    /// The value that is chosen for an index; the first one if the protocol is wrong.
    pub chosen: BTreeMap<Index, Value>,
}

impl Learner {
    /// The first index without a known choice.
    pub(crate) fn first_open(&self) -> Index {
        (0..).find(|index| !self.chosen.contains_key(index)).expect("a log has an end")
    }
}
