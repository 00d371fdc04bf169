//! The sandbox as a [`Machine`].
//!
//! | module | what it holds |
//! |---|---|
//! | `handlers` | the calls of handlers |
//! | `aspects` | the optional interfaces of the plugin, as aspects |
//! | `running` | the aspects of a running node |
//! | `following` | a machine that follows one node |
//! | `rest` | the state between handlers, if the memory identifies states |
//! | `portable` | local states as bytes that another process can import |

mod aspects;
mod following;
mod handlers;
pub(crate) mod portable;
pub(crate) mod rest;
mod running;

use std::sync::Arc;

use host_model::contract::{
    Aspect, AspectName, DurableState, Effects, Fault, Input, LocalEvent, Machine, MachineError, NodeMap, Property,
    Snapshot, Synced, TransferError,
};
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::contract::abi::{Bytes, Text};
use crate::contract::limits::GuestLimits;
use crate::machine::following::OwnReference;
use crate::machine::rest::Rest;
use crate::run::buffers::fill_views;
use crate::run::functions::{Function, Functions};
use crate::run::instance::Live;
use crate::run::plugin_parts::PluginParts;
use crate::state::image::Image;
use crate::state::snapshot::Delta;
use crate::store::context::explanation;

/// Runs the handlers of one plugin, one local state at a time.
pub(crate) struct GuestMachine {
    plugin: Arc<PluginParts>,
    /// None after a fault, which poisons the store.
    live: Option<Live>,
    keep_log: bool,
    bytes: Bytes,
    text: Text,
    views: Arc<Vec<Option<Vec<u8>>>>,
    rest: Rest,
    own: OwnReference,
}

impl GuestMachine {
    pub(crate) fn new(plugin: &Arc<PluginParts>) -> Result<Self, MachineError> {
        let mut machine = Self {
            plugin: Arc::clone(plugin),
            live: None,
            keep_log: false,
            bytes: Bytes::default(),
            text: Text::default(),
            views: Arc::default(),
            rest: Rest::default(),
            own: OwnReference::default(),
        };
        plugin.check()?;
        machine.live = Some(Live::another(plugin)?);
        Ok(machine)
    }

    /// The instance; after a fault there is none until `restore`.
    fn live(&mut self) -> &mut Live {
        present(&mut self.live)
    }

    /// Drops the instance if the call failed: a trap poisons the store.
    fn settle<R>(&mut self, result: Result<R, Fault>) -> Result<R, Fault> {
        if result.is_err() {
            self.live = None;
        }
        result
    }

    /// Calls a function that only reads the state. The instance is kept whatever the answer: see [`settle`](Self::settle).
    fn read<P, R>(&mut self, pick: impl FnOnce(&Functions) -> Function<P, R>, params: P) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        self.disturb();
        let live = self.live();
        let function = pick(&live.functions);
        live.context().begin_reading(function.name);
        live.call(function, params)
    }

    /// Prepares a call that reads: if memory is the identity of states, the changes of such a call have to be undone.
    fn disturb(&mut self) {
        if self.plugin.dead_stack.is_some() {
            self.return_to_rest();
            let live = present(&mut self.live);
            self.rest.disturb(|| live.capture());
        }
    }

    /// Undoes the changes of reading calls in memory.
    fn return_to_rest(&mut self) {
        let Some(state) = self.rest.take_back() else { return };
        if let Err(MachineError::Host(trouble)) = self.restore(state.as_ref()) {
            // From now on every receiver of a fault checks for this trouble.
            self.plugin.fail(trouble);
        }
    }

    /// The digest of all memories and globals at rest: the same in every process.
    fn memory_identity(&mut self) -> Vec<u8> {
        self.return_to_rest();
        self.live().digest().as_bytes().to_vec()
    }

    /// The content of all memories in a captured state, globals included.
    pub(crate) fn image(&mut self, state: &Snapshot) -> Result<Image, MachineError> {
        self.restore(Some(state))?;
        Ok(self.live().image())
    }

    /// The hash of the canonical encoding of the current state.
    fn encoding(&mut self) -> Result<blake3::Hash, TransferError> {
        match self.serialize() {
            Ok(encoding) => Ok(blake3::hash(&encoding)),
            Err(fault) => {
                self.confirm_fault()?;
                Err(TransferError::Refused(format!("there is no encoding of the state: {fault}")))
            }
        }
    }

    fn limits(&self) -> &GuestLimits {
        &self.plugin.sandbox.config.limits
    }
}

