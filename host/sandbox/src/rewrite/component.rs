//! The component around the core modules: twins accompany memories, and the host gets its own exports.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentTypeSection, ExportKind, PrimitiveValType, RawSection,
};
use wasmparser::Payload;

use super::emit::Indices;
use super::known::Known;
use super::layout::MemoryRole;
use super::libraries::Taken;
use super::module::{RewrittenModule, rewrite_module};
use super::results::{SpilledFunctions, spilled};
use super::rewritten::{MemoryPlan, Rewritten};
use super::structure::{CoreInstance, Made, Structure, payloads};
use super::sync_export;
use crate::contract::error::LoadError;
use crate::contract::limits::{Sabotage, SandboxConfig};

/// The owner of a memory that the host never grows.
const NO_SYNC: usize = usize::MAX;

/// Rewrites a valid component.
pub(crate) fn rewrite(bytes: &[u8], config: &SandboxConfig, known: &dyn Known) -> Result<Rewritten, LoadError> {
    let mut spilled = spilled(bytes)?;
    if config.sabotage.is(Sabotage::SkipResults) {
        spilled.clear();
    }
    let mut taken = Taken::new(bytes, config, known)?;
    let rewritten = rewrite_level(bytes, &mut spilled, &mut taken)?;
    Ok(Rewritten { libraries: taken.into_modules(), ..rewritten })
}

/// Rewrites one component; `spilled` begins with its own lowered functions, and continues with those of nested components. Only
/// the outermost component knows all libraries.
fn rewrite_level(
    bytes: &[u8],
    spilled: &mut VecDeque<SpilledFunctions>,
    taken: &mut Taken<'_>,
) -> Result<Rewritten, LoadError> {
    let own = spilled.pop_front().unwrap_or_default();
    let mut structure = Structure::default();
    payloads(bytes, |payload| match payload {
        Payload::ComponentSection { unchecked_range, .. } => {
            taken.depth += 1;
            structure.add_nested(rewrite_level(&bytes[unchecked_range], spilled, taken)?);
            taken.depth -= 1;
            Ok(())
        }
        payload => structure.read(bytes, payload, taken.known),
    })?;
    structure.refuse_handles()?;
    structure.settle_globals();
    let mut reallocs = vec![BTreeSet::new(); structure.modules.len()];
    for &(function, memory) in &structure.reallocs {
        let (module, name) = structure.realloc(function, memory)?;
        reallocs[module].insert(name);
    }
    let rewritten = modules(bytes, &structure, &reallocs, taken)?;
    let mut component = Component::new();
    let wrapped = own.len();
    let imported = taken.begin(&mut component);
    let mut indices = Indices::begin(&mut component, own, imported);
    let (mut written, mut nested) = (rewritten.iter(), 0);
    payloads(bytes, |payload| {
        if let Payload::ModuleSection { .. } = &payload {
            let module = written.next().expect("there is a rewritten module for each of the component");
            match module.library {
                Some(index) => taken.refer(&mut component, index),
                None => drop(component.section(&RawSection { id: 1, data: &module.bytes })),
            }
            return Ok(());
        }
        if let Payload::ComponentSection { .. } = &payload {
            component.section(&RawSection { id: 4, data: &structure.nested[nested].bytes });
            nested += 1;
            return Ok(());
        }
        indices.emit(&mut component, bytes, payload).map_err(LoadError::invalid)
    })?;
    let (memories, syncs) = structure.plan(&rewritten);
    structure.add_syncs(&mut component, &indices, &rewritten);
    let instances = structure.instances();
    let wrappers = wrapped + structure.nested_instances().map(|nested| nested.wrappers).sum::<usize>();
    let mut modules = structure.modules;
    modules.extend(structure.nested.into_iter().flat_map(|nested| nested.modules));
    let libraries = Vec::new();
    Ok(Rewritten { bytes: component.finish(), libraries, modules, memories, syncs, instances, wrappers })
}

/// The modules of the component itself, rewritten. The bytes of taken ones are with the libraries.
fn modules(
    bytes: &[u8],
    structure: &Structure,
    reallocs: &[BTreeSet<String>],
    taken: &mut Taken<'_>,
) -> Result<Vec<RewrittenModule>, LoadError> {
    let mut rewritten = Vec::new();
    payloads(bytes, |payload| {
        if let Payload::ModuleSection { unchecked_range, .. } = payload {
            let (facts, reallocs) = (&structure.modules[rewritten.len()], &reallocs[rewritten.len()]);
            let mut module = rewrite_module(&bytes[unchecked_range], facts, reallocs, taken.addresses, taken.known)?;
            module.library = taken.take(&mut module.bytes, facts)?;
            rewritten.push(module);
        }
        Ok(())
    })?;
    Ok(rewritten)
}

impl Structure {
    /// The nested components that are instantiated, once for each instance.
    fn nested_instances(&self) -> impl Iterator<Item = &Rewritten> {
        self.made.iter().filter_map(|made| match made {
            Made::Nested { component, .. } => Some(&self.nested[*component]),
            Made::Core(_) => None,
        })
    }

    /// Number of core instances, including those of nested components.
    fn instances(&self) -> usize {
        let own = self.instances.iter().filter(|instance| matches!(instance, CoreInstance::Real { .. })).count();
        own + self.nested_instances().map(|nested| nested.instances).sum::<usize>()
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
                    let cells = |role| match role {
                        MemoryRole::Cells { .. } => Arc::clone(&module.cells),
                        MemoryRole::Data(_) | MemoryRole::Marks => Arc::default(),
                    };
                    let plans = module.memories.iter();
                    memories.extend(plans.map(|&role| MemoryPlan { instance, role, cells: cells(role) }));
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

    /// Exports every synchronising function from the component, so that the component around it, and finally the host, can call it.
    fn add_syncs(&self, component: &mut Component, indices: &Indices, rewritten: &[RewrittenModule]) {
        let mut types = ComponentTypeSection::new();
        let u32_type = wasm_encoder::ComponentValType::Primitive(PrimitiveValType::U32);
        types.function().params([("what", u32_type), ("argument", u32_type)]).result(None);
        component.section(&types);
        let mut core_function = indices.next_function();
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
                        instance: indices.of_instance(instance),
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
