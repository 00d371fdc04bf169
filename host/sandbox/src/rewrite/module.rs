//! One core module: marks next to its memories, cells for its globals, helper functions after its own.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, CustomSection, DataSection, EntityType, ExportKind, ExportSection, FunctionSection, GlobalSection,
    ImportSection, MemorySection, MemoryType, Module, RawSection, SectionId, StartSection, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload};

use super::addresses::AddressGlobals;
use super::analysis::ModuleFacts;
use super::known::Known;
use super::layout::{Cell, MemoryRole, ModuleRewriter, marks_type, reserved_name};
use super::{MARKS_SUFFIX, code, segments};
use crate::contract::error::LoadError;
use crate::contract::features;
use crate::contract::limits::Addresses;

/// A rewritten core module.
pub(crate) struct RewrittenModule {
    pub bytes: Vec<u8>,
    /// The memories that an instance defines, in the order in which they are made.
    pub memories: Vec<MemoryRole>,
    /// The globals that became cells, in the order of their places.
    pub cells: Arc<[Cell]>,
    /// The export that synchronises shared globals and grows memories, if needed.
    pub sync: Option<String>,
    /// Number of globals that the module shares with others: if there are any, the synchronising export runs at every capture and
    /// restore.
    pub shared_globals: usize,
    /// The index among the libraries, if it is one of them; then `bytes` is empty.
    pub library: Option<u32>,
}

const SYNC_NAME: &str = "\u{1}sync";

/// Rewrites one core module. The exports named in `reallocs` are called by the host to make room for arguments,
/// which it then writes by itself.
pub(super) fn rewrite_module(
    module: &[u8],
    facts: &ModuleFacts,
    reallocs: &BTreeSet<String>,
    addresses: Addresses,
    known: &dyn Known,
) -> Result<RewrittenModule, LoadError> {
    refuse(facts)?;
    let mut rewriter = ModuleRewriter::new(facts, reallocs)?;
    let request = request(facts, reallocs);
    let bytes = match known.rewritten(module, request) {
        Some(bytes) => bytes,
        None => {
            let bytes = rewriter.encode(module, addresses).map_err(LoadError::invalid)?;
            if let Some(length) = rewriter.body_too_long {
                let what = format!(
                    "one of its functions has {length} bytes of code, too many for the host to follow its writes"
                );
                return Err(LoadError::uncapturable(what, "split the function"));
            }
            // A module with its own memory contains the data of the program, so it differs for each program.
            if facts.imported_memories() > 0 {
                known.keep(module, &facts.code, request, &bytes);
            }
            bytes
        }
    };
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
    let cells = rewriter.cells_in_order().into();
    Ok(RewrittenModule { bytes, memories, cells, sync, shared_globals, library: None })
}

/// A hash of the request of the component around a module: all inputs of the rewriting other than the module.
fn request(facts: &ModuleFacts, reallocs: &BTreeSet<String>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for global in &facts.globals {
        hasher.update(&[u8::from(global.settled)]);
    }
    for name in reallocs {
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
    }
    hasher.finalize()
}

/// The sections of a module after its rewriting.
#[derive(Default)]
struct Sections<'b> {
    types: TypeSection,
    imports: ImportSection,
    /// The globals of the module, if others are added.
    globals: GlobalSection,
    code: CodeSection,
    data: DataSection,
    /// Whether segments were merged: only if no code names them, so their count is not needed.
    has_merged_segments: bool,
    names: Option<&'b [u8]>,
    /// The bytes of unchanged sections, by their numbers.
    others: BTreeMap<u8, &'b [u8]>,
}

impl Sections<'_> {
    /// Copies an unchanged section, if there is one.
    fn copy(&self, module: &mut Module, id: SectionId) {
        if let Some(data) = self.others.get(&(id as u8)) {
            module.section(&RawSection { id: id as u8, data });
        }
    }
}

