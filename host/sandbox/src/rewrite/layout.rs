//! The places of marks, cells and helper functions in a rewritten module.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use wasm_encoder::MemoryType;
use wasm_encoder::reencode::{Error, Reencode};
use wasmparser::{ExternalKind, ValType};

use super::addresses::AddressGlobals;
use super::analysis::{GlobalFact, ModuleFacts};
use super::{CELLS_START, MARKS_PAGES};
use crate::contract::error::LoadError;

/// The role of one memory that an instance of the module defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRole {
    /// The guest's own; the number counts the memories that the module defines.
    Data(u32),
    /// The marks of the memory before it.
    Marks,
    /// Globals and flags, in the bytes from [`CELLS_START`] to `end`.
    Cells {
        /// The end of the last cell.
        end: u64,
    },
}

/// The place of a global among the cells of its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Its first byte in the memory of the cells.
    pub at: usize,
    /// Bytes of its value.
    pub size: usize,
    /// The index of the global in its module.
    pub global: u32,
    /// Its name in the module, if it has one.
    pub name: Option<String>,
}

/// The state of the rewriting of one module.
pub(super) struct ModuleRewriter<'a> {
    pub(super) facts: &'a ModuleFacts,
    pub(super) cells: Option<u32>,
    /// The offset of each global's cell.
    pub(super) cell_at: Vec<Option<u64>>,
    pub(super) cells_end: u64,
    pub(super) helpers: Helpers,
    pub(super) addresses: AddressGlobals,
    /// Bytes of a function that is now longer than WebAssembly allows.
    pub(super) body_too_long: Option<usize>,
}

/// The functions that come after the module's own.
#[derive(Default)]
pub(super) struct Helpers {
    pub(super) mark_ranges: u32,
    /// Each wrapped function with the index of its wrapper.
    pub(super) wrappers: BTreeMap<u32, u32>,
    pub(super) begin: Option<u32>,
    pub(super) sync: Option<u32>,
    next: u32,
}

impl Helpers {
    fn take(&mut self, count: u32) -> u32 {
        let first = self.next;
        self.next += count;
        first
    }
}

impl Reencode for ModuleRewriter<'_> {
    type Error = Infallible;

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error<Infallible>> {
        Ok(2 * memory)
    }
}

impl<'a> ModuleRewriter<'a> {
    pub(super) fn new(facts: &'a ModuleFacts, reallocs: &BTreeSet<String>) -> Result<Self, LoadError> {
        let mut cell_at = vec![None; facts.globals.len()];
        let (mut cells_end, mut count) = (CELLS_START, 0);
        for (global, at) in facts.globals.iter().zip(&mut cell_at) {
            if global.is_state() && !global.is_reference() {
                let size = if global.ty.content_type == ValType::V128 { 16 } else { 8 };
                let start = cells_end.next_multiple_of(size);
                *at = Some(start);
                cells_end = start + size;
                count += 1;
            }
        }
        if cells_end > 65536 {
            let (bytes, room) = (cells_end - CELLS_START, 65536 - CELLS_START);
            let what = format!(
                "one of its modules has {count} mutable globals that take {bytes} bytes, 16 for each vector and 8 for each \
                 other; the host can capture {room} bytes of them"
            );
            return Err(LoadError::uncapturable(what, "keep such state in linear memory"));
        }
        let sets_references = facts.globals.iter().any(|global| global.written && global.is_reference());
        let needs_cells = cells_end > CELLS_START || sets_references || facts.code.hidden_writes().next().is_some();
        let cells = needs_cells.then_some(2 * facts.memories.len() as u32);
        let (helpers, addresses) = (Helpers::default(), AddressGlobals::default());
        let mut rewriter = Self { facts, cells, cell_at, cells_end, helpers, addresses, body_too_long: None };
        rewriter.plan_helpers(reallocs);
        Ok(rewriter)
    }

    fn plan_helpers(&mut self, reallocs: &BTreeSet<String>) {
        let facts = self.facts;
        let mut helpers = Helpers { next: facts.functions.len() as u32, ..Helpers::default() };
        helpers.mark_ranges = helpers.take(facts.memories.len() as u32);
        for name in reallocs {
            if let Some(function) = facts.export(name, ExternalKind::Func)
                && !helpers.wrappers.contains_key(&function)
            {
                let wrapper = helpers.take(1);
                helpers.wrappers.insert(function, wrapper);
            }
        }
        if (0..facts.globals.len()).any(|global| self.moved(global)) {
            helpers.begin = Some(helpers.take(1));
        }
        let defines_memory = facts.memories.len() > facts.imported_memories();
        if defines_memory || (0..facts.globals.len()).any(|global| self.shared(global)) {
            helpers.sync = Some(helpers.take(1));
        }
        self.helpers = helpers;
    }

    /// The cells, in the order of their places.
    pub(super) fn cells_in_order(&self) -> Vec<Cell> {
        let globals = (0..).zip(&self.facts.globals).zip(&self.cell_at);
        let cell = |((global, fact), at): ((u32, &GlobalFact), &Option<u64>)| {
            let size = match fact.ty.content_type {
                ValType::I32 | ValType::F32 => 4,
                ValType::V128 => 16,
                _ => 8,
            };
            Some(Cell { at: (*at)? as usize, size, global, name: fact.name.clone() })
        };
        globals.filter_map(cell).collect()
    }

    /// Whether other modules can reach the global: then it stays in its place and is copied at capture and restore.
    pub(super) fn shared(&self, global: usize) -> bool {
        self.cell_at[global].is_some() && self.facts.globals[global].exported
    }

    /// Whether the global lives in its cell.
    pub(super) fn moved(&self, global: usize) -> bool {
        self.cell_at[global].is_some() && !self.facts.globals[global].exported
    }

    /// The cell that replaces the global in accesses.
    pub(super) fn cell(&self, global: u32) -> Option<u64> {
        if self.moved(global as usize) { self.cell_at[global as usize] } else { None }
    }

    /// The index of the cells memory.
    pub(super) fn cells(&self) -> u32 {
        self.cells.expect("planned for every module that needs it")
    }

    /// The index of the marks of an original memory.
    pub(super) fn marks(&self, memory: u32) -> u32 {
        2 * memory + 1
    }

    /// The function that marks a range of an original memory.
    pub(super) fn mark_range(&self, memory: u32) -> u32 {
        self.helpers.mark_ranges + memory
    }

    pub(super) fn own_functions(&self) -> usize {
        self.facts.functions.len() - self.facts.imported_functions
    }

    pub(super) fn wrappers_in_order(&self) -> Vec<(u32, u32)> {
        let mut wrappers: Vec<(u32, u32)> = self.helpers.wrappers.iter().map(|(&f, &w)| (f, w)).collect();
        wrappers.sort_by_key(|&(_, wrapper)| wrapper);
        wrappers
    }
}

/// The error for a name that the rewriting needs.
pub(super) fn reserved_name(name: &str) -> LoadError {
    let what = format!("it exports `{}`, a name that the host keeps for itself", name.escape_default());
    LoadError::uncapturable(what, "give it another name")
}

pub(super) fn marks_type() -> MemoryType {
    MemoryType {
        minimum: MARKS_PAGES,
        maximum: Some(MARKS_PAGES),
        memory64: false,
        shared: false,
        page_size_log2: None,
    }
}
