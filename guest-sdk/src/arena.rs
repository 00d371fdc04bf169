//! An allocator whose free memory is zero, and whose next address depends on what is allocated alone.
//!
//! A plugin whose states are distinguished by [memory](crate::By::Memory) uses it: with an ordinary allocator, freed bytes keep their
//! values, in an order that depends on history.
//!
//! Memory comes in chunks of 4 KiB, each with a header: free chunks are zero, a chunk of slots has slots of one size, and a block too
//! large for a slot has whole chunks of its own. An allocation takes the lowest slot or the lowest run of chunks that fits, so the layout
//! after any history is a function of the blocks that are left.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | against a list of blocks |
#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;

/// Bytes of a chunk.
const CHUNK: usize = 4096;
/// Bytes at the start of a chunk, or of a run of chunks, that are no slot.
const HEADER: usize = 64;
const SLOT_MIN: usize = 16;
const SLOT_MAX: usize = 1024;
/// In place of the size of its slots: this chunk and those behind it hold one block.
const RUN: u32 = 1;

/// Linear memory of an arena: bytes from an address on, which can grow.
trait Memory {
    /// Its first byte, aligned to a chunk.
    fn base(&self) -> *mut u8;

    /// Its size in bytes, a multiple of a chunk.
    fn size(&self) -> usize;

    /// Adds zeroed bytes behind the existing memory; false if the system has no more.
    fn grow(&mut self, bytes: usize) -> bool;
}

/// The start of a chunk. All zero: it is free.
#[repr(C)]
struct Header {
    /// Bytes of each slot, or [`RUN`].
    slot: u32,
    /// Slots that are taken, or the number of chunks of a run.
    count: u32,
    /// A bit per slot that is taken.
    taken: [u64; 4],
}

const _: () = assert!(size_of::<Header>() <= HEADER && CHUNK / SLOT_MIN <= 4 * 64);

/// The headers of an arena.
struct Chunks<'m, M>(&'m mut M);

impl<M: Memory> Chunks<'_, M> {
    fn count(&self) -> usize {
        self.0.size() / CHUNK
    }

    fn header(&mut self, chunk: usize) -> &mut Header {
        debug_assert!(chunk < self.count());
        // SAFETY: every chunk below the count begins with a header, which is aligned as the chunk is; zero bytes are a header, and no
        // block reaches into the header of its own chunk. No call names a chunk within a run: `next` steps over it.
        unsafe { &mut *self.0.base().add(chunk * CHUNK).cast::<Header>() }
    }

    /// The chunk behind a chunk or run.
    fn next(&mut self, chunk: usize) -> usize {
        let header = self.header(chunk);
        chunk + if header.slot == RUN { header.count as usize } else { 1 }
    }

    /// The lowest slot of this size, taken.
    fn take_slot(&mut self, slot: usize) -> Option<usize> {
        let first = HEADER.div_ceil(slot);
        let room = CHUNK / slot - first;
        let (mut chunk, mut fit) = (0, None);
        while chunk < self.count() {
            let header = self.header(chunk);
            if header.slot == 0 || header.slot as usize == slot && (header.count as usize) < room {
                fit = Some(chunk);
                break;
            }
            chunk = self.next(chunk);
        }
        let chunk = match fit {
            Some(chunk) => chunk,
            None => self.more(1)?,
        };
        let header = self.header(chunk);
        header.slot = slot as u32;
        header.count += 1;
        let free = (first..CHUNK / slot).find(|at| header.taken[at / 64] & 1 << (at % 64) == 0);
        let at = free.expect("a chunk that is not full has a free slot");
        header.taken[at / 64] |= 1 << (at % 64);
        Some(chunk * CHUNK + at * slot)
    }

    /// The lowest run of free chunks that is long enough, taken.
    fn take_run(&mut self, bytes: usize) -> Option<usize> {
        let wanted = bytes.checked_add(HEADER)?.div_ceil(CHUNK);
        let (mut chunk, mut start) = (0, 0);
        while chunk < self.count() && chunk - start < wanted {
            let is_free = self.header(chunk).slot == 0;
            chunk = self.next(chunk);
            start = if is_free { start } else { chunk };
        }
        // The rest of the run comes behind the free chunks at the end.
        if chunk - start < wanted {
            self.more(wanted - (chunk - start))?;
        }
        let header = self.header(start);
        header.slot = RUN;
        header.count = u32::try_from(wanted).ok()?;
        Some(start * CHUNK + HEADER)
    }

    /// Adds chunks behind the existing ones; returns the first of them.
    fn more(&mut self, chunks: usize) -> Option<usize> {
        let first = self.count();
        self.0.grow(chunks.checked_mul(CHUNK)?).then_some(first)
    }

    /// Frees a block that is all zero.
    fn free(&mut self, at: usize) {
        let chunk = at / CHUNK;
        let header = self.header(chunk);
        if header.slot != RUN {
            let slot = at % CHUNK / header.slot as usize;
            header.taken[slot / 64] &= !(1 << (slot % 64));
            header.count -= 1;
        }
        if header.slot == RUN || header.count == 0 {
            *header = Header { slot: 0, count: 0, taken: [0; 4] };
        }
    }
}

