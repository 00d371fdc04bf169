//! The requests that a node has taken since it started.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::LocalEvent;

/// Requests of one start of a node: beyond, their numbers would be those of the next one.
pub(super) const REQUESTS_BITS: u32 = 40;

/// The requests of one start of a node.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) count: u64,
    /// Those with a waiting client.
    pub(super) waiting: BTreeSet<u64>,
    /// The events that some of these have become, and that a gate has wait.
    pub(super) delayed: BTreeMap<LocalEvent, u64>,
}
