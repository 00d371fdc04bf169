//! The component around the core modules: twins travel with memories, and the host gets its own exports.

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentTypeSection, ExportKind, PrimitiveValType, RawSection,
};
use wasmparser::{
    CanonicalFunction, Chunk, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, ExternalKind, Instance, Parser, Payload,
};

use super::analysis::ModuleFacts;
use super::emit::{Indices, emit};
use super::module::{MemoryRole, RewrittenModule, rewrite_module};
use super::sync_export;
use crate::error::LoadError;

/// A memory that an instance of the component has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// The synchronising export of the core instance that defines it; more than there are if that needs none.
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
    /// The synchronising exports, numbered from 0 in the order of instantiation, and how many globals the core instance behind
    /// each shares with other modules.
    pub syncs: Vec<(usize, usize)>,
}

/// The owner of a memory that is never grown by the host.
const NO_SYNC: usize = usize::MAX;

/// What an instantiation makes that holds state, in its order.
enum Made {
    /// The core instance with this index.
    Core(usize),
    /// The instance with this index, of a nested component.
    Nested { instance: u32, component: usize },
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
    globals: Vec<(usize, String)>,
    component_functions: u32,
    component_types: u32,
    /// Nested components, rewritten.
    nested: Vec<Rewritten>,
    /// Which of them each index of a component stands for; `None` if that comes from outside.
    components: Vec<Option<usize>>,
    component_instances: u32,
    made: Vec<Made>,
    /// Core functions that make a handle of a resource.
    resource_news: Vec<u32>,
    /// `realloc` and `memory` of every canonical function that has the former.
    reallocs: Vec<(u32, Option<u32>)>,
}

