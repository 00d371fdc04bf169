//! Local states as differences from an image.
//!
//! The pristine image is what an instance holds right after instantiation, the same for every instance of a plugin. The
//! reference image is the first state captured after `init`: later states are closer to it, so snapshots are smaller.
//! A snapshot keeps the lines of 32 bytes that differ from one of the two, its base. Marks say where to look.
//!
//! Invariant between calls: every byte that differs from the base lies in a marked granule, or is one of the first 64
//! past a marked one (see [`OVERHANG`]).
#![allow(unsafe_code, reason = "reads and writes the memories of instances, which only their owner may do")]

use std::sync::{Arc, OnceLock};

use crate::image::{Base, Image, Images, Reference};
use crate::lines::{Entry, Line, keep, overhang_differs, overlay, padded, replace, reset, scan, split_before};
use crate::memory::Region;
use crate::rewrite::{CELLS_START, GRANULE, OVERHANG, SEALED_AT, VIOLATION_AT, VIOLATIONS};
/// A captured local state.
#[derive(Debug)]
pub(crate) struct Delta {
    /// Which plugin it belongs to.
    pub plugin: u64,
    /// The cluster size given to `init`.
    pub nodes: u32,
    base: Base,
    /// Bytes of each data memory.
    sizes: Arc<[usize]>,
    /// Ascending by memory and granule.
    entries: usize,
    /// The packed entries, then their lines: one allocation.
    content: Box<[u64]>,
}

impl Delta {
    /// Bytes that the snapshot keeps.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.content)
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

/// A memory of the guest with its marks.
#[derive(Debug)]
pub(crate) struct Data {
    pub bytes: Arc<Region>,
    pub marks: Arc<Region>,
}

/// The globals of a core instance.
#[derive(Debug)]
pub(crate) struct Cells {
    pub bytes: Arc<Region>,
    /// Where the granule of the last cell ends.
    pub end: usize,
}

/// The memories of one instance. Its owner also owns the store, and calls no method while Wasm runs in it: that is
/// what every `unsafe` block below relies on.
#[derive(Debug)]
pub(crate) struct Memories {
    data: Vec<Data>,
    cells: Vec<Cells>,
    images: Arc<Images>,
    base: Base,
    /// The image of the base.
    image: Arc<Image>,
    last_sizes: Arc<[usize]>,
    /// For each data memory, the granules that are marked; up to date while `scanned`.
    dirty: Vec<Vec<u32>>,
    scanned: bool,
    /// Kept to spare allocations.
    entries: Vec<u64>,
    lines: Vec<Line>,
}

impl Memories {
    /// The memories of a fresh instance; `images` are empty for the first instance of a plugin.
    pub(crate) fn new(data: Vec<Data>, cells: Vec<Cells>, images: Arc<Images>) -> Self {
        let mut memories = Self {
            dirty: vec![Vec::new(); data.len()],
            scanned: false,
            data,
            cells,
            image: Arc::clone(&images.pristine),
            images,
            base: Base::Pristine,
            last_sizes: Arc::new([]),
            entries: Vec::new(),
            lines: Vec::new(),
        };
        memories.clear_marks();
        for cells in &memories.cells {
            // SAFETY: see `Memories`; the slice does not outlive the statement.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            bytes[SEALED_AT as usize] = 1;
        }
        memories
    }

    /// Copies what the memories hold now, as the pristine image for all later instances.
    pub(crate) fn take_images(&self) -> Arc<Images> {
        Arc::new(Images { pristine: Arc::new(self.current()), reference: OnceLock::new() })
    }

    /// Whether the memories hold exactly the pristine image.
    pub(crate) fn is_pristine(&self) -> bool {
        self.current() == *self.images.pristine
    }

    /// Compares with the reference image from now on, if the memories are large enough for it: it must not end up in
    /// pages that the guest adds and expects to be zero.
    fn prefer_reference(&mut self) {
        let reference = match self.images.reference.get() {
            Some(reference) => reference,
            None => self.images.reference.get_or_init(|| Reference::new(self.current(), &self.images.pristine)),
        };
        if self.sizes().zip(&reference.image.data).all(|(size, image)| size >= image.len()) {
            self.rebase(Base::Reference);
        }
    }

