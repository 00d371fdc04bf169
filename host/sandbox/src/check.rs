//! Checks that bytes are a component of our world, before any of it runs.
//!
//! | module | what it holds |
//! |---|---|
//! | `validate` | whether a component is valid |

pub(crate) mod validate;

use std::collections::BTreeSet;

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef, Encoding,
    Parser, Payload,
};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use crate::check::validate::validate;
use crate::contract::abi::{self, PACKAGE, VERSION};
use crate::contract::error::LoadError;
use crate::contract::features::{self, features};
use crate::contract::limits::GuestLimits;
use crate::store::context::cut;

/// What a component is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// A protocol.
    Plugin,
    /// A specification from outside.
    Spec,
}

impl World {
    /// Its name in the contract.
    fn name(self) -> &'static str {
        match self {
            Self::Plugin => "protocol",
            Self::Spec => "spec",
        }
    }
}

/// The functions of every interface, and whether a plugin must have it.
const INTERFACES: [(&str, bool, &[&str]); 15] = [
    ("node", true, &["init", "handle-message", "local-events", "handle-local", "serialize"]),
    ("specification", true, &["properties", "view", "invariant"]),
    ("defaults", false, &["about"]),
    ("describe", false, &["state", "message"]),
    ("views", false, &["describe-view"]),
    ("names", false, &["node-name"]),
    ("durable", false, &["persist"]),
    ("quorum", false, &["is-used", "role-of", "handle-quorum"]),
    ("symmetry", false, &["interchangeable", "rename-message", "rename-local"]),
    ("transport", false, &["handle-transport-error"]),
    ("completion", false, &["is-done"]),
    ("timing", false, &["duration"]),
    ("clients", false, &["accept"]),
    ("neighbourhood", false, &["neighbours"]),
    (OUTSIDE, false, &["properties", "view", "invariant"]),
];

/// The one interface that a specification from outside must have.
const OUTSIDE: &str = "outside";

/// The text of what finds a module valid, or not.
pub(crate) const SOURCES: [&str; 3] =
    [include_str!("check.rs"), include_str!("contract/features.rs"), include_str!("check/validate.rs")];

/// Bytes of all sections with types. The contract takes some 3 KiB. The parser reads nested types by recursion and takes
/// up to 4 KiB of stack for each 3 bytes of them, see [`STACK_BYTES`](crate::engine::compile::STACK_BYTES).
pub(crate) const TYPE_BYTES_MAX: usize = 64 << 10;

/// Components inside the component. A toolchain makes one for each interface.
const COMPONENTS_MAX: usize = 64;

/// Levels of components inside each other. Tools that put stubs around a component make three.
const LEVELS_MAX: usize = 4;

/// Refuses at once what is too large. Reads nothing.
pub(crate) fn size(bytes: &[u8], limits: &GuestLimits) -> Result<(), LoadError> {
    match bytes.len() > limits.component_bytes {
        true => Err(LoadError::TooLarge { bytes: bytes.len(), limit: limits.component_bytes }),
        false => Ok(()),
    }
}

/// Refuses everything but a valid component; says what it is instead. What is known of a module is that it is valid.
pub(crate) fn preamble(bytes: &[u8], is_known: &dyn Fn(&[u8]) -> bool) -> Result<(), LoadError> {
    const MAGIC: &[u8; 4] = b"\0asm";
    if bytes.is_empty() {
        return Err(LoadError::Empty);
    }
    if !bytes.starts_with(MAGIC) {
        if MAGIC.starts_with(bytes) {
            return Err(truncated(bytes, "the first eight bytes are not complete"));
        }
        let head = &bytes[..bytes.len().min(200)];
        let readable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || !byte.is_ascii();
        return Err(match head.iter().all(readable) {
            true => LoadError::Text { start: String::from_utf8_lossy(head).chars().take(20).collect() },
            false => LoadError::NotWasm,
        });
    }
    match Parser::new(0).parse(bytes, true) {
        Ok(wasmparser::Chunk::Parsed { payload: Payload::Version { encoding: Encoding::Module, .. }, .. }) => {
            return Err(LoadError::CoreModule);
        }
        Ok(_) => {}
        Err(error) => return Err(parse_error(bytes, &error)),
    }
    shape(bytes)?;
    validate(bytes, features(), is_known).map_err(|error| parse_error(bytes, &error))
}

