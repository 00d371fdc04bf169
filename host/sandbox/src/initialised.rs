//! A component that begins where another one is after a call of `init`.
//!
//! An interpreter takes seconds to start and milliseconds to load a program. So a component with an interpreter that has
//! started is made once, its `init` is given the program, and the memory that it leaves is the one that the result begins with.
//! The functions of the two are the same, and so is their machine code.
//!
//! This is right where nothing but the data of one module says what the memory holds after instantiation, and the memory is all
//! that `init` has changed. All else is refused.

use std::ops::Range;
use std::sync::Arc;

use wasm_encoder::{
    ComponentSection, ConstExpr, DataSection, MemorySection, MemoryType, Module, ModuleSection, RawSection,
};
use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::check::World;
use crate::compile::{Compiled, compile};
use crate::error::LoadError;
use crate::instance::Live;
use crate::plugin::first_instance;
use crate::rewrite::ModuleFacts;
use crate::sandbox::Sandbox;

/// Bytes of a page of memory.
const PAGE: usize = 65536;

/// Zeros that are left out: as many as a segment of its own takes, several times.
const ZEROS: [u8; 64] = [0; 64];

/// Why there is no such component.
#[derive(Debug, thiserror::Error)]
pub enum InitialiseError {
    /// The component cannot be loaded, or `init` ends in a fault.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// `init` refuses what it is given.
    #[error("`init` refuses it: {0}")]
    Refused(String),
    /// What the instance holds is not one memory that the data of one module fills.
    #[error("{0}")]
    Shape(&'static str),
}

/// The component that begins with the memory that another one has after `init` of node 0 of 0 with this configuration.
///
/// # Errors
///
/// See [`InitialiseError`].
pub fn initialised(sandbox: &Sandbox, component: &[u8], config: &str) -> Result<Vec<u8>, InitialiseError> {
    let place = find(component)?;
    let shared = &sandbox.shared;
    let Compiled { interfaces, rewritten, code, .. } = compile(shared, component, World::Plugin, &mut |_| ())?;
    let (_, mut live): (_, Live) = first_instance(shared, blake3::hash(component), interfaces, &rewritten, &code)?;
    let before = live.image();
    live.context().begin_handler(&[], false);
    let called = live.call("init", |f| &f.init, (0, 0, Arc::new(config.to_owned()), None));
    let (result,) = called.map_err(|fault| LoadError::Start { fault })?;
    result.map_err(InitialiseError::Refused)?;
    let after = live.image();
    if after.cells != before.cells {
        return Err(InitialiseError::Shape("`init` changes globals"));
    }
    let [memory] = &after.data[..] else { return Err(InitialiseError::Shape("it has several memories")) };
    let pages = live.sizes().next().unwrap_or_default().div_ceil(PAGE) as u64;
    let module = with_memory(&component[place.module.clone()], memory, pages).map_err(LoadError::invalid)?;
    let mut result = component[..place.section.start].to_vec();
    ModuleSection(&module).append_to_component(&mut result);
    result.extend_from_slice(&component[place.section.end..]);
    Ok(result)
}

/// Where the module with the memory lies in a component.
struct Place {
    /// Its section.
    section: Range<usize>,
    /// Its bytes.
    module: Range<usize>,
}

/// Finds the module with the memory, if nothing else decides what the memory holds.
fn find(component: &[u8]) -> Result<Place, InitialiseError> {
    let mut found = None;
    let mut several = false;
    // Where the last section of the outermost component has ended, and how many modules and components are around.
    let (mut end, mut depth) = (8, 0);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(LoadError::invalid)?;
        if let Payload::ModuleSection { unchecked_range: module, .. } = &payload {
            let facts = ModuleFacts::read(&component[module.clone()])?;
            if facts.start.is_some() {
                return Err(InitialiseError::Shape("it has a start function"));
            }
            let has_memory = facts.memories.iter().any(|memory| memory.import.is_none());
            if facts.names_segments || !has_memory && !facts.data_starts.is_empty() {
                return Err(InitialiseError::Shape("other modules have data, or code that names data"));
            }
            if has_memory {
                several |= depth > 0 || facts.memories.len() > 1 || found.is_some();
                found = Some(Place { section: end..module.end, module: module.clone() });
            }
        }
        if let Some((_, range)) = payload.as_section().filter(|_| depth == 0) {
            end = range.end;
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) if depth > 0 => depth -= 1,
            _ => {}
        }
    }
    found.filter(|_| !several).ok_or(InitialiseError::Shape("it has not one memory in one module"))
}

/// A module whose memory holds something else from the start.
fn with_memory(module: &[u8], content: &[u8], pages: u64) -> Result<Module, BinaryReaderError> {
    let mut result = Module::new();
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
