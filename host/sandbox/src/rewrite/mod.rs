//! Rewrites the core modules of a component so that all their state lies in memories and every write is marked.
//!
//! Each linear memory gets a twin, the *marks*: one byte per granule of 256 bytes, set by every instruction that
//! writes into the granule. Twins accompany their memory: where a module exports, imports or re-exports a memory, it
//! does the same with the twin, so modules that share a memory share its marks. Mutable globals move into a small
//! memory of the module, the *cells*.
//!
//! Bytes reach a memory only in these ways:
//!
//! - A store or bulk instruction of a module, its own or one that imports the memory. Marked in place (`code`).
//! - The engine, for an argument or result on the heap: lists, strings, and parameters that do not fit sixteen core values, from the
//!   host or from another component, in any encoding of strings. They go where `realloc` says, which is wrapped to mark the range
//!   (`helpers`), every time it is called again for the same string; a `realloc` of unknown origin is refused (`structure`).
//! - The engine, for a result that does not fit one core value, at an address that the caller passes. The lowered function is wrapped
//!   to mark the range (`results`). Functions of the host have no such results; the types of imports are compared with the contract.
//! - Data segments and start functions, before the first image is taken. `memory.init` later is an instruction like the others.
//! - `memory.grow` adds zeros; the size is part of each snapshot.
//! - Asynchronous functions, streams, futures, threads and `task.return` write results later or elsewhere: refused (`structure`).
//! - Functions of resources take and return handles, in no memory. Making a handle is refused (`structure`).
//!
//! Functions that clean up after a result, destructors, and functions that one component gives another run instructions of modules.
//!
//! | module | what it holds |
//! |---|---|
//! | `addresses` | addresses of data, moved out of the code of large modules |
//! | `analysis` | the parts of a core module that a snapshot must hold |
//! | `code_facts` | facts from the bodies of functions |
//! | `dead_stack` | the part of a memory that is a dead stack whenever no function runs |
//! | `known` | facts about modules that were rewritten before |
//! | `layout` | the places of marks, cells and helper functions in a rewritten module |
//! | `module` | one core module: memories with marks, cells for globals |
//! | `code` | function bodies: marks after writes, cells for globals, guards before forbidden instructions |
//! | `marked_ranges` | the marks that a function body has set already |
//! | `helpers` | the functions that rewriting adds to a module |
//! | `structure` | the parts of a component: the origins of functions, memories and globals |
//! | `component` | the component around the modules |
//! | `rewritten` | the result, and the plan of the memories that an instance has |
//! | `results` | results that the engine writes for a call between two components |
//! | `libraries` | modules that a component imports, so that they are compiled separately |
//! | `segments` | fewer data segments, since many take long to compile |
//! | `emit` | sections of a component, written again |

mod addresses;
mod analysis;
mod code;
mod code_facts;
mod component;
mod dead_stack;
mod emit;
mod helpers;
mod known;
mod layout;
mod libraries;
mod marked_ranges;
mod module;
mod results;
mod rewritten;
mod segments;
mod structure;

pub(crate) use analysis::{ModuleFacts, constant};
pub(crate) use code_facts::CodeFacts;
pub(crate) use component::rewrite;
pub(crate) use dead_stack::{bytes as dead_stack, heap_start};
pub(crate) use known::Known;
pub(crate) use layout::{Cell, MemoryRole};
pub(crate) use libraries::library_import;
pub(crate) use rewritten::{MemoryPlan, Rewritten};

/// The source text of the code that determines the result for a module.
pub(crate) const SOURCES: [&str; 18] = [
    include_str!("addresses.rs"),
    include_str!("analysis.rs"),
    include_str!("code.rs"),
    include_str!("code_facts.rs"),
    include_str!("component.rs"),
    include_str!("dead_stack.rs"),
    include_str!("emit.rs"),
    include_str!("helpers.rs"),
    include_str!("known.rs"),
    include_str!("layout.rs"),
    include_str!("libraries.rs"),
    include_str!("marked_ranges.rs"),
    include_str!("mod.rs"),
    include_str!("module.rs"),
    include_str!("results.rs"),
    include_str!("rewritten.rs"),
    include_str!("segments.rs"),
    include_str!("structure.rs"),
];

/// Incremented with every change of the rewriting after which a component could lay out its state in another way: exported states
/// contain it. A test keeps a digest of the rewritten fixtures.
pub(crate) const REWRITING: u32 = 1;

/// Bytes of memory that one mark stands for.
pub(crate) const GRANULE: usize = 256;

/// Bytes past a marked granule that may have been written without a mark of their own: a store marks only the granule of its
/// first byte, and a store close behind an earlier one marks nothing.
pub(crate) const OVERHANG: usize = 64;

/// The suffix that turns the name of a memory's export into that of its marks.
pub(crate) const MARKS_SUFFIX: &str = "\u{1}marks";

/// Pages of a marks memory: one byte for each granule of 4 GiB, so that no mark of a successful write is out of bounds.
pub(crate) const MARKS_PAGES: u64 = (1 << 32) / GRANULE as u64 / 65536;

/// The first granule of a cells memory is for communication with the host; the globals follow.
pub(crate) const CELLS_START: u64 = GRANULE as u64;

/// The address where the host notes that instantiation is over: from then on tables and segments must not change.
pub(crate) const SEALED_AT: u64 = 0;

/// The address where the module notes which forbidden instruction it ran.
pub(crate) const VIOLATION_AT: u64 = 4;

/// The names behind the numbers at [`VIOLATION_AT`], counted from 1.
pub(crate) const VIOLATIONS: [&str; 8] = [
    "table.set",
    "table.grow",
    "table.fill",
    "table.copy",
    "table.init",
    "elem.drop",
    "data.drop",
    "global.set of a reference",
];

/// The prefix of the names of the exports that synchronise core instances.
const SYNC_EXPORT: &str = "host-sync-";

/// The name of the root component's export that synchronises core instance `index`.
pub(crate) fn sync_export(index: usize) -> String {
    format!("{SYNC_EXPORT}{index}")
}

/// First argument of a synchronising export: copy shared globals into the cells.
pub(crate) const SYNC_SAVE: u32 = 0;
/// First argument of a synchronising export: copy the cells into shared globals.
pub(crate) const SYNC_LOAD: u32 = 1;
/// First argument of a synchronising export, plus the index of a defined memory: grow it by the second argument.
pub(crate) const SYNC_GROW: u32 = 2;
