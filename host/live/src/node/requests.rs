//! The requests that a node has accepted since it started.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::LocalEvent;

/// Bits of a request's number within one start of a node; the higher bits have the number of the start.
pub(super) const REQUESTS_BITS: u32 = 40;

/// The requests of one start of a node.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) count: u64,
    /// The requests with a waiting client.
    pub(super) waiting: BTreeSet<u64>,
    /// The events of requests that the gate has postponed.
    pub(super) delayed: BTreeMap<LocalEvent, u64>,
}