/// Refuses what is small and becomes huge: types in types by the thousand, and components that instantiate others twice, which
/// doubles with each level. Walks over the sections without reading types.
fn shape(bytes: &[u8]) -> Result<(), LoadError> {
    // Of each level that the walk is in: which components were instantiated.
    let mut levels: Vec<BTreeSet<u32>> = vec![BTreeSet::new()];
    let (mut components, mut type_bytes) = (0_usize, 0_usize);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| parse_error(bytes, &error))?;
        let is_inside = levels.len() > 1;
        match payload {
            Payload::ModuleSection { .. } => levels.push(BTreeSet::new()),
            Payload::ComponentSection { .. } => {
                levels.push(BTreeSet::new());
                components += 1;
                if levels.len() > LEVELS_MAX {
                    let what = format!("it has components in components inside, more than {LEVELS_MAX} levels deep");
                    return Err(LoadError::invalid(what));
                }
                if components > COMPONENTS_MAX {
                    let what = format!("it has more than {COMPONENTS_MAX} components inside; no plugin needs as many");
                    return Err(LoadError::invalid(what));
                }
            }
            Payload::End(_) => drop(levels.pop()),
            Payload::ComponentInstanceSection(section) if is_inside => {
                let level = levels.last_mut().expect("inside of something");
                for instance in section {
                    let instance = instance.map_err(|error| parse_error(bytes, &error))?;
                    if let ComponentInstance::Instantiate { component_index, .. } = instance
                        && !level.insert(component_index)
                    {
                        let what = "a component inside it instantiates others more than once; no plugin needs that";
                        return Err(LoadError::invalid(what));
                    }
                }
            }
            // Under a second name a component could be instantiated a second time.
            Payload::ComponentAliasSection(section) if is_inside => {
                for alias in section {
                    if let ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, .. }
                    | ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } =
                        alias.map_err(|error| parse_error(bytes, &error))?
                    {
                        let what = "a component inside it takes components from outside; no plugin needs that";
                        return Err(LoadError::invalid(what));
                    }
                }
            }
            Payload::ComponentTypeSection(section) => type_bytes += section.range().len(),
            Payload::CoreTypeSection(section) => type_bytes += section.range().len(),
            _ => {}
        }
        if type_bytes > TYPE_BYTES_MAX {
            let what = format!("its types take more than {TYPE_BYTES_MAX} bytes; the contract needs a twentieth of it");
            return Err(LoadError::invalid(what));
        }
    }
    Ok(())
}

fn truncated(bytes: &[u8], detail: &str) -> LoadError {
    LoadError::Truncated { bytes: bytes.len(), detail: detail.to_owned() }
}

fn parse_error(bytes: &[u8], error: &wasmparser::BinaryReaderError) -> LoadError {
    let at_end = error.offset() >= bytes.len();
    if error.message().contains("unexpected end") || at_end {
        return truncated(bytes, error.message());
    }
    features::refusal(error.message()).unwrap_or_else(|| LoadError::invalid(error))
}

/// Which interfaces of the contract a component exports, by the exact names of its exports; those that it must have and has not are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interfaces {
    pub node: String,
    pub specification: String,
    pub defaults: Option<String>,
    pub describe: Option<String>,
    pub views: Option<String>,
    pub names: Option<String>,
    pub durable: Option<String>,
    pub quorum: Option<String>,
    pub symmetry: Option<String>,
    pub transport: Option<String>,
    pub completion: Option<String>,
    pub timing: Option<String>,
    pub clients: Option<String>,
    pub neighbourhood: Option<String>,
    pub outside: Option<String>,
}

/// The names that a component imports and exports, and what whoever built it says of how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub assumed: Vec<String>,
}

/// The section with what was assumed when a component was built: a phrase per line. `host build` writes it.
const ASSUMED: &str = "host:assumed";

