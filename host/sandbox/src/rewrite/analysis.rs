//! The parts of a core module that a snapshot must hold.

use std::collections::BTreeSet;

use wasmparser::{
    BinaryReader, ConstExpr, DataKind, ElementItems, ExternalKind, FuncType, FunctionBody, GlobalType, MemoryType,
    Name, NameSectionReader, Operator, Parser, Payload, TableInit, TableType, TypeRef, ValType,
};

use super::code_facts::CodeFacts;
use crate::contract::error::LoadError;
use crate::contract::features;

/// A memory of a module, imported ones first.
#[derive(Clone, Debug)]
pub(crate) struct MemoryFact {
    pub import: Option<(String, String)>,
    pub ty: MemoryType,
}

/// A global of a module, imported ones first.
#[derive(Clone, Debug)]
pub(crate) struct GlobalFact {
    pub ty: GlobalType,
    /// Module and name, if it is imported.
    pub import: Option<(String, String)>,
    pub exported: bool,
    /// Whether some function of this module sets it.
    pub written: bool,
    /// Whether some function of this module, other than a start function that nothing calls, can set it after instantiation.
    pub written_late: bool,
    /// Whether no module sets it after instantiation, although it is exported. Linkers make thousands of such globals for the addresses
    /// of items of other modules.
    pub settled: bool,
    /// Its initial value, if it is a constant of 32 bits.
    pub initial: Option<u32>,
    /// Its name in the module, if it has one.
    pub name: Option<String>,
}

impl GlobalFact {
    fn new(ty: GlobalType, import: Option<(String, String)>) -> Self {
        let (initial, name) = (None, None);
        Self { ty, import, exported: false, written: false, written_late: false, settled: false, initial, name }
    }

    /// A reference cannot be kept in a linear memory.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self.ty.content_type, ValType::Ref(_))
    }

    /// Whether it can hold different values at different times after instantiation.
    pub(crate) fn is_state(&self) -> bool {
        self.ty.mutable && self.import.is_none() && (self.written || self.exported) && !self.settled
    }
}

/// Facts about a core module that the rewriting and the inspection need.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleFacts {
    pub types: Vec<FuncType>,
    /// The type of every function, imported ones first.
    pub functions: Vec<u32>,
    pub imported_functions: usize,
    /// Functions whose bodies were read.
    bodies: u32,
    /// Module and name of every imported function.
    pub function_imports: Vec<(String, String)>,
    /// The functions that are called, or reachable in another way: exported, in a table, a reference, the start function.
    pub used: BTreeSet<u32>,
    /// The facts from the bodies of its functions.
    pub code: CodeFacts,
    pub memories: Vec<MemoryFact>,
    pub globals: Vec<GlobalFact>,
    pub tables: Vec<TableType>,
    pub exports: Vec<(String, ExternalKind, u32)>,
    pub start: Option<u32>,
    /// The global called `__stack_pointer`.
    pub stack_pointer: Option<u32>,
    /// The beginning of each active data segment, if it is a constant.
    pub data_starts: Vec<Option<u32>>,
}

/// Functions that a module exports to be called once, before all others.
const AT_START: [&str; 6] = [
    "_initialize",
    "_start",
    "__wasm_call_ctors",
    "__wasm_apply_data_relocs",
    "__wasm_apply_global_relocs",
    "cm32p2_initialize",
];

/// The name of a function in a module.
fn function_name(module: &[u8], function: u32) -> Option<String> {
    let sections = Parser::new(0).parse_all(module).flatten().filter_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == "name" => Some(section),
        _ => None,
    });
    let names = sections
        .flat_map(|section| NameSectionReader::new(BinaryReader::new(section.data(), section.data_offset())).flatten());
    let functions = names.filter_map(|name| if let Name::Function(names) = name { Some(names) } else { None });
    functions.flat_map(|names| names.into_iter().flatten()).find(|n| n.index == function).map(|n| n.name.to_owned())
}

/// The value of an expression that is a constant of 32 bits.
pub(crate) fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    match expression.get_operators_reader().read().ok()? {
        Operator::I32Const { value } => Some(value as u32),
        _ => None,
    }
}

