//! One core module: marks beside its memories, cells for its globals, helper functions after its own.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, DataSection, EntityType, ExportKind, ExportSection, FunctionSection, ImportSection, MemorySection,
    MemoryType, Module, RawSection, StartSection, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload};

use super::analysis::ModuleFacts;
use super::{CELLS_START, MARKS_PAGES, MARKS_SUFFIX, code, segments};
use crate::error::LoadError;

/// What one memory that an instance of the module defines is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRole {
    /// The guest's own; the number counts the memories that the module defines.
    Data(u32),
    /// The marks of the memory before it.
    Marks,
    /// Globals and flags, in the bytes from [`CELLS_START`] to `end`.
    Cells {
        /// Where the last cell ends.
        end: u64,
    },
}

/// A rewritten core module.
pub(crate) struct RewrittenModule {
    pub bytes: Vec<u8>,
    /// The memories that an instance defines, in the order in which they are made.
    pub memories: Vec<MemoryRole>,
    /// The export that synchronises shared globals and grows memories, if there is anything to do.
    pub sync: Option<String>,
    /// How many globals the module shares with others: if there are any, the synchronising export runs at every capture and
    /// restore.
    pub shared_globals: usize,
}

/// The state of the rewriting of one module.
pub(super) struct ModuleRewriter<'a> {
    pub(super) facts: &'a ModuleFacts,
    cells: Option<u32>,
    /// The offset of each global's cell.
    pub(super) cell_at: Vec<Option<u64>>,
    cells_end: u64,
    helpers: Helpers,
    /// Bytes of a function that has more than WebAssembly allows now.
    body_too_long: Option<usize>,
}

