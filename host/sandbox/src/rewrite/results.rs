//! Results that the engine itself writes into a memory.
//!
//! If one component inside the plugin calls another one, a result that does not fit one core value is written to an address that
//! the caller passes as the last parameter. The engine writes it, so no rewritten instruction marks it. Each lowered
//! function of this kind gets a small wrapper module, which calls it and then marks the result.

use std::collections::{BTreeMap, VecDeque};

use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, Instruction, Module,
    TypeSection, ValType,
};
use wasmparser::component_types::{ComponentDefinedType, ComponentDefinedTypeId, ComponentValType};
use wasmparser::types::TypesRef;
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentCanonicalSectionReader, Encoding, Parser, Payload, PrimitiveValType,
    Validator,
};

use super::code;
use super::layout::marks_type;
use crate::contract::error::LoadError;

/// The names of the wrapper module's imports and of its export.
pub(super) const FUNCTION: &str = "function";
pub(super) const MARKS: &str = "marks";

/// The parameters of the wrapper module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    /// The parameters of the lowered function; the last one is the address of the result.
    params: Vec<wasmparser::ValType>,
    /// Bytes of the result.
    bytes: u32,
}

/// A lowered function whose result is written to memory.
#[derive(Clone, Debug)]
pub(super) struct Spilled {
    pub shape: Shape,
    /// The index of the memory.
    pub memory: u32,
}

/// The lowered functions of this kind in one component, by their core index.
pub(super) type SpilledFunctions = BTreeMap<u32, Spilled>;

