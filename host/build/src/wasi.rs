//! A substitute for WASI 0.2 below an interpreter, as `adapter.wat` is for WASI preview 1.
//!
//! componentize-py replaces each interface of WASI by a small module in which every function is a trap. Each of these modules is
//! rewritten here, with the same exports and types. None has state: no memory, no table, no global. The clock stands still,
//! random bytes are the same every time, the environment is empty, there are no files. Standard output and error go to `log`, a
//! call per line. All other functions trap, with names that tell the sandbox the requested function.
//!
//! Nothing else in the component changes, and no index: the modules import only from instances that were made before them.

use std::collections::BTreeMap;
use std::fmt::Write;

use wasm_encoder::{Component, ExportKind, InstanceSection, ModuleArg, RawSection};
use wasmparser::{
    BinaryReaderError, CanonicalFunction, ComponentAlias, ComponentName, ComponentNameSectionReader,
    CompositeInnerType, ExternalKind, Instance, Parser, Payload,
};

/// The functions with behaviour, as text: `(func $"interface#name" (param …) (result …) …)`.
pub(crate) const FUNCTIONS: &str = include_str!("wasi.wat");

/// The prefix of the names of modules that replace interfaces; the interface and its version follow.
const STUB: &str = "wit-component:adapter:wasi:";

/// The names of the module with the memory, and of the module that forwards calls to later ones.
const MAIN: &str = "main";
const SHIM: &str = "wit-component-shim-module";

/// The function that takes lines.
const LOG: &str = "log";

/// Functions that return an error at the address in their last parameter: the offset of the error's number, and that number.
const FAILING: [(&str, &str, u32, u32); 27] = [
    // There is no such file: `no-entry`.
    ("filesystem/types", "[method]descriptor.open-at", 4, 20),
    ("filesystem/types", "[method]descriptor.stat-at", 8, 20),
    ("filesystem/types", "[method]descriptor.metadata-hash-at", 8, 20),
    ("filesystem/types", "[method]descriptor.readlink-at", 4, 20),
    ("filesystem/types", "[method]descriptor.create-directory-at", 1, 20),
    ("filesystem/types", "[method]descriptor.remove-directory-at", 1, 20),
    ("filesystem/types", "[method]descriptor.unlink-file-at", 1, 20),
    ("filesystem/types", "[method]descriptor.link-at", 1, 20),
    ("filesystem/types", "[method]descriptor.rename-at", 1, 20),
    ("filesystem/types", "[method]descriptor.symlink-at", 1, 20),
    ("filesystem/types", "[method]descriptor.set-times-at", 1, 20),
    // No file is open: `bad-descriptor`.
    ("filesystem/types", "[method]descriptor.read-via-stream", 4, 3),
    ("filesystem/types", "[method]descriptor.write-via-stream", 4, 3),
    ("filesystem/types", "[method]descriptor.append-via-stream", 4, 3),
    ("filesystem/types", "[method]descriptor.read-directory", 4, 3),
    ("filesystem/types", "[method]descriptor.metadata-hash", 8, 3),
    ("filesystem/types", "[method]descriptor.get-flags", 1, 3),
    ("filesystem/types", "[method]descriptor.get-type", 1, 3),
    ("filesystem/types", "[method]descriptor.stat", 8, 3),
    ("filesystem/types", "[method]descriptor.read", 4, 3),
    ("filesystem/types", "[method]descriptor.write", 8, 3),
    ("filesystem/types", "[method]descriptor.advise", 1, 3),
    ("filesystem/types", "[method]descriptor.sync", 1, 3),
    ("filesystem/types", "[method]descriptor.sync-data", 1, 3),
    ("filesystem/types", "[method]descriptor.set-size", 1, 3),
    ("filesystem/types", "[method]descriptor.set-times", 1, 3),
    ("filesystem/types", "[method]directory-entry-stream.read-directory-entry", 4, 3),
];

/// The same for functions that create sockets: `not-supported`.
const WITHOUT_SOCKETS: [(&str, &str, u32, u32); 3] = [
    ("sockets/tcp-create-socket", "create-tcp-socket", 4, 2),
    ("sockets/udp-create-socket", "create-udp-socket", 4, 2),
    ("sockets/ip-name-lookup", "resolve-addresses", 4, 2),
];

