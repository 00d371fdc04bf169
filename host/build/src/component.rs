//! Core module in, component out.

use wasm_encoder::{ComponentSection, CustomSection};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId, WorldItem};

use crate::{exports, validity};

/// The contract, as this host speaks it.
pub(crate) const CONTRACT: &str = include_str!("../../../wit/protocol.wit");

/// A stand-in for `wasi_snapshot_preview1`, for language runtimes that import it.
pub(crate) const ADAPTER: &str = include_str!("adapter.wat");

/// The interface that makes a module a specification from outside.
const OUTSIDE: &str = "host:protocol/outside@0.1.0";

/// A plugin or a specification exports at least one of these interfaces, in any version.
const CONTRACTS: [&str; 2] = ["host:protocol/node@", "host:protocol/outside@"];

/// The module that the adapter is named after.
const WASI: &str = "wasi_snapshot_preview1";

/// The section of a component with the assumptions for reports: a phrase per line. The sandbox knows the same name.
const ASSUMED: &str = "host:assumed";

/// The assumptions for functions of the adapter that a module imports.
const OF_ADAPTER: [(&str, &str); 2] = [("clock_time_get", STILL_CLOCK), ("random_get", SAME_BYTES)];

/// The assumptions for a substitute clock and for substitute random bytes.
pub(crate) const STILL_CLOCK: &str = "the clock stands still";
pub(crate) const SAME_BYTES: &str = "random bytes are the same each time";

/// Why a core module does not become a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComponentError {
    /// The bytes are no core module.
    #[error("it is no WebAssembly module: {0}")]
    NotAModule(String),
    /// The module breaks a rule of WebAssembly.
    #[error("it is not valid WebAssembly: {0}")]
    Invalid(String),
    /// Imports or exports do not fit the contract.
    #[error("{0}")]
    Contract(String),
}

/// Whether bytes are a component, by their first eight.
pub(crate) fn is_component(bytes: &[u8]) -> bool {
    bytes.get(..8).is_some_and(|head| head == b"\0asm\x0d\0\x01\0")
}

/// Makes a component of a core module.
///
/// Bindings leave the type of the component in the module. Without it, the module's own exports tell which of the
/// optional interfaces it has; they may have their plain names, such as `handle_message`. Imports from
/// `wasi_snapshot_preview1` come from an adapter without state: a fixed clock, fixed randomness, output to `log`, no
/// files, and a trap for the rest.
///
/// # Errors
///
/// The bytes are no module, or it does not fit the contract.
pub fn componentize(core: &[u8]) -> Result<Vec<u8>, ComponentError> {
    // The encoder validates its own output, and names places in that.
    encoded(core).map_err(|error| match error {
        ComponentError::Contract(_) => validity::flaw(core).map_or(error, ComponentError::Invalid),
        other => other,
    })
}

fn encoded(core: &[u8]) -> Result<Vec<u8>, ComponentError> {
    let mut module = core.to_vec();
    let mut contents = Contents::read(&module)?;
    if !contents.typed {
        let (resolve, full) = world("full");
        if let Some(renamed) = exports::with_full_names(&module, &resolve, full).map_err(|error| malformed(&error))? {
            module = renamed;
            contents = Contents::read(&module)?;
        }
        let has = |interface: &str| {
            let prefix = format!("{interface}#");
            contents.exports.iter().any(|export| export.starts_with(&prefix))
        };
        let (resolve, world) = match has(OUTSIDE) {
            true => world("spec"),
            false => world_with(|interface, _| has(interface)),
        };
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(contract)?;
    }
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).map_err(contract)?;
    if !contents.wasi.is_empty() {
        encoder = encoder.adapter(WASI, &adapter()).map_err(contract)?;
    }
    let component = encoder.encode().map_err(contract)?;
    // The type alone is no protocol: a library with bindings has it as well.
    let has_contract = |export: &String| CONTRACTS.iter().any(|interface| export.starts_with(interface));
    if !contents.exports.iter().any(has_contract) {
        return Err(ComponentError::Contract("it exports nothing of the contract".to_owned()));
    }
    Ok(component)
}

