//! The durable map that a node has.

use crate::contract::{DurableMap, Input, Machine};

/// The durable map with which a handler begins.
pub(super) fn map_before(machine: &mut dyn Machine, input: Input<'_>) -> DurableMap {
    match input {
        Input::Init { durable, .. } => durable.map(|durable| durable.map.clone()).unwrap_or_default(),
        _ => present(machine),
    }
}

/// The durable map of a node.
pub(super) fn present(machine: &mut dyn Machine) -> DurableMap {
    machine.storage().map(|storage| storage.map()).unwrap_or_default()
}
