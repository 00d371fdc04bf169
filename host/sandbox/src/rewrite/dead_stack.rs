//! The part of a memory that is a dead stack whenever no function runs.
//!
//! Compilers keep variables in linear memory, below a global called `__stack_pointer` that moves down and comes back. Between
//! calls everything below its first value is dead: each function writes it before it reads it. Linkers put the stack first, or behind the
//! data; only in the first case do the data segments show where it ends.

use wasmparser::ExternalKind;

use super::analysis::ModuleFacts;

/// The number of bytes from the start of the only memory that are dead between calls; 0 if the modules have no stack.
///
/// # Errors
///
/// A phrase with the reason why that is unknown.
pub(crate) fn bytes(modules: &[ModuleFacts]) -> Result<usize, String> {
    let with_memory: Vec<&ModuleFacts> =
        modules.iter().filter(|module| module.imported_memories() < module.memories.len()).collect();
    let module = match with_memory.as_slice() {
        [] => return Ok(0),
        [module] if module.memories.len() == 1 => *module,
        _ => return Err("it has several memories, and only one stack can be located".to_owned()),
    };
    let is_changed =
        modules.iter().flat_map(|module| &module.globals).any(|global| global.ty.mutable && global.written_late);
    let Some(pointer) = module.stack_pointer else {
        return match is_changed {
            true => Err(
                "none of its globals is called `__stack_pointer`, so its dead stack cannot be distinguished from other memory"
                    .to_owned(),
            ),
            false => Ok(0),
        };
    };
    let top = module.globals.get(pointer as usize).and_then(|global| global.initial);
    let top = top.ok_or("its stack pointer does not begin as a constant")?;
    let lowest =
        module.data_starts.iter().copied().collect::<Option<Vec<u32>>>().and_then(|starts| starts.into_iter().min());
    match lowest {
        Some(lowest) if top <= lowest => Ok(top as usize),
        Some(_) => Err("its data lie below its stack; link it with `--stack-first`".to_owned()),
        None => Err("no data segment says where its stack ends".to_owned()),
    }
}

/// The beginning of the heap of the only module with a memory, if its linker exports it.
pub(crate) fn heap_start(modules: &[ModuleFacts]) -> Option<u32> {
    let mut with_memory = modules.iter().filter(|module| module.imported_memories() < module.memories.len());
    let module = with_memory.next().filter(|_| with_memory.next().is_none())?;
    module.globals[module.export("__heap_base", ExternalKind::Global)? as usize].initial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<usize, String> {
        let module = wat::parse_str(format!("(module {text})")).expect("the text is right");
        bytes(&[ModuleFacts::read(&module, None).expect("a module")])
    }

    const MOVES: &str = "(func (export \"f\") (global.set 0 (i32.const 1)))";

    #[test]
    fn a_stack_ends_where_the_data_begin() {
        let stack = "(memory 2) (global $__stack_pointer (mut i32) (i32.const 65536))";
        assert_eq!(of(&format!("{stack} (data (i32.const 65536) \"x\") {MOVES}")), Ok(65_536));
        assert!(
            of(&format!("{stack} (data (i32.const 1024) \"x\") {MOVES}"))
                .is_err_and(|why| why.contains("--stack-first"))
        );
        assert!(of(&format!("{stack} {MOVES}")).is_err_and(|why| why.contains("no data segment")));
    }

    #[test]
    fn a_global_of_another_name_may_be_anything() {
        let other = "(memory 2) (global $top (mut i32) (i32.const 65536)) (data (i32.const 65536) \"x\")";
        assert!(of(&format!("{other} {MOVES}")).is_err_and(|why| why.contains("`__stack_pointer`")));
        assert_eq!(of(other), Ok(0), "without one that changes there is no stack");
        assert_eq!(of(""), Ok(0));
    }

    #[test]
    fn of_several_memories_none_is_chosen() {
        assert!(of("(memory 1) (memory 1)").is_err_and(|why| why.contains("several memories")));
    }
}
