//! Function bodies: marks after writes, cells for globals, and guards before forbidden instructions.

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{BlockType, Function, Instruction, MemArg, ValType};
use wasmparser::{FunctionBody, Operator};

use super::code_facts::{hidden_write, place};
use super::layout::ModuleRewriter;
use super::marked_ranges::MarkedRanges;
use super::{SEALED_AT, VIOLATION_AT};

/// The locals that instrumented code needs, after the function's own.
struct Scratch {
    address: u32,
    second: u32,
    third: u32,
    i64: u32,
    f32: u32,
    f64: u32,
    v128: u32,
}

/// The number of locals that instrumented code needs.
pub(super) const SCRATCH_LOCALS: u32 = 7;

impl Scratch {
    const LOCALS: [(u32, ValType); 5] =
        [(3, ValType::I32), (1, ValType::I64), (1, ValType::F32), (1, ValType::F64), (1, ValType::V128)];

    fn after(locals: u32) -> Self {
        Self {
            address: locals,
            second: locals + 1,
            third: locals + 2,
            i64: locals + 3,
            f32: locals + 4,
            f64: locals + 5,
            v128: locals + 6,
        }
    }
}

/// The target of a one-byte store: `address` and `value` are on the stack.
fn byte_at(memory: u32) -> MemArg {
    MemArg { offset: 0, align: 0, memory_index: memory }
}

/// Marks the granule of the address on the stack; consumes it.
///
/// Only the granule of the first byte is marked. The host also treats the first [`OVERHANG`](super::OVERHANG) bytes of the next granule as
/// written.
fn mark(f: &mut Function, marks: u32) {
    f.instruction(&Instruction::I32Const(8));
    f.instruction(&Instruction::I32ShrU);
    f.instruction(&Instruction::I32Const(1));
    f.instruction(&Instruction::I32Store8(byte_at(marks)));
}

/// Encodes one function body.
pub(super) fn body(
    module: &mut ModuleRewriter<'_>,
    function: u32,
    body: &FunctionBody<'_>,
) -> Result<Function, Error<std::convert::Infallible>> {
    let ty = module.facts.functions[function as usize];
    let params = module.facts.types[ty as usize].params().len() as u32;
    let mut locals = Vec::new();
    let mut count = params;
    for pair in body.get_locals_reader()? {
        let (n, ty) = pair?;
        count += n;
        locals.push((n, module.val_type(ty)?));
    }
    locals.extend(Scratch::LOCALS);
    let scratch = Scratch::after(count);
    module.addresses.enter(function as usize - module.facts.imported_functions);
    let mut f = Function::new(locals);
    let mut known = MarkedRanges::new(module.facts, count);
    for op in body.get_operators_reader()? {
        let op = op?;
        let needs_mark = store(&op, &scratch).is_some_and(|store| !known.covers(&store.memarg, store.size));
        known.step(&op);
        operator(module, &mut f, &scratch, op, needs_mark)?;
    }
    Ok(f)
}

fn operator(
    module: &mut ModuleRewriter<'_>,
    f: &mut Function,
    scratch: &Scratch,
    op: Operator<'_>,
    needs_mark: bool,
) -> Result<(), Error<std::convert::Infallible>> {
    if let Some(Store { memarg, value, .. }) = store(&op, scratch).filter(|_| needs_mark) {
        let instruction = module.instruction(op)?;
        f.instruction(&Instruction::LocalSet(value));
        f.instruction(&Instruction::LocalTee(scratch.address));
        f.instruction(&Instruction::LocalGet(value));
        f.instruction(&instruction);
        // After the store: had the address been out of bounds, this would not be reached, so the sum cannot overflow
        // and the mark is in bounds.
        f.instruction(&Instruction::LocalGet(scratch.address));
        if memarg.offset != 0 {
            f.instruction(&Instruction::I32Const(memarg.offset as u32 as i32));
            f.instruction(&Instruction::I32Add);
        }
        mark(f, module.marks(memarg.memory));
        return Ok(());
    }
    if let Some(memory) = bulk(&op) {
        let mark_range = module.mark_range(memory);
        let instruction = module.instruction(op)?;
        f.instruction(&Instruction::LocalSet(scratch.third));
        f.instruction(&Instruction::LocalSet(scratch.second));
        f.instruction(&Instruction::LocalTee(scratch.address));
        f.instruction(&Instruction::LocalGet(scratch.second));
        f.instruction(&Instruction::LocalGet(scratch.third));
        f.instruction(&instruction);
        f.instruction(&Instruction::LocalGet(scratch.address));
        f.instruction(&Instruction::LocalGet(scratch.third));
        f.instruction(&Instruction::Call(mark_range));
        return Ok(());
    }
    match op {
        Operator::GlobalGet { global_index } if module.cell(global_index).is_some() => {
            f.instruction(&Instruction::I32Const(0));
            f.instruction(&module.cell_load(global_index));
        }
        Operator::GlobalSet { global_index } if module.cell(global_index).is_some() => {
            let value = match module.facts.globals[global_index as usize].ty.content_type {
                wasmparser::ValType::I32 => scratch.address,
                wasmparser::ValType::I64 => scratch.i64,
                wasmparser::ValType::F32 => scratch.f32,
                wasmparser::ValType::F64 => scratch.f64,
                wasmparser::ValType::V128 => scratch.v128,
                wasmparser::ValType::Ref(_) => unreachable!("references have no cell"),
            };
            f.instruction(&Instruction::LocalSet(value));
            f.instruction(&Instruction::I32Const(0));
            f.instruction(&Instruction::LocalGet(value));
            f.instruction(&module.cell_store(global_index));
        }
        op if module.addresses.write(f, &op) => {}
        op => {
            if let Some(place) = module.forbidden(&op) {
                guard(f, module.cells(), place);
            }
            let instruction = module.instruction(op)?;
            f.instruction(&instruction);
        }
    }
    Ok(())
}

