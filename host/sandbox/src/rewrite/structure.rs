//! The structure of a component, read before anything is written: the origins of functions, memories and globals.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::{
    CanonicalFunction, Chunk, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, ExternalKind, Instance, Parser, Payload,
};

use super::analysis::ModuleFacts;
use super::known::Known;
use super::layout::reserved_name;
use super::rewritten::Rewritten;
use super::{MARKS_SUFFIX, SYNC_EXPORT};
use crate::contract::error::LoadError;
use crate::contract::features;

/// An item with state that an instantiation makes, in order.
pub(super) enum Made {
    /// The core instance with this index.
    Core(usize),
    /// The instance with this index, of a nested component.
    Nested { instance: u32, component: usize },
}

/// A core instance of the component.
pub(super) enum CoreInstance {
    /// An instance of a module, with the instances given for its imports.
    Real { module: usize, args: BTreeMap<String, usize> },
    /// A bag of exports.
    Bag(BTreeMap<String, (ExternalKind, u32)>),
}

/// The origin of an item of a core index space; `None` if it is no alias of a core instance's export.
type Origin = Option<(usize, String)>;

/// The structure of the component, read before anything is written.
#[derive(Default)]
pub(super) struct Structure {
    pub(super) modules: Vec<ModuleFacts>,
    pub(super) instances: Vec<CoreInstance>,
    pub(super) functions: Vec<Origin>,
    memories: Vec<(usize, String)>,
    globals: Vec<(usize, String)>,
    pub(super) component_functions: u32,
    pub(super) component_types: u32,
    /// Nested components, rewritten.
    pub(super) nested: Vec<Rewritten>,
    /// The nested component behind each index of a component; `None` for one from outside.
    components: Vec<Option<usize>>,
    component_instances: u32,
    pub(super) made: Vec<Made>,
    /// Core functions that make a handle of a resource.
    resource_news: Vec<u32>,
    /// `realloc` and `memory` of every canonical function that has the former.
    pub(super) reallocs: Vec<(u32, Option<u32>)>,
}

/// Calls `f` with every payload of the component itself; modules and nested components are one payload each.
pub(super) fn payloads<'a>(
    bytes: &'a [u8],
    mut f: impl FnMut(Payload<'a>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
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
            // The validator accepts a file that is cut off between two sections of an inner module or component.
            let truncated =
                || LoadError::Truncated { bytes: bytes.len(), detail: "a section is not complete".to_owned() };
            rest = rest.get(unchecked_range.len()..).ok_or_else(truncated)?;
        }
        f(payload)?;
    }
    Ok(())
}

impl Structure {
    /// Adds a component inside.
    pub(super) fn add_nested(&mut self, rewritten: Rewritten) {
        self.components.push(Some(self.nested.len()));
        self.nested.push(rewritten);
    }

