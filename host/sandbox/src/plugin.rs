//! A loaded component.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use host_model::contract::{Fault, Machine, MachineError, MachineFactory};
use wasmtime::component::InstancePre;

use crate::abi::About;
use crate::cache;
use crate::check::Interfaces;
use crate::compile::{Compiled, compile};
use crate::context::Context;
use crate::error::LoadError;
use crate::image::Images;
use crate::inspect::Inspection;
use crate::instance::{Live, host_error};
use crate::limits::{Limits, within};
use crate::machine::GuestMachine;
use crate::rewrite::{MemoryPlan, MemoryRole};
use crate::sandbox::{Sandbox, SandboxParts};

/// What loading a plugin took.
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
    /// Whether the cache was passed over, since others could have written to it.
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

/// What the machines of a plugin share.
pub(crate) struct PluginParts {
    /// Tells snapshots of different plugins apart, within this process.
    pub id: u64,
    pub sandbox: Arc<SandboxParts>,
    pub pre: InstancePre<Context>,
    pub interfaces: Interfaces,
    /// All memories in order of creation.
    pub plan: Vec<MemoryPlan>,
    /// Of each memory: whether it counts against the memory limit.
    pub counted: Vec<bool>,
    /// The core instances with a synchronising export, and how many globals each shares.
    pub syncs: Vec<(usize, usize)>,
    images: Arc<Images>,
    pristine_sizes: Vec<usize>,
    /// How many instances were made.
    pub started: AtomicU64,
    /// What this machine could not provide in a call. From then on no machine of the plugin goes on: what was taken for a fault is none.
    trouble: OnceLock<String>,
}

impl PluginParts {
    /// What the memories of instances are compared with.
    pub(crate) fn images(&self) -> &Arc<Images> {
        &self.images
    }

    /// Takes note that this machine could not provide something.
    pub(crate) fn fail(&self, trouble: String) {
        let _ = self.trouble.set(trouble);
    }

    /// An error if this machine could not provide something.
    pub(crate) fn check(&self) -> Result<(), MachineError> {
        self.trouble.get().map_or(Ok(()), |trouble| Err(host_error(trouble)))
    }

    /// Bytes of each data memory of a fresh instance.
    pub(crate) fn pristine_sizes(&self) -> &[usize] {
        &self.pristine_sizes
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
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let shared = &sandbox.shared;
        let Compiled { interfaces, names, rewritten, component, cache, rewrite_time, compile_time } =
            compile(shared, bytes)?;
        let began = Instant::now();
        let pre = shared
            .linker
            .instantiate_pre(&component)
            .map_err(|error| LoadError::WrongType { export: "imports".into(), detail: format!("{error:#}") })?;
        let counted = rewritten.memories.iter().map(|memory| matches!(memory.role, MemoryRole::Data(_))).collect();
        let mut parts = Arc::new(PluginParts {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            sandbox: Arc::clone(shared),
            pre,
            interfaces,
            plan: rewritten.memories.clone(),
            counted,
            syncs: rewritten.syncs.clone(),
            images: Arc::default(),
            pristine_sizes: Vec::new(),
            started: AtomicU64::new(0),
            trouble: OnceLock::new(),
        });
        let mut first = Live::start(&parts, Arc::default())?;
        let images = first.take_images();
        let pristine_sizes = first.sizes().collect();
        let about = about(&mut first);
        if let Some(trouble) = parts.trouble.get() {
            return Err(LoadError::Host { detail: trouble.clone() });
        }
        let about = about?;
        drop(first);
        let unshared = Arc::get_mut(&mut parts).expect("the first instance is gone");
        unshared.images = images;
        unshared.pristine_sizes = pristine_sizes;
        let inspection =
            Inspection::new(bytes.len(), &rewritten, &parts.interfaces, names, parts.images.pristine_bytes());
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
            digest: format!("blake3:{}", blake3::hash(bytes).to_hex()).into(),
        })
    }

    /// The content hash of the component as given: `blake3:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What the plugin says about itself, if it exports `defaults`.
    pub fn about(&self) -> Option<&About> {
        self.about.as_deref()
    }

    /// What the component consists of, and which of it is state.
    pub fn inspect(&self) -> &Inspection {
        &self.inspection
    }

    /// How many instances were made so far, by loading and by all machines. Making one costs far more than a step.
    pub fn instances_started(&self) -> u64 {
        self.parts.started.load(Ordering::Relaxed)
    }

    /// What loading took.
    pub fn load_times(&self) -> LoadTimes {
        self.times
    }
}

fn about(live: &mut Live) -> Result<Option<About>, LoadError> {
    if live.functions.about.is_none() {
        return Ok(None);
    }
    live.context().begin_reading("about");
    let result = live.call("about", |f| f.about.as_ref().expect("checked above"), ());
    let limits = live.limits().clone();
    let checked = result.and_then(|(about,)| check_about(&about, &limits).map(|()| Some(about)));
    checked.map_err(|fault| LoadError::Start { fault })
}

/// Texts end up in tables and names of folders.
fn check_about(about: &About, limits: &Limits) -> Result<(), Fault> {
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
