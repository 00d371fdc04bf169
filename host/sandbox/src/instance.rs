//! One instance of a plugin in a store of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_model::contract::{Fault, FaultKind, MachineError, Snapshot};
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc};

use crate::abi::{
    About, Bytes, EnvelopeOut, LocalEventIn, LocalEventOut, PropertyOut, ReceivedIn, RequestIn, ResponseOut, RoleOut,
    SpanOut, Text,
};
use crate::check::Interfaces;
use crate::context::Context;
use crate::error::{LoadError, host_error};
use crate::fault::{Evidence, explain};
use crate::image::{Image, Images};
use crate::limits::{GuestLimits, Sabotage, SandboxConfig};
use crate::memory::{Budget, Region, collect};
use crate::plugin_parts::PluginParts;
use crate::rewrite::{GRANULE, MemoryRole, SYNC_GROW, SYNC_LOAD, SYNC_SAVE, sync_export};
use crate::snapshot::{Cells, Data, Delta, Memories};

/// The fuel for copying globals and growing memories on behalf of the host, whatever the guest is allowed: a module has
/// at most 8,000 globals, and this is code of the host.
const SYNC_FUEL: u64 = 1_000_000;

/// Where every memory ends at the latest: close offsets from one base must be close addresses, never wrapped around.
pub(crate) const MEMORY_BYTES_MAX: usize = (1 << 32) - 65536;

pub(crate) type Views = Arc<Vec<Option<Vec<u8>>>>;
/// The name of a quorum and its messages.
pub(crate) type QuorumParams = (Text, Arc<Vec<ReceivedIn>>);
/// The bytes to rename, and the new name of each node.
pub(crate) type RenameParams = (Bytes, Vec<u32>);
/// What becomes of a request of a client.
pub(crate) type RequestResult = Result<LocalEventOut, ResponseOut>;
pub(crate) type InitResult = Result<Vec<EnvelopeOut>, String>;

/// The functions of the contract, looked up once.
pub(crate) struct Functions {
    pub init: TypedFunc<(u32, u32, Text, Option<Bytes>), (InitResult,)>,
    pub handle_message: TypedFunc<(u32, Bytes), (Vec<EnvelopeOut>,)>,
    pub local_events: TypedFunc<(), (Vec<LocalEventOut>,)>,
    pub handle_local: TypedFunc<(LocalEventIn,), (Vec<EnvelopeOut>,)>,
    pub serialize: TypedFunc<(), (Vec<u8>,)>,
    pub properties: TypedFunc<(), (Vec<PropertyOut>,)>,
    pub view: TypedFunc<(u32,), (Option<Vec<u8>>,)>,
    pub invariant: TypedFunc<(u32, Views), (Result<(), String>,)>,
    pub about: Option<TypedFunc<(), (About,)>>,
    pub persist: Option<TypedFunc<(), (Option<Vec<u8>>,)>>,
    pub handle_transport_error: Option<TypedFunc<(u32,), (Vec<EnvelopeOut>,)>>,
    pub is_done: Option<TypedFunc<(), (bool,)>>,
    pub describe_state: Option<TypedFunc<(), (String,)>>,
    pub describe_message: Option<TypedFunc<(Bytes,), (String,)>>,
    pub describe_view: Option<TypedFunc<(u32, Bytes), (String,)>>,
    pub node_name: Option<TypedFunc<(), (Option<String>,)>>,
    pub is_used: Option<TypedFunc<(), (bool,)>>,
    pub role_of: Option<TypedFunc<(u32, Bytes), (RoleOut,)>>,
    pub handle_quorum: Option<TypedFunc<QuorumParams, (Option<Vec<EnvelopeOut>>,)>>,
    pub interchangeable: Option<TypedFunc<(), (Vec<Vec<u32>>,)>>,
    pub rename_message: Option<TypedFunc<RenameParams, (Vec<u8>,)>>,
    pub rename_local: Option<TypedFunc<RenameParams, (Vec<u8>,)>>,
    pub duration: Option<TypedFunc<(LocalEventIn,), (Option<SpanOut>,)>>,
    pub request: Option<TypedFunc<(u64, RequestIn), (RequestResult,)>>,
}

/// The synchronising export of one core instance.
struct Sync {
    function: TypedFunc<(u32, u32), ()>,
    /// Whether globals are shared with other modules, so that it must run at every capture and restore.
    shared: bool,
    /// For each defined memory of the core instance: its index among all data memories.
    data: Vec<usize>,
}

/// A store with an instance, its functions and its memories.
pub(crate) struct Live {
    store: Store<Context>,
    pub functions: Arc<Functions>,
    syncs: Vec<Sync>,
    memories: Memories,
    budget: Arc<Budget>,
    plugin: Arc<PluginParts>,
    /// The cluster size given to `init`; 0 before.
    pub nodes: u32,
}

