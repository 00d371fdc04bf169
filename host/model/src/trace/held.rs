//! The durable map that a node has.

use crate::contract::{DurableMap, Input, Machine};
use crate::scenario::{FaultEvent, FaultState};

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

/// The durable map that a fault leaves, if it is not that of the node.
pub(super) fn map_left(machine: &mut dyn Machine, fault_state: &FaultState, fault: FaultEvent) -> Option<DurableMap> {
    let present = (fault.disk() > 0).then(|| present(machine));
    fault_state.map_left(fault, present.as_ref())
}
