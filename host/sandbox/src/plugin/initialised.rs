//! A component that begins with the memory of another one after a call of `init`.
//!
//! An interpreter takes seconds to start and milliseconds to load a program. So a component with a started
//! interpreter is made once, its `init` gets the program, and the result begins with the memory that this call leaves.
//! The functions of the two are the same, and so is their machine code.
//!
//! This is correct if `init` has changed only the memory, and the memory before it was the data of one module. If more than
//! that takes part in an instantiation, the result is instantiated once and compared. Everything else is refused.

use std::ops::Range;
use std::sync::Arc;

use wasm_encoder::{
    ComponentSection, ComponentSectionId, ConstExpr, DataSection, MemorySection, MemoryType, ModuleSection, RawSection,
};
use wasmparser::{BinaryReaderError, DataKind, Parser, Payload};

use crate::cache::Modules;
use crate::check::World;
use crate::contract::error::LoadError;
use crate::engine::compile::{Compiled, compile};
use crate::engine::sandbox::Sandbox;
use crate::plugin::first_instance;
use crate::rewrite::{Known, ModuleFacts, constant};
use crate::run::instance::Live;

/// Bytes of a page of memory.
const PAGE: usize = 65536;

/// A run of zeros that is left out: several times as long as a segment header.
const ZEROS: [u8; 64] = [0; 64];

/// The reason why there is no such component.
#[derive(Debug, thiserror::Error)]
pub enum InitialiseError {
    /// The component cannot be loaded, or `init` ends in a fault.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// `init` refuses its configuration.
    #[error("`init` refuses it: {0}")]
    Refused(String),
    /// The instance does not consist of one memory that the data of one module fills.
    #[error("{0}")]
    Shape(&'static str),
}

/// The component that begins with the memory of another one after `init` of node 0 of 0 with this configuration.
///
/// # Errors
///
/// See [`InitialiseError`].
pub fn initialised(sandbox: &Sandbox, component: &[u8], config: &str) -> Result<Vec<u8>, InitialiseError> {
    let shared = &sandbox.shared;
    let modules = find(component, &Modules::of(&shared.engine, shared.cache.as_ref()))?;
    let instance = |bytes: &[u8]| -> Result<Live, LoadError> {
        let Compiled { interfaces, rewritten, code, .. } = compile(sandbox, bytes, World::Plugin, &mut |_| ())?;
        Ok(first_instance(shared, blake3::hash(bytes), interfaces, &rewritten, &code)?.1)
    };
    let mut live = instance(component)?;
    let before = live.image();
    // No choice is allowed yet.
    live.context().begin_reading("init");
    let called = live.call(live.functions.node.init, (0, 0, Arc::new(config.to_owned()), None));
    called.map_err(|fault| LoadError::Start { fault })?.map_err(InitialiseError::Refused)?;
    let after = live.image();
    if after.cells != before.cells {
        return Err(InitialiseError::Shape("`init` changes globals"));
    }
    let changed: Vec<usize> =
        (0..after.data.len()).filter(|at| !is_same(&before.data[*at], &after.data[*at])).collect();
    let [changed] = changed[..] else {
        return Err(InitialiseError::Shape("`init` does not change one memory and no other"));
    };
    let pages = live.sizes().nth(changed).unwrap_or_default().div_ceil(PAGE) as u64;
    let is_all_data =
        !modules.iter().any(|module| module.has_start) && modules.iter().filter(|module| module.has_data).count() == 1;
    for module in modules.iter().filter(|module| module.may_fill_memory) {
        let bytes = &component[module.bytes.clone()];
        // The component was instantiated, so its data lies within the limits of memory.
        let filled = content(bytes).map_err(LoadError::invalid)?;
        if !filled.is_some_and(|content| is_same(&content, &before.data[changed])) {
            continue;
        }
        let given = with_memory(bytes, &after.data[changed], pages).map_err(LoadError::invalid)?;
        let result = module.replaced(component, &given);
        if is_all_data && module.has_data {
            return Ok(result);
        }
        let mut again = instance(&result)?;
        let begun = again.image();
        let is_after = begun.data.iter().zip(&after.data).all(|(begun, after)| is_same(begun, after));
        if is_after && begun.cells == after.cells && again.sizes().eq(live.sizes()) {
            return Ok(result);
        }
    }
    Err(InitialiseError::Shape("what a memory holds at the start is not the data of one module alone"))
}

/// Whether two memories have the same content; zeros follow.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let both = one.len().min(other.len());
    one[..both] == other[..both] && one[both..].iter().chain(&other[both..]).all(|byte| *byte == 0)
}

/// A module in a component.
struct Module {
    /// The components around it, the outermost first: their sections and their bytes.
    around: Vec<(Range<usize>, Range<usize>)>,
    /// Its section.
    section: Range<usize>,
    bytes: Range<usize>,
    /// Whether it has a start function.
    has_start: bool,
    /// Whether it has data.
    has_data: bool,
    /// Whether it has one memory, of its own, and no instruction that names its data.
    may_fill_memory: bool,
}

impl Module {
    /// The component with another module in place of this one.
    fn replaced(&self, component: &[u8], module: &wasm_encoder::Module) -> Vec<u8> {
        let mut section = Vec::new();
        ModuleSection(module).append_to_component(&mut section);
        let mut old = self.section.clone();
        let spliced = |bytes: &Range<usize>, old: &Range<usize>, section: &[u8]| {
            [&component[bytes.start..old.start], section, &component[old.end..bytes.end]].concat()
        };
        for (around, bytes) in self.around.iter().rev() {
            let data = spliced(bytes, &old, &section);
            section.clear();
            RawSection { id: ComponentSectionId::Component.into(), data: &data }.append_to_component(&mut section);
            old = around.clone();
        }
        spliced(&(0..component.len()), &old, &section)
    }
}

