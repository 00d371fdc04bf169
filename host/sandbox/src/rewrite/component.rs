//! The component around the core modules: twins travel with memories, and the host gets its own exports.

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentTypeSection, ExportKind, PrimitiveValType, RawSection,
};
use wasmparser::{
    CanonicalFunction, Chunk, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, ComponentTypeRef,
    ExternalKind, Instance, Parser, Payload,
};

use super::analysis::ModuleFacts;
use super::emit::{Indices, emit};
use super::module::{MemoryRole, RewrittenModule, rewrite_module};
use super::sync_export;
use crate::error::LoadError;

/// A memory that an instance of the component has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// Which core instance of the component defines it.
    pub instance: usize,
    pub role: MemoryRole,
}

/// A component whose state lies in memories.
pub(crate) struct Rewritten {
    pub bytes: Vec<u8>,
    /// The facts of every core module, in order.
    pub modules: Vec<ModuleFacts>,
    /// All memories in the order in which an instantiation makes them.
    pub memories: Vec<MemoryPlan>,
    /// The core instances with a synchronising export, and how many globals each shares with other modules.
    pub syncs: Vec<(usize, usize)>,
}

/// A core instance of the component.
enum CoreInstance {
    /// Of a module, with the instances given for its imports.
    Real { module: usize, args: BTreeMap<String, usize> },
    /// A bag of exports.
    Bag(BTreeMap<String, (ExternalKind, u32)>),
}

/// Where an item of a core index space comes from; `None` where it is no alias of a core instance's export.
type Origin = Option<(usize, String)>;

/// What the component consists of, read before anything is written.
#[derive(Default)]
struct Structure {
    modules: Vec<ModuleFacts>,
    instances: Vec<CoreInstance>,
    functions: Vec<Origin>,
    memories: Vec<(usize, String)>,
    component_functions: u32,
    component_types: u32,
    /// `realloc` and `memory` of every canonical function that has the former.
    reallocs: Vec<(u32, Option<u32>)>,
}

/// Rewrites a valid component.
pub(crate) fn rewrite(bytes: &[u8]) -> Result<Rewritten, LoadError> {
    let mut structure = Structure::default();
    payloads(bytes, |payload| structure.read(bytes, payload))?;
    let mut reallocs = vec![BTreeSet::new(); structure.modules.len()];
    for &(function, memory) in &structure.reallocs {
        let (module, name) = structure.realloc(function, memory)?;
        reallocs[module].insert(name);
    }
    let mut rewritten = Vec::new();
    let mut component = Component::new();
    let mut indices = Indices;
    payloads(bytes, |payload| {
        if let Payload::ModuleSection { unchecked_range, .. } = &payload {
            let index = rewritten.len();
            let module = &bytes[unchecked_range.clone()];
            let module = rewrite_module(module, &structure.modules[index], &reallocs[index])?;
            component.section(&RawSection { id: 1, data: &module.bytes });
            rewritten.push(module);
            return Ok(());
        }
        emit(&mut component, &mut indices, bytes, payload).map_err(LoadError::invalid)
    })?;
    let (memories, syncs) = structure.plan(&rewritten);
    structure.add_syncs(&mut component, &rewritten, &syncs);
    Ok(Rewritten { bytes: component.finish(), modules: structure.modules, memories, syncs })
}

/// Calls `f` with every payload of the component itself; modules and components inside are one payload each.
fn payloads<'a>(bytes: &'a [u8], mut f: impl FnMut(Payload<'a>) -> Result<(), LoadError>) -> Result<(), LoadError> {
    let mut parser = Parser::new(0);
    let mut rest = bytes;
    while !rest.is_empty() {
        let Chunk::Parsed { consumed, payload } = parser.parse(rest, true).map_err(LoadError::invalid)? else {
            return Err(LoadError::invalid("unexpected end"));
        };
        rest = &rest[consumed..];
        if let Payload::ModuleSection { unchecked_range, .. } | Payload::ComponentSection { unchecked_range, .. } =
            &payload
        {
            rest = &rest[unchecked_range.len()..];
        }
        f(payload)?;
    }
    Ok(())
}

