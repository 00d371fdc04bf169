//! The durable map of the node that an instance stands for.

use host_model::contract::DurableMap;

/// The map of a node.
#[derive(Clone, Default)]
pub(crate) struct NodeMap {
    /// As it is now.
    pub map: DurableMap,
    /// As it was when the node was restored last.
    pub before: DurableMap,
}

impl NodeMap {
    /// That of a node with this map.
    pub(crate) fn new(map: DurableMap) -> Self {
        Self { before: map.clone(), map }
    }
}
