//! The sections of a component, written again with the twins of its memories.

use std::collections::BTreeMap;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, Component, ComponentAliasSection, ComponentTypeSection, ExportKind,
    InstanceSection, ModuleArg, RawSection,
};
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentAliasSectionReader, ComponentCanonicalSectionReader, ExternalKind,
    Instance, Payload,
};

use super::MARKS_SUFFIX;
use super::results::{FUNCTION, MARKS, Shape, Spilled, SpilledFunctions, wrapper};

/// The index of each item of the component after the rewriting. Core memory `i` becomes `2 * i`, followed by its marks.
pub(super) struct Indices {
    /// The functions that are wrapped.
    spilled: SpilledFunctions,
    /// The wrapper module of each kind of function. The wrappers come before the component's own modules.
    wrappers: BTreeMap<Shape, u32>,
    /// Number of modules before the component's own: those that it imports, and the wrappers.
    modules_before: u32,
    /// The new indices of the core functions written so far; for a wrapped one, the index of its wrapper.
    functions: Vec<u32>,
    functions_next: u32,
    /// The new indices of the core instances written so far.
    instances: Vec<u32>,
    instances_next: u32,
}

impl Reencode for Indices {
    type Error = Infallible;

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error<Infallible>> {
        Ok(2 * memory)
    }

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.functions[function as usize])
    }
}

impl ReencodeComponent for Indices {
    fn module_index(&mut self, module: u32) -> u32 {
        module + self.modules_before
    }

    fn instance_index(&mut self, instance: u32) -> u32 {
        self.instances[instance as usize]
    }
}

impl Indices {
    /// Begins a component with the wrappers of its lowered functions, after the modules that it imports.
    pub(super) fn begin(component: &mut Component, spilled: SpilledFunctions, imported: u32) -> Self {
        let mut wrappers = BTreeMap::new();
        for Spilled { shape, .. } in spilled.values() {
            let next = imported + wrappers.len() as u32;
            wrappers.entry(shape.clone()).or_insert_with(|| {
                component.section(&RawSection { id: 1, data: &wrapper(shape) });
                next
            });
        }
        let modules_before = imported + wrappers.len() as u32;
        Self {
            spilled,
            wrappers,
            modules_before,
            functions: Vec::new(),
            functions_next: 0,
            instances: Vec::new(),
            instances_next: 0,
        }
    }

    /// The index of the next core function.
    pub(super) fn next_function(&self) -> u32 {
        self.functions_next
    }

    /// The index of a core instance.
    pub(super) fn of_instance(&self, instance: usize) -> u32 {
        self.instances[instance]
    }

    fn add_function(&mut self) {
        self.functions.push(self.functions_next);
        self.functions_next += 1;
    }

    fn add_instance(&mut self) {
        self.instances.push(self.instances_next);
        self.instances_next += 1;
    }

    /// Writes a section of a component, except for modules; names for people are left out.
    pub(super) fn emit(
        &mut self,
        component: &mut Component,
        bytes: &[u8],
        payload: Payload<'_>,
    ) -> Result<(), Error<Infallible>> {
        match payload {
            Payload::InstanceSection(section) => {
                let mut instances = InstanceSection::new();
                for instance in section {
                    self.instance(&mut instances, instance?)?;
                    self.add_instance();
                }
                component.section(&instances);
            }
            Payload::ComponentAliasSection(section) => self.aliases(component, section)?,
            Payload::ComponentCanonicalSection(section) => self.canonical(component, section)?,
            // The destructor of a resource is a core function.
            Payload::ComponentTypeSection(section) => {
                let mut types = ComponentTypeSection::new();
                self.parse_component_type_section(&mut types, section)?;
                component.section(&types);
            }
            Payload::CustomSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    component.section(&RawSection { id, data: &bytes[range] });
                }
            }
        }
        Ok(())
    }

    fn aliases(
        &mut self,
        component: &mut Component,
        section: ComponentAliasSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut aliases = ComponentAliasSection::new();
        for alias in section {
            let alias = alias?;
            aliases.alias(self.component_alias(alias.clone())?);
            let ComponentAlias::CoreInstanceExport { kind, instance_index, name } = alias else { continue };
            match kind {
                ExternalKind::Func | ExternalKind::FuncExact => self.add_function(),
                ExternalKind::Memory => {
                    let instance = self.instance_index(instance_index);
                    let name = &format!("{name}{MARKS_SUFFIX}");
                    aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Memory, name });
                }
                _ => {}
            }
        }
        component.section(&aliases);
        Ok(())
    }

    fn canonical(
        &mut self,
        component: &mut Component,
        section: ComponentCanonicalSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut canonical = CanonicalFunctionSection::new();
        for function in section {
            let function = function?;
            let is_lift = matches!(function, CanonicalFunction::Lift { .. });
            self.parse_component_canonical(&mut canonical, function)?;
            if is_lift {
                continue;
            }
            match self.spilled.get(&(self.functions.len() as u32)).cloned() {
                None => self.add_function(),
                Some(spilled) => {
                    component.section(&std::mem::replace(&mut canonical, CanonicalFunctionSection::new()));
                    self.wrap(component, &spilled);
                }
            }
        }
        if !canonical.is_empty() {
            component.section(&canonical);
        }
        Ok(())
    }

    /// Instantiates the wrapper of the core function that was written last.
    fn wrap(&mut self, component: &mut Component, spilled: &Spilled) {
        let (bag, instance) = (self.instances_next, self.instances_next + 1);
        let mut instances = InstanceSection::new();
        instances.export_items([
            (FUNCTION, ExportKind::Func, self.functions_next),
            (MARKS, ExportKind::Memory, 2 * spilled.memory + 1),
        ]);
        instances.instantiate(self.wrappers[&spilled.shape], [("", ModuleArg::Instance(bag))]);
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Func, name: FUNCTION });
        component.section(&instances).section(&aliases);
        self.instances_next += 2;
        self.functions_next += 1;
        self.add_function();
    }

    fn instance(&mut self, instances: &mut InstanceSection, instance: Instance<'_>) -> Result<(), Error<Infallible>> {
        let Instance::FromExports(exports) = instance else {
            return self.parse_instance(instances, instance);
        };
        let mut items = Vec::new();
        for export in &*exports {
            let kind = self.export_kind(export.kind)?;
            let index = self.external_index(export.kind, export.index)?;
            items.push((export.name.to_owned(), kind, index));
            if export.kind == ExternalKind::Memory {
                items.push((format!("{}{MARKS_SUFFIX}", export.name), kind, index + 1));
            }
        }
        instances.export_items(items.iter().map(|(name, kind, index)| (name.as_str(), *kind, *index)));
        Ok(())
    }
}
