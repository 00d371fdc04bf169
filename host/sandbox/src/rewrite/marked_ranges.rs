//! The marks that a function body has already set, as far as one pass over it shows.
//!
//! A mark set earlier in the same straight line of code still holds, because the host clears marks only between calls.
//! So a store next to an earlier one, by the same base, needs no mark of its own: for example fields of a structure, or a frame on
//! the stack.

use wasmparser::{MemArg, ModuleArity, Operator};

use super::OVERHANG;
use super::analysis::ModuleFacts;

/// A value known up to an unknown base: `base + offset`, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    base: u32,
    offset: u32,
}

/// The base of constants.
const ZERO: u32 = 0;

/// Maximum number of remembered marks: few stores have more of them shortly before.
const MARKS_KNOWN_MAX: usize = 128;

/// The ranges known to be marked at one point of a function body.
pub(super) struct MarkedRanges<'a> {
    facts: &'a ModuleFacts,
    /// The top of the operand stack; what lies deeper is unknown.
    stack: Vec<Value>,
    locals: Vec<Value>,
    next_base: u32,
    /// Memory and address of the marks set since the last join of control flow.
    marks: Vec<(u32, Value)>,
}

impl<'a> MarkedRanges<'a> {
    pub(super) fn new(facts: &'a ModuleFacts, locals: u32) -> Self {
        let mut known = Self { facts, stack: Vec::new(), locals: Vec::new(), next_base: ZERO + 1, marks: Vec::new() };
        known.locals = (0..locals).map(|_| known.fresh()).collect();
        known
    }

    fn fresh(&mut self) -> Value {
        let base = self.next_base;
        self.next_base += 1;
        Value { base, offset: 0 }
    }

    fn pop(&mut self) -> Value {
        match self.stack.pop() {
            Some(value) => value,
            None => self.fresh(),
        }
    }

    /// Notes a store of `size` bytes whose operands are on the stack; `op` still has to be
    /// [stepped](Self::step) over. Returns whether a mark that is set already covers it; if not, the caller sets one.
    ///
    /// A mark covers its address and the [`OVERHANG`] bytes behind it, wherever in its granule the address is.
    pub(super) fn covers(&mut self, memarg: &MemArg, size: u32) -> bool {
        const REACH: u32 = OVERHANG as u32 + 1;
        let length = self.stack.len();
        let Some(address) = length.checked_sub(2).map(|index| self.stack[index]) else { return false };
        let address = Value { base: address.base, offset: address.offset.wrapping_add(memarg.offset as u32) };
        let covered = self.marks.iter().any(|&(memory, marked)| {
            // Both stores are in bounds and memories end before 4 GiB, so close offsets are close addresses.
            let distance = address.offset.wrapping_sub(marked.offset);
            memory == memarg.memory && marked.base == address.base && distance <= REACH - size
        });
        if !covered {
            // A forgotten mark is only set again. The time for a function must not grow with the square of its stores.
            if self.marks.len() == MARKS_KNOWN_MAX {
                self.marks.clear();
            }
            self.marks.push((memarg.memory, address));
        }
        covered
    }

    /// Follows one instruction.
    pub(super) fn step(&mut self, op: &Operator<'_>) {
        match *op {
            Operator::LocalGet { local_index } => self.stack.push(self.locals[local_index as usize]),
            Operator::LocalSet { local_index } => self.locals[local_index as usize] = self.pop(),
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.locals[local_index as usize] = value;
                self.stack.push(value);
            }
            Operator::I32Const { value } => self.stack.push(Value { base: ZERO, offset: value as u32 }),
            Operator::I32Add => self.add(),
            Operator::I32Sub => self.subtract(),
            Operator::Call { function_index } => {
                let ty = self.facts.functions[function_index as usize];
                self.call(ty, 0);
            }
            Operator::CallIndirect { type_index, .. } => self.call(type_index, 1),
            // Marks before a block hold inside, and unknown locals stay unknown.
            Operator::Block { .. } | Operator::If { .. } | Operator::BrIf { .. } => self.stack.clear(),
            ref op => match op.operator_arity(&Nothing) {
                Some((pops, pushes)) if straight(op) => {
                    for _ in 0..pops {
                        self.pop();
                    }
                    for _ in 0..pushes {
                        let value = self.fresh();
                        self.stack.push(value);
                    }
                }
                _ => self.join(),
            },
        }
    }

    fn add(&mut self) {
        let (right, left) = (self.pop(), self.pop());
        let sum =
            |base, constant: Value, other: Value| Value { base, offset: other.offset.wrapping_add(constant.offset) };
        let value = match (left.base, right.base) {
            (base, ZERO) => sum(base, right, left),
            (ZERO, base) => sum(base, left, right),
            _ => self.fresh(),
        };
        self.stack.push(value);
    }

    fn subtract(&mut self) {
        let (right, left) = (self.pop(), self.pop());
        let value = match right.base {
            ZERO => Value { base: left.base, offset: left.offset.wrapping_sub(right.offset) },
            _ => self.fresh(),
        };
        self.stack.push(value);
    }

    fn call(&mut self, ty: u32, more: usize) {
        let ty = &self.facts.types[ty as usize];
        for _ in 0..ty.params().len() + more {
            self.pop();
        }
        for _ in ty.results() {
            let value = self.fresh();
            self.stack.push(value);
        }
    }

    /// Forgets everything: other paths lead here, too.
    fn join(&mut self) {
        self.stack.clear();
        self.marks.clear();
        for index in 0..self.locals.len() {
            self.locals[index] = self.fresh();
        }
    }
}

/// Whether control always continues with the next instruction, and comes from the previous one.
fn straight(op: &Operator<'_>) -> bool {
    !matches!(
        op,
        Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::Unreachable
    )
}

/// The arity of all other instructions does not depend on the module.
struct Nothing;

impl ModuleArity for Nothing {
    fn sub_type_at(&self, _: u32) -> Option<&wasmparser::SubType> {
        None
    }

    fn tag_type_arity(&self, _: u32) -> Option<(u32, u32)> {
        None
    }

    fn type_index_of_function(&self, _: u32) -> Option<u32> {
        None
    }

    fn func_type_of_cont_type(&self, _: &wasmparser::ContType) -> Option<&wasmparser::FuncType> {
        None
    }

    fn sub_type_of_ref_type(&self, _: &wasmparser::RefType) -> Option<&wasmparser::SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        0
    }

    fn label_block(&self, _: u32) -> Option<(wasmparser::BlockType, wasmparser::FrameKind)> {
        None
    }
}