/// All modules, also those of components inside.
fn find(component: &[u8], known: &dyn Known) -> Result<Vec<Module>, InitialiseError> {
    let mut modules = Vec::new();
    // The components around the current position, and the end of the last section of each.
    let mut around: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut ends = Vec::new();
    let mut is_module = false;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(LoadError::invalid)?;
        if is_module {
            is_module = !matches!(payload, Payload::End(_));
            continue;
        }
        let start = ends.last().copied().unwrap_or_default();
        let end = match &payload {
            Payload::Version { range, .. } => {
                ends.push(range.end);
                None
            }
            Payload::ModuleSection { unchecked_range: bytes, .. } => {
                let module = &component[bytes.clone()];
                let facts = ModuleFacts::read(module, known.code(module).as_deref())?;
                let has_memory = facts.memories.len() == 1 && facts.memories[0].import.is_none();
                modules.push(Module {
                    around: around.clone(),
                    section: start..bytes.end,
                    bytes: bytes.clone(),
                    has_start: facts.start.is_some(),
                    has_data: facts.code.names_segments || !facts.data_starts.is_empty(),
                    may_fill_memory: has_memory && !facts.code.names_segments,
                });
                is_module = true;
                Some(bytes.end)
            }
            Payload::ComponentSection { unchecked_range: bytes, .. } => {
                around.push((start..bytes.end, bytes.clone()));
                None
            }
            Payload::End(end) => {
                ends.pop();
                around.pop();
                Some(*end)
            }
            other => other.as_section().map(|(_, range)| range.end),
        };
        if let (Some(last), Some(end)) = (ends.last_mut(), end) {
            *last = end;
        }
    }
    Ok(modules)
}

/// The content that the data of a module gives its memory; none if the place of some data is unknown.
fn content(module: &[u8]) -> Result<Option<Vec<u8>>, BinaryReaderError> {
    let mut content = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::DataSection(section) = payload? else { continue };
        for data in section {
            let data = data?;
            if let DataKind::Active { offset_expr, .. } = &data.kind {
                let Some(start) = constant(offset_expr) else { return Ok(None) };
                let range = start as usize..start as usize + data.data.len();
                content.resize(content.len().max(range.end), 0);
                content[range].copy_from_slice(data.data);
            }
        }
    }
    Ok(Some(content))
}

/// A module whose memory has another content from the start.
fn with_memory(module: &[u8], content: &[u8], pages: u64) -> Result<wasm_encoder::Module, BinaryReaderError> {
    let mut result = wasm_encoder::Module::new();
    let mut data = DataSection::new();
    for segment in segments(content) {
        data.active(0, &ConstExpr::i32_const(segment.start as i32), content[segment].iter().copied());
    }
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match payload {
            Payload::MemorySection(section) => {
                let mut memories = MemorySection::new();
                for memory in section {
                    let memory = memory?;
                    memories.memory(MemoryType {
                        minimum: pages.max(memory.initial),
                        maximum: memory.maximum,
                        memory64: memory.memory64,
                        shared: memory.shared,
                        page_size_log2: memory.page_size_log2,
                    });
                }
                result.section(&memories);
            }
            // No instruction names a segment, so that their count is not needed.
            Payload::DataCountSection { .. } | Payload::DataSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    result.section(&RawSection { id, data: &module[range] });
                }
            }
        }
    }
    result.section(&data);
    Ok(result)
}

/// The parts of a memory between long runs of zeros.
fn segments(content: &[u8]) -> Vec<Range<usize>> {
    let mut segments: Vec<Range<usize>> = Vec::new();
    for (start, piece) in (0..).step_by(ZEROS.len()).zip(content.chunks(ZEROS.len())) {
        if *piece == ZEROS[..piece.len()] {
            continue;
        }
        match segments.last_mut() {
            Some(last) if last.end == start => last.end += piece.len(),
            _ => segments.push(start..start + piece.len()),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the modules is found and replaced, however deeply it is nested.
    #[test]
    fn modules_are_replaced_where_they_are() {
        let text = r#"(component
            (core module (memory 1) (data (i32.const 3) "abc"))
            (component
                (core module (func))
                (component (core module (memory 2) (data (i32.const 5) "de") (data (i32.const 6) "fg")))
                (core module (memory 1)))
            (core module (memory 1) (data (i32.const 0) "h")))"#;
        let component = wat::parse_str(text).expect("valid text");
        let contents = |component: &[u8]| -> Vec<Vec<u8>> {
            let modules = find(component, &()).expect("valid modules");
            let filled = modules.iter().filter(|module| module.may_fill_memory);
            filled.map(|module| content(&component[module.bytes.clone()]).expect("valid").expect("constants")).collect()
        };
        let before = contents(&component);
        assert_eq!(before, [&b"\0\0\0abc"[..], b"\0\0\0\0\0dfg", b"", b"h"]);
        let modules = find(&component, &()).expect("valid modules");
        for (index, module) in modules.iter().filter(|module| module.may_fill_memory).enumerate() {
            let given = with_memory(&component[module.bytes.clone()], &[7; 70_000], 2).expect("valid");
            let result = module.replaced(&component, &given);
            wasmparser::Validator::new().validate_all(&result).expect("a valid component");
            let mut expected = before.clone();
            expected[index] = vec![7; 70_000];
            assert_eq!(contents(&result), expected);
        }
    }
}
