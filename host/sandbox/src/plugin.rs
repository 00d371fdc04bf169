//! A loaded component.
//!
//! | module | what it holds |
//! |---|---|
//! | `spec` | a loaded specification from outside |
//! | `initialised` | a component that begins with the memory of another one after a call of `init` |
//! | `inspect` | the parts of a component, for people |

pub(crate) mod initialised;
pub(crate) mod inspect;
pub(crate) mod spec;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use host_model::contract::{Fault, Machine, MachineError, MachineFactory, Snapshot};
use wasmtime::component::{InstancePre, Linker};

use crate::cache::{self, Code};
use crate::check::{Interfaces, World};
use crate::contract::abi::{About, AboutIdentity};
use crate::contract::error::LoadError;
use crate::contract::limits::{GuestLimits, within};
use crate::engine::compile::{Compiled, compile};
use crate::engine::sandbox::{Sandbox, SandboxParts};
use crate::machine::GuestMachine;
use crate::plugin::inspect::Inspection;
use crate::rewrite::{Rewritten, dead_stack, library_import};
use crate::run::functions::Exports;
use crate::run::instance::Live;
use crate::run::plugin_parts::PluginParts;
use crate::state::difference::{self, MemoryMap, StateDifference};
use crate::store::context::Context;

/// The times of loading a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadTimes {
    /// Checking and rewriting the component.
    pub rewrite: Duration,
    /// Compiling it, or reading compiled code from the cache.
    pub compile: Duration,
    /// The first instance and the pristine image.
    pub start: Duration,
    /// Whether the compiled code was in the cache.
    pub cached: bool,
    /// Whether the cache was ignored, since others could have written to it.
    pub is_cache_refused: bool,
}

/// A plugin, ready to make machines. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Plugin {
    parts: Arc<PluginParts>,
    about: Option<Arc<About>>,
    inspection: Arc<Inspection>,
    times: LoadTimes,
    digest: Arc<str>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads a component: checks it, rewrites it so that its state can be captured, compiles it, and instantiates it
    /// once.
    ///
    /// # Errors
    ///
    /// The bytes are no plugin, or one that fails while it starts.
    pub fn load(sandbox: &Sandbox, bytes: &[u8]) -> Result<Self, LoadError> {
        Self::load_watched(sandbox, bytes, &mut |_| {})
    }

    /// The same; during compilation, calls `watch` some twenty times per second with the time so far.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn load_watched(sandbox: &Sandbox, bytes: &[u8], watch: &mut dyn FnMut(Duration)) -> Result<Self, LoadError> {
        let shared = &sandbox.shared;
        let Compiled { interfaces, names, rewritten, code, rewrite_time, compile_time } =
            compile(sandbox, bytes, World::Plugin, watch)?;
        let began = Instant::now();
        let cache = code.cache;
        let digest = blake3::hash(bytes);
        let (mut parts, mut first): (_, Live) = first_instance(shared, digest, interfaces, &rewritten, &code)?;
        let images = first.take_images();
        let pristine_sizes = first.sizes().collect();
        let about = about(&mut first);
        if let Some(trouble) = parts.trouble() {
            return Err(LoadError::Host { detail: trouble.to_owned() });
        }
        let about = about?;
        drop(first);
        let unshared = Arc::get_mut(&mut parts).expect("the only instance that shares it was dropped above");
        unshared.set_pristine(images, pristine_sizes);
        unshared.has_sync = names.sync();
        unshared.stores = names.store() || unshared.has_sync;
        if about.as_ref().is_some_and(|about| about.identity == AboutIdentity::Memory) {
            let bytes = dead_stack(&rewritten.modules).map_err(|why| LoadError::MemoryIdentity { why })?;
            unshared.dead_stack = Some(bytes);
        }
        let inspection = Inspection::new(bytes.len(), &rewritten, names, parts.images().pristine_bytes());
        let start = began.elapsed();
        Ok(Self {
            parts,
            about: about.map(Arc::new),
            inspection: Arc::new(inspection),
            times: LoadTimes {
                rewrite: rewrite_time,
                compile: compile_time,
                start,
                cached: cache == cache::Use::Found,
                is_cache_refused: cache == cache::Use::Refused,
            },
            digest: digest_text(digest).into(),
        })
    }

    /// Another plugin, as if the component were loaded again, for a fraction of the cost. The two share the data that no run changes:
    /// machine code, limits and the memories of a fresh instance. Each has its own instances, snapshots, and record of host failures.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { parts: Arc::new(self.parts.again()), ..self.clone() }
    }

    /// The content hash of the component as given: `blake3:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The plugin's description of itself, if it exports `defaults`.
    pub fn about(&self) -> Option<&About> {
        self.about.as_deref()
    }

    /// Whether it describes its states.
    pub fn describes(&self) -> bool {
        self.parts.interfaces.describe.is_some()
    }

    /// Whether the whole memory of a node identifies its states, instead of the result of `serialize`.
    pub fn is_by_memory(&self) -> bool {
        self.parts.dead_stack.is_some()
    }

    /// Whether its nodes have a durable map, which their handlers write.
    pub fn stores(&self) -> bool {
        self.parts.stores
    }

    /// Whether it decides when the map is durable: it calls `sync` somewhere.
    pub fn has_sync(&self) -> bool {
        self.parts.has_sync
    }

    /// The first place in which two states differ that machines of this plugin have captured: memories first, by number and address,
    /// then globals, then sizes, and last the stack, which is dead between calls. None if they are the same to the last byte.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or restore a state.
    pub fn difference(&self, one: &Snapshot, other: &Snapshot) -> Result<Option<StateDifference>, MachineError> {
        let mut machine = GuestMachine::new(&self.parts)?;
        let (one, other) = (machine.image(one)?, machine.image(other)?);
        let heap = self.parts.heap_start.map(|heap| heap as usize);
        let map = MemoryMap { stack: self.parts.stack, heap };
        Ok(difference::first([&one, &other], &self.parts.plan, map))
    }

    /// The parts of the component, and whether they belong to the state.
    pub fn inspect(&self) -> &Inspection {
        &self.inspection
    }

    /// Number of instances made so far, by loading, if it was loaded, and by all machines. Making one costs far more than a step.
    pub fn instances_started(&self) -> u64 {
        self.parts.started.load(Ordering::Relaxed)
    }

    /// The times of loading.
    pub fn load_times(&self) -> LoadTimes {
        self.times
    }
}

