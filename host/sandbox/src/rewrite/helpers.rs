//! The bodies of the functions that the rewriting adds to a module, and access to cells.

use wasm_encoder::{Function, Instruction, MemArg, ValType};

use super::layout::ModuleRewriter;
use super::{SYNC_GROW, SYNC_LOAD, SYNC_SAVE};

impl ModuleRewriter<'_> {
    fn cell_arg(&self, global: u32, align: u32) -> MemArg {
        let offset = self.cell_at[global as usize].expect("only globals that were given a cell are saved");
        MemArg { offset, align, memory_index: self.cells() }
    }

    /// Loads from the cell of a global; a zero address is on the stack.
    pub(super) fn cell_load(&self, global: u32) -> Instruction<'static> {
        match self.facts.globals[global as usize].ty.content_type {
            wasmparser::ValType::I32 => Instruction::I32Load(self.cell_arg(global, 2)),
            wasmparser::ValType::I64 => Instruction::I64Load(self.cell_arg(global, 3)),
            wasmparser::ValType::F32 => Instruction::F32Load(self.cell_arg(global, 2)),
            wasmparser::ValType::F64 => Instruction::F64Load(self.cell_arg(global, 3)),
            wasmparser::ValType::V128 => Instruction::V128Load(self.cell_arg(global, 4)),
            wasmparser::ValType::Ref(_) => unreachable!("references have no cell"),
        }
    }

    /// Stores to the cell of a global; a zero address and the value are on the stack.
    pub(super) fn cell_store(&self, global: u32) -> Instruction<'static> {
        match self.facts.globals[global as usize].ty.content_type {
            wasmparser::ValType::I32 => Instruction::I32Store(self.cell_arg(global, 2)),
            wasmparser::ValType::I64 => Instruction::I64Store(self.cell_arg(global, 3)),
            wasmparser::ValType::F32 => Instruction::F32Store(self.cell_arg(global, 2)),
            wasmparser::ValType::F64 => Instruction::F64Store(self.cell_arg(global, 3)),
            wasmparser::ValType::V128 => Instruction::V128Store(self.cell_arg(global, 4)),
            wasmparser::ValType::Ref(_) => unreachable!("references have no cell"),
        }
    }

    /// `(old, old size, align, new size) -> address`: calls the wrapped function, and marks the range that the host will write.
    pub(super) fn realloc_wrapper(&self, wrapped: u32) -> Function {
        let mut f = Function::new([(1, ValType::I32)]);
        for parameter in 0..4 {
            f.instruction(&Instruction::LocalGet(parameter));
        }
        f.instruction(&Instruction::Call(wrapped));
        f.instruction(&Instruction::LocalSet(4));
        for memory in 0..self.facts.memories.len() as u32 {
            f.instruction(&Instruction::LocalGet(4));
            f.instruction(&Instruction::LocalGet(3));
            f.instruction(&Instruction::Call(self.mark_range(memory)));
        }
        f.instruction(&Instruction::LocalGet(4));
        f.instruction(&Instruction::End);
        f
    }

    /// Puts the initial value of every moved global into its cell, then calls the module's own start function.
    pub(super) fn begin(&self) -> Function {
        let mut f = Function::new([]);
        for global in (0..self.facts.globals.len()).filter(|&global| self.moved(global)) {
            f.instruction(&Instruction::I32Const(0));
            f.instruction(&Instruction::GlobalGet(global as u32));
            f.instruction(&self.cell_store(global as u32));
        }
        if let Some(start) = self.facts.start {
            f.instruction(&Instruction::Call(start));
        }
        f.instruction(&Instruction::End);
        f
    }

    /// `(what, argument)`: copies shared globals or grows a memory.
    pub(super) fn sync(&self) -> Function {
        let mut f = Function::new([]);
        let shared: Vec<u32> =
            (0..self.facts.globals.len()).filter(|&global| self.shared(global)).map(|global| global as u32).collect();
        when(&mut f, SYNC_SAVE, |f| {
            for &global in &shared {
                f.instruction(&Instruction::I32Const(0));
                f.instruction(&Instruction::GlobalGet(global));
                f.instruction(&self.cell_store(global));
            }
        });
        when(&mut f, SYNC_LOAD, |f| {
            for &global in &shared {
                f.instruction(&Instruction::I32Const(0));
                f.instruction(&self.cell_load(global));
                f.instruction(&Instruction::GlobalSet(global));
            }
        });
        let imported = self.facts.imported_memories();
        for defined in 0..self.facts.memories.len() - imported {
            when(&mut f, SYNC_GROW + defined as u32, |f| {
                f.instruction(&Instruction::LocalGet(1));
                f.instruction(&Instruction::MemoryGrow(2 * (imported + defined) as u32));
                f.instruction(&Instruction::Drop);
            });
        }
        f.instruction(&Instruction::End);
        f
    }
}

fn when(f: &mut Function, what: u32, then: impl FnOnce(&mut Function)) {
    f.instruction(&Instruction::LocalGet(0));
    f.instruction(&Instruction::I32Const(what as i32));
    f.instruction(&Instruction::I32Eq);
    f.instruction(&Instruction::If(wasm_encoder::BlockType::Empty));
    then(f);
    f.instruction(&Instruction::End);
}
