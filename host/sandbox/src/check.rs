//! Checks that bytes are a component of our world, before any of its code runs.
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
use crate::contract::table::{IMPORTS, contract, name_in_interface};
use crate::store::context::cut;

/// The world as which a component is loaded.
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

/// Makes the check's lists of interfaces from the table of the contract.
macro_rules! interfaces {
    ($($world:ident {$(
        $interface:ident: $functions:ident { $($field:ident: $function:literal $parameters:tt -> $result:ty;)* }
    )*})*) => {
        /// The interfaces of the contract.
        pub(crate) const INTERFACES: &[Interface] = &[$($(
            Interface { name: stringify!($interface), of: Of::$world, functions: &[$($function),*] },
        )*)*];

        /// The interfaces of the contract that a component exports, with the exact names of these exports.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Interfaces { $($(pub $interface: Option<String>,)*)* }

        impl Interfaces {
            /// Notes an export, which is this interface of the contract.
            fn found(&mut self, interface: &Interface, export: &str) {
                match interface.name {
                    $($(stringify!($interface) => self.$interface = Some(export.to_owned()),)*)*
                    other => unreachable!("{other} is one of the interfaces"),
                }
            }

            /// Whether it has this interface.
            fn has(&self, interface: &Interface) -> bool {
                match interface.name {
                    $($(stringify!($interface) => self.$interface.is_some(),)*)*
                    other => unreachable!("{other} is one of the interfaces"),
                }
            }
        }
    };
}
contract!(interfaces);

/// One interface of the contract.
pub(crate) struct Interface {
    pub name: &'static str,
    pub of: Of,
    /// Its functions, by their names in messages.
    pub functions: &'static [&'static str],
}

/// The world of an interface, by the words of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "words of the table")]
pub(crate) enum Of {
    /// Every plugin has it.
    plugin,
    /// A plugin may have it.
    optional,
    /// Every specification from outside has it.
    spec,
}

/// The source text of the code that validates modules.
pub(crate) const SOURCES: [&str; 3] =
    [include_str!("check.rs"), include_str!("contract/features.rs"), include_str!("check/validate.rs")];

/// Bytes of all sections with types. The contract takes some 3 KiB. The parser reads nested types by recursion and takes
/// up to 4 KiB of stack for each 3 bytes of them, see [`STACK_BYTES`](crate::engine::compile::STACK_BYTES).
pub(crate) const TYPE_BYTES_MAX: usize = 64 << 10;

/// Maximum number of components inside the component. A toolchain makes one for each interface.
const COMPONENTS_MAX: usize = 64;

/// Maximum levels of nested components. Tools that put stubs around a component make three.
const LEVELS_MAX: usize = 4;

/// Refuses components that are too large, without reading them.
pub(crate) fn size(bytes: &[u8], limits: &GuestLimits) -> Result<(), LoadError> {
    match bytes.len() > limits.component_bytes {
        true => Err(LoadError::TooLarge { bytes: bytes.len(), limit: limits.component_bytes }),
        false => Ok(()),
    }
}

/// Refuses everything but a valid component, and names it. A known module is valid.
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

/// Refuses components that are small and become huge: nested types by the thousand, and components that instantiate others twice, which
/// doubles with each level. Walks over the sections without reading types.
fn shape(bytes: &[u8]) -> Result<(), LoadError> {
    // For each open level of the walk: the components that were instantiated.
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
                let level = levels.last_mut().expect("a section lies between the version and the end of its component");
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
            // A second name would let a component be instantiated a second time.
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

/// The names that a component imports and exports, and the assumptions of its build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub assumed: Vec<String>,
}

impl Names {
    /// Whether the component imports the durable map.
    pub(crate) fn store(&self) -> bool {
        self.import("storage")
    }

    /// Whether the component decides when the map is durable.
    pub(crate) fn sync(&self) -> bool {
        self.import("durability")
    }

    fn import(&self, name: &str) -> bool {
        self.imports.iter().filter_map(|import| split(import)).any(|(interface, _)| interface == name)
    }
}

/// The section with the assumptions of a component's build: one phrase per line. `host build` writes it.
const ASSUMED: &str = "host:assumed";