/// Why no instance came to be.
pub(crate) enum StartError {
    /// The guest's fault.
    Fault(Fault),
    /// The host's trouble.
    Host(String),
    /// An export of a wrong type.
    WrongType { export: String, detail: String },
}

impl From<StartError> for LoadError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Fault(fault) => Self::Start { fault },
            StartError::Host(detail) => Self::Host { detail },
            StartError::WrongType { export, detail } => Self::WrongType { export, detail },
        }
    }
}

impl Live {
    /// Instantiates the plugin in a new store.
    pub(crate) fn start(plugin: &Arc<PluginParts>, images: Arc<Images>) -> Result<Self, StartError> {
        let limits = &plugin.sandbox.config.limits;
        let budget = Arc::new(Budget::new(limits.memory_bytes.min(MEMORY_BYTES_MAX), plugin.sandbox.config.sabotage));
        let mut store = Store::new(&plugin.sandbox.engine, Context::new(limits.clone(), Arc::clone(&budget)));
        store.limiter(|context| context);
        store.set_hostcall_fuel(limits.output_bytes);
        refuel(&mut store, limits.fuel_per_call);
        plugin.started.fetch_add(1, Ordering::Relaxed);
        let (instance, regions) = collect(&plugin.counted, &budget, || plugin.pre.instantiate(&mut store));
        let instance = instance.map_err(|error| {
            if let Some(trouble) = budget.trouble() {
                return StartError::Host(trouble.to_owned());
            }
            let mut evidence =
                Evidence { limits, memory_refused: budget.refused(), violation: None, context: store.data_mut() };
            StartError::Fault(explain(&error, "instantiation", &mut evidence))
        })?;
        let functions = Arc::new(functions(&mut store, &instance, &plugin.interfaces)?);
        let (data, cells, owners) = sort(plugin, &regions);
        let mut syncs = Vec::new();
        for &(core, shared) in &plugin.syncs {
            let function = typed(&mut store, &instance, None, &sync_export(core))?;
            let owned = owners.iter().enumerate().filter(|&(_, &owner)| owner == core).map(|(index, _)| index);
            syncs.push(Sync { function, shared: shared > 0, data: owned.collect() });
        }
        let memories = Memories::new(data, cells, images);
        let mut live = Self { store, functions, syncs, memories, budget, plugin: Arc::clone(plugin), nodes: 0 };
        live.save_shared().map_err(|error| StartError::Fault(host_fault(&error)))?;
        Ok(live)
    }

    /// Copies what the memories hold now, as the pristine image of the plugin.
    pub(crate) fn take_images(&self) -> Arc<Images> {
        self.memories.take_images()
    }

    /// Whether the memories hold the pristine image.
    pub(crate) fn is_pristine(&self) -> bool {
        self.memories.is_pristine()
    }

