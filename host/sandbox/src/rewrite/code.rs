//! Function bodies: marks after writes, cells for globals, and guards before what must not happen.

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{BlockType, Function, Instruction, MemArg, ValType};
use wasmparser::{FunctionBody, Operator};

use super::analysis::hidden_write;
use super::module::ModuleRewriter;
use super::{SEALED_AT, VIOLATION_AT, VIOLATIONS};

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

/// How to write one byte somewhere: `address` and `value` are on the stack.
fn byte_at(memory: u32) -> MemArg {
    MemArg { offset: 0, align: 0, memory_index: memory }
}

/// Marks the granule of the address on the stack; consumes it.
///
/// Only the first byte's granule is marked. The host takes the first 15 bytes of the next granule for written, too,
/// which covers the longest store.
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
    let mut f = Function::new(locals);
    for op in body.get_operators_reader()? {
        operator(module, &mut f, &scratch, op?)?;
    }
    Ok(f)
}

fn operator(
    module: &mut ModuleRewriter<'_>,
    f: &mut Function,
    scratch: &Scratch,
    op: Operator<'_>,
) -> Result<(), Error<std::convert::Infallible>> {
    if let Some((memarg, value)) = store(&op, scratch) {
        let memory = memarg.memory;
        let offset = memarg.offset;
        let instruction = module.instruction(op)?;
        f.instruction(&Instruction::LocalSet(value));
        f.instruction(&Instruction::LocalTee(scratch.address));
        f.instruction(&Instruction::LocalGet(value));
        f.instruction(&instruction);
        // After the store: had the address been out of bounds, this would not be reached, so the sum cannot overflow
        // and the mark is in bounds.
        f.instruction(&Instruction::LocalGet(scratch.address));
        if offset != 0 {
            f.instruction(&Instruction::I32Const(offset as u32 as i32));
            f.instruction(&Instruction::I32Add);
        }
        mark(f, module.marks(memory));
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
        op => {
            if let Some(name) = module.forbidden(&op) {
                guard(f, module.cells(), name);
            }
            let instruction = module.instruction(op)?;
            f.instruction(&instruction);
        }
    }
    Ok(())
}

impl ModuleRewriter<'_> {
    /// The instruction's name, if it changes what a snapshot cannot hold.
    fn forbidden(&self, op: &Operator<'_>) -> Option<&'static str> {
        match op {
            Operator::GlobalSet { global_index } if self.facts.globals[*global_index as usize].is_reference() => {
                Some("global.set of a reference")
            }
            op => hidden_write(op),
        }
    }
}

/// Traps with a note for the host if instantiation is over.
fn guard(f: &mut Function, cells: u32, name: &str) {
    let number = VIOLATIONS.iter().position(|known| *known == name).expect("a known instruction") + 1;
    let at = |offset| MemArg { offset, align: 2, memory_index: cells };
    f.instruction(&Instruction::I32Const(0));
    f.instruction(&Instruction::I32Load(at(SEALED_AT)));
    f.instruction(&Instruction::If(BlockType::Empty));
    f.instruction(&Instruction::I32Const(0));
    f.instruction(&Instruction::I32Const(number as i32));
    f.instruction(&Instruction::I32Store(at(VIOLATION_AT)));
    f.instruction(&Instruction::Unreachable);
    f.instruction(&Instruction::End);
}

/// The memory argument of a store, and the scratch local for its value.
///
/// With threads left out of the engine's features these are all the instructions that write few bytes.
fn store(op: &Operator<'_>, scratch: &Scratch) -> Option<(wasmparser::MemArg, u32)> {
    Some(match *op {
        Operator::I32Store { memarg } | Operator::I32Store8 { memarg } | Operator::I32Store16 { memarg } => {
            (memarg, scratch.second)
        }
        Operator::I64Store { memarg }
        | Operator::I64Store8 { memarg }
        | Operator::I64Store16 { memarg }
        | Operator::I64Store32 { memarg } => (memarg, scratch.i64),
        Operator::F32Store { memarg } => (memarg, scratch.f32),
        Operator::F64Store { memarg } => (memarg, scratch.f64),
        Operator::V128Store { memarg }
        | Operator::V128Store8Lane { memarg, .. }
        | Operator::V128Store16Lane { memarg, .. }
        | Operator::V128Store32Lane { memarg, .. }
        | Operator::V128Store64Lane { memarg, .. } => (memarg, scratch.v128),
        _ => return None,
    })
}

/// The memory that an instruction writes a range of: address, something, length are on the stack.
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