/// Maximum number of its phrases, and of bytes per phrase; the rest is ignored.
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
    let mut found = Interfaces::default();
    for export in exports {
        if let Some(interface) = contract_interface(export)? {
            found.found(interface, export);
        }
    }
    let required = match world {
        World::Plugin => Of::plugin,
        World::Spec => Of::spec,
    };
    let missing = INTERFACES.iter().filter(|interface| interface.of == required && !found.has(interface));
    let missing: Vec<String> = missing.map(|interface| abi::interface(interface.name)).collect();
    match world {
        _ if missing.is_empty() => Ok(found),
        World::Plugin if found.outside.is_some() => Err(LoadError::IsSpec),
        World::Spec if found.node.is_some() => Err(LoadError::IsPlugin),
        _ => Err(LoadError::MissingExports { names: missing, world: world.name() }),
    }
}

/// Compares the functions inside the interfaces with the contract. Their types are checked later, on an instance.
pub(crate) fn functions(engine: &Engine, component: &Component, world: World) -> Result<(), LoadError> {
    let ty = component.component_type();
    for (name, item) in ty.imports(engine) {
        check_environment(engine, name, &item.ty)?;
    }
    let mut missing = Vec::new();
    for (name, item) in ty.exports(engine) {
        let Some(interface) = contract_interface(name)? else { continue };
        let ComponentItem::ComponentInstance(instance) = &item.ty else {
            return Err(LoadError::WrongType { export: name.to_owned(), detail: "it is no interface".into() });
        };
        let has = |function: &str| instance.exports(engine).any(|(name, _)| name == function);
        let functions = interface.functions.iter().map(|function| name_in_interface(function));
        missing.extend(functions.filter(|function| !has(function)).map(|function| format!("{name}#{function}")));
    }
    if missing.is_empty() { Ok(()) } else { Err(LoadError::MissingExports { names: missing, world: world.name() }) }
}

/// The rewriting must see all code, and the module behind each index.
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

/// The interface of the contract for an export, or an error if the export is another version of one.
fn contract_interface(export: &str) -> Result<Option<&'static Interface>, LoadError> {
    let Some((name, version)) = split(export) else { return Ok(None) };
    let Some(interface) = INTERFACES.iter().find(|interface| interface.name == name) else { return Ok(None) };
    if compatible(version) {
        return Ok(Some(interface));
    }
    Err(LoadError::Version { found: export.to_owned(), supported: abi::interface(name) })
}

/// The optional interfaces of the contract among these exports, in their order.
pub(crate) fn optional(exports: &[String]) -> Vec<String> {
    let is_optional = |name: &str| INTERFACES.iter().any(|known| known.name == name && known.of != Of::plugin);
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

/// The functions of an interface that a component may import.
fn imported(interface: &str) -> Option<&'static [&'static str]> {
    IMPORTS.iter().find(|(known, _)| *known == interface).map(|(_, functions)| *functions)
}

fn check_import(name: &str) -> Result<(), LoadError> {
    let remedy = match split(name) {
        Some((interface, version)) if imported(interface).is_some() && compatible(version) => return Ok(()),
        Some((interface, _)) if imported(interface).is_some() => {
            let supported = abi::interface(interface);
            return Err(LoadError::Version { found: name.to_owned(), supported });
        }
        _ if name.starts_with("wasi:") => "plugins run without wasi, because time, randomness and files are no part \
             of a protocol; build it with `host build`, or leave wasi out: Python and JavaScript by `--stub-wasi` of \
             componentize-py and componentize-qjs; C, C++, Go and others by giving the core module to `host build`, \
             which adapts it"
            .into(),
        _ => format!(
            "a component may import `{}`, `{}`, `{}`, `{}` and `{}` only",
            abi::ENVIRONMENT,
            abi::ODDS,
            abi::LIVE,
            abi::STORAGE,
            abi::DURABILITY
        ),
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
    let functions = split(name).and_then(|(interface, _)| imported(interface));
    let Some(functions) = functions.filter(|functions| !functions.is_empty()) else { return Ok(()) };
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
