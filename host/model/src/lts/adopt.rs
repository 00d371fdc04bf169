//! Local states from elsewhere: adopted without the events that led to them.

use crate::contract::fingerprint;
use crate::contract::{NodeId, Snapshot, StateOwner, TransferError};
use crate::lts::handler::{Ended, Execution, Observed, look};
use crate::lts::ids::{LocalStateId, MessageId, ProtocolStateId};
use crate::lts::stepper::Stepper;
use crate::lts::system::Lts;
use crate::scenario::{FaultState, Route};

impl<'l> Stepper<'l> {
    /// A local state as bytes that another process can [adopt](Self::adopt).
    ///
    /// # Errors
    ///
    /// The node is stuck in a fault, states cannot leave the machine, or the host cannot continue.
    pub fn export(&mut self, state: LocalStateId) -> Result<Vec<u8>, TransferError> {
        match self.state(state).protocol.snapshot.clone() {
            Some(snapshot) => {
                let owner = self.owner(self.state(state).protocol.node);
                self.machines.first().export(&snapshot, owner)
            }
            None => Err(TransferError::Refused("the node is stuck in a fault".to_owned())),
        }
    }

    fn owner(&self, node: NodeId) -> StateOwner<'l> {
        let Lts { scenario, config, .. } = self.lts;
        StateOwner { node, nodes: scenario.nodes, config }
    }

    /// The local state of a node with this exported state and this fault state. It is examined like any state after a handler, but only
    /// once: most nodes do not change between successive snapshots.
    ///
    /// # Errors
    ///
    /// The bytes are no state of this node in this cluster, or the host cannot continue.
    pub fn adopt(
        &mut self,
        node: NodeId,
        exported: &[u8],
        fault_state: FaultState,
    ) -> Result<LocalStateId, TransferError> {
        let key = (node, *blake3::hash(exported).as_bytes());
        let known = self.lts.read().adopted.get(&key).copied();
        let ended = match known {
            Some(id) => Ended::Known(id),
            None => {
                let owner = self.owner(node);
                let machine = self.machines.first();
                let snapshot = machine.import(exported, owner)?;
                look(self.lts, machine, node, &snapshot)?
            }
        };
        let (id, protocol) = self.intern_adopted(node, ended, fault_state);
        if known.is_none() {
            self.lts.write().add_adopted(key, protocol);
        }
        Ok(id)
    }

    /// The one local state of an absent node: no property reads it, and no event happens in it.
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
        self.intern_adopted(node, Ended::New(Box::new(observed)), self.lts.rules.fresh()).0
    }

    fn intern_adopted(
        &mut self,
        node: NodeId,
        next: Ended,
        fault_state: FaultState,
    ) -> (LocalStateId, ProtocolStateId) {
        let mut tables = self.lts.write();
        let protocol = tables.intern_executions(node, vec![Execution::silent(next)]);
        let protocol = protocol[0].next;
        let id = tables.intern_local_state(&self.lts.rules, protocol, fault_state);
        drop(tables);
        self.known.catch_up(&self.lts.read());
        (id, protocol)
    }

    /// The id of a message that a node in this local state can take, over the connection that it knows; without a payload, of the notice
    /// that this connection is broken.
    pub fn arriving(&mut self, to: LocalStateId, from: NodeId, payload: Option<&[u8]>) -> MessageId {
        let (state, is_notice) = (self.state(to), payload.is_none());
        let node = state.protocol.node;
        let channel_class = self.lts.rules.channel_class(from, node);
        let known = if channel_class > 0 { 0 } else { state.fault_state.incarnation(from) };
        let route = Route { from, to: node, incarnation: known + u32::from(is_notice), is_notice, channel_class };
        self.in_flight(route, payload.unwrap_or_default())
    }

    /// The id of a message or notice that is in flight where a path begins; `route` as the [rules](crate::scenario) give it.
    pub(crate) fn in_flight(&mut self, route: Route, payload: &[u8]) -> MessageId {
        let id = self.lts.write().intern_message(route, payload);
        self.known.catch_up(&self.lts.read());
        id
    }
}
