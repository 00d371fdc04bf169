//! The state of a node between two events.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{
    DurableState, Fault, LocalEvent, Machine, MachineError, NodeId, Snapshot, StateOwner, TransferError,
};

use crate::node::judge::Reading;
use crate::node::refusal::Failure;
use crate::node::settings::Identity;

/// The state of a node between two events.
pub(super) struct Moment {
    pub(super) snapshot: Snapshot,
    pub(super) state: Fingerprint,
    pub(super) durable: Option<DurableState>,
    pub(super) local_events: Vec<LocalEvent>,
    /// The views of it, if the gate has read them.
    pub(super) reading: Option<Reading>,
}

impl Moment {
    /// Whether `persist` returns the same as in another moment.
    pub(super) fn persists_as(&self, other: &Self) -> bool {
        let persisted = |moment: &Self| moment.durable.as_ref().and_then(|durable| durable.persisted.clone());
        persisted(self) == persisted(other)
    }

    /// The moment of a machine's present state.
    pub(super) fn of(machine: &mut dyn Machine, node: NodeId) -> Result<Self, Fault> {
        let state = state(machine, node)?;
        Self::new(machine, state)
    }

    /// The next moment, in the present state of the machine; none if the state is the same.
    pub(super) fn next(&self, machine: &mut dyn Machine, node: NodeId) -> Result<Option<Self>, Fault> {
        let state = state(machine, node)?;
        if state == self.state {
            return Ok(None);
        }
        Self::new(machine, state).map(Some)
    }

    fn new(machine: &mut dyn Machine, state: Fingerprint) -> Result<Self, Fault> {
        let (snapshot, durable, local_events) = (machine.capture(), machine.durable_state()?, machine.local_events()?);
        Ok(Self { snapshot, state, durable, local_events, reading: None })
    }
}

/// The fingerprint of a machine's present state.
fn state(machine: &mut dyn Machine, node: NodeId) -> Result<Fingerprint, Fault> {
    Ok(fingerprint::of_local_state(node, &machine.serialize()?))
}

/// Refuses a node that takes quorums.
pub(super) fn check_quorums(node: NodeId, takes_quorums: bool) -> Result<(), MachineError> {
    if !takes_quorums {
        return Ok(());
    }
    let why = format!("node {node} takes messages together, and a network delivers them one by one");
    Err(MachineError::Host(why))
}

/// A state as the content of a checkpoint.
pub(super) fn exported(machine: &mut dyn Machine, state: &Snapshot, identity: &Identity) -> Result<Vec<u8>, Failure> {
    let owner = StateOwner { node: identity.node, nodes: identity.nodes, config: &identity.config };
    machine.export(state, owner).map_err(|error| match error {
        TransferError::Machine(error) => error.into(),
        TransferError::Refused(why) => MachineError::Host(why).into(),
    })
}
