//! The parts of a component, for people.

use crate::check::{self, Names};
use crate::rewrite::{ModuleFacts, Rewritten};

/// The parts of a component, and whether they belong to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Its imports.
    pub imports: Vec<String>,
    /// Its exports.
    pub exports: Vec<String>,
    /// The optional interfaces of the contract that it exports: such as `durable`.
    pub optional: Vec<String>,
    /// Statements about the build on which a verdict rests: a phrase each.
    pub assumed: Vec<String>,
    /// Its core modules, in order.
    pub modules: Vec<ModuleInspection>,
    /// Bytes of the component.
    pub component_bytes: usize,
    /// Bytes of the component after the rewriting.
    pub rewritten_bytes: usize,
    /// Bytes of memory and globals right after instantiation; kept once for all snapshots.
    pub pristine_bytes: usize,
    /// Globals that modules share, copied at every capture and restore; snapshots are slower when there are any.
    pub shared_globals: usize,
}

/// A core module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleInspection {
    /// Its memories, imported ones first.
    pub memories: Vec<MemoryInspection>,
    /// Its own mutable globals.
    pub globals: Vec<GlobalInspection>,
    /// Its tables, imported ones first.
    pub tables: Vec<TableInspection>,
    /// Instructions that change tables or segments. They may run while the module starts; later they are a fault.
    pub guarded: Vec<&'static str>,
}

/// A linear memory. Its content and size are part of every snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInspection {
    /// Whether another module defines it.
    pub imported: bool,
    /// Pages of 64 KiB at the start.
    pub pages_min: u64,
    /// Pages that it may grow to; `None` if only the host's limit counts.
    pub pages_max: Option<u64>,
}

/// A mutable global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalInspection {
    /// Its type, such as `i32`.
    pub ty: String,
    /// Whether some function of the module sets it.
    pub written: bool,
    /// Whether other modules can set it.
    pub exported: bool,
    /// Whether its value is part of every snapshot.
    pub captured: bool,
}

/// A table. Its content cannot change after instantiation, so it is no part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableInspection {
    /// Elements at the start.
    pub elements_min: u64,
    /// Elements that it may grow to.
    pub elements_max: Option<u64>,
}

impl Inspection {
    pub(crate) fn new(component_bytes: usize, rewritten: &Rewritten, mut names: Names, pristine_bytes: usize) -> Self {
        // Linkers order them arbitrarily, and differently each time.
        names.imports.sort_unstable();
        names.exports.sort_unstable();
        Self {
            optional: check::optional(&names.exports),
            imports: names.imports,
            exports: names.exports,
            assumed: names.assumed,
            modules: rewritten.modules.iter().map(module).collect(),
            component_bytes,
            rewritten_bytes: rewritten.byte_len(),
            pristine_bytes,
            shared_globals: rewritten.syncs.iter().map(|(_, shared)| shared).sum(),
        }
    }
}

fn module(facts: &ModuleFacts) -> ModuleInspection {
    let mut guarded: Vec<_> = facts.code.hidden_writes().collect();
    guarded.sort_unstable();
    let memories = facts.memories.iter().map(|memory| MemoryInspection {
        imported: memory.import.is_some(),
        pages_min: memory.ty.initial,
        pages_max: memory.ty.maximum,
    });
    let globals = facts.globals.iter().filter(|global| global.ty.mutable && global.import.is_none());
    let globals = globals.map(|global| GlobalInspection {
        ty: global.ty.content_type.to_string(),
        written: global.written,
        exported: global.exported,
        captured: global.is_state() && !global.is_reference(),
    });
    let tables = facts.tables.iter();
    ModuleInspection {
        memories: memories.collect(),
        globals: globals.collect(),
        tables: tables.map(|ty| TableInspection { elements_min: ty.initial, elements_max: ty.maximum }).collect(),
        guarded,
    }
}