/// A content hash in the form of traces.
pub(crate) fn digest_text(digest: blake3::Hash) -> String {
    format!("blake3:{}", digest.to_hex())
}

/// The first instance of a component, and the parts that it shares with later ones; its images are not taken yet.
pub(crate) fn first_instance<F: Exports>(
    shared: &Arc<SandboxParts>,
    digest: blake3::Hash,
    interfaces: Interfaces,
    rewritten: &Rewritten,
    code: &Code,
) -> Result<(Arc<PluginParts>, Live<F>), LoadError> {
    let pre = instantiate_pre(&shared.linker, code)
        .map_err(|error| LoadError::WrongType { export: "imports".into(), detail: format!("{error:#}") })?;
    let parts = Arc::new(PluginParts::new(digest, Arc::clone(shared), pre, interfaces, rewritten));
    let live = Live::start(&parts, Arc::default())?;
    Ok((parts, live))
}

/// Links a component with the host and with its libraries.
fn instantiate_pre(linker: &Linker<Context>, code: &Code) -> wasmtime::Result<InstancePre<Context>> {
    if code.libraries.is_empty() {
        return linker.instantiate_pre(&code.component);
    }
    let mut linker = linker.clone();
    for (index, library) in code.libraries.iter().enumerate() {
        linker.root().module(&library_import(index), library)?;
    }
    linker.instantiate_pre(&code.component)
}

fn about(live: &mut Live) -> Result<Option<About>, LoadError> {
    let Some(about) = live.functions.defaults.as_ref().map(|defaults| defaults.about) else { return Ok(None) };
    live.context().begin_reading(about.name);
    let result = live.call(about, ());
    let limits = live.limits().clone();
    let checked = result.and_then(|about| check_about(&about, &limits).map(|()| Some(about)));
    checked.map_err(|fault| LoadError::Start { fault })
}

/// Checks the texts, which appear in tables and names of folders.
fn check_about(about: &About, limits: &GuestLimits) -> Result<(), Fault> {
    let parameters = &about.parameters;
    within(parameters.len(), limits.items_per_call, "items", || {
        format!("`about` lists {} parameters", parameters.len())
    })?;
    let of_parameters = parameters
        .iter()
        .flat_map(|parameter| [&parameter.name, &parameter.default_value, &parameter.meaning].map(String::as_str));
    for text in [&about.name, &about.version, &about.summary].map(String::as_str).into_iter().chain(of_parameters) {
        let bytes = text.len();
        within(bytes, limits.text_bytes, "text", || format!("`about` has a text of {bytes} bytes"))?;
    }
    Ok(())
}

impl MachineFactory for Plugin {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(GuestMachine::new(&self.parts)?))
    }

    fn hears_errors(&self) -> bool {
        self.parts.interfaces.transport.is_some()
    }
}
