//! One instance of a component in a store of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_model::contract::{Fault, FaultKind, MachineError, Snapshot};
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Lift, Lower, TypedFunc};

use crate::contract::error::host_error;
use crate::contract::limits::{GuestLimits, Sabotage, SandboxConfig};
use crate::rewrite::{GRANULE, MemoryRole, SYNC_GROW, SYNC_LOAD, SYNC_SAVE, sync_export};
use crate::run::functions::{Exports, Function, Functions, StartError, typed};
use crate::run::plugin_parts::PluginParts;
use crate::state::image::{Image, Images};
use crate::state::snapshot::{Cells, Data, Delta, Memories};
use crate::store::context::Context;
use crate::store::fault::{Evidence, explain};
use crate::store::memory::{Budget, Region, collect};

/// The fuel for copying globals and growing memories on behalf of the host, whatever the guest's limit: a module has
/// at most 8,000 globals, and this is code of the host.
const SYNC_FUEL: u64 = 1_000_000;

/// Maximum end of a memory: close offsets from one base must be close addresses, never wrapped around.
pub(crate) const MEMORY_BYTES_MAX: usize = (1 << 32) - 65536;

/// The synchronising export of one core instance.
struct Sync {
    function: TypedFunc<(u32, u32), ()>,
    /// Whether globals are shared with other modules, so that it must run at every capture and restore.
    shared: bool,
    /// For each defined memory of the core instance: its index among all data memories.
    data: Vec<usize>,
}

/// A store with an instance, its functions and its memories.
pub(crate) struct Live<F = Functions> {
    store: Store<Context>,
    pub functions: Arc<F>,
    syncs: Vec<Sync>,
    memories: Memories,
    budget: Arc<Budget>,
    plugin: Arc<PluginParts>,
    /// The cluster size given to `init`; 0 before.
    pub nodes: u32,
}

impl<F: Exports> Live<F> {
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
        let functions = Arc::new(F::look_up(&mut store, &instance, &plugin.interfaces)?);
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

    /// Another instance of a component that was started before.
    pub(crate) fn another(plugin: &Arc<PluginParts>) -> Result<Self, MachineError> {
        let live = Self::start(plugin, Arc::clone(plugin.images())).map_err(|error| {
            let detail = match error {
                StartError::Host(trouble) => return host_error(&trouble),
                StartError::Fault(fault) => fault.message,
                StartError::WrongType { export, detail } => format!("`{export}`: {detail}"),
            };
            MachineError::Host(format!("cannot make another instance: {detail}"))
        })?;
        if plugin.sandbox.config.verify_capture {
            assert!(live.is_pristine(), "two instances of one component start with different memories");
        }
        Ok(live)
    }

    /// Copies the current memories, as the pristine image of the plugin.
    pub(crate) fn take_images(&self) -> Arc<Images> {
        self.memories.take_images()
    }

    /// Whether the memories equal the pristine image.
    pub(crate) fn is_pristine(&self) -> bool {
        self.memories.is_pristine()
    }

