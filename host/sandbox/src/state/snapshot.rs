//! Local states as differences from an image.
//!
//! The pristine image is the content of an instance right after instantiation, the same for every instance of a plugin. The
//! reference image is the first state captured after `init`: later states are closer to it, so snapshots are smaller. For a
//! machine that follows one node, the reference image moves with the states of the node.
//! A snapshot keeps the lines of 32 bytes that differ from one of the two, its base. Marks show where to look.
//!
//! Invariant between calls: every byte that differs from the base lies in a marked granule, or is one of the first 64
//! past a marked one (see [`OVERHANG`]).
#![allow(unsafe_code, reason = "reads and writes the memories of instances, which only their owner may do")]

use std::sync::Arc;

use crate::rewrite::{CELLS_START, GRANULE, OVERHANG, SEALED_AT, VIOLATION_AT, VIOLATIONS};
use crate::state::digest::Sum;
use crate::state::image::{Base, Image, Images, Reference};
use crate::state::lines::{keep, overhang_differs, overlay, padded, replace, reset, scan, split_before, split_first};
use crate::store::memory::Region;
/// A captured local state, as the parts of a snapshot's words: plugin; cluster size and base; the size of each data
/// memory; then the entries, ascending by memory and granule, each followed by its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta<'w> {
    /// The cluster size given to `init`.
    pub nodes: u32,
    base: Base,
    /// The generation of its base; none if that is the pristine image.
    pub generation: Option<u32>,
    sizes: &'w [u64],
    body: &'w [u64],
}

/// Words before the sizes.
pub(crate) const HEADER: usize = 2;