/// The functions that come after the module's own.
#[derive(Default)]
struct Helpers {
    mark_ranges: u32,
    /// Each wrapped function with the index of its wrapper.
    wrappers: BTreeMap<u32, u32>,
    begin: Option<u32>,
    sync: Option<u32>,
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

const SYNC_NAME: &str = "\u{1}sync";

/// Rewrites one core module. The exports named in `reallocs` are called by the host to make room for arguments,
/// which it then writes by itself.
pub(super) fn rewrite_module(
    bytes: &[u8],
    facts: &ModuleFacts,
    reallocs: &BTreeSet<String>,
) -> Result<RewrittenModule, LoadError> {
    refuse(facts)?;
    let mut rewriter = ModuleRewriter::new(facts, reallocs)?;
    let bytes = rewriter.encode(bytes).map_err(LoadError::invalid)?;
    if let Some(length) = rewriter.body_too_long {
        let what =
            format!("one of its functions has {length} bytes of code, too many for the host to follow its writes");
        return Err(LoadError::uncapturable(what, "split the function"));
    }
    let mut memories = Vec::new();
    let defined = facts.memories.len() - facts.imported_memories();
    for index in 0..defined {
        memories.push(MemoryRole::Data(index as u32));
        memories.push(MemoryRole::Marks);
    }
    if rewriter.cells.is_some() {
        memories.push(MemoryRole::Cells { end: rewriter.cells_end });
    }
    let sync = rewriter.helpers.sync.map(|_| SYNC_NAME.to_owned());
    let shared_globals = (0..facts.globals.len()).filter(|&global| rewriter.shared(global)).count();
    Ok(RewrittenModule { bytes, memories, sync, shared_globals })
}

/// Memories that a module can have: WebAssembly allows a hundred, and each gets a twin.
const MEMORIES_MAX: usize = 49;

/// Locals that a function can have, and bytes of its code, in WebAssembly.
const LOCALS_MAX: u32 = 50_000;
const BODY_BYTES_MAX: usize = 7_654_321;

/// Refuses what neither marks nor cells can hold, or what leaves no room for them.
fn refuse(facts: &ModuleFacts) -> Result<(), LoadError> {
    let (memories, locals) = (facts.memories.len(), facts.locals_max);
    if memories > MEMORIES_MAX {
        let what = format!("one of its modules has {memories} memories, and the host can follow {MEMORIES_MAX}");
        return Err(LoadError::uncapturable(what, "use fewer"));
    }
    let room = LOCALS_MAX - code::SCRATCH_LOCALS;
    if locals > room {
        let what = format!(
            "one of its functions has {locals} parameters and locals, and the host, which needs some, can follow {room}"
        );
        return Err(LoadError::uncapturable(what, "split the function"));
    }
    let reserved = facts.exports.iter().find(|(name, _, _)| name == SYNC_NAME || name.ends_with(MARKS_SUFFIX));
    if let Some((name, _, _)) = reserved {
        return Err(reserved_name(name));
    }
    for memory in &facts.memories {
        if memory.ty.memory64 {
            return Err(LoadError::uncapturable("it has a 64-bit memory", "build it for wasm32"));
        }
        if memory.ty.shared {
            return Err(LoadError::uncapturable("it has a shared memory", "build it without threads"));
        }
        if memory.ty.page_size_log2.is_some() {
            return Err(LoadError::uncapturable(
                "it has a memory with pages of its own size",
                "build it without the custom-page-sizes feature",
            ));
        }
    }
    Ok(())
}

impl<'a> ModuleRewriter<'a> {
    fn new(facts: &'a ModuleFacts, reallocs: &BTreeSet<String>) -> Result<Self, LoadError> {
        let mut cell_at = vec![None; facts.globals.len()];
        let (mut cells_end, mut count) = (CELLS_START, 0);
        for (global, at) in facts.globals.iter().zip(&mut cell_at) {
            if global.is_state() && !global.is_reference() {
                let size = if global.ty.content_type == wasmparser::ValType::V128 { 16 } else { 8 };
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
        let needs_cells = cells_end > CELLS_START || sets_references || !facts.hidden_writes.is_empty();
        let cells = needs_cells.then_some(2 * facts.memories.len() as u32);
        let mut rewriter = Self { facts, cells, cell_at, cells_end, helpers: Helpers::default(), body_too_long: None };
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

    /// Whether other modules can reach the global: it stays where it is and is copied at capture and restore.
    pub(super) fn shared(&self, global: usize) -> bool {
        self.cell_at[global].is_some() && self.facts.globals[global].exported
    }

    /// Whether the global lives in its cell.
    pub(super) fn moved(&self, global: usize) -> bool {
        self.cell_at[global].is_some() && !self.facts.globals[global].exported
    }

    /// The cell that accesses to the global are turned to.
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

    fn encode(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Error<Infallible>> {
        let mut types = TypeSection::new();
        let mut imports = ImportSection::new();
        let mut code = CodeSection::new();
        let mut data = DataSection::new();
        let mut raw: BTreeMap<u8, &[u8]> = BTreeMap::new();
        let mut names = None;
        let mut counts_segments = true;
        let mut function = self.facts.functions.len() as u32;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload?;
            match payload {
                Payload::TypeSection(section) => self.parse_type_section(&mut types, section)?,
                Payload::ImportSection(section) => self.imports(&mut imports, section)?,
                Payload::CodeSectionStart { count, .. } => function -= count,
                Payload::CodeSectionEntry(body) => {
                    let rewritten = code::body(self, function, &body)?;
                    if rewritten.byte_len() > BODY_BYTES_MAX {
                        self.body_too_long = Some(body.range().len());
                    }
                    code.function(&rewritten);
                    function += 1;
                }
                Payload::DataSection(section) => match segments::merged(section.clone(), self.facts)? {
                    Some(merged) => {
                        for segment in merged {
                            let offset = wasm_encoder::ConstExpr::i32_const(segment.offset as i32);
                            data.active(2 * segment.memory, &offset, segment.bytes);
                        }
                        // Only code that names segments needs their count.
                        counts_segments = false;
                    }
                    None => self.parse_data_section(&mut data, section)?,
                },
                // Function names are for backtraces; helpers come after all functions, so the indices still hold.
                Payload::CustomSection(section) if section.name() == "name" => names = Some(section.data()),
                other => {
                    if let Some((id, range)) = other.as_section()
                        && id != 0
                    {
                        raw.insert(id, &bytes[range]);
                    }
                }
            }
        }
        self.helper_types(&mut types);
        self.helper_code(&mut code);
        let mut module = Module::new();
        let copy = |module: &mut Module, id: wasm_encoder::SectionId| {
            if let Some(data) = raw.get(&(id as u8)) {
                module.section(&RawSection { id: id as u8, data });
            }
        };
        module.section(&types);
        module.section(&imports);
        module.section(&self.functions());
        copy(&mut module, wasm_encoder::SectionId::Table);
        module.section(&self.memories());
        copy(&mut module, wasm_encoder::SectionId::Global);
        module.section(&self.exports());
        if let Some(function_index) = self.helpers.begin.or(self.facts.start) {
            module.section(&StartSection { function_index });
        }
        copy(&mut module, wasm_encoder::SectionId::Element);
        if counts_segments {
            copy(&mut module, wasm_encoder::SectionId::DataCount);
        }
        module.section(&code);
        module.section(&data);
        if let Some(data) = names {
            module.section(&wasm_encoder::CustomSection { name: "name".into(), data: data.into() });
        }
        Ok(module.finish())
    }

    fn imports(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for import in section.into_imports() {
            let import = import?;
            let ty = self.entity_type(import.ty)?;
            imports.import(import.module, import.name, ty);
            if matches!(ty, EntityType::Memory(_)) {
                imports.import(import.module, &format!("{}{MARKS_SUFFIX}", import.name), marks_type());
            }
        }
        Ok(())
    }

    fn memories(&mut self) -> MemorySection {
        let mut memories = MemorySection::new();
        for memory in self.facts.memories.iter().filter(|memory| memory.import.is_none()) {
            memories.memory(MemoryType {
                minimum: memory.ty.initial,
                maximum: memory.ty.maximum,
                memory64: false,
                shared: false,
                page_size_log2: None,
            });
            memories.memory(marks_type());
        }
        if self.cells.is_some() {
            memories.memory(MemoryType {
                minimum: 1,
                maximum: Some(1),
                memory64: false,
                shared: false,
                page_size_log2: None,
            });
        }
        memories
    }

    fn exports(&self) -> ExportSection {
        let mut exports = ExportSection::new();
        for (name, kind, index) in &self.facts.exports {
            match kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    // Every export of the function leads to its wrapper: marking too much is harmless.
                    let index = self.helpers.wrappers.get(index).unwrap_or(index);
                    exports.export(name, ExportKind::Func, *index);
                }
                ExternalKind::Memory => {
                    exports.export(name, ExportKind::Memory, 2 * index);
                    exports.export(&format!("{name}{MARKS_SUFFIX}"), ExportKind::Memory, 2 * index + 1);
                }
                ExternalKind::Table => {
                    exports.export(name, ExportKind::Table, *index);
                }
                ExternalKind::Global => {
                    exports.export(name, ExportKind::Global, *index);
                }
                ExternalKind::Tag => {
                    exports.export(name, ExportKind::Tag, *index);
                }
            }
        }
        if let Some(sync) = self.helpers.sync {
            exports.export(SYNC_NAME, ExportKind::Func, sync);
        }
        exports
    }

    fn helper_types(&self, types: &mut TypeSection) {
        types.ty().function([], []);
        types.ty().function([ValType::I32, ValType::I32], []);
    }

    fn functions(&self) -> FunctionSection {
        let nullary = self.facts.types.len() as u32;
        let binary = nullary + 1;
        let imported = self.facts.functions.len() - self.own_functions();
        let mut functions = FunctionSection::new();
        for ty in &self.facts.functions[imported..] {
            functions.function(*ty);
        }
        for _ in &self.facts.memories {
            functions.function(binary);
        }
        for (wrapped, _) in self.wrappers_in_order() {
            functions.function(self.facts.functions[wrapped as usize]);
        }
        if self.helpers.begin.is_some() {
            functions.function(nullary);
        }
        if self.helpers.sync.is_some() {
            functions.function(binary);
        }
        functions
    }

    fn own_functions(&self) -> usize {
        self.facts.functions.len() - self.facts.imported_functions
    }

    fn wrappers_in_order(&self) -> Vec<(u32, u32)> {
        let mut wrappers: Vec<(u32, u32)> = self.helpers.wrappers.iter().map(|(&f, &w)| (f, w)).collect();
        wrappers.sort_by_key(|&(_, wrapper)| wrapper);
        wrappers
    }

    fn helper_code(&self, code: &mut CodeSection) {
        for memory in 0..self.facts.memories.len() as u32 {
            code.function(&code::mark_range(self.marks(memory)));
        }
        for (wrapped, _) in self.wrappers_in_order() {
            code.function(&self.realloc_wrapper(wrapped));
        }
        if self.helpers.begin.is_some() {
            code.function(&self.begin());
        }
        if self.helpers.sync.is_some() {
            code.function(&self.sync());
        }
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
