//! The optional interfaces of a plugin as the aspects of its machine.

use std::sync::Arc;

use host_model::contract::aspects::{
    Completion, Describe, Durable, Events, Judging, Logging, Names, Quorums, Storage, Symmetry, Transfer, Views,
};
use host_model::contract::{
    Aspect, AspectName, DurableMap, Fault, FaultKind, LocalEvent, Machine, MachineError, NodeId, Quorum, Role,
    Snapshot, StateOwner, TransferError,
};
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::contract::abi::{QuorumOut, RoleOut};
use crate::machine::{GuestMachine, portable};
use crate::run::buffers::fill;
use crate::run::functions::{Function, Functions};

impl GuestMachine {
    /// An aspect: an optional interface that the plugin exports, or one of the host.
    pub(super) fn offered(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        let exports = &self.plugin.interfaces;
        match name {
            AspectName::Describe => exports.describe.is_some().then_some(Aspect::Describe(self)),
            AspectName::Views => exports.views.is_some().then_some(Aspect::Views(self)),
            AspectName::Names => exports.names.is_some().then_some(Aspect::Names(self)),
            AspectName::Events => exports.events.is_some().then_some(Aspect::Events(self)),
            AspectName::Durable => exports.durable.is_some().then_some(Aspect::Durable(self)),
            AspectName::Quorums => exports.quorum.is_some().then_some(Aspect::Quorums(self)),
            AspectName::Symmetry => exports.symmetry.is_some().then_some(Aspect::Symmetry(self)),
            AspectName::Completion => exports.completion.is_some().then_some(Aspect::Completion(self)),
            AspectName::Timing => exports.timing.is_some().then_some(Aspect::Timing(self)),
            AspectName::Clients => exports.clients.is_some().then_some(Aspect::Clients(self)),
            AspectName::Neighbourhood => exports.neighbourhood.is_some().then_some(Aspect::Neighbourhood(self)),
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            AspectName::Judging => Some(Aspect::Judging(self)),
            AspectName::Logging => Some(Aspect::Logging(self)),
            AspectName::Storage => self.plugin.stores.then_some(Aspect::Storage(self)),
            AspectName::Following => Some(Aspect::Following(self)),
            AspectName::Listening => None,
        }
    }

    /// Asks a function of an optional interface, which only reads the state. For the traits below: they are reached through
    /// [`offered`](Self::offered).
    pub(super) fn ask<I, P, R>(
        &mut self,
        interface: impl FnOnce(&Functions) -> Option<&I>,
        function: impl FnOnce(&I) -> Function<P, R>,
        params: P,
    ) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let pick = |functions: &Functions| {
            function(interface(functions).expect("a machine offers the interfaces that its component exports"))
        };
        let result = self.read(pick, params);
        self.settle(result)
    }
}

impl Describe for GuestMachine {
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        self.ask(|f| f.describe.as_ref(), |describe| describe.state, ()).map(Some)
    }

    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes),);
        self.ask(|f| f.describe.as_ref(), |describe| describe.message, params).map(Some)
    }
}

impl Views for GuestMachine {
    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        fill(&mut self.bytes, view);
        let params = (property, Arc::clone(&self.bytes));
        self.ask(|f| f.views.as_ref(), |views| views.describe_view, params).map(Some)
    }
}

impl Names for GuestMachine {
    fn node_name(&mut self) -> Result<Option<String>, Fault> {
        self.ask(|f| f.names.as_ref(), |names| names.node_name, ())
    }
}

impl Events for GuestMachine {
    fn describe_local(&mut self, event: &LocalEvent) -> Result<Option<String>, Fault> {
        let params = (self.local(event),);
        self.ask(|f| f.events.as_ref(), |events| events.describe_local, params).map(Some)
    }
}

impl Durable for GuestMachine {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.ask(|f| f.durable.as_ref(), |durable| durable.persist, ())
    }
}

impl Quorums for GuestMachine {
    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        self.ask(|f| f.quorum.as_ref(), |quorum| quorum.is_used, ())
    }

    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        fill(&mut self.bytes, payload);
        let params = (src, Arc::clone(&self.bytes));
        let QuorumOut { name, size } = match self.ask(|f| f.quorum.as_ref(), |quorum| quorum.role_of, params)? {
            RoleOut::Alone => return Ok(Role::Alone),
            RoleOut::Held => return Ok(Role::Held),
            RoleOut::Member(quorum) => quorum,
        };
        let checked = self.limits().check_name(&name, "a quorum").and_then(|()| match size {
            0 => {
                let message = format!("has a quorum `{name}` of no messages");
                Err(Fault::new(FaultKind::Malformed, message))
            }
            _ => Ok(Role::Member(Quorum { name, size })),
        });
        self.settle(checked)
    }
}

impl Symmetry for GuestMachine {
    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        self.ask(|f| f.symmetry.as_ref(), |symmetry| symmetry.interchangeable, ())
    }

    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes), renaming.to_vec());
        let renamed = self.ask(|f| f.symmetry.as_ref(), |symmetry| symmetry.rename_message, params)?;
        let checked = self.limits().check_message(&renamed, "a renamed message");
        self.settle(checked.map(|()| renamed))
    }

    fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes), renaming.to_vec());
        let renamed = self.ask(|f| f.symmetry.as_ref(), |symmetry| symmetry.rename_local, params)?;
        let checked = self.limits().check_message(&renamed, "a renamed local event");
        self.settle(checked.map(|()| renamed))
    }
}

impl Completion for GuestMachine {
    fn is_done(&mut self) -> Result<bool, Fault> {
        self.ask(|f| f.completion.as_ref(), |completion| completion.is_done, ())
    }
}

impl Transfer for GuestMachine {
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        self.restore(Some(snapshot))?;
        let state = self.live().capture_portable();
        let encoding = self.encoding()?;
        Ok(portable::write(&self.plugin, &state, owner, &encoding))
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let (state, encoding) = portable::read(&self.plugin, exported, owner).map_err(TransferError::Refused)?;
        match self.restore(Some(&state)) {
            // The memories of this component end earlier.
            Err(MachineError::Host(why)) if self.plugin.trouble().is_none() => Err(TransferError::Refused(why)),
            other => Ok(other?),
        }?;
        if self.encoding()? != encoding {
            return Err(TransferError::Refused(
                "the encoding of the state is not the one that it was exported with".into(),
            ));
        }
        self.restore(Some(&state))?;
        // The other image of this process may be closer.
        Ok(self.capture())
    }
}

impl Judging for GuestMachine {
    /// After the protocol has listed its properties. Its heap has grown by then, as it has in most local states, so that between these and
    /// evaluations nothing grows and shrinks, for which the operating system would be asked each time.
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        let plugin = Arc::clone(&self.plugin);
        // The first state that is captured is what others are compared with: it should be one of a node.
        if !plugin.images().has_reference() {
            return self.restore(None);
        }
        let judging = match plugin.judging.get() {
            Some(judging) => judging,
            None => {
                self.restore(None)?;
                // Other machines restore it, too.
                self.live().use_images(Arc::clone(plugin.images()));
                let judging = self.properties().is_ok().then(|| self.capture());
                self.confirm_fault()?;
                plugin.judging.get_or_init(|| judging)
            }
        };
        self.restore(judging.as_ref())
    }
}

impl Logging for GuestMachine {
    fn keep_log(&mut self, keep: bool) {
        self.keep_log = keep;
    }
}

impl Storage for GuestMachine {
    fn map(&mut self) -> DurableMap {
        let storage = &self.live().context().storage;
        storage.as_ref().map(|storage| storage.map().clone()).unwrap_or_default()
    }
}