impl<'w> Delta<'w> {
    /// The parts of a snapshot of a plugin with this many data memories; none if it is another plugin's.
    pub(crate) fn parse(words: &'w [u64], plugin: u64, memories: usize) -> Option<Self> {
        let (header, rest) = words.split_at_checked(HEADER)?;
        let (sizes, body) = rest.split_at_checked(memories)?;
        let generation = ((header[1] >> 32) as u32).checked_sub(1);
        let base = if generation.is_none() { Base::Pristine } else { Base::Reference };
        (header[0] == plugin).then_some(Self { nodes: header[1] as u32, base, generation, sizes, body })
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'w> {
        self.sizes.iter().map(|&size| size as usize)
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
    /// The end of the granule of the last cell.
    pub end: usize,
}

/// The memories of one instance. Its owner also owns the store, and calls no method while Wasm runs in it: every `unsafe`
/// block below relies on this.
#[derive(Debug)]
pub(crate) struct Memories {
    data: Vec<Data>,
    cells: Vec<Cells>,
    images: Arc<Images>,
    base: Base,
    /// The image of the base.
    image: Arc<Image>,
    /// For each data memory, the granules that are marked; up to date while `scanned`.
    dirty: Vec<Vec<u32>>,
    scanned: bool,
    /// The last captured snapshot. Kept to spare allocations.
    words: Vec<u64>,
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
            words: Vec::new(),
        };
        memories.clear_marks();
        for cells in &memories.cells {
            // SAFETY: see `Memories`; the slice does not outlive the statement.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            bytes[SEALED_AT as usize] = 1;
        }
        memories
    }

    /// Copies the current memories, as the pristine image for all later instances.
    pub(crate) fn take_images(&self) -> Arc<Images> {
        Arc::new(Images { pristine: Arc::new(self.current()), ..Images::default() })
    }

    /// Whether the memories equal the pristine image.
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

    /// Changes the base. A byte that differs from the new base differs from the old one, or the two differ there.
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

    /// The generation of the reference image.
    pub(crate) fn generation(&self) -> u32 {
        self.images.generation
    }

    /// Uses other images of the same plugin from now on.
    pub(crate) fn use_images(&mut self, images: Arc<Images>) {
        self.rebase(Base::Pristine);
        self.images = images;
    }

    /// Moves the reference image to the current memories. Returns the images, with which other instances can restore what is captured from
    /// now on.
    pub(crate) fn move_reference(&mut self, generation: u32) -> Arc<Images> {
        let reference = Reference::new(self.current(), &self.images.pristine);
        (self.base, self.image) = (Base::Reference, Arc::clone(&reference.image));
        self.images = Arc::new(self.images.with(generation, reference));
        // Nothing differs from it.
        self.clear_marks();
        Arc::clone(&self.images)
    }

    /// Copies the current memories.
    pub(crate) fn current(&self) -> Image {
        // SAFETY: see `Memories`; the slices are copied at once.
        let data = self.data.iter().map(|data| unsafe { data.bytes.bytes() }.into()).collect();
        // SAFETY: as above.
        let cells = self.cells.iter().map(|cells| unsafe { cells.bytes.bytes() }[..cells.end].into()).collect();
        Image { data, cells }
    }

    /// Bytes of each data memory.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.data.iter().map(|data| data.bytes.size())
    }

    /// Removes the bytes of a data memory behind `size`; see [`Region::shrink`] for the duties of the caller.
    pub(crate) fn shrink(&mut self, memory: usize, size: usize) -> Result<(), String> {
        self.touch();
        // SAFETY: see `Memories`; its owner lets the memory grow by nothing before it calls the guest again.
        unsafe { self.data[memory].bytes.shrink(size) }
    }

    /// The forbidden instruction that the guest ran, if it did.
    pub(crate) fn violation(&self) -> Option<&'static str> {
        let mut found = self.cells.iter().map(|cells| {
            // SAFETY: see `Memories`; the slice does not outlive the closure.
            let bytes = unsafe { cells.bytes.bytes() };
            bytes[VIOLATION_AT as usize]
        });
        found.find(|&number| number != 0).map(|number| VIOLATIONS[usize::from(number) - 1])
    }

    /// Clears the start of the first memory, if the globals have their pristine values: then the stack in it is empty.
    pub(crate) fn clear_stack(&mut self, end: usize) {
        let mut cells = self.cells.iter().zip(&self.images.pristine.cells);
        // SAFETY: see `Memories`; the slice does not outlive the closure.
        let is_empty = cells.all(|(cells, image)| unsafe { cells.bytes.bytes() }[..cells.end] == **image);
        let Some(data) = self.data.first().filter(|_| is_empty) else { return };
        let (bytes, marks) = open(data);
        let mut is_marked = self.base == Base::Pristine;
        for (granule, chunk) in bytes[..end].chunks_mut(GRANULE).enumerate() {
            // The reference image has a cleared stack, so a granule without a mark, and without one before it, is zero.
            let is_next = marks[granule] != 0;
            if (is_marked || is_next) && chunk.iter().any(|byte| *byte != 0) {
                chunk.fill(0);
                marks[granule] = 1;
            }
            is_marked = is_next || self.base == Base::Pristine;
        }
        self.touch();
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

    /// Notes that Wasm is going to run, or that marks change otherwise.
    pub(crate) fn touch(&mut self) {
        self.scanned = false;
    }

    /// Updates the lists of marked granules.
    fn scan(&mut self) {
        if !self.scanned {
            for (data, dirty) in self.data.iter().zip(&mut self.dirty) {
                scan(open(data).1, dirty);
            }
            self.scanned = true;
        }
    }

    /// The difference between the current memories and the base, as the words of a snapshot; `nodes` is 0 before
    /// `init`.
    pub(crate) fn capture(&mut self, plugin: u64, nodes: u32) -> &[u64] {
        if nodes != 0 && self.base == Base::Pristine {
            self.prefer_reference();
        }
        self.difference(plugin, nodes)
    }

    /// The same with the pristine image as base, which is the same in every process.
    pub(crate) fn capture_portable(&mut self, plugin: u64, nodes: u32) -> &[u64] {
        self.rebase(Base::Pristine);
        self.difference(plugin, nodes)
    }

    fn difference(&mut self, plugin: u64, nodes: u32) -> &[u64] {
        self.scan();
        self.words.clear();
        let base = match self.base {
            Base::Pristine => 0,
            Base::Reference => u64::from(self.images.generation) + 1,
        };
        self.words.extend([plugin, u64::from(nodes) | base << 32]);
        self.words.extend(self.data.iter().map(|data| data.bytes.size() as u64));
        for index in 0..self.data.len() {
            self.capture_data(index);
        }
        for index in 0..self.cells.len() {
            self.capture_cells(index);
        }
        &self.words
    }

    /// The digest of all memories and globals: the same for equal contents, in every process and with either base.
    pub(crate) fn digest(&mut self, nodes: u32) -> blake3::Hash {
        if nodes != 0 && self.base == Base::Pristine {
            self.prefer_reference();
        }
        self.scan();
        let images = Arc::clone(&self.images);
        let reference = images.reference.get().filter(|_| self.base == Base::Reference);
        let known = reference.map(|reference| reference.contributions(&images.pristine));
        let mut sum = known.map_or_else(Sum::default, |known| known.total);
        for index in 0..self.data.len() {
            self.list_overhangs(index);
            let (bytes, _) = open(&self.data[index]);
            let (image, pristine) = (&self.image.data[index], &images.pristine.data[index]);
            for &granule in &self.dirty[index] {
                let start = granule as usize * GRANULE;
                if padded(bytes, start) != padded(image, start) {
                    sum.subtract(known.map_or_else(Sum::default, |known| known.at(index, granule)));
                    sum.add(Sum::of(index, granule, bytes, pristine));
                }
            }
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&nodes.to_le_bytes());
        for size in self.sizes() {
            hasher.update(&(size as u64).to_le_bytes());
        }
        for cells in &self.cells {
            // SAFETY: see `Memories`; the slice does not outlive the statement.
            hasher.update(&unsafe { cells.bytes.bytes() }[CELLS_START as usize..cells.end]);
        }
        hasher.update(&sum.bytes());
        hasher.finalize()
    }

    /// Marks and lists the granules that differ in the overhang alone, as [`capture_data`](Self::capture_data) does.
    fn list_overhangs(&mut self, index: usize) {
        let (bytes, marks) = open(&self.data[index]);
        let image = &self.image.data[index];
        let dirty = &mut self.dirty[index];
        let mut at = 0;
        while let Some(&granule) = dirty.get(at) {
            at += 1;
            let next = granule as usize + 1;
            if dirty.get(at).is_none_or(|&g| g as usize != next) && overhang_differs(bytes, image, next) {
                marks[next] = 1;
                dirty.insert(at, next as u32);
            }
        }
    }

    fn capture_data(&mut self, index: usize) {
        let (bytes, marks) = open(&self.data[index]);
        let image = &self.image.data[index];
        let dirty = &mut self.dirty[index];
        let mut at = 0;
        while let Some(&granule) = dirty.get(at) {
            at += 1;
            // A mark without a difference stays: removing it costs more.
            keep(&mut self.words, index, granule, bytes, image);
            let next = granule as usize + 1;
            if dirty.get(at).is_none_or(|&g| g as usize != next) && overhang_differs(bytes, image, next) {
                // It is listed next, so it is kept next.
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
            keep(&mut self.words, memory, granule as u32, bytes, image);
        }
    }

    /// Restores a captured state, or with `None` the pristine image. The memories must have at least its sizes; their additional bytes
    /// become zero, without a mark.
    pub(crate) fn restore(&mut self, delta: Option<Delta<'_>>, with_globals: bool) {
        self.rebase(delta.map_or(Base::Pristine, |delta| delta.base));
        let mut body = delta.map_or(&[][..], |delta| delta.body);
        self.scan();
        for (index, (data, image)) in self.data.iter().zip(&self.image.data).enumerate() {
            let (bytes, marks) = open(data);
            let dirty = &self.dirty[index];
            for (nth, &granule) in dirty.iter().enumerate() {
                // Entries and dirty granules both ascend: earlier entries are written first, so that no overhang undoes them.
                while let Some((entry, lines, rest)) = split_before(body, index, granule) {
                    marks[entry.granule as usize] = 1;
                    overlay(bytes, entry, lines);
                    body = rest;
                }
                let start = granule as usize * GRANULE;
                match split_before(body, index, granule + 1) {
                    Some((entry, lines, rest)) => {
                        replace(bytes, image, entry, lines);
                        body = rest;
                    }
                    _ => {
                        marks[granule as usize] = 0;
                        reset(bytes, image, start, start + GRANULE);
                    }
                }
                // If the next granule is marked too, it is restored as a whole.
                if dirty.get(nth + 1) != Some(&(granule + 1)) {
                    let past = start + GRANULE;
                    reset(bytes, image, past.min(bytes.len()), (past + OVERHANG).min(bytes.len()));
                }
            }
            while let Some((entry, lines, rest)) = split_before(body, index, u32::MAX) {
                marks[entry.granule as usize] = 1;
                overlay(bytes, entry, lines);
                body = rest;
            }
        }
        if with_globals {
            self.restore_cells(body);
        }
        self.touch();
    }

    fn restore_cells(&self, mut body: &[u64]) {
        for (cells, image) in self.cells.iter().zip(&self.image.cells) {
            // SAFETY: see `Memories`; the slice does not outlive the loop's body.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            let range = CELLS_START as usize..cells.end;
            bytes[range.clone()].copy_from_slice(&image[range]);
        }
        while let Some((entry, lines, rest)) = split_first(body) {
            let cells = &self.cells[usize::from(entry.memory) - self.data.len()];
            // SAFETY: as above.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            overlay(bytes, entry, lines);
            body = rest;
        }
    }

    /// Panics if a byte differs from the base without a mark: after `capture`, snapshots would miss
    /// only such bytes.
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