/// The size of the slot for a block; none if it takes chunks of its own.
fn slot_of(layout: Layout) -> Option<usize> {
    let slot = layout.size().max(layout.align()).max(SLOT_MIN).next_power_of_two();
    (slot <= SLOT_MAX).then_some(slot)
}

/// The bytes that a block may grow to without moving.
fn room_of(layout: Layout) -> usize {
    slot_of(layout).unwrap_or_else(|| (layout.size() + HEADER).next_multiple_of(CHUNK) - HEADER)
}

/// Takes a block, all zero; null if memory is exhausted, or for an alignment that runs of chunks do not have.
fn allocate<M: Memory>(memory: &mut M, layout: Layout) -> *mut u8 {
    let at = match slot_of(layout) {
        Some(slot) => Chunks(memory).take_slot(slot),
        None if layout.align() > HEADER => None,
        None => Chunks(memory).take_run(layout.size()),
    };
    // SAFETY: the block lies within the memory.
    at.map_or(std::ptr::null_mut(), |at| unsafe { memory.base().add(at) })
}

/// Zeroes and frees a block.
///
/// # Safety
///
/// [`allocate`] gave it out for this layout, and it is no longer in use.
unsafe fn release<M: Memory>(memory: &mut M, block: *mut u8, layout: Layout) {
    // SAFETY: the block has at least as many bytes as its layout, and they are unused.
    unsafe { block.write_bytes(0, layout.size()) };
    let at = block.addr() - memory.base().addr();
    Chunks(memory).free(at);
}

/// Resizes a block in place; false if it would have to move. Bytes behind a smaller end become zero.
///
/// # Safety
///
/// As for [`release`]; memory behind a smaller end is unused.
unsafe fn resize(block: *mut u8, layout: Layout, size: usize) -> bool {
    let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return false };
    let is_same = slot_of(layout) == slot_of(wanted) && room_of(layout) == room_of(wanted);
    if is_same && size < layout.size() {
        // SAFETY: these bytes are in the block, and unused from now on.
        unsafe { block.add(size).write_bytes(0, layout.size() - size) };
    }
    is_same
}

/// The allocator for a plugin whose states are distinguished by [memory](crate::By::Memory); [`arena!`](crate::arena) installs it.
///
/// For one thread, as plugins are.
pub struct Arena(UnsafeCell<Pages>);

// SAFETY: it is used in WebAssembly without threads alone: see `pages`.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena that has no memory yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(Pages { base: 0, size: 0 }))
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

/// Pages of linear memory, from the first one that was requested.
struct Pages {
    base: usize,
    size: usize,
}

#[cfg(target_arch = "wasm32")]
impl Memory for Pages {
    fn base(&self) -> *mut u8 {
        self.base as *mut u8
    }

    fn size(&self) -> usize {
        self.size
    }

    fn grow(&mut self, bytes: usize) -> bool {
        const PAGE: usize = 65_536;
        // Many at a time: the size of the memory counts as well, and a host that restores a state has to change it.
        let pages = bytes.max(self.size / 2).div_ceil(PAGE).next_multiple_of(4);
        let end = core::arch::wasm32::memory_size(0) * PAGE;
        if self.size > 0 && self.base + self.size != end {
            return false;
        }
        if core::arch::wasm32::memory_grow(0, pages) == usize::MAX {
            return false;
        }
        if self.size == 0 {
            self.base = end;
        }
        self.size += pages * PAGE;
        true
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Memory for Pages {
    fn base(&self) -> *mut u8 {
        std::ptr::without_provenance_mut(self.base)
    }

    fn size(&self) -> usize {
        self.size
    }

    /// Natively there are no such pages.
    fn grow(&mut self, _: usize) -> bool {
        false
    }
}

// SAFETY: blocks of different allocations do not overlap: each has slots or chunks of its own, marked as taken until it is released. They
// are aligned: slots to their size, which is no smaller than the alignment, and runs to `HEADER`.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is one thread, and no method of the arena calls anything that allocates.
        allocate(unsafe { &mut *self.0.get() }, layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; the caller's duty is that of `release`.
        unsafe { release(&mut *self.0.get(), block, layout) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the result of `alloc` is zero already.
        unsafe { self.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's duty is that of `resize`, and then that of `release`; the new block is another one, with room for both.
        unsafe {
            if resize(block, layout, size) {
                return block;
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Makes [`Arena`] the allocator of this plugin. Once a crate; does nothing in a native build.
#[macro_export]
macro_rules! arena {
    () => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[global_allocator]
            static ARENA: $crate::Arena = $crate::Arena::new();
        };
    };
}

#[cfg(test)]
mod tests;
