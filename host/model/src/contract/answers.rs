//! The queries for the aspects of a machine, and the neutral answers where an aspect is absent.

use crate::contract::aspects::{self, Aspect, AspectName, aspects};
use crate::contract::durable_map::{DurableMap, DurableState};
use crate::contract::error::{MachineError, TransferError};
use crate::contract::event::{LocalEvent, NodeId};
use crate::contract::exchange::{Arrival, Quorum, Role, Snapshot, StateOwner};
use crate::contract::fault::Fault;
use crate::contract::live::{Request, Response, Span};
use crate::contract::machine::Machine;

/// Makes a function for each aspect from their table.
macro_rules! accessors {
    ($($of:ident { $($(#[$doc:meta])* $accessor:ident: $aspect:ident,)* })*) => {
        impl dyn Machine + '_ {
            $($(
                $(#[$doc])*
                pub fn $accessor(&mut self) -> Option<&mut dyn aspects::$aspect> {
                    match self.aspect(AspectName::$aspect)? {
                        Aspect::$aspect(aspect) => Some(aspect),
                        _ => unreachable!("the answer to a name is the aspect of that name"),
                    }
                }
            )*)*
        }
    };
}
aspects!(accessors);

/// The answers of a machine with an aspect, and the neutral ones of a machine without it.
impl dyn Machine + '_ {
    /// See [`Describe::describe_state`](aspects::Describe::describe_state).
    pub fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        self.describe().map_or(Ok(None), |describe| describe.describe_state())
    }

    /// See [`Describe::describe_message`](aspects::Describe::describe_message).
    pub fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        self.describe().map_or(Ok(None), |describe| describe.describe_message(payload))
    }

    /// See [`Views::describe_view`](aspects::Views::describe_view).
    pub fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        self.views().map_or(Ok(None), |views| views.describe_view(property, view))
    }

    /// See [`Names::node_name`](aspects::Names::node_name).
    pub fn node_name(&mut self) -> Result<Option<String>, Fault> {
        self.names().map_or(Ok(None), |names| names.node_name())
    }

    /// See [`Events::describe_local`](aspects::Events::describe_local).
    pub fn describe_local(&mut self, event: &LocalEvent) -> Result<Option<String>, Fault> {
        self.events().map_or(Ok(None), |events| events.describe_local(event))
    }

    /// See [`Durable::persist`](aspects::Durable::persist).
    pub fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.durable().map_or(Ok(None), |durable| durable.persist())
    }

    /// The durable state: the result of [`persist`](Self::persist) and the durable map; `None` if that is nothing.
    pub fn durable_state(&mut self) -> Result<Option<DurableState>, Fault> {
        let map = self.storage().map(|storage| storage.map());
        Ok(DurableState::of(self.persist()?, map.unwrap_or_default()))
    }

    /// The same with another durable map than the present one, if one is given.
    pub fn durable_state_with(&mut self, map: Option<&DurableMap>) -> Result<Option<DurableState>, Fault> {
        match map {
            Some(map) => Ok(DurableState::of(self.persist()?, map.clone())),
            None => self.durable_state(),
        }
    }

    /// See [`Quorums::takes_quorums`](aspects::Quorums::takes_quorums).
    pub fn takes_quorums(&mut self) -> Result<bool, Fault> {
        self.quorum().map_or(Ok(false), |quorum| quorum.takes_quorums())
    }

    /// See [`Quorums::role`](aspects::Quorums::role).
    pub fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        self.quorum().map_or(Ok(Role::Alone), |quorum| quorum.role(src, payload))
    }

    /// See [`Symmetry::interchangeable`](aspects::Symmetry::interchangeable); no group without it.
    pub fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        self.symmetry().map_or(Ok(Vec::new()), |symmetry| symmetry.interchangeable())
    }

    /// See [`Symmetry::rename_message`](aspects::Symmetry::rename_message).
    pub fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        self.symmetry().map_or_else(|| Ok(payload.to_vec()), |symmetry| symmetry.rename_message(payload, renaming))
    }

    /// See [`Symmetry::rename_local`](aspects::Symmetry::rename_local).
    pub fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        self.symmetry().map_or_else(|| Ok(payload.to_vec()), |symmetry| symmetry.rename_local(payload, renaming))
    }

    /// See [`Completion::is_done`](aspects::Completion::is_done). A protocol that does not say so is never done.
    pub fn is_done(&mut self) -> Result<bool, Fault> {
        self.completion().map_or(Ok(false), |completion| completion.is_done())
    }

    /// See [`Timing::duration`](aspects::Timing::duration).
    pub fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        self.timing().map_or(Ok(None), |timing| timing.duration(event))
    }

    /// See [`Clients::request`](aspects::Clients::request).
    pub fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        match self.clients() {
            Some(clients) => clients.request(number, request),
            None => Ok(Err(Response::words(501, "this protocol takes no requests\n"))),
        }
    }

    /// See [`Neighbourhood::neighbours`](aspects::Neighbourhood::neighbours).
    pub fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        self.neighbourhood().map_or(Ok(None), |neighbourhood| neighbourhood.neighbours())
    }

    /// See [`Transfer::export`](aspects::Transfer::export).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        self.transfer().map_or_else(|| Err(TransferError::unsupported()), |transfer| transfer.export(snapshot, owner))
    }

    /// See [`Transfer::import`](aspects::Transfer::import).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        self.transfer().map_or_else(|| Err(TransferError::unsupported()), |transfer| transfer.import(exported, owner))
    }

    /// See [`Judging::restore_to_judge`](aspects::Judging::restore_to_judge); [`restore`](Machine::restore) to the state before `init` without it.
    ///
    /// # Errors
    ///
    /// As for [`restore`](Machine::restore).
    pub fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        match self.judging() {
            Some(judging) => judging.restore_to_judge(),
            None => self.restore(None),
        }
    }

    /// See [`Judging::is_read`](aspects::Judging::is_read).
    pub fn is_read(&mut self) -> Result<bool, Fault> {
        self.judging().map_or(Ok(true), |judging| judging.is_read())
    }

    /// See [`Listening::stand_at`](aspects::Listening::stand_at).
    pub fn stand_at(&mut self, node: NodeId) {
        if let Some(listening) = self.listening() {
            listening.stand_at(node);
        }
    }

    /// See [`Listening::arrive`](aspects::Listening::arrive).
    pub fn arrive(&mut self, arrival: &Arrival<'_>) {
        if let Some(listening) = self.listening() {
            listening.arrive(arrival);
        }
    }

    /// See [`Logging::keep_log`](aspects::Logging::keep_log).
    pub fn keep_log(&mut self, keep: bool) {
        if let Some(logging) = self.logging() {
            logging.keep_log(keep);
        }
    }
}
