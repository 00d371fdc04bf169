//! Local states from elsewhere: taken up without the events that led to them.

use crate::contract::fingerprint;
use crate::contract::{MachineError, NodeId, Snapshot, StateOwner, TransferError};
use crate::lts::handler::{Ended, Execution, Observed, look};
use crate::lts::ids::{LocalStateId, MessageId};
use crate::lts::stepper::Stepper;
use crate::lts::system::Lts;
use crate::scenario::{FaultState, Route};

impl<'l> Stepper<'l> {
    /// A local state as bytes that another process can [import](Self::import).
    ///
    /// # Errors
    ///
    /// The node is stuck in a fault, states cannot leave the machine, or the host cannot go on.
    pub fn export(&mut self, state: LocalStateId) -> Result<Vec<u8>, TransferError> {
        match self.state(state).protocol.snapshot.clone() {
            Some(snapshot) => {
                let owner = self.owner(self.state(state).protocol.node);
                self.machines.first().export(&snapshot, owner)
            }
            None => Err(TransferError::Refused("the node is stuck in a fault".to_owned())),
        }
    }

    /// The snapshot of an exported state of a node.
    ///
    /// # Errors
    ///
    /// The bytes are no state of this node in this cluster, or the host cannot go on.
    pub fn import(&mut self, node: NodeId, exported: &[u8]) -> Result<Snapshot, TransferError> {
        let owner = self.owner(node);
        self.machines.first().import(exported, owner)
    }

    fn owner(&self, node: NodeId) -> StateOwner<'l> {
        let Lts { scenario, config, .. } = self.lts;
        StateOwner { node, nodes: scenario.nodes, config }
    }

    /// The local state of a node with this snapshot and this fault state. It is looked at like any state that a handler leads to.
    pub fn adopt(
        &mut self,
        node: NodeId,
        snapshot: &Snapshot,
        fault_state: FaultState,
    ) -> Result<LocalStateId, MachineError> {
        let ended = look(self.lts, self.machines.first(), node, snapshot)?;
        Ok(self.intern_adopted(node, ended, fault_state))
    }

    /// The one local state of an absent node: no property reads it, and nothing can happen in it.
    pub fn absent(&mut self, node: NodeId) -> LocalStateId {
        debug_assert!(self.lts.rules.is_absent(node));
        let observed = Observed {
            fingerprint: fingerprint::of_absent(node),
            encoding_bytes: 0,
            // No machine is ever restored to it.
            snapshot: Snapshot::new(&[]),
            local_events: Vec::new(),
            views: vec![None; self.lts.properties().len()],
            judgements: Vec::new(),
            owed: Vec::new(),
        };
        self.intern_adopted(node, Ended::New(Box::new(observed)), self.lts.rules.fresh())
    }

    fn intern_adopted(&mut self, node: NodeId, next: Ended, fault_state: FaultState) -> LocalStateId {
        let mut tables = self.lts.write();
        let protocol = tables.intern_executions(node, vec![Execution::silent(next)]);
        let id = tables.intern_local_state(&self.lts.rules, protocol[0].next, fault_state);
        drop(tables);
        self.known.catch_up(&self.lts.read());
        id
    }

    /// The id of a message or notice that is in flight where a path begins; `route` as the [rules](crate::scenario) give it.
    pub(crate) fn in_flight(&mut self, route: Route, payload: &[u8]) -> MessageId {
        let id = self.lts.write().intern_message(route, payload);
        self.known.catch_up(&self.lts.read());
        id
    }
}