/// The component with the substitute for WASI in place of its traps; unchanged if it has none.
pub(crate) fn with_platform(component: &[u8]) -> Result<Vec<u8>, BinaryReaderError> {
    let parts = Parts::read(component)?;
    let Some(around) = parts.around() else { return Ok(component.to_vec()) };
    let mut result = Component::new();
    let mut modules = 0;
    sections(component, |payload| {
        match &payload {
            Payload::ModuleSection { unchecked_range: range, .. } => {
                let stub = parts.stubs.get(&modules);
                modules += 1;
                let Some(interface) = stub else {
                    result.section(&RawSection { id: 1, data: &component[range.clone()] });
                    return Ok(());
                };
                let text = module(interface, &component[range.clone()], &around)?;
                let bytes = wat::parse_str(&text).expect("what stands in for WASI is well-formed");
                result.section(&RawSection { id: 1, data: &bytes });
            }
            Payload::InstanceSection(section) => drop(result.section(&parts.instances(section.clone(), &around)?)),
            other => {
                if let Some((id, range)) = other.as_section() {
                    result.section(&RawSection { id, data: &component[range] });
                }
            }
        }
        Ok(())
    })?;
    Ok(result.finish())
}

/// The parts of a component that matter here.
#[derive(Default)]
struct Parts {
    /// The interfaces that modules replace, without version, by the index of the module.
    stubs: BTreeMap<u32, String>,
    main: Option<u32>,
    shim: Option<u32>,
    instances: Vec<Made>,
    /// The origin of each core function: an export of an instance.
    functions: Vec<Option<(u32, String)>>,
}

/// A core instance.
enum Made {
    Of(u32),
    /// The functions of a bag of exports.
    Bag(BTreeMap<String, u32>),
}

/// The imports of a substitute module.
struct Around {
    /// The instance with the memory, and the index of its allocation function.
    main: u32,
    realloc: String,
    /// The instance that forwards calls, and the name of `log` there.
    shim: u32,
    log: String,
}

impl Parts {
    fn read(component: &[u8]) -> Result<Self, BinaryReaderError> {
        let mut parts = Self::default();
        sections(component, |payload| {
            match payload {
                Payload::InstanceSection(section) => {
                    for instance in section {
                        parts.instances.push(match instance? {
                            Instance::Instantiate { module_index, .. } => Made::Of(module_index),
                            Instance::FromExports(exports) => {
                                let functions = exports.iter().filter(|export| export.kind == ExternalKind::Func);
                                Made::Bag(functions.map(|export| (export.name.to_owned(), export.index)).collect())
                            }
                        });
                    }
                }
                Payload::ComponentAliasSection(section) => {
                    for alias in section {
                        if let ComponentAlias::CoreInstanceExport { kind: ExternalKind::Func, instance_index, name } =
                            alias?
                        {
                            parts.functions.push(Some((instance_index, name.to_owned())));
                        }
                    }
                }
                Payload::ComponentCanonicalSection(section) => {
                    for function in section {
                        let makes_core = !matches!(function?, CanonicalFunction::Lift { .. });
                        parts.functions.extend(makes_core.then_some(None));
                    }
                }
                Payload::CustomSection(section) if section.name() == "component-name" => {
                    let reader = wasmparser::BinaryReader::new(section.data(), section.data_offset());
                    parts.names(ComponentNameSectionReader::new(reader))?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(parts)
    }

    fn names(&mut self, names: ComponentNameSectionReader<'_>) -> Result<(), BinaryReaderError> {
        for name in names {
            let ComponentName::CoreModules(modules) = name? else { continue };
            for module in modules {
                let module = module?;
                match module.name {
                    MAIN => self.main = Some(module.index),
                    SHIM => self.shim = Some(module.index),
                    name => {
                        let interface = name.strip_prefix(STUB).and_then(|rest| rest.split('@').next());
                        self.stubs.extend(interface.map(|interface| (module.index, interface.to_owned())));
                    }
                }
            }
        }
        Ok(())
    }

    /// The imports for the substitutes; none if there is nothing to replace, or an import is missing.
    fn around(&self) -> Option<Around> {
        let instance = |module: Option<u32>| {
            let is_of = |made: &Made| matches!(made, Made::Of(of) if Some(*of) == module);
            self.instances.iter().position(is_of).map(|index| index as u32)
        };
        let (main, shim) = (instance(self.main)?, instance(self.shim)?);
        if self.stubs.is_empty() {
            return None;
        }
        // Unlike others, the bag with the functions of the host has `choose`.
        let bag = self.instances.iter().find_map(|made| match made {
            Made::Bag(functions) if functions.contains_key("choose") => functions.get(LOG),
            _ => None,
        })?;
        let (_, log) = self.functions.get(*bag as usize)?.clone().filter(|(instance, _)| *instance == shim)?;
        Some(Around { main, realloc: "libcomponentize_py_runtime.so:cabi_realloc".to_owned(), shim, log })
    }

    /// A section with core instances; substitutes receive their imports.
    fn instances(
        &self,
        section: wasmparser::InstanceSectionReader<'_>,
        around: &Around,
    ) -> Result<InstanceSection, BinaryReaderError> {
        let mut written = InstanceSection::new();
        for instance in section {
            match instance? {
                Instance::Instantiate { module_index, .. } if self.stubs.contains_key(&module_index) => {
                    let args = [("main", ModuleArg::Instance(around.main)), ("shim", ModuleArg::Instance(around.shim))];
                    written.instantiate(module_index, args);
                }
                Instance::Instantiate { module_index, args } => {
                    let args = args.iter().map(|arg| (arg.name, ModuleArg::Instance(arg.index)));
                    written.instantiate(module_index, args.collect::<Vec<_>>());
                }
                Instance::FromExports(exports) => {
                    let exports = exports.iter().map(|export| (export.name, kind(export.kind), export.index));
                    written.export_items(exports.collect::<Vec<_>>());
                }
            }
        }
        Ok(written)
    }
}

fn kind(kind: ExternalKind) -> ExportKind {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
    }
}

/// The sections of the outermost component.
fn sections<'b>(
    component: &'b [u8],
    mut each: impl FnMut(Payload<'b>) -> Result<(), BinaryReaderError>,
) -> Result<(), BinaryReaderError> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload?;
        let is_nested = matches!(payload, Payload::ModuleSection { .. } | Payload::ComponentSection { .. });
        let is_outer = depth == 0;
        match payload {
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ if is_nested => depth += 1,
            _ => {}
        }
        if is_outer && !matches!(payload, Payload::End(_)) {
            each(payload)?;
        }
    }
    Ok(())
}

/// The text of the substitute for an interface, in place of this module.
fn module(interface: &str, stub: &[u8], around: &Around) -> Result<String, BinaryReaderError> {
    let Around { realloc, log, .. } = around;
    let mut text = format!(
        "(module\n  (import \"main\" \"memory\" (memory 0))\n  \
         (import \"main\" \"__indirect_function_table\" (table 0 funcref))\n  \
         (import \"main\" \"{realloc}\" (global $realloc (mut i32)))\n  \
         (import \"shim\" \"{log}\" (func $log (param i32 i32)))\n"
    );
    for (name, signature) in functions(stub)? {
        let full = format!("wasi:{interface}#{name}");
        let _ = writeln!(text, "  (export \"{name}\" (func $\"{full}\"))");
        match written(&full) {
            Some(function) => text.push_str(function),
            None => {
                let body = body(interface, &name, signature.matches("i32").count() + signature.matches("i64").count());
                let _ = writeln!(text, "  (func $\"{full}\" {signature} {body})");
            }
        }
    }
    Ok(text + ")")
}

/// The text of a function with behaviour.
fn written(full: &str) -> Option<&'static str> {
    let start = FUNCTIONS.find(&format!("  (func $\"{full}\""))?;
    let rest = &FUNCTIONS[start..];
    Some(rest.find("\n\n").map_or(rest, |end| &rest[..=end]))
}

