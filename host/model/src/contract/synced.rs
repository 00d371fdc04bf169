//! The writes of a handler that are on the disk before its messages leave.

use crate::contract::durable_map::DurableMap;

/// The writes of a handler that are on the disk before its messages leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Synced {
    /// All: the protocol has no `sync`.
    #[default]
    AtTheEnd,
    /// Those until the last `sync`, which leave this map.
    UpTo(DurableMap),
    /// None for certain: the handler has not called `sync`.
    Nothing,
}
