//! The sections of a component, written again with the twins of its memories.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, Component, ComponentAliasSection, ExportKind, InstanceSection, ModuleArg,
    RawSection,
};
use wasmparser::{ComponentAlias, ExternalKind, Instance, Payload};

use super::MARKS_SUFFIX;

/// Core memory `i` of the component becomes `2 * i`, followed by its marks.
pub(super) struct Indices;

impl Reencode for Indices {
    type Error = Infallible;

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error<Infallible>> {
        Ok(2 * memory)
    }
}

impl ReencodeComponent for Indices {}

/// Writes a section of a component. Modules are not sections of this kind; names for people are left out.
pub(super) fn emit(
    component: &mut Component,
    indices: &mut Indices,
    bytes: &[u8],
    payload: Payload<'_>,
) -> Result<(), Error<Infallible>> {
    match payload {
        Payload::InstanceSection(section) => {
            let mut instances = InstanceSection::new();
            for instance in section {
                emit_instance(&mut instances, indices, instance?)?;
            }
            component.section(&instances);
        }
        Payload::ComponentAliasSection(section) => {
            let mut aliases = ComponentAliasSection::new();
            for alias in section {
                let alias = alias?;
                aliases.alias(indices.component_alias(alias.clone())?);
                if let ComponentAlias::CoreInstanceExport { kind: ExternalKind::Memory, instance_index, name } = alias {
                    let name = &format!("{name}{MARKS_SUFFIX}");
                    aliases.alias(Alias::CoreInstanceExport {
                        instance: instance_index,
                        kind: ExportKind::Memory,
                        name,
                    });
                }
            }
            component.section(&aliases);
        }
        Payload::ComponentCanonicalSection(section) => {
            let mut canonical = CanonicalFunctionSection::new();
            indices.parse_component_canonical_section(&mut canonical, section)?;
            component.section(&canonical);
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

fn emit_instance(
    instances: &mut InstanceSection,
    indices: &mut Indices,
    instance: Instance<'_>,
) -> Result<(), Error<Infallible>> {
    match instance {
        Instance::Instantiate { module_index, args } => {
            instances.instantiate(module_index, args.iter().map(|arg| (arg.name, ModuleArg::Instance(arg.index))));
        }
        Instance::FromExports(exports) => {
            let mut items = Vec::new();
            for export in &*exports {
                let kind = indices.export_kind(export.kind)?;
                let index = indices.external_index(export.kind, export.index)?;
                items.push((export.name.to_owned(), kind, index));
                if export.kind == ExternalKind::Memory {
                    items.push((format!("{}{MARKS_SUFFIX}", export.name), kind, index + 1));
                }
            }
            instances.export_items(items.iter().map(|(name, kind, index)| (name.as_str(), *kind, *index)));
        }
    }
    Ok(())
}
