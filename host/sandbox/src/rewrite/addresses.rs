//! Addresses of data, moved out of the code of large modules.
//!
//! If a linker inserts a text before other data, all data after it moves, and with it constants in most functions of a
//! large program, while nothing else in them changes. The [cache](crate::cache) of machine code would have none of these functions.
//! So such a constant becomes the value of an additional global: machine code reads it from a place that does not depend on it.
//!
//! A constant counts as an address if it lies between the page where the data begins and the initial size of the memory.
//! This is a guess, and a wrong guess only costs time: the value is the same, wherever it is read from.
//!
//! The globals are mutable, since the code generator writes the values of immutable ones into the code. No instruction sets them, and they
//! are no part of the state.
//!
//! A function must find its constants in the same place after an edit of another function. So its place in a table with room to spare
//! is a hash of its body without them. The effect of a collision depends only on the functions before it, and the code of
//! a program is linked after that of its libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Range;

use wasm_encoder::reencode::Error;
use wasm_encoder::{ConstExpr, Function, GlobalSection, GlobalType, Instruction, ValType};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use super::analysis::ModuleFacts;
use crate::contract::limits::Addresses;

/// Bytes of code below which compiling all functions takes no time.
const CODE_BYTES_MIN: u32 = 1 << 20;

/// Maximum number of slots; with more no address is moved, since each instance has all of them.
const SLOTS_MAX: usize = 1 << 17;

/// Maximum number of globals of a module in WebAssembly.
const GLOBALS_MAX: usize = 1_000_000;

/// The beginning of the data is only known to a page: runs of zeros are left out.
const PAGE: u32 = 4096;

const WASM_PAGE: u64 = 65536;

/// The globals that hold addresses.
#[derive(Default)]
pub(super) struct AddressGlobals {
    /// The index of the first global.
    first: u32,
    /// Their values; 0 for unused ones.
    values: Vec<i64>,
    /// The slot of each address, for each function that the module defines.
    slots: Vec<BTreeMap<i64, u32>>,
    /// The index of the current function.
    function: usize,
}

/// The addresses to move out of one function.
struct Extract {
    /// A hash of the rest of the body.
    hash: u64,
    /// Each address once, in order.
    addresses: Vec<i64>,
}

impl AddressGlobals {
    /// Reads the code of a module, if addresses are to be moved out of it.
    pub(super) fn read(module: &[u8], facts: &ModuleFacts, which: Addresses) -> Result<Self, Error<Infallible>> {
        let Some(range) = data_range(facts) else { return Ok(Self::default()) };
        let mut extracts = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::CodeSectionStart { size, .. } => match which {
                    Addresses::Large if size < CODE_BYTES_MIN => return Ok(Self::default()),
                    Addresses::None => return Ok(Self::default()),
                    _ => {}
                },
                Payload::CodeSectionEntry(body) => extracts.push(Extract::of(module, &body, &range)?),
                _ => {}
            }
        }
        Ok(Self::placed(facts.globals.len() as u32, &extracts))
    }

    /// Assigns a slot to each address of each function.
    fn placed(first: u32, extracts: &[Extract]) -> Self {
        let count: usize = extracts.iter().map(|extract| extract.addresses.len()).sum();
        // At most half of the slots are used, so that few functions collide.
        let size = (2 * count).next_power_of_two();
        if count == 0 || size > SLOTS_MAX || first as usize + size > GLOBALS_MAX {
            return Self::default();
        }
        let (mut values, mut slots) = (vec![0; size], Vec::new());
        // The next slot to try from each slot; the slot itself while it is free.
        let mut next: Vec<usize> = (0..size).collect();
        for extract in extracts {
            let mut slot = extract.hash as usize % size;
            let mut of_function = BTreeMap::new();
            for address in &extract.addresses {
                // Path halving: thousands of functions can have the same hash.
                while next[slot] != slot {
                    next[slot] = next[next[slot]];
                    slot = next[slot];
                }
                next[slot] = (slot + 1) % size;
                values[slot] = *address;
                of_function.insert(*address, slot as u32);
            }
            slots.push(of_function);
        }
        Self { first, values, slots, function: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds the globals to those of the module.
    pub(super) fn declare(&self, globals: &mut GlobalSection) {
        for value in &self.values {
            let ty = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
            globals.global(ty, &ConstExpr::i64_const(*value));
        }
    }

    /// Begins the body of a function that the module defines.
    pub(super) fn enter(&mut self, function: usize) {
        self.function = function;
    }

    /// Writes an instruction, if it is a constant that was moved out; returns whether it did.
    pub(super) fn write(&self, f: &mut Function, op: &Operator<'_>) -> bool {
        let Some(value) = constant(op) else { return false };
        let slots = self.slots.get(self.function);
        let Some(slot) = slots.and_then(|slots| slots.get(&value)) else { return false };
        f.instruction(&Instruction::GlobalGet(self.first + slot));
        if matches!(op, Operator::I32Const { .. }) {
            f.instruction(&Instruction::I32WrapI64);
        }
        true
    }
}

/// The range of the addresses of data; `None` for a module that does not define the memory with its data. Both ends are rounded, so that an
/// edit rarely moves them.
fn data_range(facts: &ModuleFacts) -> Option<Range<i64>> {
    let memory = facts.memories.first().filter(|memory| memory.import.is_none())?;
    let begin = facts.data_starts.iter().flatten().min().map_or(0, |start| start - start % PAGE);
    let end = memory.ty.initial.saturating_mul(WASM_PAGE).min(1 << 32);
    Some(i64::from(begin)..end as i64)
}

/// The value of a constant in the form of an address.
fn constant(op: &Operator<'_>) -> Option<i64> {
    match *op {
        Operator::I32Const { value } => Some(i64::from(value as u32)),
        Operator::I64Const { value } => Some(value),
        _ => None,
    }
}

impl Extract {
    fn of(module: &[u8], body: &FunctionBody<'_>, range: &Range<i64>) -> wasmparser::Result<Self> {
        let (mut hasher, mut addresses) = (blake3::Hasher::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let mut operators = body.get_operators_reader()?;
        let mut kept_from = body.range().start;
        while !operators.eof() {
            let (op, at) = operators.read_with_offset()?;
            // The target of a call is no part of the key of machine code either.
            let address = constant(&op).filter(|value| range.contains(value));
            if address.is_none() && !matches!(op, Operator::Call { .. }) {
                continue;
            }
            hasher.update(&module[kept_from..=at]);
            kept_from = operators.original_position();
            if let Some(address) = address.filter(|address| seen.insert(*address)) {
                addresses.push(address);
            }
        }
        hasher.update(&module[kept_from..body.range().end]);
        let hash = u64::from_le_bytes(
            hasher.finalize().as_bytes()[..8].try_into().expect("a slice of eight bytes fits eight bytes"),
        );
        Ok(Self { hash, addresses })
    }
}
