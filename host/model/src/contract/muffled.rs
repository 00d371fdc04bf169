//! A protocol in which one node does not take some events: the behaviour of a cluster while they are filtered.

use std::fmt::Debug;
use std::sync::Arc;

use crate::contract::error::MachineError;
use crate::contract::event::{LocalEvent, NodeId};
use crate::contract::exchange::Input;
use crate::contract::fault::Fault;
use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::machine::{Machine, MachineFactory};
use crate::contract::wrapper::{Wrap, Wrapped};

/// The events that a node does not take.
pub trait Ignores: Debug + Send + Sync {
    /// The node.
    fn node(&self) -> NodeId;

    /// Whether it does not take a message that arrives in a protocol state: that is lost, and nothing else changes, but for a
    /// connection that is [broken in place of it](crate::lts::Lts::breaking).
    fn drops(&self, state: Fingerprint, from: NodeId, payload: &[u8]) -> bool;

    /// Whether it lets a local event wait in a protocol state.
    fn delays(&self, state: Fingerprint, event: &LocalEvent) -> bool;
}

/// Machines that do not take some events of a node. All else is as their protocol says.
pub struct Muffled<'f> {
    factory: &'f dyn MachineFactory,
    ignores: Arc<dyn Ignores>,
}

impl<'f> Muffled<'f> {
    /// Machines of this protocol. Messages that are taken together are never dropped.
    pub fn new(factory: &'f dyn MachineFactory, ignores: Arc<dyn Ignores>) -> Self {
        Self { factory, ignores }
    }
}

impl MachineFactory for Muffled<'_> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        let wrap = Muffling { ignores: Arc::clone(&self.ignores), stands_at: None };
        Ok(Box::new(Wrapped { machine: self.factory.machine()?, wrap }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

struct Muffling {
    ignores: Arc<dyn Ignores>,
    stands_at: Option<NodeId>,
}

impl Muffling {
    /// The fingerprint of the protocol state that the machine is in, at the node that does not take everything.
    fn state(&self, machine: &mut dyn Machine) -> Result<Option<Fingerprint>, Fault> {
        let node = self.ignores.node();
        if self.stands_at != Some(node) {
            return Ok(None);
        }
        Ok(Some(fingerprint::of_local_state(node, &machine.serialize()?)))
    }
}

impl Wrap for Muffling {
    fn stand_at(&mut self, node: NodeId) {
        self.stands_at = Some(node);
    }

    fn ignores(&self, machine: &mut dyn Machine, input: Input<'_>) -> Result<bool, Fault> {
        let Input::Message { src, payload } = input else { return Ok(false) };
        Ok(self.state(machine)?.is_some_and(|state| self.ignores.drops(state, src, payload)))
    }

    fn local_events(&self, machine: &mut dyn Machine, all: Vec<LocalEvent>) -> Result<Vec<LocalEvent>, Fault> {
        let Some(state) = self.state(machine)? else { return Ok(all) };
        Ok(all.into_iter().filter(|event| !self.ignores.delays(state, event)).collect())
    }
}
