//! What is known of a node between two events.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{Fault, LocalEvent, Machine, NodeId, Property, PropertyKind, Snapshot};

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
    /// Of the state that a machine is in, with what properties that are to hold always read of it.
    pub(super) fn read(machine: &mut dyn Machine, node: NodeId, properties: &[Property]) -> Result<Self, Fault> {
        let state = state(machine, node)?;
        Self::of(machine, state, properties)
    }

    /// The same after this one; none if it is the same state, of which all is known.
    pub(super) fn next(
        &self,
        machine: &mut dyn Machine,
        node: NodeId,
        properties: &[Property],
    ) -> Result<Option<Self>, Fault> {
        let state = state(machine, node)?;
        if state == self.state {
            return Ok(None);
        }
        Self::of(machine, state, properties).map(Some)
    }

    fn of(machine: &mut dyn Machine, state: Fingerprint, properties: &[Property]) -> Result<Self, Fault> {
        let (snapshot, durable, local_events) = (machine.capture(), machine.persist()?, machine.local_events()?);
        let views = (0..).zip(properties).map(|(index, property)| match property.kind {
            PropertyKind::Always => machine.view(index),
            _ => Ok(None),
        });
        let views = views.collect::<Result<_, _>>()?;
        Ok(Self { snapshot, state, durable, local_events, views })
    }
}

/// What tells a state apart.
fn state(machine: &mut dyn Machine, node: NodeId) -> Result<Fingerprint, Fault> {
    Ok(fingerprint::of_local_state(node, &machine.serialize()?))
}