    /// Calls a function of the contract; `name` is for messages.
    pub(crate) fn call<P, R>(
        &mut self,
        name: &'static str,
        pick: impl FnOnce(&Functions) -> &TypedFunc<P, R>,
        params: P,
    ) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        refuel(&mut self.store, self.plugin.sandbox.config.limits.fuel_per_call);
        self.budget.forget_refusal();
        self.memories.touch();
        match pick(&self.functions).call(&mut self.store, params) {
            Ok(result) => Ok(result),
            Err(error) => Err(self.explain(name, &error)),
        }
    }

    /// The fault behind an error of a call.
    #[cold]
    #[inline(never)]
    fn explain(&mut self, name: &'static str, error: &wasmtime::Error) -> Fault {
        if let Some(trouble) = self.budget.trouble() {
            let message = format!("the machine that runs `{name}` {trouble}");
            self.plugin.fail(trouble.to_owned());
            return Fault { kind: FaultKind::MemoryLimit, message };
        }
        let mut evidence = Evidence {
            limits: &self.plugin.sandbox.config.limits,
            memory_refused: self.budget.refused(),
            violation: self.memories.violation(),
            context: self.store.data_mut(),
        };
        explain(error, name, &mut evidence)
    }

    /// The limits of the guest.
    pub(crate) fn limits(&self) -> &GuestLimits {
        &self.plugin.sandbox.config.limits
    }

    /// The rules for the next call, and the effects of the last one beside its result.
    pub(crate) fn context(&mut self) -> &mut Context {
        self.store.data_mut()
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.memories.sizes()
    }

    /// Clears the dead stack, which is so many bytes.
    pub(crate) fn clear_stack(&mut self, bytes: usize) {
        self.memories.clear_stack(bytes);
    }

    /// Captures the local state.
    pub(crate) fn capture(&mut self) -> Snapshot {
        self.captured(Memories::capture)
    }

    /// Captures the local state as a difference from the pristine image.
    pub(crate) fn capture_portable(&mut self) -> Snapshot {
        self.captured(Memories::capture_portable)
    }

    /// All that the memories hold, globals included.
    pub(crate) fn image(&mut self) -> Image {
        // As for a capture.
        self.save_shared().expect("copying globals to memory cannot fail");
        self.memories.current()
    }

    fn captured(&mut self, capture: impl FnOnce(&mut Memories, u64, u32) -> &[u64]) -> Snapshot {
        // The guest's functions only copy globals to memory: nothing of it can fail that could not be seen at load.
        self.save_shared().expect("copying globals to memory cannot fail");
        let snapshot = Snapshot::new(capture(&mut self.memories, self.plugin.id, self.nodes));
        if self.plugin.sandbox.config.verify_capture {
            self.memories.verify();
        }
        snapshot
    }

    /// Goes to a captured state, or with `None` to the pristine one.
    pub(crate) fn restore(&mut self, delta: Option<Delta<'_>>) -> Result<(), MachineError> {
        let SandboxConfig { sabotage, verify_capture, .. } = self.plugin.sandbox.config;
        let with_globals = !sabotage.is(Sabotage::SkipGlobals);
        let sizes = if sabotage.is(Sabotage::SkipSizes) { None } else { self.other_sizes(delta) };
        if let Some(sizes) = &sizes {
            // Some memories grow before others shrink.
            self.budget.lift(true);
            let grown = (0..).zip(sizes).try_for_each(|(memory, size)| self.grow(memory, *size));
            self.budget.lift(false);
            grown?;
        }
        self.memories.restore(delta, with_globals);
        if verify_capture {
            self.memories.verify();
        }
        // After the content: what lies behind a smaller size is zero by now.
        for (memory, size) in (0..).zip(sizes.iter().flatten()) {
            self.shrink(memory, *size)?;
        }
        self.nodes = delta.map_or(0, |delta| delta.nodes);
        if with_globals {
            self.sync_shared(SYNC_LOAD).map_err(|error| machine_error(&error))?;
        }
        Ok(())
    }

    /// The sizes of the memories in a state, unless they have them already.
    fn other_sizes(&self, delta: Option<Delta<'_>>) -> Option<Vec<usize>> {
        match delta {
            Some(delta) => (!self.sizes().eq(delta.sizes())).then(|| delta.sizes().collect()),
            None => {
                let pristine = self.plugin.pristine_sizes();
                (!self.sizes().eq(pristine.iter().copied())).then(|| pristine.to_vec())
            }
        }
    }

    fn size(&self, memory: usize) -> usize {
        self.sizes().nth(memory).expect("one of the memories")
    }

    /// Gives a memory this size, if it is smaller.
    fn grow(&mut self, memory: usize, wanted: usize) -> Result<(), MachineError> {
        match wanted.checked_sub(self.size(memory)) {
            None | Some(0) => Ok(()),
            Some(more) => self.resize(memory, more, wanted),
        }
    }

    /// Gives a memory this size, if it is larger.
    fn shrink(&mut self, memory: usize, wanted: usize) -> Result<(), MachineError> {
        if self.size(memory) <= wanted {
            return Ok(());
        }
        self.memories.shrink(memory, wanted).map_err(MachineError::Host)?;
        // Makes wasmtime look at the size.
        self.resize(memory, 0, wanted)
    }

    /// Has a memory grow by some bytes, after which it must have this size.
    fn resize(&mut self, memory: usize, more: usize, wanted: usize) -> Result<(), MachineError> {
        self.memories.touch();
        let (sync, nth) = self
            .syncs
            .iter()
            .find_map(|sync| Some((sync, sync.data.iter().position(|&index| index == memory)?)))
            .expect("every module that defines a memory has a synchronising export");
        refuel(&mut self.store, SYNC_FUEL);
        let called = sync.function.call(&mut self.store, (SYNC_GROW + nth as u32, (more / 65536) as u32));
        called.map_err(|error| self.budget.trouble().map_or_else(|| machine_error(&error), host_error))?;
        if self.size(memory) != wanted {
            return Err(MachineError::Host(format!("cannot give an instance {wanted} bytes of memory again")));
        }
        Ok(())
    }

    fn save_shared(&mut self) -> wasmtime::Result<()> {
        self.sync_shared(SYNC_SAVE)
    }

    fn sync_shared(&mut self, what: u32) -> wasmtime::Result<()> {
        for sync in self.syncs.iter().filter(|sync| sync.shared) {
            self.memories.touch();
            refuel(&mut self.store, SYNC_FUEL);
            sync.function.call(&mut self.store, (what, 0))?;
        }
        Ok(())
    }
}