impl Machine for GuestMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.plugin.check()?;
        let delta = match snapshot {
            Some(snapshot) => {
                let delta = Delta::parse(snapshot.words(), self.plugin.id, self.plugin.pristine_sizes().len());
                Some(
                    delta
                        .ok_or_else(|| MachineError::Host("a snapshot of another plugin cannot be restored".into()))?,
                )
            }
            None => None,
        };
        if self.live.is_none() {
            self.live = Some(Live::another(&self.plugin)?);
        }
        let switched = self.use_images_of(delta);
        let restored = switched.and_then(|()| self.live().restore(delta));
        if restored.is_err() {
            self.live = None;
        }
        if let Some(live) = &mut self.live {
            live.context().storage = snapshot.and_then(Snapshot::map).cloned().map(NodeMap::new);
        }
        if self.plugin.dead_stack.is_some() {
            self.rest = Rest::at(snapshot.cloned());
        }
        restored
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.plugin.check()
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        effects.sent.clear();
        effects.choices.clear();
        effects.log.clear();
        effects.aside.clear();
        effects.is_declined = false;
        let keep_log = self.keep_log;
        self.return_to_rest();
        self.live().context().begin_handler(script, keep_log);
        if let Input::Init { durable: Some(durable), .. } = input {
            self.live().context().extra_fuel = fuel_to_restore(durable);
        }
        if let (Input::Init { durable, .. }, true) = (input, self.plugin.stores) {
            let map = durable.map(|durable| durable.map.clone()).unwrap_or_default();
            self.live().context().storage = Some(NodeMap::new(map));
        }
        let result = match input {
            Input::Quorum { name, messages } => self.run_quorum(name, messages).map(|sent| {
                effects.is_declined = sent.is_none();
                sent.unwrap_or_default()
            }),
            other => self.run(other),
        };
        let has_sync = self.plugin.has_sync;
        let context = self.live().context();
        std::mem::swap(&mut effects.choices, &mut context.choices);
        effects.likelihood = context.likelihood;
        effects.draws = context.draws;
        std::mem::swap(&mut effects.log, &mut context.log);
        std::mem::swap(&mut effects.aside, &mut context.aside);
        effects.written = context.storage.as_mut().map(NodeMap::take_written).unwrap_or_default();
        effects.synced = match &mut context.storage {
            Some(storage) if has_sync => storage.take_synced(),
            _ => Synced::AtTheEnd,
        };
        let result = result.and_then(|sent| self.deliver(sent, effects));
        if let (Ok(()), Some(bytes)) = (&result, self.plugin.dead_stack) {
            self.live().clear_stack(bytes);
            self.rest = Rest::default();
        }
        self.settle(result)
    }

    /// The fingerprint of the durable map is the end of the encoding: states that differ in it alone are different states.
    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        let mut encoding = if self.plugin.dead_stack.is_some() {
            self.memory_identity()
        } else {
            let result = self.read(|functions| functions.node.serialize, ());
            self.settle(result)?
        };
        if let Some(storage) = &self.live().context().storage {
            encoding.extend(storage.map().fingerprint());
        }
        Ok(encoding)
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let result = self.read(|functions| functions.node.local_events, ()).and_then(|events| {
            self.limits().check_count(events.len(), "local events")?;
            events.iter().try_for_each(|event| self.limits().check_local(event))?;
            Ok(events)
        });
        Ok(self.settle(result)?.into_iter().map(LocalEvent::from).collect())
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let result = self.read(|functions| functions.specification.view, (property,));
        self.settle(result)
    }

    fn capture(&mut self) -> Snapshot {
        self.return_to_rest();
        self.live().capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let result = self.read(|functions| functions.specification.properties, ());
        let result = result.and_then(|properties| self.limits().check_properties(properties));
        self.settle(result)
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        fill_views(&mut self.views, views);
        let params = (property, Arc::clone(&self.views));
        let result = self.read(|functions| functions.specification.invariant, params);
        self.settle(result).map(|holds| holds.map_err(|why| explanation(why, self.limits())))
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        self.offered(name)
    }
}

/// Fuel of `init` per entry of the durable map that it is given, in addition to the limit of a call.
const ENTRY_FUEL: u64 = 10_000;

/// The same per byte of the durable state.
const BYTE_FUEL: u64 = 100;

/// Fuel for reading a durable state: a node reads in one call what it has written in many.
fn fuel_to_restore(durable: &DurableState) -> u64 {
    let persisted = durable.persisted.as_ref().map_or(0, Vec::len) as u64;
    durable.map.len() as u64 * ENTRY_FUEL + (durable.map.content_bytes() + persisted) * BYTE_FUEL
}

/// The instance of a machine that has one.
fn present(live: &mut Option<Live>) -> &mut Live {
    live.as_mut().expect("after a fault the next call must be `restore`")
}