    /// Calls a function of the contract in this instance.
    pub(crate) fn call<P, R>(&mut self, function: Function<P, R>, params: P) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let fuel = self.plugin.sandbox.config.limits.fuel_per_call.saturating_add(self.store.data().extra_fuel);
        refuel(&mut self.store, fuel);
        self.budget.forget_refusal();
        self.memories.touch();
        match function.typed.call(&mut self.store, params) {
            Ok((result,)) => Ok(result),
            Err(error) => Err(self.explain(function.name, &error)),
        }
    }

    /// The fault behind an error of a call.
    #[cold]
    #[inline(never)]
    fn explain(&mut self, name: &'static str, error: &wasmtime::Error) -> Fault {
        if let Some(trouble) = self.budget.trouble() {
            let message = format!("the machine that runs `{name}` {trouble}");
            self.plugin.fail(trouble.to_owned());
            return Fault::new(FaultKind::MemoryLimit, message).with_limit("memory");
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

    /// The rules for the next call, and the effects of the last one in addition to its result.
    pub(crate) fn context(&mut self) -> &mut Context {
        self.store.data_mut()
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.memories.sizes()
    }

    /// Clears the dead stack, which has this many bytes.
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

    /// The digest of all memories, globals included: the same in every process.
    pub(crate) fn digest(&mut self) -> blake3::Hash {
        self.save_globals();
        self.memories.digest(self.nodes)
    }

    /// The content of all memories, globals included.
    pub(crate) fn image(&mut self) -> Image {
        self.save_globals();
        self.memories.current()
    }

    /// Moves the reference image to the current state, see [`Memories::move_reference`].
    pub(crate) fn move_reference(&mut self, generation: u32) -> Arc<Images> {
        self.save_globals();
        self.memories.move_reference(generation)
    }

    /// The generation of the reference image.
    pub(crate) fn generation(&self) -> u32 {
        self.memories.generation()
    }

    /// Uses other images of the plugin.
    pub(crate) fn use_images(&mut self, images: Arc<Images>) {
        self.memories.use_images(images);
    }

    fn captured(&mut self, capture: impl FnOnce(&mut Memories, u64, u32) -> &[u64]) -> Snapshot {
        self.save_globals();
        let snapshot = Snapshot::new(capture(&mut self.memories, self.plugin.id, self.nodes));
        let snapshot = match &self.store.data().storage {
            Some(storage) => storage.in_snapshot(snapshot),
            None => snapshot,
        };
        if self.plugin.sandbox.config.verify_capture {
            self.memories.verify();
        }
        snapshot
    }

    /// Restores a captured state, or with `None` the pristine one.
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
        // After the content: memory behind a smaller size is zero by now.
        for (memory, size) in (0..).zip(sizes.iter().flatten()) {
            self.shrink(memory, *size)?;
        }
        self.nodes = delta.map_or(0, |delta| delta.nodes);
        if with_globals {
            self.sync_shared(SYNC_LOAD).map_err(|error| machine_error(&error))?;
        }
        Ok(())
    }

    /// The sizes of the memories in a state, unless the memories already have them.
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
        self.sizes().nth(memory).expect("callers count the memories of this instance")
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
        // Makes wasmtime read the size again.
        self.resize(memory, 0, wanted)
    }

    /// Grows a memory by some bytes, after which it must have this size.
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

    /// Copies globals to memory, before memories are read.
    fn save_globals(&mut self) {
        // The guest's functions do nothing else, and any failure of this would have shown at load.
        self.save_shared().expect("copying globals to memory cannot fail");
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
    Fault::new(FaultKind::Trap, error.root_cause().to_string())
}

/// Identifies the memories of an instance by the order in which they were made. Also returns the core instance that
/// defines each data memory.
fn sort(plugin: &PluginParts, regions: &[Arc<Region>]) -> (Vec<Data>, Vec<Cells>, Vec<usize>) {
    assert_eq!(regions.len(), plugin.plan.len(), "an instantiation makes the memories that the component defines");
    let (mut data, mut cells, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    let mut pairs = plugin.plan.iter().zip(regions);
    while let Some((plan, region)) = pairs.next() {
        match plan.role {
            MemoryRole::Data(_) => {
                let (_, marks) = pairs.next().expect("a layout has marks after each memory with data");
                data.push(Data { bytes: Arc::clone(region), marks: Arc::clone(marks) });
                owners.push(plan.instance);
            }
            MemoryRole::Marks => unreachable!("marks follow their memory"),
            MemoryRole::Cells { end } => {
                // Whole granules compare and copy fastest; the bytes after the last cell stay zero.
                let end = (end as usize).next_multiple_of(GRANULE);
                cells.push(Cells { bytes: Arc::clone(region), end });
            }
        }
    }
    (data, cells, owners)
}
