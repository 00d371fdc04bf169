//! What is known of a node between two events.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{Fault, LocalEvent, Machine, MachineError, NodeId, Snapshot};

use crate::node::judge::Reading;

/// What is known of a node between two events.
pub(super) struct Moment {
    pub(super) snapshot: Snapshot,
    pub(super) state: Fingerprint,
    pub(super) durable: Option<Vec<u8>>,
    pub(super) local_events: Vec<LocalEvent>,
    /// What properties read of it, if its gate has asked.
    pub(super) reading: Option<Reading>,
}

impl Moment {
    /// Of the state that a machine is in.
    pub(super) fn of(machine: &mut dyn Machine, node: NodeId) -> Result<Self, Fault> {
        let state = state(machine, node)?;
        Self::new(machine, state)
    }

    /// The same after this one; none if it is the same, completely known state.
    pub(super) fn next(&self, machine: &mut dyn Machine, node: NodeId) -> Result<Option<Self>, Fault> {
        let state = state(machine, node)?;
        if state == self.state {
            return Ok(None);
        }
        Self::new(machine, state).map(Some)
    }

    fn new(machine: &mut dyn Machine, state: Fingerprint) -> Result<Self, Fault> {
        let (snapshot, durable, local_events) = (machine.capture(), machine.persist()?, machine.local_events()?);
        Ok(Self { snapshot, state, durable, local_events, reading: None })
    }
}

/// What tells a state apart.
fn state(machine: &mut dyn Machine, node: NodeId) -> Result<Fingerprint, Fault> {
    Ok(fingerprint::of_local_state(node, &machine.serialize()?))
}

/// Refuses a node that takes messages together.
pub(super) fn check_quorums(node: NodeId, takes_quorums: bool) -> Result<(), MachineError> {
    if !takes_quorums {
        return Ok(());
    }
    let why = format!("node {node} takes messages together, and a network delivers them one by one");
    Err(MachineError::Host(why))
}