fn refuel(store: &mut Store<Context>, fuel: u64) {
    store.set_fuel(fuel).expect("the engine consumes fuel");
}

fn machine_error(error: &wasmtime::Error) -> MachineError {
    MachineError::Host(format!("cannot put an instance back into a state: {}", error.root_cause()))
}

fn host_fault(error: &wasmtime::Error) -> Fault {
    Fault { kind: FaultKind::Trap, message: error.root_cause().to_string() }
}

/// Tells the memories of an instance apart by the order in which they were made. Also returns which core instance
/// defines each data memory.
fn sort(plugin: &PluginParts, regions: &[Arc<Region>]) -> (Vec<Data>, Vec<Cells>, Vec<usize>) {
    assert_eq!(regions.len(), plugin.plan.len(), "an instantiation makes the memories that the component defines");
    let (mut data, mut cells, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    let mut pairs = plugin.plan.iter().zip(regions);
    while let Some((plan, region)) = pairs.next() {
        match plan.role {
            MemoryRole::Data(_) => {
                let (_, marks) = pairs.next().expect("marks follow their memory");
                data.push(Data { bytes: Arc::clone(region), marks: Arc::clone(marks) });
                owners.push(plan.instance);
            }
            MemoryRole::Marks => unreachable!("marks follow their memory"),
            MemoryRole::Cells { end } => {
                // Whole granules compare and copy fastest; what follows the last cell stays zero.
                let end = (end as usize).next_multiple_of(GRANULE);
                cells.push(Cells { bytes: Arc::clone(region), end });
            }
        }
    }
    (data, cells, owners)
}

pub(crate) fn functions(
    store: &mut Store<Context>,
    instance: &Instance,
    names: &Interfaces,
) -> Result<Functions, StartError> {
    let node = Some(names.node.as_str());
    let specification = Some(names.specification.as_str());
    Ok(Functions {
        init: typed(store, instance, node, "init")?,
        handle_message: typed(store, instance, node, "handle-message")?,
        local_events: typed(store, instance, node, "local-events")?,
        handle_local: typed(store, instance, node, "handle-local")?,
        serialize: typed(store, instance, node, "serialize")?,
        properties: typed(store, instance, specification, "properties")?,
        view: typed(store, instance, specification, "view")?,
        invariant: typed(store, instance, specification, "invariant")?,
        about: optional(store, instance, names.defaults.as_deref(), "about")?,
        persist: optional(store, instance, names.durable.as_deref(), "persist")?,
        handle_transport_error: optional(store, instance, names.transport.as_deref(), "handle-transport-error")?,
        is_done: optional(store, instance, names.completion.as_deref(), "is-done")?,
        describe_state: optional(store, instance, names.describe.as_deref(), "state")?,
        describe_message: optional(store, instance, names.describe.as_deref(), "message")?,
        describe_view: optional(store, instance, names.views.as_deref(), "describe-view")?,
        node_name: optional(store, instance, names.names.as_deref(), "node-name")?,
        is_used: optional(store, instance, names.quorum.as_deref(), "is-used")?,
        role_of: optional(store, instance, names.quorum.as_deref(), "role-of")?,
        handle_quorum: optional(store, instance, names.quorum.as_deref(), "handle-quorum")?,
        interchangeable: optional(store, instance, names.symmetry.as_deref(), "interchangeable")?,
        rename_message: optional(store, instance, names.symmetry.as_deref(), "rename-message")?,
        rename_local: optional(store, instance, names.symmetry.as_deref(), "rename-local")?,
        duration: optional(store, instance, names.timing.as_deref(), "duration")?,
        request: optional(store, instance, names.clients.as_deref(), "accept")?,
    })
}

fn optional<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: Option<&str>,
    function: &str,
) -> Result<Option<TypedFunc<P, R>>, StartError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    interface.map(|interface| typed(store, instance, Some(interface), function)).transpose()
}

fn typed<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: Option<&str>,
    function: &str,
) -> Result<TypedFunc<P, R>, StartError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let wrong = |detail: String| {
        let export = interface.map_or(function.to_owned(), |interface| format!("{interface}#{function}"));
        StartError::WrongType { export, detail }
    };
    let parent = match interface {
        Some(name) => Some(
            instance
                .get_export_index(&mut *store, None, name)
                .ok_or_else(|| wrong("its interface is missing".into()))?,
        ),
        None => None,
    };
    let index = instance
        .get_export_index(&mut *store, parent.as_ref(), function)
        .ok_or_else(|| wrong("it is missing".into()))?;
    instance.get_typed_func(&mut *store, index).map_err(|error| wrong(error.root_cause().to_string()))
}