/// The adapter with the type of its imports.
fn adapter() -> Vec<u8> {
    let mut adapter = wat::parse_str(ADAPTER).expect("the adapter that is compiled in is well-formed");
    // A separate world, without anything that could differ from the world of the module's type.
    const WORLD: &str = "package host:protocol@0.1.0;
        interface environment { choose: func(alternatives: u32) -> u32; log: func(line: string); }
        world adapter { import environment; }";
    let mut resolve = Resolve::default();
    let package = resolve.push_str("adapter.wit", WORLD).expect("the world that is compiled in is well-formed");
    let world = resolve.select_world(&[package], Some("adapter")).expect("the package has this world alone");
    embed_component_metadata(&mut adapter, &resolve, world, StringEncoding::UTF8)
        .expect("the adapter that is compiled in fits its world");
    adapter
}

/// A component with its assumptions for reports: `assumed`, and those for functions of the adapter that its core module imports.
pub(crate) fn with_assumed(component: Vec<u8>, core: &[u8], assumed: &[String]) -> Vec<u8> {
    let imported = Contents::read(core).map(|contents| contents.wasi).unwrap_or_default();
    let of_adapter = OF_ADAPTER.iter().filter(|(function, _)| imported.iter().any(|name| name == function));
    let lines: Vec<&str> = assumed.iter().map(String::as_str).chain(of_adapter.map(|(_, phrase)| *phrase)).collect();
    assuming(component, &lines)
}

/// A component with its assumptions for reports.
pub(crate) fn assuming(mut component: Vec<u8>, lines: &[&str]) -> Vec<u8> {
    if !lines.is_empty() {
        let section = CustomSection { name: ASSUMED.into(), data: lines.join("\n").into_bytes().into() };
        section.append_to_component(&mut component);
    }
    component
}

/// The imports and exports of a module.
struct Contents {
    /// Whether it carries the type of the component that it becomes.
    typed: bool,
    /// The functions of WASI that it imports.
    wasi: Vec<String>,
    exports: Vec<String>,
}

fn malformed(error: &wasmparser::BinaryReaderError) -> ComponentError {
    ComponentError::NotAModule(error.message().to_owned())
}

impl Contents {
    fn read(core: &[u8]) -> Result<Self, ComponentError> {
        let mut contents = Self { typed: false, wasi: Vec::new(), exports: Vec::new() };
        for payload in wasmparser::Parser::new(0).parse_all(core) {
            match payload.map_err(|error| malformed(&error))? {
                wasmparser::Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                    contents.typed = true;
                }
                wasmparser::Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.map_err(|error| malformed(&error))?;
                        contents.wasi.extend((import.module == WASI).then(|| import.name.to_owned()));
                    }
                }
                wasmparser::Payload::ExportSection(section) => {
                    for export in section {
                        contents.exports.push(export.map_err(|error| malformed(&error))?.name.to_owned());
                    }
                }
                wasmparser::Payload::Version { encoding: wasmparser::Encoding::Component, .. } => {
                    return Err(ComponentError::NotAModule("it is a component already".to_owned()));
                }
                _ => {}
            }
        }
        Ok(contents)
    }
}

/// A world of the contract.
fn world(name: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("protocol.wit", CONTRACT).expect("the contract that is compiled in is well-formed");
    let world = resolve.select_world(&[package], Some(name)).expect("the contract has this world");
    (resolve, world)
}

/// The required interfaces, and those of the optional ones that are offered. `offers` is given the full name of an
/// interface and the names of its functions.
pub(crate) fn world_with(mut offers: impl FnMut(&str, &[&str]) -> bool) -> (Resolve, WorldId) {
    let (resolve, required) = world("protocol");
    let required: Vec<String> =
        resolve.worlds[required].exports.keys().map(|key| resolve.name_world_key(key)).collect();
    let (mut resolve, full) = world("full");
    let mut offered = resolve.worlds[full].exports.clone();
    offered.retain(|key, item| {
        let name = resolve.name_world_key(key);
        let functions: Vec<&str> = match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].functions.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        required.contains(&name) || offers(&name, &functions)
    });
    resolve.worlds[full].exports = offered;
    (resolve, full)
}