/// Maximum number of memories of a module: WebAssembly allows a hundred, and each gets a twin.
const MEMORIES_MAX: usize = 49;

/// Maximum number of locals of a function, and of bytes of its code, in WebAssembly.
const LOCALS_MAX: u32 = 50_000;
const BODY_BYTES_MAX: usize = 7_654_321;

/// Refuses state that neither marks nor cells can hold, and modules that leave no room for them.
fn refuse(facts: &ModuleFacts) -> Result<(), LoadError> {
    let (memories, locals) = (facts.memories.len(), facts.code.locals_max);
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
            return Err(features::MEMORY64.error_at(None));
        }
        if memory.ty.shared {
            return Err(features::THREADS.error_at(None));
        }
        if memory.ty.page_size_log2.is_some() {
            return Err(features::PAGES.error_at(None));
        }
    }
    Ok(())
}

impl ModuleRewriter<'_> {
    fn encode(&mut self, bytes: &[u8], addresses: Addresses) -> Result<Vec<u8>, Error<Infallible>> {
        self.addresses = AddressGlobals::read(bytes, self.facts, addresses)?;
        let mut sections = self.read(bytes)?;
        self.helper_types(&mut sections.types);
        self.helper_code(&mut sections.code);
        let mut module = Module::new();
        module.section(&sections.types);
        module.section(&sections.imports);
        module.section(&self.functions());
        sections.copy(&mut module, SectionId::Table);
        module.section(&self.memories());
        if self.addresses.is_empty() {
            sections.copy(&mut module, SectionId::Global);
        } else {
            self.addresses.declare(&mut sections.globals);
            module.section(&sections.globals);
        }
        module.section(&self.exports());
        if let Some(function_index) = self.helpers.begin.or(self.facts.start) {
            module.section(&StartSection { function_index });
        }
        sections.copy(&mut module, SectionId::Element);
        if !sections.has_merged_segments {
            sections.copy(&mut module, SectionId::DataCount);
        }
        module.section(&sections.code);
        module.section(&sections.data);
        if let Some(data) = sections.names {
            module.section(&CustomSection { name: "name".into(), data: data.into() });
        }
        Ok(module.finish())
    }

    /// Encodes the sections that change, and keeps the bytes of the others.
    fn read<'b>(&mut self, bytes: &'b [u8]) -> Result<Sections<'b>, Error<Infallible>> {
        let mut sections = Sections::default();
        let mut function = self.facts.functions.len() as u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(section) => self.parse_type_section(&mut sections.types, section)?,
                Payload::ImportSection(section) => self.imports(&mut sections.imports, section)?,
                Payload::GlobalSection(section) if !self.addresses.is_empty() => {
                    self.parse_global_section(&mut sections.globals, section)?;
                }
                Payload::CodeSectionStart { count, .. } => function -= count,
                Payload::CodeSectionEntry(body) => {
                    let rewritten = code::body(self, function, &body)?;
                    if rewritten.byte_len() > BODY_BYTES_MAX {
                        self.body_too_long = Some(body.range().len());
                    }
                    sections.code.function(&rewritten);
                    function += 1;
                }
                Payload::DataSection(section) => match segments::merged(section.clone(), self.facts)? {
                    Some(merged) => {
                        for segment in merged {
                            let offset = wasm_encoder::ConstExpr::i32_const(segment.offset as i32);
                            sections.data.active(2 * segment.memory, &offset, segment.bytes);
                        }
                        sections.has_merged_segments = true;
                    }
                    None => self.parse_data_section(&mut sections.data, section)?,
                },
                // Function names are for backtraces; helpers come after all functions, so the indices still hold.
                Payload::CustomSection(section) if section.name() == "name" => sections.names = Some(section.data()),
                other => {
                    if let Some((id, range)) = other.as_section()
                        && id != 0
                    {
                        sections.others.insert(id, &bytes[range]);
                    }
                }
            }
        }
        Ok(sections)
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