impl ModuleRewriter<'_> {
    /// The instruction's place among the violations, if it changes state that a snapshot cannot hold.
    fn forbidden(&self, op: &Operator<'_>) -> Option<u8> {
        match op {
            Operator::GlobalSet { global_index } if self.facts.globals[*global_index as usize].is_reference() => {
                Some(place("global.set of a reference"))
            }
            op => hidden_write(op),
        }
    }
}

/// Traps with a note for the host if instantiation is over.
fn guard(f: &mut Function, cells: u32, place: u8) {
    let number = i32::from(place) + 1;
    let at = |offset| MemArg { offset, align: 2, memory_index: cells };
    f.instruction(&Instruction::I32Const(0));
    f.instruction(&Instruction::I32Load(at(SEALED_AT)));
    f.instruction(&Instruction::If(BlockType::Empty));
    f.instruction(&Instruction::I32Const(0));
    f.instruction(&Instruction::I32Const(number));
    f.instruction(&Instruction::I32Store(at(VIOLATION_AT)));
    f.instruction(&Instruction::Unreachable);
    f.instruction(&Instruction::End);
}

/// An instruction that writes few bytes.
struct Store {
    memarg: wasmparser::MemArg,
    /// Bytes written.
    size: u32,
    /// The scratch local for the value.
    value: u32,
}

/// The parts of an instruction, if it is a store.
///
/// Since the engine's features exclude threads, these are all the instructions that write few bytes.
fn store(op: &Operator<'_>, scratch: &Scratch) -> Option<Store> {
    let (memarg, size, value) = match *op {
        Operator::I32Store8 { memarg } => (memarg, 1, scratch.second),
        Operator::I32Store16 { memarg } => (memarg, 2, scratch.second),
        Operator::I32Store { memarg } => (memarg, 4, scratch.second),
        Operator::I64Store8 { memarg } => (memarg, 1, scratch.i64),
        Operator::I64Store16 { memarg } => (memarg, 2, scratch.i64),
        Operator::I64Store32 { memarg } => (memarg, 4, scratch.i64),
        Operator::I64Store { memarg } => (memarg, 8, scratch.i64),
        Operator::F32Store { memarg } => (memarg, 4, scratch.f32),
        Operator::F64Store { memarg } => (memarg, 8, scratch.f64),
        Operator::V128Store { memarg } => (memarg, 16, scratch.v128),
        Operator::V128Store8Lane { memarg, .. } => (memarg, 1, scratch.v128),
        Operator::V128Store16Lane { memarg, .. } => (memarg, 2, scratch.v128),
        Operator::V128Store32Lane { memarg, .. } => (memarg, 4, scratch.v128),
        Operator::V128Store64Lane { memarg, .. } => (memarg, 8, scratch.v128),
        _ => return None,
    };
    Some(Store { memarg, size, value })
}

/// The memory in which an instruction writes a range: address, another operand, length are on the stack.
fn bulk(op: &Operator<'_>) -> Option<u32> {
    Some(match *op {
        Operator::MemoryCopy { dst_mem, .. } => dst_mem,
        Operator::MemoryFill { mem } => mem,
        Operator::MemoryInit { mem, .. } => mem,
        _ => return None,
    })
}

/// The body of a function `(address, length) -> ()` that marks a range.
pub(super) fn mark_range(marks: u32) -> Function {
    // Local 2 is the last granule; parameter 0 becomes the current one.
    let mut f = Function::new([(1, ValType::I32)]);
    for instruction in [
        Instruction::LocalGet(1),
        Instruction::I32Eqz,
        Instruction::If(BlockType::Empty),
        Instruction::Return,
        Instruction::End,
        Instruction::LocalGet(0),
        Instruction::LocalGet(1),
        Instruction::I32Add,
        Instruction::I32Const(1),
        Instruction::I32Sub,
        Instruction::I32Const(8),
        Instruction::I32ShrU,
        Instruction::LocalSet(2),
        Instruction::LocalGet(0),
        Instruction::I32Const(8),
        Instruction::I32ShrU,
        Instruction::LocalSet(0),
        Instruction::Loop(BlockType::Empty),
        Instruction::LocalGet(0),
        Instruction::I32Const(1),
        Instruction::I32Store8(byte_at(marks)),
        Instruction::LocalGet(0),
        Instruction::LocalGet(2),
        Instruction::I32LtU,
        Instruction::If(BlockType::Empty),
        Instruction::LocalGet(0),
        Instruction::I32Const(1),
        Instruction::I32Add,
        Instruction::LocalSet(0),
        Instruction::Br(1),
        Instruction::End,
        Instruction::End,
        Instruction::End,
    ] {
        f.instruction(&instruction);
    }
    f
}
