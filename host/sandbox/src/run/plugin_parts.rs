//! The parts that the instances and machines of a plugin share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use host_model::contract::{MachineError, Snapshot};
use wasmtime::component::InstancePre;

use crate::check::Interfaces;
use crate::contract::error::host_error;
use crate::engine::sandbox::SandboxParts;
use crate::rewrite::{MemoryPlan, MemoryRole, Rewritten, dead_stack, heap_start};
use crate::state::image::Images;
use crate::store::context::Context;

/// The parts that the machines of a plugin share.
pub(crate) struct PluginParts {
    /// Distinguishes snapshots of different plugins within this process.
    pub id: u64,
    /// The blake3 hash of the component as given.
    pub digest: blake3::Hash,
    pub sandbox: Arc<SandboxParts>,
    pub pre: InstancePre<Context>,
    pub interfaces: Interfaces,
    /// All memories in order of creation.
    pub plan: Vec<MemoryPlan>,
    /// For each memory: whether it counts against the memory limit.
    pub counted: Vec<bool>,
    /// The core instances with a synchronising export, and the number of globals that each shares.
    pub syncs: Vec<(usize, usize)>,
    /// Whether its nodes have a durable map.
    pub stores: bool,
    /// Whether the plugin decides when the map is durable.
    pub has_sync: bool,
    images: Arc<Images>,
    pristine_sizes: Vec<usize>,
    /// If the whole memory identifies states: the bytes from its start on that are a dead stack.
    pub dead_stack: Option<usize>,
    /// Bytes from the start of the only memory on that are a dead stack, whatever identifies states; 0 if unknown.
    pub stack: usize,
    /// The beginning of the heap of the only memory, if known.
    pub heap_start: Option<u32>,
    /// Number of instances that were made.
    pub started: AtomicU64,
    /// The state in which properties are evaluated; an inner none for the pristine one.
    pub judging: OnceLock<Option<Snapshot>>,
    /// The resource that this machine could not provide in a call. From then on no machine of the plugin continues.
    trouble: OnceLock<String>,
}

impl PluginParts {
    /// The parts before the first instance: the content of memories is unknown.
    pub(crate) fn new(
        digest: blake3::Hash,
        sandbox: Arc<SandboxParts>,
        pre: InstancePre<Context>,
        interfaces: Interfaces,
        rewritten: &Rewritten,
    ) -> Self {
        Self {
            id: next_id(),
            digest,
            sandbox,
            pre,
            interfaces,
            plan: rewritten.memories.clone(),
            counted: rewritten.memories.iter().map(|memory| matches!(memory.role, MemoryRole::Data(_))).collect(),
            syncs: rewritten.syncs.clone(),
            stores: false,
            has_sync: false,
            images: Arc::default(),
            pristine_sizes: Vec::new(),
            dead_stack: None,
            stack: dead_stack(&rewritten.modules).unwrap_or(0),
            heap_start: heap_start(&rewritten.modules),
            started: AtomicU64::new(0),
            judging: OnceLock::new(),
            trouble: OnceLock::new(),
        }
    }

    /// Parts of another plugin of the same component. Their snapshots are not interchangeable: the two may have different references.
    pub(crate) fn again(&self) -> Self {
        Self {
            id: next_id(),
            digest: self.digest,
            sandbox: Arc::clone(&self.sandbox),
            pre: self.pre.clone(),
            interfaces: self.interfaces.clone(),
            plan: self.plan.clone(),
            counted: self.counted.clone(),
            syncs: self.syncs.clone(),
            stores: self.stores,
            has_sync: self.has_sync,
            images: Arc::new(Images { pristine: Arc::clone(&self.images.pristine), ..Images::default() }),
            pristine_sizes: self.pristine_sizes.clone(),
            dead_stack: self.dead_stack,
            stack: self.stack,
            heap_start: self.heap_start,
            started: AtomicU64::new(0),
            judging: OnceLock::new(),
            trouble: OnceLock::new(),
        }
    }

    /// Sets the content of the memories of a fresh instance, and their sizes in bytes.
    pub(crate) fn set_pristine(&mut self, images: Arc<Images>, sizes: Vec<usize>) {
        self.images = images;
        self.pristine_sizes = sizes;
    }

    /// The resource that this machine could not provide, if there was such a call.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// The images that the memories of instances are compared with.
    pub(crate) fn images(&self) -> &Arc<Images> {
        &self.images
    }

    /// Notes that this machine could not provide a resource.
    pub(crate) fn fail(&self, trouble: String) {
        let _ = self.trouble.set(trouble);
    }

    /// An error if this machine could not provide a resource.
    pub(crate) fn check(&self) -> Result<(), MachineError> {
        self.trouble.get().map_or(Ok(()), |trouble| Err(host_error(trouble)))
    }

    /// Bytes of each data memory of a fresh instance.
    pub(crate) fn pristine_sizes(&self) -> &[usize] {
        &self.pristine_sizes
    }
}

/// A number that no other plugin of this process has.
fn next_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
