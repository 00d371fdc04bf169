//! Linear memories whose bytes the host can reach.
//!
//! The component API of wasmtime does not reach the core memories inside a component
//! (bytecodealliance/wasmtime#10932). But an engine can be configured to get its memories from the host; then the
//! host simply keeps a handle to each memory.
#![allow(unsafe_code, reason = "memories for compiled code come from the operating system and are reached by address")]

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::contract::limits::Sabotage;

/// The memory that the instance may still take; shared by all its memories.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
    refused: AtomicBool,
    /// Whether the host itself resizes memories: on the way to sizes within the limit, their sum may exceed it.
    lifted: AtomicBool,
    sabotage: Sabotage,
    /// The resource that this machine could not provide although the limit allows it. Never forgotten.
    trouble: OnceLock<String>,
}

impl Budget {
    pub(crate) fn new(limit: usize, sabotage: Sabotage) -> Self {
        Self {
            limit,
            used: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
            lifted: AtomicBool::new(false),
            sabotage,
            trouble: OnceLock::new(),
        }
    }

    /// The resource that this machine could not provide.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// Lifts the limit, or restores it.
    pub(crate) fn lift(&self, is_lifted: bool) {
        self.lifted.store(is_lifted, Ordering::Relaxed);
    }

    /// Notes that the operating system failed to provide a resource.
    fn fails(&self, what: String) -> String {
        // The first failure tells most.
        let _ = self.trouble.set(what.clone());
        what
    }

    /// Whether a memory was refused growth since [`forget_refusal`](Self::forget_refusal).
    pub(crate) fn refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Forgets a refusal, before another call.
    pub(crate) fn forget_refusal(&self) {
        self.refused.store(false, Ordering::Relaxed);
    }

    /// Takes `bytes` more, if there is room for them; returns whether there was.
    fn take(&self, bytes: usize) -> bool {
        // Plain load and store: the memories of one instance grow on the one thread that runs it.
        let used = self.used.load(Ordering::Relaxed);
        match used.checked_add(bytes) {
            Some(total) if total <= self.limit || self.lifted.load(Ordering::Relaxed) => {
                self.used.store(total, Ordering::Relaxed);
                true
            }
            _ => {
                self.refused.store(true, Ordering::Relaxed);
                false
            }
        }
    }

    /// Gives back bytes that were taken.
    fn give_back(&self, bytes: usize) {
        self.used.store(self.used.load(Ordering::Relaxed) - bytes, Ordering::Relaxed);
    }
}

/// One linear memory: a range of addresses reserved once, whose first `size` bytes are accessible.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    /// Bytes in which accesses of compiled code may compute an address, guard included.
    mapped: usize,
    /// Bytes that the memory may grow to.
    capacity: usize,
    size: AtomicUsize,
    budget: Arc<Budget>,
    /// Whether the bytes count against the budget.
    counts: bool,
}

// SAFETY: the region owns its mapping, which has no affinity to a thread; the contracts of `bytes` and `bytes_mut`
// govern all reads and writes of the bytes.
unsafe impl Send for Region {}
// SAFETY: as above; the only state other than the bytes is atomic.
unsafe impl Sync for Region {}