/// Rewrites a valid component.
pub(crate) fn rewrite(bytes: &[u8]) -> Result<Rewritten, LoadError> {
    let mut structure = Structure::default();
    payloads(bytes, |payload| structure.read(bytes, payload))?;
    structure.refuse_handles()?;
    structure.settle_globals();
    let mut reallocs = vec![BTreeSet::new(); structure.modules.len()];
    for &(function, memory) in &structure.reallocs {
        let (module, name) = structure.realloc(function, memory)?;
        reallocs[module].insert(name);
    }
    let mut rewritten = Vec::new();
    let mut component = Component::new();
    let mut indices = Indices;
    let mut nested = 0;
    payloads(bytes, |payload| {
        if let Payload::ModuleSection { unchecked_range, .. } = &payload {
            let index = rewritten.len();
            let module = &bytes[unchecked_range.clone()];
            let module = rewrite_module(module, &structure.modules[index], &reallocs[index])?;
            component.section(&RawSection { id: 1, data: &module.bytes });
            rewritten.push(module);
            return Ok(());
        }
        if let Payload::ComponentSection { .. } = &payload {
            component.section(&RawSection { id: 4, data: &structure.nested[nested].bytes });
            nested += 1;
            return Ok(());
        }
        emit(&mut component, &mut indices, bytes, payload).map_err(LoadError::invalid)
    })?;
    let (memories, syncs) = structure.plan(&rewritten);
    structure.add_syncs(&mut component, &rewritten);
    let mut modules = structure.modules;
    modules.extend(structure.nested.into_iter().flat_map(|nested| nested.modules));
    Ok(Rewritten { bytes: component.finish(), modules, memories, syncs })
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
            // The validator takes what is cut off between two of its sections, at the end of the file, for whole.
            let truncated =
                || LoadError::Truncated { bytes: bytes.len(), detail: "a section is not complete".to_owned() };
            rest = rest.get(unchecked_range.len()..).ok_or_else(truncated)?;
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
            Payload::ComponentSection { unchecked_range, .. } => {
                self.components.push(Some(self.nested.len()));
                self.nested.push(rewrite(&bytes[unchecked_range])?);
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
                    self.made.push(Made::Core(self.instances.len()));
                    self.instances.push(core_instance(instance?));
                }
            }
            Payload::ComponentTypeSection(section) => self.component_types += section.count(),
            Payload::ComponentExportSection(section) => {
                for export in section {
                    match export?.kind {
                        ComponentExternalKind::Func => self.component_functions += 1,
                        ComponentExternalKind::Type => self.component_types += 1,
                        ComponentExternalKind::Instance => self.component_instances += 1,
                        ComponentExternalKind::Component => self.components.push(None),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
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

    /// An instance of a nested component, or a bag of exports.
    fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), LoadError> {
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
                // The indices of what is around are not known here, and its memories would not be either.
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
    /// To import the function that makes one is allowed, as stubs of WASI do; to use it is not.
    fn refuse_handles(&self) -> Result<(), LoadError> {
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
                return Err(LoadError::uncapturable(
                    "it uses threads or asynchronous functions of the component model",
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

    /// Finds the exported globals that no module sets after instantiation. Where it cannot be told which global a module sets,
    /// there are none.
    fn settle_globals(&mut self) {
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

    /// The module that defines a global, which is given by its index inside an instance, and its index there.
    fn global_seen(&self, instance: usize, index: usize) -> Option<(usize, usize)> {
        let CoreInstance::Real { module, args } = &self.instances[instance] else { return None };
        match &self.modules[*module].globals[index].import {
            None => Some((*module, index)),
            Some((from, name)) => self.global_owner(*args.get(from)?, name),
        }
    }

    /// As [`global_seen`](Self::global_seen), by the name of an export.
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

    /// All memories in order of creation, and the synchronising exports.
    fn plan(&self, rewritten: &[RewrittenModule]) -> (Vec<MemoryPlan>, Vec<(usize, usize)>) {
        let mut memories = Vec::new();
        let mut syncs = Vec::new();
        for made in &self.made {
            let next = syncs.len();
            match *made {
                Made::Core(instance) => {
                    let CoreInstance::Real { module, .. } = &self.instances[instance] else { continue };
                    let module = &rewritten[*module];
                    let instance = if module.sync.is_some() { next } else { NO_SYNC };
                    memories.extend(module.memories.iter().map(|&role| MemoryPlan { instance, role }));
                    if module.sync.is_some() {
                        syncs.push((next, module.shared_globals));
                    }
                }
                Made::Nested { component, .. } => {
                    let nested = &self.nested[component];
                    let outside = |inside: usize| if inside == NO_SYNC { NO_SYNC } else { next + inside };
                    let plans = nested.memories.iter();
                    memories.extend(plans.map(|plan| MemoryPlan { instance: outside(plan.instance), ..plan.clone() }));
                    syncs.extend(nested.syncs.iter().map(|&(inside, shared)| (outside(inside), shared)));
                }
            }
        }
        (memories, syncs)
    }

    /// Exports every synchronising function from the component, where what is around it, and at last the host, can call it.
    fn add_syncs(&self, component: &mut Component, rewritten: &[RewrittenModule]) {
        let mut types = ComponentTypeSection::new();
        let u32_type = wasm_encoder::ComponentValType::Primitive(PrimitiveValType::U32);
        types.function().params([("what", u32_type), ("argument", u32_type)]).result(None);
        component.section(&types);
        let mut core_function = self.functions.len() as u32;
        let mut function = self.component_functions;
        let mut next = 0;
        // The export takes an index of its own, after that of the function.
        let mut export = |component: &mut Component| {
            let mut exports = ComponentExportSection::new();
            exports.export(sync_export(next), ComponentExportKind::Func, function, None);
            component.section(&exports);
            function += 2;
            next += 1;
        };
        for made in &self.made {
            let mut aliases = ComponentAliasSection::new();
            match *made {
                Made::Core(instance) => {
                    let CoreInstance::Real { module, .. } = &self.instances[instance] else { continue };
                    let Some(name) = rewritten[*module].sync.as_deref() else { continue };
                    aliases.alias(Alias::CoreInstanceExport {
                        instance: instance as u32,
                        kind: ExportKind::Func,
                        name,
                    });
                    let mut canonical = CanonicalFunctionSection::new();
                    canonical.lift(core_function, self.component_types, Vec::<CanonicalOption>::new());
                    core_function += 1;
                    component.section(&aliases).section(&canonical);
                    export(component);
                }
                Made::Nested { instance, component: nested } => {
                    for &(inside, _) in &self.nested[nested].syncs {
                        let name = sync_export(inside);
                        let mut aliases = ComponentAliasSection::new();
                        aliases.alias(Alias::InstanceExport { instance, kind: ComponentExportKind::Func, name: &name });
                        component.section(&aliases);
                        export(component);
                    }
                }
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

fn handles() -> LoadError {
    LoadError::uncapturable("it makes handles of resources, which no memory holds", "a plugin needs no resources")
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
