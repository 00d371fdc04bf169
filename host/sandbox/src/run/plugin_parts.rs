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
    /// Tells snapshots of different plugins apart, within this process.
    pub id: u64,
    /// The blake3 hash of the component as given.
    pub digest: blake3::Hash,
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
    /// Where the whole memory tells states apart: the bytes from its start on that are a dead stack.
    pub dead_stack: Option<usize>,
    /// Bytes from the start of the only memory on that are a dead stack, whatever tells states apart; 0 if that is not known.
    pub stack: usize,
    /// Where the heap of the only memory begins, if that is known.
    pub heap_start: Option<u32>,
    /// How many instances were made.
    pub started: AtomicU64,
    /// The state in which properties are evaluated; none in it if that is the pristine one.
    pub judging: OnceLock<Option<Snapshot>>,
    /// The resource that this machine could not provide in a call. From then on no machine of the plugin continues.
    trouble: OnceLock<String>,
}

impl PluginParts {
    /// Before the first instance: nothing is known of what memories hold.
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

    /// Parts of another plugin of the same component. A snapshot of one is none of the other: the two may have other references.
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

    /// Sets what the memories of a fresh instance hold, and their sizes in bytes.
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

/// A number that no other plugin of this process has.
fn next_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
