//! The errors of an invalid module.

use wasmparser::{
    BinaryReader, ExternalKind, FuncValidatorAllocations, Name, NameSectionReader, Parser, Payload, TypeRef,
    ValidPayload, Validator, WasmFeatures,
};

/// The first error of a core module, with the function that has it; none if the module is valid. Offsets are left out: a module from
/// a text or a linker is no file of the user's.
pub(crate) fn flaw(core: &[u8]) -> Option<String> {
    // The sandbox refuses features, by name.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut imported, mut defined) = (0, 0);
    let mut allocations = FuncValidatorAllocations::default();
    for payload in Parser::new(0).parse_all(core) {
        let payload = match payload {
            Ok(payload) => payload,
            Err(error) => return Some(error.message().to_owned()),
        };
        if let Payload::ImportSection(section) = &payload {
            let imports = section.clone().into_imports().flatten();
            imported += imports.filter(|import| matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_))).count();
        }
        match validator.payload(&payload) {
            Err(error) => return Some(error.message().to_owned()),
            Ok(ValidPayload::Func(function, body)) => {
                let mut validator = function.into_validator(allocations);
                if let Err(error) = validator.validate(&body) {
                    return Some(format!("{}, in {}", error.message(), name(core, imported + defined)));
                }
                allocations = validator.into_allocations();
                defined += 1;
            }
            Ok(_) => {}
        }
    }
    None
}

/// The name of a function, else its export, else its number.
fn name(core: &[u8], function: usize) -> String {
    let (mut named, mut exported) = (None, None);
    for payload in Parser::new(0).parse_all(core).flatten() {
        match payload {
            Payload::CustomSection(section) if section.name() == "name" => {
                let names = NameSectionReader::new(BinaryReader::new(section.data(), section.data_offset())).flatten();
                let functions =
                    names.filter_map(|name| if let Name::Function(names) = name { Some(names) } else { None });
                let mut functions = functions.flat_map(|names| names.into_iter().flatten());
                named = functions.find(|one| one.index as usize == function).map(|one| one.name.to_owned());
            }
            Payload::ExportSection(section) => {
                let mut exports = section.into_iter().flatten();
                let found = exports.find(|one| one.kind == ExternalKind::Func && one.index as usize == function);
                exported = found.map(|one| one.name.to_owned());
            }
            _ => {}
        }
    }
    named.or(exported).map_or_else(|| format!("function {function}"), |name| format!("`{name}`"))
}