    /// Changes the base. What differs from the new one differs from the old one, or the two differ there.
    fn rebase(&mut self, base: Base) {
        if base == self.base {
            return;
        }
        let reference = self.images.reference.get().expect("no snapshot has a reference before there is one");
        for (data, differs) in self.data.iter().zip(&reference.differs) {
            let (_, marks) = open(data);
            for &granule in differs {
                marks[granule as usize] = 1;
            }
        }
        self.scanned = false;
        self.base = base;
        self.image = match base {
            Base::Pristine => Arc::clone(&self.images.pristine),
            Base::Reference => Arc::clone(&reference.image),
        };
    }

    fn current(&self) -> Image {
        // SAFETY: see `Memories`; the slices are copied at once.
        let data = self.data.iter().map(|data| unsafe { data.bytes.bytes() }.into()).collect();
        // SAFETY: as above.
        let cells = self.cells.iter().map(|cells| unsafe { cells.bytes.bytes() }[..cells.end].into()).collect();
        Image { data, cells }
    }

    /// The sizes in a form that snapshots share: they seldom change.
    fn shared_sizes(&mut self) -> Arc<[usize]> {
        if !self.sizes().eq(self.last_sizes.iter().copied()) {
            self.last_sizes = self.sizes().collect();
        }
        Arc::clone(&self.last_sizes)
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.data.iter().map(|data| data.bytes.size())
    }

    /// Bytes of each data memory in the pristine image.
    pub(crate) fn pristine_sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.images.pristine.data.iter().map(|data| data.len())
    }