impl Structure {
    fn read(&mut self, bytes: &[u8], payload: Payload<'_>) -> Result<(), LoadError> {
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                self.modules.push(ModuleFacts::read(&bytes[unchecked_range])?);
                Ok(())
            }
            Payload::ComponentSection { unchecked_range, .. } => refuse_modules(&bytes[unchecked_range]),
            Payload::ComponentStartSection { .. } => {
                Err(LoadError::uncapturable("it has a component start function", "build it without one"))
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    self.canonical(function.map_err(LoadError::invalid)?)?;
                }
                Ok(())
            }
            other => self.count(other).map_err(LoadError::invalid),
        }
    }

    fn count(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section {
                    self.instances.push(core_instance(instance?));
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(&alias?);
                }
            }
            Payload::ComponentTypeSection(section) => self.component_types += section.count(),
            Payload::ComponentImportSection(section) => {
                for import in section {
                    match import?.ty {
                        ComponentTypeRef::Func(_) => self.component_functions += 1,
                        ComponentTypeRef::Type(_) => self.component_types += 1,
                        _ => {}
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    match export?.kind {
                        ComponentExternalKind::Func => self.component_functions += 1,
                        ComponentExternalKind::Type => self.component_types += 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match *alias {
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Func, .. } => self.component_functions += 1,
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Type, .. }
            | ComponentAlias::Outer { kind: ComponentOuterAliasKind::Type, .. } => self.component_types += 1,
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                let origin = (instance_index as usize, name.to_owned());
                match kind {
                    ExternalKind::Func | ExternalKind::FuncExact => self.functions.push(Some(origin)),
                    ExternalKind::Memory => self.memories.push(origin),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn canonical(&mut self, function: CanonicalFunction) -> Result<(), LoadError> {
        let options = match function {
            CanonicalFunction::Lift { options, .. } => {
                self.component_functions += 1;
                options
            }
            CanonicalFunction::Lower { options, .. } => {
                self.functions.push(None);
                options
            }
            _ => {
                return Err(LoadError::uncapturable(
                    "it uses resources, threads or asynchronous functions of the component model",
                    "a plugin needs none of them",
                ));
            }
        };
        let mut realloc = None;
        let mut memory = None;
        for option in &*options {
            match *option {
                wasmparser::CanonicalOption::Realloc(function) => realloc = Some(function),
                wasmparser::CanonicalOption::Memory(index) => memory = Some(index),
                wasmparser::CanonicalOption::Async | wasmparser::CanonicalOption::Callback(_) => {
                    return Err(LoadError::uncapturable(
                        "it exports asynchronous functions",
                        "build it with synchronous exports",
                    ));
                }
                _ => {}
            }
        }
        if let Some(realloc) = realloc {
            self.reallocs.push((realloc, memory));
        }
        Ok(())
    }

    /// The module and the export behind a `realloc` option.
    fn realloc(&self, function: u32, memory: Option<u32>) -> Result<(usize, String), LoadError> {
        let unknown = || {
            LoadError::uncapturable(
                "the host cannot tell which module makes room for its arguments (`cabi_realloc`)",
                "export that function from the module with the memory",
            )
        };
        let (instance, name) = self.function_origin(function).ok_or_else(unknown)?;
        let CoreInstance::Real { module, .. } = &self.instances[instance] else { return Err(unknown()) };
        // The wrapper marks the range in every memory that its module sees; the one written to must be among them.
        let written = memory.and_then(|memory| {
            let (instance, name) = &self.memories[memory as usize];
            self.memory_owner(*instance, name)
        });
        let seen = (0..self.modules[*module].memories.len()).any(|m| self.memory_seen(instance, m) == written);
        if written.is_none() || !seen {
            return Err(unknown());
        }
        Ok((*module, name))
    }

    /// The real instance and export behind a core function.
    fn function_origin(&self, function: u32) -> Option<(usize, String)> {
        let (instance, name) = self.functions[function as usize].clone()?;
        match &self.instances[instance] {
            CoreInstance::Real { .. } => Some((instance, name)),
            CoreInstance::Bag(exports) => self.function_origin(exports.get(&name)?.1),
        }
    }

    /// The instance that defines the memory exported under a name, and which of its defined memories it is.
    fn memory_owner(&self, instance: usize, name: &str) -> Option<(usize, usize)> {
        match &self.instances[instance] {
            CoreInstance::Real { module, .. } => {
                let index = self.modules[*module].export(name, ExternalKind::Memory)?;
                self.memory_seen(instance, index as usize)
            }
            CoreInstance::Bag(exports) => {
                let (instance, name) = &self.memories[exports.get(name)?.1 as usize];
                self.memory_owner(*instance, name)
            }
        }
    }

    /// As [`memory_owner`](Self::memory_owner), by the index inside the module.
    fn memory_seen(&self, instance: usize, index: usize) -> Option<(usize, usize)> {
        let CoreInstance::Real { module, args } = &self.instances[instance] else { return None };
        let facts = &self.modules[*module];
        match &facts.memories[index].import {
            None => Some((instance, index - facts.imported_memories())),
            Some((from, name)) => self.memory_owner(*args.get(from)?, name),
        }
    }

    /// All memories in order of creation, and the instances with a synchronising export.
    fn plan(&self, rewritten: &[RewrittenModule]) -> (Vec<MemoryPlan>, Vec<(usize, usize)>) {
        let mut memories = Vec::new();
        let mut syncs = Vec::new();
        for (instance, core) in self.instances.iter().enumerate() {
            let CoreInstance::Real { module, .. } = core else { continue };
            let module = &rewritten[*module];
            memories.extend(module.memories.iter().map(|&role| MemoryPlan { instance, role }));
            if module.sync.is_some() {
                syncs.push((instance, module.shared_globals));
            }
        }
        (memories, syncs)
    }

    /// Exports every synchronising function from the component, where the host can call it.
    fn add_syncs(&self, component: &mut Component, rewritten: &[RewrittenModule], syncs: &[(usize, usize)]) {
        if syncs.is_empty() {
            return;
        }
        let mut aliases = ComponentAliasSection::new();
        let mut types = ComponentTypeSection::new();
        let mut canonical = CanonicalFunctionSection::new();
        let mut exports = ComponentExportSection::new();
        let u32_type = wasm_encoder::ComponentValType::Primitive(PrimitiveValType::U32);
        types.function().params([("what", u32_type), ("argument", u32_type)]).result(None);
        let mut function = self.component_functions;
        for (nth, &(instance, _)) in syncs.iter().enumerate() {
            let CoreInstance::Real { module, .. } = &self.instances[instance] else { continue };
            let name = rewritten[*module].sync.as_deref().expect("listed for having one");
            aliases.alias(Alias::CoreInstanceExport { instance: instance as u32, kind: ExportKind::Func, name });
            let core_function = (self.functions.len() + nth) as u32;
            canonical.lift(core_function, self.component_types, Vec::<CanonicalOption>::new());
            exports.export(sync_export(instance), ComponentExportKind::Func, function, None);
            // The exports take indices of their own, after all the lifted functions.
            function += 1;
        }
        component.section(&aliases).section(&types).section(&canonical).section(&exports);
    }
}

fn core_instance(instance: Instance<'_>) -> CoreInstance {
    match instance {
        Instance::Instantiate { module_index, args } => CoreInstance::Real {
            module: module_index as usize,
            args: args.iter().map(|arg| (arg.name.to_owned(), arg.index as usize)).collect(),
        },
        Instance::FromExports(exports) => {
            CoreInstance::Bag(exports.iter().map(|e| (e.name.to_owned(), (e.kind, e.index))).collect())
        }
    }
}

/// Nested components may rename and retype what is around them, as `wit-component` has them do, but hold no state.
fn refuse_modules(component: &[u8]) -> Result<(), LoadError> {
    for payload in Parser::new(0).parse_all(component) {
        if matches!(payload.map_err(LoadError::invalid)?, Payload::ModuleSection { .. } | Payload::InstanceSection(_)) {
            return Err(LoadError::uncapturable(
                "it has components with core modules inside",
                "build the plugin as one component instead of composing it of several",
            ));
        }
    }
    Ok(())
}
