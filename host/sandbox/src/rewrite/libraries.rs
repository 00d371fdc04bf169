//! Modules that a component imports, so that they are compiled separately.
//!
//! An interpreter is a module of megabytes that is the same for every program, next to a small one with the memory into which the program
//! was loaded. In place of such a module, the rewritten component has an import: its machine code then depends only on the
//! module, and stays valid when the program changes.
//!
//! The outermost component has all these imports, before everything else in it; nested components refer to them as
//! items of the component around them. So only the module indices of the outermost component change.

use std::collections::BTreeSet;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, RoundtripReencoder};
use wasm_encoder::{
    Alias, Component, ComponentAliasSection, ComponentImportSection, ComponentOuterAliasKind, ComponentTypeRef,
    CoreTypeSection, EntityType, ModuleType,
};
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

use super::analysis::ModuleFacts;
use super::known::Known;
use super::structure::payloads;
use crate::contract::error::LoadError;
use crate::contract::limits::{Addresses, Libraries, SandboxConfig};

/// Bytes of a module below which it is compiled with the component around it, which takes no time.
const BYTES_MIN: usize = 32 << 10;

/// Maximum number of imports and exports of a library; the type of a component has a limit.
const ITEMS_MAX: usize = 20_000;

/// The name of the import of a library.
pub(crate) fn library_import(index: usize) -> String {
    format!("host-library-{index}")
}

/// The modules that are moved out of a component and its nested components.
pub(super) struct Taken<'a> {
    which: Libraries,
    /// The choice of modules whose code has its addresses moved out.
    pub(super) addresses: Addresses,
    /// The facts about known modules.
    pub(super) known: &'a dyn Known,
    /// Number of components around the current one.
    pub(super) depth: u32,
    modules: Vec<(Vec<u8>, ModuleType)>,
}

impl<'a> Taken<'a> {
    /// Begins with the outermost component.
    pub(super) fn new(component: &[u8], config: &SandboxConfig, known: &'a dyn Known) -> Result<Self, LoadError> {
        let mut has_types = false;
        payloads(component, |payload| {
            has_types |= matches!(payload, Payload::CoreTypeSection(_));
            Ok(())
        })?;
        // The types of the imports come first, which would change the indices of existing types.
        let which = if has_types { Libraries::None } else { config.libraries };
        Ok(Self { which, addresses: config.addresses, known, depth: 0, modules: Vec::new() })
    }

    /// Takes the bytes of a rewritten module, if it is to be compiled separately. Returns its index.
    pub(super) fn take(&mut self, module: &mut Vec<u8>, facts: &ModuleFacts) -> Result<Option<u32>, LoadError> {
        let is_library = match self.which {
            Libraries::None => false,
            // A module with its own memory contains the data of the program, so it differs for each program.
            Libraries::Large => facts.imported_memories() > 0 && module.len() >= BYTES_MIN,
            Libraries::All => true,
        };
        if !is_library {
            return Ok(None);
        }
        let Some(ty) = module_type(module).map_err(LoadError::invalid)? else { return Ok(None) };
        self.modules.push((std::mem::take(module), ty));
        Ok(Some(self.modules.len() as u32 - 1))
    }

    /// Writes a reference to a library in place of a module.
    pub(super) fn refer(&self, component: &mut Component, index: u32) {
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::Outer { kind: ComponentOuterAliasKind::CoreModule, count: self.depth, index });
        component.section(&aliases);
    }

    /// Writes the imports, at the beginning of the outermost component. Returns the number of modules that these add.
    pub(super) fn begin(&self, component: &mut Component) -> u32 {
        if self.depth > 0 || self.modules.is_empty() {
            return 0;
        }
        let mut types = CoreTypeSection::new();
        let mut imports = ComponentImportSection::new();
        for (index, (_, ty)) in self.modules.iter().enumerate() {
            types.ty().module(ty);
            imports.import(library_import(index).as_str(), ComponentTypeRef::Module(index as u32));
        }
        component.section(&types).section(&imports);
        self.modules.len() as u32
    }

    /// The modules, in the order of the imports.
    pub(super) fn into_modules(self) -> Vec<Vec<u8>> {
        self.modules.into_iter().map(|(module, _)| module).collect()
    }
}

/// The type of a module; `None` if it cannot have one: two imports of the same name, or too many items.
fn module_type(module: &[u8]) -> Result<Option<ModuleType>, Error<Infallible>> {
    let mut reader = TypeReader::default();
    for payload in Parser::new(0).parse_all(module) {
        reader.add(payload?)?;
        if reader.has_same_names || reader.items > ITEMS_MAX {
            return Ok(None);
        }
    }
    Ok(Some(reader.ty))
}

#[derive(Default)]
struct TypeReader {
    ty: ModuleType,
    names: BTreeSet<(String, String)>,
    has_same_names: bool,
    items: usize,
    functions: Vec<EntityType>,
    tables: Vec<EntityType>,
    memories: Vec<EntityType>,
    globals: Vec<EntityType>,
}

impl TypeReader {
    fn add(&mut self, payload: Payload<'_>) -> Result<(), Error<Infallible>> {
        let mut same = RoundtripReencoder;
        match payload {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    self.ty.ty().func_type(&same.func_type(ty?)?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    let ty = same.entity_type(import.ty)?;
                    self.items += 1;
                    self.has_same_names |= !self.names.insert((import.module.to_owned(), import.name.to_owned()));
                    self.ty.import(import.module, import.name, ty);
                    self.index(import.ty, ty);
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(EntityType::Function(ty?));
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables.push(EntityType::Table(same.table_type(table?.ty)?));
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memories.push(EntityType::Memory(same.memory_type(memory?)?));
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.globals.push(EntityType::Global(same.global_type(global?.ty)?));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    let of = match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => &self.functions,
                        ExternalKind::Table => &self.tables,
                        ExternalKind::Memory => &self.memories,
                        ExternalKind::Global => &self.globals,
                        ExternalKind::Tag => unreachable!("exceptions are no feature of the sandbox"),
                    };
                    self.items += 1;
                    self.ty.export(export.name, of[export.index as usize]);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn index(&mut self, kind: TypeRef, ty: EntityType) {
        let of = match kind {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => &mut self.functions,
            TypeRef::Table(_) => &mut self.tables,
            TypeRef::Memory(_) => &mut self.memories,
            TypeRef::Global(_) => &mut self.globals,
            TypeRef::Tag(_) => unreachable!("exceptions are no feature of the sandbox"),
        };
        of.push(ty);
    }
}
