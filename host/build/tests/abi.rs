//! The table of the ABI in `wit/README.md` is that of the contract. `HOST_BLESS=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use wit_parser::abi::{AbiVariant, FlatTypes, WasmType};
use wit_parser::{Function, Int, InterfaceId, Resolve, SizeAlign, Type, TypeDefKind, TypeId, TypeOwner, WorldItem};

/// The start and the end of the table in the document.
const MARKS: [&str; 2] =
    ["<!-- The tables from here on are made by host/build/tests/abi.rs. -->\n", "<!-- So far. -->\n"];

struct Contract {
    resolve: Resolve,
    sizes: SizeAlign,
}

#[test]
fn the_document_has_the_abi() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let text = std::fs::read_to_string(root.join("protocol.wit")).expect("the contract is there");
    let mut resolve = Resolve::default();
    resolve.push_str("protocol.wit", &text).expect("the contract is well-formed");
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let tables = Contract { resolve, sizes }.tables();
    let path = root.join("README.md");
    let document = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = document.split_once(MARKS[0]).expect("the first mark");
    let (found, after) = rest.split_once(MARKS[1]).expect("the second mark");
    if std::env::var_os("HOST_BLESS").is_some() {
        let written = format!("{before}{}{tables}{}{after}", MARKS[0], MARKS[1]);
        std::fs::write(&path, written).expect("the document can be written");
    } else {
        assert_eq!(found, tables, "HOST_BLESS=1 writes the tables");
    }
}

/// A component may export some of the interfaces alone; the document shows such a world.
#[test]
fn the_world_of_the_document_is_well_formed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("it is there");
    let (document, mut resolve) = (read("README.md"), Resolve::default());
    resolve.push_str("protocol.wit", &read("protocol.wit")).expect("the contract is well-formed");
    let world = document.split("```wit\n").find(|block| block.starts_with("package my:plugin;")).expect("a world");
    let world = world.split("```").next().expect("its end");
    resolve.push_str("mine.wit", world).expect("the world is well-formed");
}

impl Contract {
    fn tables(&self) -> String {
        let (_, full) = self.resolve.worlds.iter().find(|(_, world)| world.name == "full").expect("a world");
        let interfaces = |items: &wit_parser::IndexMap<wit_parser::WorldKey, WorldItem>| -> Vec<InterfaceId> {
            let ids = items.values().filter_map(|item| match item {
                WorldItem::Interface { id, .. } => Some(*id),
                _ => None,
            });
            ids.filter(|id| !self.resolve.interfaces[*id].functions.is_empty()).collect()
        };
        let mut text = String::from("\n| exported function | interface | parameters | result |\n|---|---|---|---|\n");
        for interface in interfaces(&full.exports) {
            for function in self.resolve.interfaces[interface].functions.values() {
                let name = format!("`{}`", function.name.replace('-', "_"));
                self.row(&mut text, &name, interface, (function, AbiVariant::GuestExport));
            }
        }
        text.push_str("\n| imported function | module | parameters | result |\n|---|---|---|---|\n");
        for interface in interfaces(&full.imports) {
            for function in self.resolve.interfaces[interface].functions.values() {
                let name = format!("`{}`", function.name);
                self.row(&mut text, &name, interface, (function, AbiVariant::GuestImport));
            }
        }
        text.push_str("\n| type | bytes | alignment | what is where |\n|---|---|---|---|\n");
        let mut known = BTreeSet::new();
        for (id, of) in self.resolve.types.iter() {
            // Named types occur once, where they are declared; the others belong to some function.
            let is_alias = matches!(of.kind, TypeDefKind::Type(_));
            let is_declared = of.name.is_none() || matches!(of.owner, TypeOwner::Interface(_));
            if !is_alias && is_declared && known.insert(self.name(&Type::Id(id))) {
                self.layout(&mut text, id);
            }
        }
        text.push('\n');
        text
    }

    fn row(&self, text: &mut String, name: &str, interface: InterfaceId, (function, variant): (&Function, AbiVariant)) {
        let place = self.resolve.id_of(interface).expect("it has a name");
        let place =
            if variant == AbiVariant::GuestExport { place.split(['/', '@']).nth(1).unwrap_or(&place) } else { &place };
        let signature = self.resolve.wasm_signature(variant, function);
        let parameters: Vec<String> = match signature.indirect_params {
            true => vec!["the address of all: `i32`".to_owned()],
            false => function.params.iter().map(|param| format!("{}: {}", param.name, self.flat(&param.ty))).collect(),
        };
        let result = match &function.result {
            None => "none".to_owned(),
            Some(ty) if signature.retptr && variant == AbiVariant::GuestImport => {
                format!("`{}` at the address that comes last: `i32`", self.name(ty))
            }
            Some(ty) if signature.retptr => format!("the address of `{}`: `i32`", self.name(ty)),
            Some(ty) => format!("`{}`: `{}`", self.name(ty), words(&signature.results)),
        };
        let parameters = if parameters.is_empty() { "none".to_owned() } else { parameters.join("; ") };
        let _ = writeln!(text, "| {name} | `{place}` | {parameters} | {result} |");
    }

