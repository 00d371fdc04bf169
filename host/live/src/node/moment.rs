//! What is known of a node between two events.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{Fault, LocalEvent, Machine, NodeId, Snapshot};

use crate::gate::Views;

/// What is known of a node between two events.
pub(super) struct Moment {
    pub(super) snapshot: Snapshot,
    pub(super) state: Fingerprint,
    pub(super) durable: Option<Vec<u8>>,
    pub(super) local_events: Vec<LocalEvent>,
    pub(super) views: Views,
}

impl Moment {
    /// Of the state that a machine is in.
    pub(super) fn read(machine: &mut dyn Machine, node: NodeId, properties: usize) -> Result<Self, Fault> {
        Ok(Self {
            snapshot: machine.capture(),
            state: fingerprint::of_local_state(node, &machine.serialize()?),
            durable: machine.persist()?,
            local_events: machine.local_events()?,
            views: (0..properties as u32).map(|property| machine.view(property)).collect::<Result<_, _>>()?,
        })
    }
}