/// Phrases of it that are told, and bytes of each.
const ASSUMED_MAX: (usize, usize) = (16, 200);

/// Compares the names of imports and exports with the contract.
pub(crate) fn names(bytes: &[u8], world: World) -> Result<(Interfaces, Names), LoadError> {
    let mut names = Names::default();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(LoadError::invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            // The outermost component ends, too, after all its sections.
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(LoadError::invalid)?;
                    let name = import.name.name.to_owned();
                    if !matches!(import.ty, ComponentTypeRef::Instance(_)) {
                        return Err(LoadError::Import { name, remedy: "a plugin imports interfaces only".into() });
                    }
                    names.imports.push(name);
                }
            }
            Payload::ComponentAliasSection(section) if depth == 0 => {
                for alias in section {
                    refuse_code_from_outside(&alias.map_err(LoadError::invalid)?)?;
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    names.exports.push(export.map_err(LoadError::invalid)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if depth == 0 && section.name() == ASSUMED => {
                let text = String::from_utf8_lossy(section.data());
                let phrases = text.lines().take(ASSUMED_MAX.0).map(|phrase| cut(phrase, ASSUMED_MAX.1).to_owned());
                names.assumed.extend(phrases);
            }
            _ => {}
        }
    }
    for import in &names.imports {
        check_import(import)?;
    }
    Ok((interfaces(&names.exports, world)?, names))
}

/// The interfaces of the contract among these exports.
fn interfaces(exports: &[String], world: World) -> Result<Interfaces, LoadError> {
    let mut found = [const { None::<String> }; INTERFACES.len()];
    for export in exports {
        if let Some(which) = contract_interface(export)? {
            found[which] = Some(export.clone());
        }
    }
    let is_required = |&&(name, is_of_plugins, _): &&(&str, bool, &[&str])| match world {
        World::Plugin => is_of_plugins,
        World::Spec => name == OUTSIDE,
    };
    let is_there = |name: &str| INTERFACES.iter().zip(&found).any(|(known, found)| known.0 == name && found.is_some());
    let missing = INTERFACES.iter().filter(is_required).filter(|(name, ..)| !is_there(name));
    let missing: Vec<String> = missing.map(|(name, ..)| abi::interface(name)).collect();
    match world {
        _ if missing.is_empty() => {}
        World::Plugin if is_there(OUTSIDE) => return Err(LoadError::IsSpec),
        World::Spec if is_there("node") => return Err(LoadError::IsPlugin),
        _ => return Err(LoadError::MissingExports { names: missing, world: world.name() }),
    }
    let [
        node,
        specification,
        defaults,
        describe,
        views,
        names,
        durable,
        quorum,
        symmetry,
        transport,
        completion,
        timing,
        clients,
        neighbourhood,
        outside,
    ] = found;
    let (node, specification) = (node.unwrap_or_default(), specification.unwrap_or_default());
    Ok(Interfaces {
        node,
        specification,
        defaults,
        describe,
        views,
        names,
        durable,
        quorum,
        symmetry,
        transport,
        completion,
        timing,
        clients,
        neighbourhood,
        outside,
    })
}

/// Compares the functions inside the interfaces with the contract. Their types are checked later, on an instance.
pub(crate) fn functions(engine: &Engine, component: &Component, world: World) -> Result<(), LoadError> {
    let ty = component.component_type();
    for (name, item) in ty.imports(engine) {
        check_environment(engine, name, &item.ty)?;
    }
    let mut missing = Vec::new();
    for (name, item) in ty.exports(engine) {
        let Some(which) = contract_interface(name)? else { continue };
        let ComponentItem::ComponentInstance(instance) = &item.ty else {
            return Err(LoadError::WrongType { export: name.to_owned(), detail: "it is no interface".into() });
        };
        let has = |function: &str| instance.exports(engine).any(|(name, _)| name == function);
        missing.extend(INTERFACES[which].2.iter().filter(|f| !has(f)).map(|f| format!("{name}#{f}")));
    }
    if missing.is_empty() { Ok(()) } else { Err(LoadError::MissingExports { names: missing, world: world.name() }) }
}

