//! The result of the rewriting, and the plan of the memories that an instance has.

use std::sync::Arc;

use super::analysis::ModuleFacts;
use super::layout::{Cell, MemoryRole};

/// A memory that an instance of the component has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// The synchronising export of the core instance that defines it; a number beyond all exports if that needs none.
    pub instance: usize,
    pub role: MemoryRole,
    /// The globals in it, if it is a memory of cells.
    pub cells: Arc<[Cell]>,
}

/// A component whose state lies in memories.
pub(crate) struct Rewritten {
    pub bytes: Vec<u8>,
    /// The core modules that it imports under the names of [`library_import`](super::library_import), in order.
    pub libraries: Vec<Vec<u8>>,
    /// The facts of every core module, in order.
    pub modules: Vec<ModuleFacts>,
    /// All memories in the order in which an instantiation makes them.
    pub memories: Vec<MemoryPlan>,
    /// The synchronising exports, numbered from 0 in the order of instantiation, and the number of globals that the core instance behind
    /// each shares with other modules.
    pub syncs: Vec<(usize, usize)>,
    /// Number of core instances that the component makes by itself.
    pub instances: usize,
    /// Number of additional core instances, which mark writes of the engine.
    pub wrappers: usize,
}

impl Rewritten {
    /// Bytes of the component and the modules that it imports.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len() + self.libraries.iter().map(Vec::len).sum::<usize>()
    }
}