/// Finds them in a valid component and all nested components, in the order in which these begin.
pub(super) fn spilled(bytes: &[u8]) -> Result<VecDeque<SpilledFunctions>, LoadError> {
    let mut validator = Validator::new_with_features(crate::contract::features::features());
    let mut layouts = Layouts::default();
    let mut found: VecDeque<SpilledFunctions> = VecDeque::new();
    // For each component or module around the current position: the index in `found`.
    let mut levels = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(LoadError::invalid)?;
        let first = match &payload {
            Payload::ComponentCanonicalSection(_) => {
                validator.types(0).expect("a section is read after the header of its component").function_count()
            }
            _ => 0,
        };
        validator.payload(&payload).map_err(LoadError::invalid)?;
        match payload {
            Payload::Version { encoding, .. } => {
                levels.push(found.len());
                if encoding == Encoding::Component {
                    found.push_back(BTreeMap::new());
                }
            }
            Payload::End(_) => drop(levels.pop()),
            Payload::ComponentCanonicalSection(section) => {
                let types = validator.types(0).expect("a section is read after the header of its component");
                let level = *levels.last().expect("a section is read after the header of its component");
                lowered(section, first, types, &mut layouts, &mut found[level])?;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Adds the functions of a section; `next` is the core index of the first one.
fn lowered(
    section: ComponentCanonicalSectionReader<'_>,
    mut next: u32,
    types: TypesRef<'_>,
    layouts: &mut Layouts,
    found: &mut SpilledFunctions,
) -> Result<(), LoadError> {
    for function in section {
        let (func_index, options) = match function.map_err(LoadError::invalid)? {
            CanonicalFunction::Lift { .. } => continue,
            CanonicalFunction::Lower { func_index, options } => (func_index, options),
            _ => {
                next += 1;
                continue;
            }
        };
        let index = next;
        next += 1;
        let core = types[types.core_function_at(index)].unwrap_func();
        let Some(result) = types[types.component_function_at(func_index)].result else { continue };
        if !core.results().is_empty() {
            continue;
        }
        let memory = options.iter().find_map(|option| match option {
            CanonicalOption::Memory(memory) => Some(*memory),
            _ => None,
        });
        // The validator requires a memory if a result has no core value.
        let memory = memory.ok_or_else(|| LoadError::invalid("a lowered function without a memory for its result"))?;
        let shape = Shape { params: core.params().to_vec(), bytes: layouts.of(types, result).size };
        found.insert(index, Spilled { shape, memory });
    }
    Ok(())
}

/// The layout of a value in a memory, by the canonical ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    size: u32,
    align: u32,
}

impl Layout {
    /// Values one after the other.
    fn sequence(parts: impl Iterator<Item = Self>) -> Self {
        let (size, align) = parts.fold((0_u32, 1), |(end, align), part| {
            (padded(end, part.align).saturating_add(part.size), align.max(part.align))
        });
        Self { size: padded(size, align), align }
    }

    /// One of several values after the number of its case.
    fn cases(count: usize, payloads: impl Iterator<Item = Self>) -> Self {
        let number = match count {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        let (size, align) = payloads
            .fold((0, 1), |(size, align): (u32, u32), payload| (size.max(payload.size), align.max(payload.align)));
        Self::sequence([Self { size: number, align: number }, Self { size, align }].into_iter())
    }

    fn plain(size: u32) -> Self {
        Self { size, align: size }
    }

    /// Address and length.
    const LIST: Self = Self { size: 8, align: 4 };
}

fn padded(size: u32, align: u32) -> u32 {
    size.checked_next_multiple_of(align).unwrap_or(u32::MAX)
}

/// The layouts of the types seen so far: without them, types that share parts would take time exponential in their depth.
#[derive(Default)]
struct Layouts(BTreeMap<ComponentDefinedTypeId, Layout>);

impl Layouts {
    fn of(&mut self, types: TypesRef<'_>, ty: ComponentValType) -> Layout {
        let id = match ty {
            ComponentValType::Primitive(primitive) => return primitive_layout(primitive),
            ComponentValType::Type(id) => id,
        };
        if let Some(layout) = self.0.get(&id) {
            return *layout;
        }
        let layout = self.defined(types, &types[id]);
        self.0.insert(id, layout);
        layout
    }

    fn defined(&mut self, types: TypesRef<'_>, ty: &ComponentDefinedType) -> Layout {
        match ty {
            ComponentDefinedType::Primitive(primitive) => primitive_layout(*primitive),
            ComponentDefinedType::Record(record) => {
                Layout::sequence(record.fields.values().map(|field| self.of(types, *field)))
            }
            ComponentDefinedType::Tuple(tuple) => {
                Layout::sequence(tuple.types.iter().map(|field| self.of(types, *field)))
            }
            ComponentDefinedType::Variant(variant) => {
                let payloads = variant.cases.values().filter_map(|case| case.ty);
                Layout::cases(variant.cases.len(), payloads.map(|payload| self.of(types, payload)))
            }
            ComponentDefinedType::Option { ty, .. } => {
                Layout::cases(2, std::iter::once(*ty).map(|payload| self.of(types, payload)))
            }
            ComponentDefinedType::Result { ok, err, .. } => {
                Layout::cases(2, [*ok, *err].into_iter().flatten().map(|payload| self.of(types, payload)))
            }
            ComponentDefinedType::Enum(cases) => Layout::cases(cases.len(), std::iter::empty()),
            ComponentDefinedType::Flags(names) => match names.len() {
                0..=8 => Layout::plain(1),
                9..=16 => Layout::plain(2),
                count => Layout { size: 4 * count.div_ceil(32) as u32, align: 4 },
            },
            ComponentDefinedType::List { .. } | ComponentDefinedType::Map { .. } => Layout::LIST,
            ComponentDefinedType::FixedLengthList { element, length, .. } => {
                let element = self.of(types, *element);
                Layout { size: element.size.saturating_mul(*length), ..element }
            }
            ComponentDefinedType::Own(_)
            | ComponentDefinedType::Borrow(_)
            | ComponentDefinedType::Future { .. }
            | ComponentDefinedType::Stream { .. } => Layout::plain(4),
        }
    }
}

fn primitive_layout(ty: PrimitiveValType) -> Layout {
    match ty {
        PrimitiveValType::Bool | PrimitiveValType::S8 | PrimitiveValType::U8 => Layout::plain(1),
        PrimitiveValType::S16 | PrimitiveValType::U16 => Layout::plain(2),
        PrimitiveValType::S32
        | PrimitiveValType::U32
        | PrimitiveValType::F32
        | PrimitiveValType::Char
        | PrimitiveValType::ErrorContext => Layout::plain(4),
        PrimitiveValType::S64 | PrimitiveValType::U64 | PrimitiveValType::F64 => Layout::plain(8),
        PrimitiveValType::String => Layout::LIST,
    }
}

/// The wrapper of a lowered function: a function of the same type that calls it and marks its result.
pub(super) fn wrapper(shape: &Shape) -> Vec<u8> {
    let params = shape.params.iter().map(|ty| match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        wasmparser::ValType::F64 => ValType::F64,
        wasmparser::ValType::V128 | wasmparser::ValType::Ref(_) => unreachable!("no lowered function has such a one"),
    });
    let mut types = TypeSection::new();
    types.ty().function(params, []);
    types.ty().function([ValType::I32, ValType::I32], []);
    let mut imports = ImportSection::new();
    imports.import("", FUNCTION, EntityType::Function(0));
    imports.import("", MARKS, EntityType::Memory(marks_type()));
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut exports = ExportSection::new();
    exports.export(FUNCTION, ExportKind::Func, 1);
    let mut f = Function::new([]);
    let count = shape.params.len() as u32;
    for param in 0..count {
        f.instruction(&Instruction::LocalGet(param));
    }
    f.instruction(&Instruction::Call(0));
    // After the call: had the address been out of bounds, this would not be reached.
    f.instruction(&Instruction::LocalGet(count - 1));
    f.instruction(&Instruction::I32Const(shape.bytes as i32));
    f.instruction(&Instruction::Call(2));
    f.instruction(&Instruction::End);
    let mut code = CodeSection::new();
    code.function(&f).function(&code::mark_range(0));
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}