/// The rewriting must see all code, and what an index of a module stands for.
fn refuse_code_from_outside(alias: &ComponentAlias<'_>) -> Result<(), LoadError> {
    match alias {
        ComponentAlias::InstanceExport {
            kind: ComponentExternalKind::Module | ComponentExternalKind::Component,
            name,
            ..
        } => Err(LoadError::Import { name: (*name).to_owned(), remedy: "a plugin brings all its code along".into() }),
        _ => Ok(()),
    }
}

/// The row of [`INTERFACES`] that an export is, or an error if it is another version of one.
fn contract_interface(export: &str) -> Result<Option<usize>, LoadError> {
    let Some((interface, version)) = split(export) else { return Ok(None) };
    let Some(which) = INTERFACES.iter().position(|(known, _, _)| *known == interface) else { return Ok(None) };
    if compatible(version) {
        return Ok(Some(which));
    }
    Err(LoadError::Version { found: export.to_owned(), supported: abi::interface(interface) })
}

/// The optional interfaces of the contract among these exports, in their order.
pub(crate) fn optional(exports: &[String]) -> Vec<String> {
    let is_optional = |name: &str| INTERFACES.iter().any(|(known, is_required, _)| *known == name && !is_required);
    let names = exports.iter().filter_map(|export| split(export)).map(|(name, _)| name);
    names.filter(|name| is_optional(name)).map(str::to_owned).collect()
}

/// `host:protocol/node@0.1.0` into `node` and `0.1.0`.
fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PACKAGE)?.strip_prefix('/')?.split_once('@')
}

/// Versions `0.1.x` differ in documentation only; `0.1.x-pre` is something else.
fn compatible(version: &str) -> bool {
    let minor = |version: &str| {
        let (head, patch) = version.rsplit_once('.')?;
        patch.bytes().all(|byte| byte.is_ascii_digit()).then(|| head.to_owned())
    };
    minor(version).is_some() && minor(version) == minor(VERSION)
}

fn check_import(name: &str) -> Result<(), LoadError> {
    let remedy = match split(name) {
        Some(("environment" | "odds" | "live" | "types", version)) if compatible(version) => return Ok(()),
        Some((interface @ ("environment" | "odds" | "live" | "types"), _)) => {
            let supported = abi::interface(interface);
            return Err(LoadError::Version { found: name.to_owned(), supported });
        }
        _ if name.starts_with("wasi:") => "plugins run without wasi, because time, randomness and files are no part \
             of a protocol; build it with `host build`, or leave wasi out: Python and JavaScript by `--stub-wasi` of \
             componentize-py and componentize-qjs; C, C++, Go and others by giving the core module to `host build`, \
             which adapts it"
            .into(),
        _ => format!("a component may import `{}`, `{}` and `{}` only", abi::ENVIRONMENT, abi::ODDS, abi::LIVE),
    };
    Err(LoadError::Import { name: name.to_owned(), remedy })
}

fn check_environment(engine: &Engine, name: &str, item: &ComponentItem) -> Result<(), LoadError> {
    // One of the plugin's own modules: it imports no others.
    if matches!(item, ComponentItem::Module(_)) {
        return Ok(());
    }
    let ComponentItem::ComponentInstance(instance) = item else {
        return Err(LoadError::Import { name: name.to_owned(), remedy: "it must be an interface".into() });
    };
    let functions: &[&str] = match split(name) {
        Some(("environment", _)) => &["choose", "can-send", "log"],
        Some(("odds", _)) => &["choose-weighted"],
        Some(("live", _)) => &["answer", "restart"],
        _ => return Ok(()),
    };
    // Types that an interface uses are among its exports.
    let is_function = |item: &ComponentItem| !matches!(item, ComponentItem::Type(_));
    let mut unknown =
        instance.exports(engine).filter(|(name, item)| !functions.contains(name) && is_function(&item.ty));
    match unknown.next() {
        None => Ok(()),
        Some((function, _)) => Err(LoadError::Import {
            name: format!("{name}#{function}"),
            remedy: format!("there is nothing in it but `{}`", functions.join("` and `")),
        }),
    }
}
