//! Exports by their plain names.
//!
//! A component's core module exports `host:protocol/node@0.1.0#handle-message`, a name that few languages can write. A module
//! may export `handle_message` or `handleMessage` in its place; here it gets the full name. Function names of the contract
//! are unique, so the interface is not needed.

use std::collections::BTreeMap;

use wasm_encoder::{ExportKind, ExportSection, Module, RawSection};
use wasmparser::{ExternalKind, Parser, Payload};
use wit_parser::{Resolve, WorldId, WorldItem};

/// A module with the full names, or `None` if it exports no plain name, or uses full names already.
pub(crate) fn with_full_names(module: &[u8], resolve: &Resolve, world: WorldId) -> wasmparser::Result<Option<Vec<u8>>> {
    let names = plain_names(resolve, world);
    let mut renamed = false;
    let mut encoded = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::ExportSection(section) => {
                let mut exports = ExportSection::new();
                for export in section.clone() {
                    let export = export?;
                    if export.name.contains('#') {
                        return Ok(None);
                    }
                    let full = match export.kind {
                        ExternalKind::Func => names.get(export.name),
                        _ => None,
                    };
                    renamed |= full.is_some();
                    let name = full.map_or(export.name, String::as_str);
                    let Some(kind) = kind(export.kind) else { return Ok(None) };
                    exports.export(name, kind, export.index);
                }
                encoded.section(&exports);
            }
            other => {
                if let Some((id, range)) = other.as_section() {
                    encoded.section(&RawSection { id, data: &module[range] });
                }
            }
        }
    }
    Ok(renamed.then(|| encoded.finish()))
}

fn kind(kind: ExternalKind) -> Option<ExportKind> {
    Some(match kind {
        ExternalKind::Func => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag | ExternalKind::FuncExact => return None,
    })
}

/// Maps plain names to full ones, including those of the functions that free a result.
fn plain_names(resolve: &Resolve, world: WorldId) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (key, item) in &resolve.worlds[world].exports {
        let WorldItem::Interface { id, .. } = item else { continue };
        for function in resolve.interfaces[*id].functions.keys() {
            let full = format!("{}#{function}", resolve.name_world_key(key));
            for plain in [function.replace('-', "_"), camel(function)] {
                names.insert(format!("cabi_post_{plain}"), format!("cabi_post_{full}"));
                names.insert(plain, full.clone());
            }
        }
    }
    names
}

/// `handle-message` as `handleMessage`.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..])
}