    /// The core values that a value is passed as.
    fn flat(&self, ty: &Type) -> String {
        let mut room = [WasmType::I32; 32];
        let mut flat = FlatTypes::new(&mut room);
        assert!(self.resolve.push_flat(ty, &mut flat), "there is room");
        format!("`{}`", words(&flat.to_vec()))
    }

    fn layout(&self, text: &mut String, id: TypeId) {
        let ty = Type::Id(id);
        let at = |offset: usize, name: &str, ty: Option<&Type>| match ty {
            None => format!("`{name}`"),
            Some(ty) => format!("{offset}: {name} `{}`", self.name(ty)).replace(":  ", ": "),
        };
        let what: Vec<String> = match &self.resolve.types[id].kind {
            TypeDefKind::Record(record) => {
                let offsets = self.sizes.field_offsets(record.fields.iter().map(|field| &field.ty));
                let fields = record.fields.iter().zip(offsets);
                fields.map(|(field, (offset, ty))| at(offset.size_wasm32(), &field.name, Some(ty))).collect()
            }
            TypeDefKind::Variant(variant) => {
                let payload =
                    self.sizes.payload_offset(variant.tag(), variant.cases.iter().map(|case| case.ty.as_ref()));
                let cases = variant.cases.iter().enumerate();
                let cases = cases.map(|(tag, case)| {
                    format!("case {tag}, {}", at(payload.size_wasm32(), &case.name, case.ty.as_ref()))
                });
                ["0: the case, `u8`".to_owned()].into_iter().chain(cases).collect()
            }
            TypeDefKind::Enum(of) => {
                of.cases.iter().enumerate().map(|(tag, case)| format!("{tag} `{}`", case.name)).collect()
            }
            TypeDefKind::Option(of) => {
                let payload = self.sizes.payload_offset(Int::U8, [None, Some(of)]);
                vec!["0: 1 if it is there, `u8`".to_owned(), at(payload.size_wasm32(), "", Some(of))]
            }
            TypeDefKind::Result(of) => {
                let payload = self.sizes.payload_offset(Int::U8, [of.ok.as_ref(), of.err.as_ref()]).size_wasm32();
                let cases = [("case 0, ", &of.ok), ("case 1, an error, ", &of.err)];
                let cases =
                    cases.map(|(tag, ty)| format!("{tag}{}", at(payload, "", ty.as_ref())).replace("``", "nothing"));
                ["0: the case, `u8`".to_owned()].into_iter().chain(cases).collect()
            }
            TypeDefKind::List(of) => {
                let size = self.sizes.size(of).size_wasm32();
                vec![format!("0: address, `u32`; 4: number of elements, `u32`; bytes per element: {size}")]
            }
            _ => return,
        };
        let (size, align) = (self.sizes.size(&ty).size_wasm32(), self.sizes.align(&ty).align_wasm32());
        let _ = writeln!(text, "| `{}` | {size} | {align} | {} |", self.name(&ty), what.join("; "));
    }

    /// A type in the syntax of the contract.
    fn name(&self, ty: &Type) -> String {
        let Type::Id(id) = ty else { return format!("{ty:?}").to_lowercase() };
        let of = &self.resolve.types[*id];
        let inside = |ty: &Option<Type>| ty.as_ref().map_or("_".to_owned(), |ty| self.name(ty));
        match (&of.name, &of.kind) {
            (Some(name), _) => name.clone(),
            (None, TypeDefKind::List(of)) => format!("list<{}>", self.name(of)),
            (None, TypeDefKind::Option(of)) => format!("option<{}>", self.name(of)),
            (None, TypeDefKind::Result(of)) => format!("result<{}, {}>", inside(&of.ok), inside(&of.err)),
            (None, kind) => panic!("the contract has a {}", kind.as_str()),
        }
    }
}

fn words(types: &[WasmType]) -> String {
    let words = types.iter().map(|ty| match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    });
    words.collect::<Vec<_>>().join(" ")
}
