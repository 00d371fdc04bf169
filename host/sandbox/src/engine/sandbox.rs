//! The engine that all plugins of a process share.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use host_model::contract::{Response, Stop};
use wasmtime::component::{Linker, WasmList, WasmStr};
use wasmtime::{Config, Engine, OperatorCost, StoreContextMut, WasmBacktraceDetails};

use crate::cache::Cache;
use crate::contract::abi::{self, ResponseOut};
use crate::contract::limits::SandboxConfig;
use crate::store::context::{Context, burn, cut};
use crate::store::memory::Creator;
use crate::store::storage;

/// The wasmtime engine could not be made, for example on a host without virtual memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot set up webassembly on this machine: {0}")]
pub struct SandboxError(String);

/// The place where plugins are loaded: an engine with its settings, the limits, and the cache of compiled code.
///
/// Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) shared: Arc<SandboxParts>,
    /// Polled while a component is compiled. Plugins do not keep it: they outlive the command that loads them.
    pub(crate) stop: Option<Arc<dyn Stop>>,
}

/// The parts of a sandbox that plugins keep: nothing of one search can be seen in the next.
pub(crate) struct SandboxParts {
    pub engine: Engine,
    pub linker: Linker<Context>,
    pub config: SandboxConfig,
    pub cache: Option<Cache>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("config", &self.shared.config)
            .field("cache", &self.shared.cache)
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Makes an engine. With `cache_dir`, compiled code is kept there between runs.
    ///
    /// # Errors
    ///
    /// This machine cannot run WebAssembly.
    pub fn new(config: SandboxConfig, cache_dir: Option<PathBuf>) -> Result<Self, SandboxError> {
        Self::with(config, cache_dir, None)
    }

    /// The same; compiling ends early on a request to stop.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn stoppable(
        config: SandboxConfig,
        cache_dir: Option<PathBuf>,
        stop: Arc<dyn Stop>,
    ) -> Result<Self, SandboxError> {
        Self::with(config, cache_dir, Some(stop))
    }

    fn with(
        config: SandboxConfig,
        cache_dir: Option<PathBuf>,
        stop: Option<Arc<dyn Stop>>,
    ) -> Result<Self, SandboxError> {
        let error = |error: wasmtime::Error| SandboxError(format!("{error:#}"));
        let cache = cache_dir.map(Cache::new);
        let engine = Engine::new(&settings(&config, cache.as_ref()).map_err(error)?).map_err(error)?;
        let linker = linker(&engine).map_err(error)?;
        Ok(Self { shared: Arc::new(SandboxParts { engine, linker, config, cache }), stop })
    }

    /// The configuration that it was made with.
    pub fn config(&self) -> &SandboxConfig {
        &self.shared.config
    }
}

/// Every switch that decides what a guest can do or see. The same guest and input must give the same result on every
/// machine.
fn settings(config: &SandboxConfig, cache: Option<&Cache>) -> wasmtime::Result<Config> {
    let mut settings = Config::new();
    // An endless loop must end, at the same instruction everywhere. Interruption by epochs is cheaper and depends on
    // the clock.
    settings.consume_fuel(true);
    // Instructions that copy or fill also cost a unit per byte. Growing is a call into the host.
    settings.operator_cost(OperatorCost { MemoryGrow: 255, TableGrow: 255, ..OperatorCost::default() });
    // The bits of a NaN differ between processors.
    settings.cranelift_nan_canonicalization(true);
    // So do the results of relaxed vector instructions, by design.
    settings.relaxed_simd_deterministic(true);
    // Snapshots keep state in an extra memory for each memory.
    settings.wasm_multi_memory(true);
    // 4 GiB of reservation and marks cover 32-bit memories only.
    settings.wasm_memory64(false);
    // The host needs the bytes of the memories inside a component.
    settings.with_host_memory(Arc::new(Creator));
    // Copy-on-write images need memories that wasmtime itself maps.
    settings.memory_init_cow(false);
    // The address range that memory accesses of compiled code can compute without a bounds check; with less, each
    // access is checked and slower.
    settings.memory_reservation(1 << 32);
    settings.memory_guard_size(32 << 20);
    // Memories never move, so the host can keep their addresses.
    settings.memory_may_move(false);
    // Recursion ends at a trap, well inside the 2 MiB stack of a worker thread.
    settings.max_wasm_stack(config.limits.stack_bytes);
    // A fault names the function in which it happened.
    settings.wasm_backtrace_max_frames(NonZeroUsize::new(16));
    // By default an environment variable decides this.
    settings.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    // Only affects the time of compiling.
    if let Some(cache) = cache {
        settings.enable_incremental_compilation(Arc::clone(&cache.functions) as _)?;
    }
    Ok(settings)
}

/// Links everything that a guest may import.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Context>> {
    let mut linker = Linker::new(engine);
    let mut environment = linker.instance(abi::ENVIRONMENT)?;
    environment.func_wrap("choose", |mut store: StoreContextMut<'_, Context>, (alternatives,): (u32,)| {
        Ok((store.data_mut().choose(alternatives)?,))
    })?;
    environment.func_wrap("can-send", |mut store: StoreContextMut<'_, Context>, (to,): (u32,)| {
        Ok((store.data_mut().can_send(to)?,))
    })?;
    environment.func_wrap("log", |mut store: StoreContextMut<'_, Context>, (line,): (WasmStr,)| {
        let wanted = store.data().log_wanted();
        let text = line.to_str(&store)?;
        let bytes = text.len();
        // Only the wanted part is kept: a guest that logs its whole memory again and again must not make the host copy it.
        let line = cut(&text, wanted).to_owned();
        burn(&mut store, LOG_FUEL + bytes as u64)?;
        store.data_mut().log(line, bytes);
        Ok(())
    })?;
    let mut odds = linker.instance(abi::ODDS)?;
    odds.func_wrap("choose-weighted", |mut store: StoreContextMut<'_, Context>, (weights,): (WasmList<u32>,)| {
        // Checked before the list is read: a long one must not make the host work.
        store.data_mut().allow_choice("choose-weighted", weights.len())?;
        let weights = weights.iter(&mut store)?.collect::<wasmtime::Result<Vec<u32>>>()?;
        burn(&mut store, weights.len() as u64)?;
        Ok((store.data_mut().choose_weighted(&weights)?,))
    })?;
    let mut live = linker.instance(abi::LIVE)?;
    live.func_wrap("answer", |mut store: StoreContextMut<'_, Context>, (number, content): (u64, ResponseOut)| {
        let content = Response::from(content);
        burn(&mut store, LOG_FUEL + content.body.len() as u64)?;
        store.data_mut().answer(number, content)
    })?;
    live.func_wrap("restart", |mut store: StoreContextMut<'_, Context>, (name,): (WasmStr,)| {
        let name = name.to_str(&store)?.into_owned();
        burn(&mut store, LOG_FUEL + name.len() as u64)?;
        store.data_mut().restart(name)
    })?;
    storage::link(&mut linker)?;
    Ok(linker)
}

/// The cost of a call of `log`, `answer` and `restart` in addition to a unit per byte.
const LOG_FUEL: u64 = 200;