    /// Reads a section that is no component.
    pub(super) fn read(&mut self, bytes: &[u8], payload: Payload<'_>, known: &dyn Known) -> Result<(), LoadError> {
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                let module = &bytes[unchecked_range];
                self.modules.push(ModuleFacts::read(module, known.code(module).as_deref())?);
                Ok(())
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    self.import(import.map_err(LoadError::invalid)?.ty)?;
                }
                Ok(())
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    self.instance(&instance.map_err(LoadError::invalid)?)?;
                }
                Ok(())
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(&alias.map_err(LoadError::invalid)?)?;
                }
                Ok(())
            }
            Payload::ComponentStartSection { .. } => Err(features::START.error_at(None)),
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export.map_err(LoadError::invalid)?;
                    if export.name.name.starts_with(SYNC_EXPORT) {
                        return Err(reserved_name(export.name.name));
                    }
                    self.export(export.kind)?;
                }
                Ok(())
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    self.canonical(function.map_err(LoadError::invalid)?)?;
                }
                Ok(())
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    self.core_instance(&instance.map_err(LoadError::invalid)?)?;
                }
                Ok(())
            }
            Payload::ComponentTypeSection(section) => {
                self.component_types += section.count();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn core_instance(&mut self, instance: &Instance<'_>) -> Result<(), LoadError> {
        if let Instance::FromExports(exports) = instance
            && let Some(export) = exports.iter().find(|export| export.name.ends_with(MARKS_SUFFIX))
        {
            return Err(reserved_name(export.name));
        }
        self.made.push(Made::Core(self.instances.len()));
        self.instances.push(core_instance(instance));
        Ok(())
    }

    fn import(&mut self, ty: ComponentTypeRef) -> Result<(), LoadError> {
        match ty {
            ComponentTypeRef::Func(_) => self.component_functions += 1,
            ComponentTypeRef::Type(_) => self.component_types += 1,
            ComponentTypeRef::Instance(_) => self.component_instances += 1,
            ComponentTypeRef::Component(_) => self.components.push(None),
            ComponentTypeRef::Module(_) => return Err(foreign_code()),
            ComponentTypeRef::Value(_) => {}
        }
        Ok(())
    }

    /// An export, which takes an index of its own.
    fn export(&mut self, kind: ComponentExternalKind) -> Result<(), LoadError> {
        match kind {
            ComponentExternalKind::Func => self.component_functions += 1,
            ComponentExternalKind::Type => self.component_types += 1,
            ComponentExternalKind::Instance => self.component_instances += 1,
            ComponentExternalKind::Component => self.components.push(None),
            // The rewriting identifies a module by its only index.
            ComponentExternalKind::Module => return Err(passed_modules()),
            ComponentExternalKind::Value => {}
        }
        Ok(())
    }

    /// An instance of a nested component, or a bag of exports.
    fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), LoadError> {
        if let ComponentInstance::FromExports(exports) = instance
            && exports.iter().any(|export| export.kind == ComponentExternalKind::Module)
        {
            return Err(passed_modules());
        }
        if let ComponentInstance::Instantiate { component_index, args } = instance {
            let passes_code = args
                .iter()
                .any(|arg| matches!(arg.kind, ComponentExternalKind::Module | ComponentExternalKind::Component));
            match self.components.get(*component_index as usize) {
                Some(Some(component)) if !passes_code => {
                    self.made.push(Made::Nested { instance: self.component_instances, component: *component });
                }
                _ => return Err(foreign_code()),
            }
        }
        self.component_instances += 1;
        Ok(())
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), LoadError> {
        match *alias {
            ComponentAlias::InstanceExport { kind, .. } => match kind {
                ComponentExternalKind::Func => self.component_functions += 1,
                ComponentExternalKind::Type => self.component_types += 1,
                ComponentExternalKind::Instance => self.component_instances += 1,
                ComponentExternalKind::Component => self.components.push(None),
                ComponentExternalKind::Module => return Err(foreign_code()),
                ComponentExternalKind::Value => {}
            },
            ComponentAlias::Outer { kind, .. } => match kind {
                ComponentOuterAliasKind::Type => self.component_types += 1,
                ComponentOuterAliasKind::Component => self.components.push(None),
                // The indices of the component around this one are unknown here, and its memories would be, too.
                ComponentOuterAliasKind::CoreModule => return Err(foreign_code()),
                ComponentOuterAliasKind::CoreType => {}
            },
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                let origin = (instance_index as usize, name.to_owned());
                match kind {
                    ExternalKind::Func | ExternalKind::FuncExact => self.functions.push(Some(origin)),
                    ExternalKind::Memory => self.memories.push(origin),
                    ExternalKind::Global => self.globals.push(origin),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Refuses a component that can make handles of resources: a table of the host keeps them, outside of all memories.
    /// Importing the function that makes one is allowed, as stubs of WASI do; using it is not.
    pub(super) fn refuse_handles(&self) -> Result<(), LoadError> {
        for instance in &self.instances {
            let CoreInstance::Real { module, args } = instance else { continue };
            let facts = &self.modules[*module];
            for (index, (from, name)) in facts.function_imports.iter().enumerate() {
                let given = args.get(from).and_then(|instance| self.export_function(*instance, name));
                if given.is_some_and(|function| self.makes_handles(function)) && facts.used.contains(&(index as u32)) {
                    return Err(handles());
                }
            }
        }
        Ok(())
    }

    /// The core function that a bag exports under a name.
    fn export_function(&self, instance: usize, name: &str) -> Option<u32> {
        match &self.instances[instance] {
            CoreInstance::Bag(exports) => exports.get(name).map(|&(_, index)| index),
            CoreInstance::Real { .. } => None,
        }
    }

    fn makes_handles(&self, function: u32) -> bool {
        if self.resource_news.contains(&function) {
            return true;
        }
        let Some((instance, name)) = &self.functions[function as usize] else { return false };
        self.export_function(*instance, name).is_some_and(|function| self.makes_handles(function))
    }

    fn canonical(&mut self, function: CanonicalFunction) -> Result<(), LoadError> {
        let options = match function {
            CanonicalFunction::Lift { core_func_index, options, .. } => {
                if self.makes_handles(core_func_index) {
                    return Err(handles());
                }
                self.component_functions += 1;
                options
            }
            CanonicalFunction::Lower { options, .. } => {
                self.functions.push(None);
                options
            }
            CanonicalFunction::ResourceNew { .. } => {
                self.resource_news.push(self.functions.len() as u32);
                self.functions.push(None);
                return Ok(());
            }
            CanonicalFunction::ResourceDrop { .. } | CanonicalFunction::ResourceRep { .. } => {
                self.functions.push(None);
                return Ok(());
            }
            _ => {
                return Err(features::ASYNCHRONOUS.error_at(None));
            }
        };
        let mut realloc = None;
        let mut memory = None;
        for option in &*options {
            match *option {
                wasmparser::CanonicalOption::Realloc(function) => realloc = Some(function),
                wasmparser::CanonicalOption::Memory(index) => memory = Some(index),
                wasmparser::CanonicalOption::Async | wasmparser::CanonicalOption::Callback(_) => {
                    return Err(features::ASYNCHRONOUS.error_at(None));
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
    pub(super) fn realloc(&self, function: u32, memory: Option<u32>) -> Result<(usize, String), LoadError> {
        let unknown = || {
            LoadError::uncapturable(
                "the host cannot tell which module makes room for its arguments (`cabi_realloc`)",
                "export that function from the module with the memory",
            )
        };
        let (instance, name) = self.function_origin(function).ok_or_else(unknown)?;
        let CoreInstance::Real { module, .. } = &self.instances[instance] else { return Err(unknown()) };
        // The wrapper marks the range in every memory that its module sees; the written one must be among them.
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

    /// The instance that defines the memory exported under a name, and the index among its defined memories.
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

    /// As [`memory_owner`](Self::memory_owner), but by the index inside the module.
    fn memory_seen(&self, instance: usize, index: usize) -> Option<(usize, usize)> {
        let CoreInstance::Real { module, args } = &self.instances[instance] else { return None };
        let facts = &self.modules[*module];
        match &facts.memories[index].import {
            None => Some((instance, index - facts.imported_memories())),
            Some((from, name)) => self.memory_owner(*args.get(from)?, name),
        }
    }

    /// Finds the exported globals that no module sets after instantiation. If it is unclear which global a module sets,
    /// there are none.
    pub(super) fn settle_globals(&mut self) {
        let mut late: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.modules.len()];
        for (index, instance) in self.instances.iter().enumerate() {
            let CoreInstance::Real { module, .. } = instance else { continue };
            let written = self.modules[*module].globals.iter().enumerate().filter(|(_, global)| global.written_late);
            for (global, _) in written {
                let Some((owner, global)) = self.global_seen(index, global) else { return };
                late[owner].insert(global);
            }
        }
        for (module, late) in self.modules.iter_mut().zip(late) {
            for (index, global) in module.globals.iter_mut().enumerate() {
                global.settled = global.exported && global.import.is_none() && !late.contains(&index);
            }
        }
    }

    /// The module that defines a global, given by its index inside an instance, and its index there.
    fn global_seen(&self, instance: usize, index: usize) -> Option<(usize, usize)> {
        let CoreInstance::Real { module, args } = &self.instances[instance] else { return None };
        match &self.modules[*module].globals[index].import {
            None => Some((*module, index)),
            Some((from, name)) => self.global_owner(*args.get(from)?, name),
        }
    }

    /// As [`global_seen`](Self::global_seen), but by the name of an export.
    fn global_owner(&self, instance: usize, name: &str) -> Option<(usize, usize)> {
        match &self.instances[instance] {
            CoreInstance::Real { module, .. } => {
                let index = self.modules[*module].export(name, ExternalKind::Global)?;
                self.global_seen(instance, index as usize)
            }
            CoreInstance::Bag(exports) => {
                let (instance, name) = self.globals.get(exports.get(name)?.1 as usize)?;
                self.global_owner(*instance, name)
            }
        }
    }
}

fn foreign_code() -> LoadError {
    LoadError::uncapturable(
        "one of its components gets core modules or components from outside of it",
        "build the plugin as one component instead of composing it of several",
    )
}

fn passed_modules() -> LoadError {
    LoadError::uncapturable("it passes core modules on", "build the plugin as one component")
}

fn handles() -> LoadError {
    features::RESOURCES.error_at(None)
}

fn core_instance(instance: &Instance<'_>) -> CoreInstance {
    match instance {
        Instance::Instantiate { module_index, args } => CoreInstance::Real {
            module: *module_index as usize,
            args: args.iter().map(|arg| (arg.name.to_owned(), arg.index as usize)).collect(),
        },
        Instance::FromExports(exports) => {
            CoreInstance::Bag(exports.iter().map(|e| (e.name.to_owned(), (e.kind, e.index))).collect())
        }
    }
}
