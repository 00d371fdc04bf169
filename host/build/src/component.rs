//! Core module in, component out.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// The contract, as this host speaks it.
pub(crate) const CONTRACT: &str = include_str!("../../../wit/protocol.wit");

/// Why a core module does not become a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComponentError {
    /// The bytes are no core module.
    #[error("it is no WebAssembly module: {0}")]
    NotAModule(String),
    /// Imports or exports do not fit the contract.
    #[error("{0}")]
    Contract(String),
}

/// Makes a component of a core module.
///
/// Bindings leave the type of the component in the module. Where there is none, the module's own
/// exports tell which of the optional interfaces it has.
///
/// # Errors
///
/// The bytes are no module, or it does not fit the contract.
pub fn componentize(core: &[u8]) -> Result<Vec<u8>, ComponentError> {
    let contents = Contents::read(core)?;
    let mut module = core.to_vec();
    if !contents.typed {
        let (resolve, world) = world_of(&contents.exports);
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(contract)?;
    }
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(contract)
}

/// What a module says about itself.
struct Contents {
    /// Whether it carries the type of the component that it becomes.
    typed: bool,
    exports: Vec<String>,
}

impl Contents {
    fn read(core: &[u8]) -> Result<Self, ComponentError> {
        let malformed = |error: wasmparser::BinaryReaderError| ComponentError::NotAModule(error.message().to_owned());
        let mut contents = Self { typed: false, exports: Vec::new() };
        for payload in wasmparser::Parser::new(0).parse_all(core) {
            match payload.map_err(malformed)? {
                wasmparser::Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                    contents.typed = true;
                }
                wasmparser::Payload::ExportSection(section) => {
                    for export in section {
                        contents.exports.push(export.map_err(malformed)?.name.to_owned());
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

/// The required interfaces, and the optional ones of which a function is exported.
fn world_of(exports: &[String]) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("protocol.wit", CONTRACT).expect("the contract that is compiled in is well-formed");
    let required = resolve.select_world(&[package], Some("protocol")).expect("the contract has this world");
    let full = resolve.select_world(&[package], Some("full")).expect("the contract has this world");
    let required = resolve.worlds[required].exports.clone();
    let mut offered = resolve.worlds[full].exports.clone();
    offered.retain(|key, _| {
        let prefix = format!("{}#", resolve.name_world_key(key));
        required.contains_key(key) || exports.iter().any(|export| export.starts_with(&prefix))
    });
    resolve.worlds[full].exports = offered;
    (resolve, full)
}

fn contract(error: impl std::fmt::Debug) -> ComponentError {
    // The debug form of the encoder's errors is the chain of causes; one line is enough for people.
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

    /// The interfaces that a component made of a module with the exports of a world has.
    fn exports(world: &str) -> Vec<String> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("protocol.wit", CONTRACT).expect("a well-formed contract");
        let world = resolve.select_world(&[package], Some(world)).expect("a world of the contract");
        let module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
        let component = componentize(&module).expect("a module that fits");
        let DecodedWasm::Component(resolve, world) = decode(&component).expect("a component") else {
            panic!("a package in place of a component")
        };
        let keys = resolve.worlds[world].exports.keys();
        keys.map(|key| resolve.name_world_key(key)).filter(|name| !name.contains("/types@")).collect()
    }

    #[test]
    fn a_module_without_bindings_becomes_what_its_exports_say() {
        assert_eq!(exports("protocol"), ["host:protocol/node@0.1.0", "host:protocol/specification@0.1.0"]);
        assert_eq!(exports("full").len(), 5);
    }
}