impl ModuleFacts {
    /// Reads a valid module; its code only if that was not read before.
    pub(crate) fn read(module: &[u8], known: Option<&CodeFacts>) -> Result<Self, LoadError> {
        let mut facts = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(LoadError::invalid)? {
                Payload::CodeSectionEntry(_) if known.is_some() => facts.bodies += 1,
                payload => facts.add(payload).map_err(LoadError::invalid)?,
            }
        }
        match known {
            Some(known) => facts.code = known.clone(),
            None => facts.refuse_late_writes(module)?,
        }
        facts.used.extend(&facts.code.used);
        for (function, global) in &facts.code.sets {
            let global = &mut facts.globals[*global as usize];
            global.written = true;
            global.written_late |= facts.used.contains(function);
        }
        facts.used.extend(facts.start);
        for (_, kind, index) in &facts.exports {
            if *kind == ExternalKind::Global {
                facts.globals[*index as usize].exported = true;
            }
        }
        Ok(facts)
    }

    /// Refuses instructions that visibly change a table after the start: in a function that the module exports to be called at any time, or
    /// in one that it calls. Functions called through a table may never run: their instructions end in a fault instead.
    fn refuse_late_writes(&mut self, module: &[u8]) -> Result<(), LoadError> {
        let is_called = |(name, kind, _): &&(String, ExternalKind, u32)| {
            matches!(kind, ExternalKind::Func | ExternalKind::FuncExact) && !AT_START.contains(&name.as_str())
        };
        let exported: Vec<u32> = self.exports.iter().filter(is_called).map(|(.., index)| *index).collect();
        let globals = &self.globals;
        let is_hidden = |global: u32| globals.get(global as usize).is_some_and(GlobalFact::is_reference);
        let Some((instruction, function)) = self.code.reached_write(exported, is_hidden) else { return Ok(()) };
        let name = self.exports.iter().find(|(_, kind, index)| *kind == ExternalKind::Func && *index == function);
        let name = name.map(|(name, ..)| name.clone()).or_else(|| function_name(module, function));
        let place = name.map_or_else(|| format!("function {function}"), |name| format!("`{name}`"));
        Err(features::LATE_WRITES.error_at(Some(format!("`{instruction}` in {place}"))))
    }

    pub(crate) fn imported_memories(&self) -> usize {
        self.memories.iter().filter(|memory| memory.import.is_some()).count()
    }

    /// The index of an export of this kind.
    pub(crate) fn export(&self, name: &str, kind: ExternalKind) -> Option<u32> {
        self.exports.iter().find(|(n, k, _)| n == name && *k == kind).map(|&(_, _, index)| index)
    }

    /// Reads a section.
    fn add(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    self.types.push(ty?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    self.add_import(import.module, import.name, import.ty);
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(ty?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let table = table?;
                    if let TableInit::Expr(expression) = &table.init {
                        self.add_constant(expression)?;
                    }
                    self.tables.push(table.ty);
                }
            }
            Payload::MemorySection(section) => {
                for ty in section {
                    self.memories.push(MemoryFact { import: None, ty: ty? });
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global?;
                    self.add_constant(&global.init_expr)?;
                    let initial = constant(&global.init_expr);
                    self.globals.push(GlobalFact { initial, ..GlobalFact::new(global.ty, None) });
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        self.used.insert(export.index);
                    }
                    self.exports.push((export.name.to_owned(), export.kind, export.index));
                }
            }
            Payload::StartSection { func, .. } => {
                self.start = Some(func);
            }
            Payload::ElementSection(section) => {
                for element in section {
                    self.add_elements(element?.items)?;
                }
            }
            Payload::DataSection(section) => {
                for data in section {
                    self.add_data(&data?.kind);
                }
            }
            Payload::CustomSection(section) if section.name() == "name" => {
                self.add_names(section.data(), section.data_offset());
            }
            Payload::CodeSectionEntry(body) => self.add_body(&body)?,
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, kind: &DataKind<'_>) {
        if let DataKind::Active { offset_expr, .. } = kind {
            self.data_starts.push(constant(offset_expr));
        }
    }

    /// Names are for people, so malformed names are no error.
    fn add_names(&mut self, data: &[u8], offset: usize) {
        let names = NameSectionReader::new(BinaryReader::new(data, offset)).flatten();
        let globals = names.filter_map(|name| if let Name::Global(globals) = name { Some(globals) } else { None });
        self.stack_pointer = None;
        for naming in globals.flatten().flatten() {
            if naming.name == "__stack_pointer" {
                self.stack_pointer.get_or_insert(naming.index);
            }
            if let Some(global) = self.globals.get_mut(naming.index as usize) {
                global.name.get_or_insert_with(|| naming.name.to_owned());
            }
        }
    }

    fn add_elements(&mut self, items: ElementItems<'_>) -> wasmparser::Result<()> {
        match items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    self.used.insert(function?);
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    self.add_constant(&expression?)?;
                }
            }
        }
        Ok(())
    }

    fn add_body(&mut self, body: &FunctionBody<'_>) -> wasmparser::Result<()> {
        let function = self.imported_functions as u32 + self.bodies;
        self.bodies += 1;
        let ty = self.functions[function as usize];
        self.code.add(function, self.types[ty as usize].params().len() as u32, body)
    }

    fn add_import(&mut self, module: &str, name: &str, ty: TypeRef) {
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.functions.push(ty);
                self.imported_functions += 1;
                self.function_imports.push((module.to_owned(), name.to_owned()));
            }
            TypeRef::Table(ty) => self.tables.push(ty),
            TypeRef::Memory(ty) => {
                self.memories.push(MemoryFact { import: Some((module.to_owned(), name.to_owned())), ty });
            }
            TypeRef::Global(ty) => {
                self.globals.push(GlobalFact::new(ty, Some((module.to_owned(), name.to_owned()))));
            }
            TypeRef::Tag(_) => {}
        }
    }

    fn add_constant(&mut self, expression: &ConstExpr<'_>) -> wasmparser::Result<()> {
        for op in expression.get_operators_reader() {
            if let Operator::RefFunc { function_index } = op? {
                self.used.insert(function_index);
            }
        }
        Ok(())
    }
}