/// The body of a function without text. A function with a result on the heap has no other result, and its address is the last parameter.
fn body(interface: &str, name: &str, parameters: usize) -> String {
    let fails = FAILING.iter().chain(&WITHOUT_SOCKETS).find(|(of, known, ..)| (*of, *known) == (interface, name));
    match fails {
        Some((_, _, at, error)) => {
            let last = parameters - 1;
            format!(
                "(i32.store8 (local.get {last}) (i32.const 1)) \
                 (i32.store8 offset={at} (local.get {last}) (i32.const {error}))"
            )
        }
        // Substitutes have no state to drop.
        None if name.starts_with("[resource-drop]") => String::new(),
        None => "unreachable".to_owned(),
    }
}

/// The functions that a module exports, by name, with their parameters and results as text.
fn functions(module: &[u8]) -> Result<BTreeMap<String, String>, BinaryReaderError> {
    let (mut types, mut of, mut functions) = (Vec::new(), Vec::new(), BTreeMap::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                for group in section {
                    types.extend(group?.into_types().map(|ty| ty.composite_type.inner));
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    of.push(ty?);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    let ty = of.get(export.index as usize).and_then(|ty| types.get(*ty as usize));
                    if let (ExternalKind::Func, Some(CompositeInnerType::Func(ty))) = (export.kind, ty) {
                        let words = |word: &str, types: &[wasmparser::ValType]| {
                            types.iter().map(|ty| format!("({word} {ty}) ")).collect::<String>()
                        };
                        let signature = words("param", ty.params()) + &words("result", ty.results());
                        functions.insert(export.name.to_owned(), signature);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(functions)
}