    /// Which forbidden instruction the guest ran, if it did.
    pub(crate) fn violation(&self) -> Option<&'static str> {
        let mut found = self.cells.iter().map(|cells| {
            // SAFETY: see `Memories`; the slice does not outlive the closure.
            let bytes = unsafe { cells.bytes.bytes() };
            bytes[VIOLATION_AT as usize]
        });
        found.find(|&number| number != 0).map(|number| VIOLATIONS[usize::from(number) - 1])
    }

    fn clear_marks(&mut self) {
        self.scan();
        for (data, dirty) in self.data.iter().zip(&self.dirty) {
            let (_, marks) = open(data);
            for &granule in dirty {
                marks[granule as usize] = 0;
            }
        }
        self.touch();
    }

    /// Says that Wasm is going to run, or that marks change otherwise.
    pub(crate) fn touch(&mut self) {
        self.scanned = false;
    }

    /// Brings the lists of marked granules up to date.
    fn scan(&mut self) {
        if !self.scanned {
            for (data, dirty) in self.data.iter().zip(&mut self.dirty) {
                scan(open(data).1, dirty);
            }
            self.scanned = true;
        }
    }

    /// The difference between what the memories hold now and the base; `nodes` is 0 before `init`.
    pub(crate) fn capture(&mut self, plugin: u64, nodes: u32) -> Delta {
        if nodes != 0 && self.base == Base::Pristine {
            self.prefer_reference();
        }
        self.scan();
        self.entries.clear();
        self.lines.clear();
        for index in 0..self.data.len() {
            self.capture_data(index);
        }
        for index in 0..self.cells.len() {
            self.capture_cells(index);
        }
        Delta {
            plugin,
            nodes,
            base: self.base,
            sizes: self.shared_sizes(),
            entries: self.entries.len(),
            content: self.content(),
        }
    }

    fn content(&self) -> Box<[u64]> {
        let mut content = Vec::with_capacity(self.entries.len() + self.lines.as_flattened().len());
        content.extend_from_slice(&self.entries);
        content.extend_from_slice(self.lines.as_flattened());
        content.into_boxed_slice()
    }

    fn capture_data(&mut self, index: usize) {
        let (bytes, marks) = open(&self.data[index]);
        let image = &self.image.data[index];
        let dirty = &mut self.dirty[index];
        let mut at = 0;
        while let Some(&granule) = dirty.get(at) {
            at += 1;
            // A mark without a difference stays: it costs less than to forget it.
            keep(&mut self.entries, &mut self.lines, index, granule, bytes, image);
            let next = granule as usize + 1;
            if dirty.get(at).is_none_or(|&g| g as usize != next) && overhang_differs(bytes, image, next) {
                // Listed next, it is kept next.
                marks[next] = 1;
                dirty.insert(at, next as u32);
            }
        }
    }

    fn capture_cells(&mut self, index: usize) {
        let cells = &self.cells[index];
        // SAFETY: see `Memories`; the slice does not outlive this method.
        let bytes = &unsafe { cells.bytes.bytes() }[..cells.end];
        let image = &self.image.cells[index];
        let memory = self.data.len() + index;
        for granule in (CELLS_START as usize / GRANULE)..cells.end.div_ceil(GRANULE) {
            keep(&mut self.entries, &mut self.lines, memory, granule as u32, bytes, image);
        }
    }

    /// Puts back a captured state, or with `None` the pristine image. The memories must have its sizes.
    pub(crate) fn restore(&mut self, delta: Option<&Delta>, with_globals: bool) {
        self.rebase(delta.map_or(Base::Pristine, |delta| delta.base));
        let (mut entries, words) = delta.map_or((&[][..], &[][..]), |delta| delta.content.split_at(delta.entries));
        let (mut lines, _) = words.as_chunks();
        self.scan();
        for (index, (data, image)) in self.data.iter().zip(&self.image.data).enumerate() {
            let (bytes, marks) = open(data);
            for &granule in &self.dirty[index] {
                // Entries and dirty granules both ascend: write what comes before, so that no overhang undoes it.
                while let Some((entry, rest)) = split_before(entries, index, granule) {
                    marks[entry.granule as usize] = 1;
                    lines = overlay(bytes, entry, lines);
                    entries = rest;
                }
                let start = granule as usize * GRANULE;
                match split_before(entries, index, granule + 1) {
                    Some((entry, rest)) => {
                        lines = replace(bytes, image, entry, lines);
                        entries = rest;
                    }
                    _ => {
                        marks[granule as usize] = 0;
                        reset(bytes, image, start, start + GRANULE);
                    }
                }
                let past = start + GRANULE;
                reset(bytes, image, past.min(bytes.len()), (past + OVERHANG).min(bytes.len()));
            }
            while let Some((entry, rest)) = split_before(entries, index, u32::MAX) {
                marks[entry.granule as usize] = 1;
                lines = overlay(bytes, entry, lines);
                entries = rest;
            }
        }
        if with_globals {
            self.restore_cells(entries, lines);
        }
        self.touch();
    }

    fn restore_cells(&self, entries: &[u64], mut lines: &[Line]) {
        for (cells, image) in self.cells.iter().zip(&self.image.cells) {
            // SAFETY: see `Memories`; the slice does not outlive the loop's body.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            let range = CELLS_START as usize..cells.end;
            bytes[range.clone()].copy_from_slice(&image[range]);
        }
        for &entry in entries {
            let entry = Entry::unpack(entry);
            let cells = &self.cells[usize::from(entry.memory) - self.data.len()];
            // SAFETY: as above.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            lines = overlay(bytes, entry, lines);
        }
    }

    /// Panics if something differs from the base without a mark: after `capture`, that is all that
    /// snapshots would miss.
    pub(crate) fn verify(&self) {
        for (index, (data, image)) in self.data.iter().zip(&self.image.data).enumerate() {
            let (bytes, marks) = open(data);
            for (granule, chunk) in bytes.chunks(GRANULE).enumerate() {
                let start = granule * GRANULE;
                let same = match image.get(start..start + GRANULE) {
                    Some(image) => chunk == image,
                    None => *chunk == padded(image, start),
                };
                assert!(
                    same || marks[granule] != 0,
                    "memory {index} differs at {start:#x} from the base without a mark",
                );
            }
        }
    }
}

/// The bytes of a memory, and the marks of those bytes.
#[allow(clippy::mut_from_ref, reason = "the bytes belong to the instance, not to the handle")]
fn open(data: &Data) -> (&mut [u8], &mut [u8]) {
    // SAFETY: see `Memories`: no Wasm runs, and each method opens a memory once at a time. The two regions are
    // different mappings.
    let (bytes, marks) = unsafe { (data.bytes.bytes_mut(), data.marks.bytes_mut()) };
    let granules = bytes.len() / GRANULE;
    (bytes, &mut marks[..granules])
}