/// The contract with a world `plugin` of the offered and the wanted interfaces, for tools that read WIT. `offers` and `wants` are
/// given the short name of an interface.
pub(crate) fn wit_text(offers: impl Fn(&str) -> bool, wants: impl Fn(&str) -> bool) -> String {
    let imports = optional_of_contract("import").into_iter().filter(|interface| wants(interface));
    let imports: String = imports.map(|interface| format!("  import {interface};\n")).collect();
    let exports = optional_of_contract("export").into_iter().filter(|interface| offers(interface));
    let exports: String = exports.map(|interface| format!("  export {interface};\n")).collect();
    format!("{CONTRACT}\nworld plugin {{\n  include protocol;\n{imports}{exports}}}\n")
}

/// The optional interfaces in the world that [`wit_text`] adds to the contract, by the keyword `import` or `export`.
pub(crate) fn optional<'w>(wit_text: &'w str, word: &str) -> impl Iterator<Item = &'w str> {
    let world = wit_text.rsplit("world plugin {").next().unwrap_or_default();
    world.lines().filter_map(move |line| line.trim().strip_prefix(word)?.trim().strip_suffix(';'))
}

/// The interfaces that a plugin of this world exports, the required ones first.
pub(crate) fn exported(wit_text: &str) -> impl Iterator<Item = &str> {
    ["node", "specification"].into_iter().chain(optional(wit_text, "export"))
}

/// The optional interfaces of the world `full` of the contract, by the keyword `import` or `export`, in alphabetical order.
fn optional_of_contract(word: &str) -> Vec<&'static str> {
    let (_, full) = CONTRACT.split_once("world full {").expect("the contract that is compiled in has this world");
    let lines = full.lines().take_while(|line| *line != "}");
    let mut names: Vec<&str> =
        lines.filter_map(|line| line.trim().strip_prefix(word)?.trim().strip_suffix(';')).collect();
    names.sort_unstable();
    names
}

fn contract(error: impl std::fmt::Debug) -> ComponentError {
    // The debug form of the encoder's errors is the chain of causes; for people one line is enough.
    let chain = format!("{error:?}");
    let lines = chain.lines().map(str::trim).filter(|line| !line.is_empty());
    ComponentError::Contract(
        lines.take_while(|line| !line.starts_with("Stack backtrace")).collect::<Vec<_>>().join(" "),
    )
}

#[cfg(test)]
mod tests {
    use wit_component::{DecodedWasm, decode, dummy_module};
    use wit_parser::{LiftLowerAbi, ManglingAndAbi};

    use super::*;

    /// The interfaces of a component made from a module with the exports of a world.
    fn exports_of(world: &str) -> Vec<String> {
        let (resolve, world) = super::world(world);
        let module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
        let component = componentize(&module).expect("a module that fits");
        let DecodedWasm::Component(resolve, world) = decode(&component).expect("a component") else {
            panic!("a package in place of a component")
        };
        let keys = resolve.worlds[world].exports.keys();
        keys.map(|key| resolve.name_world_key(key)).filter(|name| !name.contains("/types@")).collect()
    }

    /// The world of the adapter must repeat an interface of the contract.
    #[test]
    fn the_adapter_knows_the_contract() {
        assert!(
            CONTRACT.contains("choose: func(alternatives: u32) -> u32;")
                && CONTRACT.contains("log: func(line: string);")
        );
        assert!(CONTRACT.starts_with("package host:protocol@0.1.0;"));
    }

    /// A world for tools that read WIT can have all interfaces of the Rust SDK.
    #[test]
    fn a_world_can_have_every_interface() {
        let mut resolve = Resolve::default();
        let text = wit_text(|_| true, |_| true);
        let package = resolve.push_str("protocol.wit", &text).expect("well-formed text");
        let [plugin, full] = ["plugin", "full"].map(|name| {
            let id = resolve.select_world(&[package], Some(name)).expect("the text has this world");
            let world = &resolve.worlds[id];
            let mut names: Vec<String> =
                world.imports.keys().chain(world.exports.keys()).map(|key| resolve.name_world_key(key)).collect();
            names.sort();
            names
        });
        assert_eq!(plugin, full);
    }

    #[test]
    fn a_module_without_bindings_becomes_what_its_exports_say() {
        assert_eq!(exports_of("protocol"), ["host:protocol/node@0.1.0", "host:protocol/specification@0.1.0"]);
        assert_eq!(exports_of("spec"), [OUTSIDE]);
        // The two required ones and all optional ones.
        assert_eq!(exports_of("full").len(), 2 + optional_of_contract("export").len());
    }
}