impl Region {
    fn new(size: usize, capacity: usize, guard: usize, budget: Arc<Budget>, counts: bool) -> Result<Self, String> {
        let mapped = capacity.checked_add(guard).ok_or("a memory larger than the address space")?;
        // SAFETY: a fresh private mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe {
            mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE)
        };
        let base = base.map_err(|error| error.to_string());
        let base = if budget.sabotage.is(Sabotage::NoRoom) { Err("on purpose".to_owned()) } else { base };
        let base =
            base.map_err(|error| budget.fails(format!("cannot reserve {mapped} bytes of address space: {error}")))?;
        let base = NonNull::new(base.cast::<u8>()).ok_or("a mapping at address zero")?;
        let region = Self { base, mapped, capacity, size: AtomicUsize::new(0), budget, counts };
        region.grow(size)?;
        Ok(region)
    }

    /// Bytes that are currently accessible.
    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    fn grow(&self, size: usize) -> Result<(), String> {
        let old = self.size();
        if size <= old {
            return Ok(());
        }
        if size > self.capacity {
            return Err("a memory larger than its maximum".into());
        }
        let budget = &self.budget;
        if self.counts && !budget.take(size - old) {
            return Err(format!("more than {} bytes of memory", budget.limit));
        }
        // SAFETY: the range lies inside the mapping that this region owns (`size <= capacity <= mapped`), and making
        // it accessible cannot invalidate its content. Fresh pages read as zero, as Wasm requires.
        let made = unsafe { mprotect(self.base.as_ptr().cast(), size, MprotectFlags::READ | MprotectFlags::WRITE) };
        let made = made.map_err(|error| error.to_string());
        let made = if budget.sabotage.is(Sabotage::NoGrowth) && old > 0 { Err("on purpose".to_owned()) } else { made };
        made.map_err(|error| budget.fails(format!("cannot make {size} bytes of memory accessible: {error}")))?;
        self.size.store(size, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the memory end at `size` again. WebAssembly has no such operation, so wasmtime must be notified: it reads the size again when
    /// the memory grows, even by nothing.
    ///
    /// Memory behind the new end must be zero: it is not cleared when the memory grows over it.
    ///
    /// # Safety
    ///
    /// No Wasm code runs in the store that owns this memory before it has grown it by nothing, and its bytes are not borrowed.
    pub(crate) unsafe fn shrink(&self, size: usize) -> Result<(), String> {
        let old = self.size();
        debug_assert!(size <= old && size.is_multiple_of(1 << 16));
        // SAFETY: the range lies inside the mapping that this region owns, and by the contract there is no reference into it. Compiled
        // code that computes an address there faults as it does behind the end of any memory.
        let made = unsafe { mprotect(self.base.as_ptr().add(size).cast(), old - size, MprotectFlags::empty()) };
        made.map_err(|error| format!("cannot take back {} bytes of memory: {error}", old - size))?;
        self.size.store(size, Ordering::Relaxed);
        if self.counts {
            self.budget.give_back(old - size);
        }
        Ok(())
    }

    /// The bytes of the memory.
    ///
    /// # Safety
    ///
    /// While the slice lives, no Wasm code runs in the store that owns this memory and there is no slice of
    /// [`bytes_mut`](Self::bytes_mut).
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: `size` bytes from `base` are mapped and readable, initialised (the kernel zeroes pages), and by
        // the contract they are not written while the slice lives.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.size()) }
    }

    /// The bytes of the memory, to write.
    ///
    /// # Safety
    ///
    /// While the slice lives, no Wasm code runs in the store that owns this memory and there is no other slice
    /// of it.
    #[allow(clippy::mut_from_ref, reason = "the memory belongs to the store; exclusiveness is the caller's duty")]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and by the contract there are no other reads or writes of them.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.size()) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this region alone; the store that used it held an `Arc` of the region, so
        // it is gone too. Failure can only mean a wrong range, which is harmless to leak.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// The half of a region that the store holds.
struct Owned(Arc<Region>);

// SAFETY: the base address never changes, `byte_size` bytes from it are accessible, and the rest of the mapping up to
// capacity and guard is reserved without access, so that compiled code which skips its bounds check faults there.
unsafe impl LinearMemory for Owned {
    fn byte_size(&self) -> usize {
        self.0.size()
    }

    fn byte_capacity(&self) -> usize {
        self.0.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        self.0.grow(new_size).map_err(wasmtime::Error::msg)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.base.as_ptr()
    }
}

/// The memories made during one instantiation.
struct Births {
    /// For each memory in the order of creation: whether it counts against the budget.
    counted: Vec<bool>,
    budget: Arc<Budget>,
    regions: Vec<Arc<Region>>,
}

thread_local! {
    /// Instantiation calls the memory creator on its own thread, without an identifier of the instance.
    static BIRTHS: RefCell<Option<Births>> = const { RefCell::new(None) };
}

/// Runs an instantiation and returns the memories it made, in the order of their creation.
pub(crate) fn collect<R>(
    counted: &[bool],
    budget: &Arc<Budget>,
    instantiate: impl FnOnce() -> R,
) -> (R, Vec<Arc<Region>>) {
    let births = Births { counted: counted.to_vec(), budget: Arc::clone(budget), regions: Vec::new() };
    let outer = BIRTHS.with(|slot| slot.borrow_mut().replace(births));
    assert!(outer.is_none(), "instantiations do not nest");
    let result = instantiate();
    let births =
        BIRTHS.with(|slot| slot.borrow_mut().take()).expect("it was put there before, and instantiations do not nest");
    (result, births.regions)
}

/// Makes the memories of all instances of an engine.
pub(crate) struct Creator;

// SAFETY: every memory is a mapping of its own with the reservation and the guard that the engine requested, zeroed,
// never moved, and unmapped only after both the store and the host have dropped it.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let capacity = reserved_size_in_bytes.or(maximum).unwrap_or(minimum).max(minimum);
        BIRTHS.with(|slot| {
            let mut slot = slot.borrow_mut();
            let births = slot.as_mut().ok_or("a memory that no instantiation has asked for")?;
            let counts = births.counted.get(births.regions.len()).copied().unwrap_or(true);
            let budget = Arc::clone(&births.budget);
            let region = Arc::new(Region::new(minimum, capacity, guard_size_in_bytes, budget, counts)?);
            births.regions.push(Arc::clone(&region));
            Ok(Box::new(Owned(region)) as Box<dyn LinearMemory>)
        })
    }
}
