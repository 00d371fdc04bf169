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

use crate::memory::Region;
use crate::rewrite::{CELLS_START, GRANULE, OVERHANG, SEALED_AT, VIOLATION_AT, VIOLATIONS};

/// Shorter lines make smaller snapshots; eight of them fit the mask of an entry.
const LINE: usize = 32;
const LINES: usize = GRANULE / LINE;

/// The bytes of all memories in one state; zeros follow.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    data: Vec<Box<[u8]>>,
    cells: Vec<Box<[u8]>>,
}

impl Image {
    /// Bytes that the image keeps.
    pub(crate) fn bytes(&self) -> usize {
        self.data.iter().chain(&self.cells).map(|bytes| bytes.len()).sum()
    }
}

/// What the instances of a plugin share.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pristine: Arc<Image>,
    /// Set once by the first capture after `init`. Which state that is decides how large snapshots are, and nothing
    /// else.
    reference: OnceLock<Reference>,
}

impl Images {
    /// Bytes that the pristine image keeps.
    pub(crate) fn pristine_bytes(&self) -> usize {
        self.pristine.bytes()
    }
}

#[derive(Debug)]
struct Reference {
    image: Arc<Image>,
    /// For each data memory, the granules in which the two images differ.
    differs: Vec<Vec<u32>>,
}

impl Reference {
    fn new(image: Image, pristine: &Image) -> Self {
        let granules = |(image, pristine): (&Box<[u8]>, &Box<[u8]>)| {
            let differs = |granule: &u32| {
                let start = *granule as usize * GRANULE;
                padded(image, start) != padded(pristine, start)
            };
            (0..(image.len() / GRANULE) as u32).filter(differs).collect()
        };
        let differs = image.data.iter().zip(&pristine.data).map(granules).collect();
        Self { image: Arc::new(image), differs }
    }
}

/// Which image a snapshot or an instance is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Pristine,
    Reference,
}

/// Where the lines of an entry belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) granule: u32,
    /// Counts the data memories, then the cells memories.
    pub(crate) memory: u16,
    /// Which of the granule's lines are kept.
    pub(crate) mask: u8,
}

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
    pub(crate) entries: Box<[Entry]>,
    pub(crate) lines: Box<[[u8; LINE]]>,
}

impl Delta {
    /// Bytes that the snapshot keeps.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.entries) + size_of_val(&*self.lines)
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
    /// Where the last cell ends.
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
    /// Kept to spare allocations.
    dirty: Vec<u32>,
    entries: Vec<Entry>,
    lines: Vec<[u8; LINE]>,
}

impl Memories {
    /// The memories of a fresh instance; `images` are empty for the first instance of a plugin.
    pub(crate) fn new(data: Vec<Data>, cells: Vec<Cells>, images: Arc<Images>) -> Self {
        let mut memories = Self {
            data,
            cells,
            image: Arc::clone(&images.pristine),
            images,
            base: Base::Pristine,
            last_sizes: Arc::new([]),
            dirty: Vec::new(),
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
        for data in &self.data {
            let (_, marks) = open(data);
            let mut dirty = std::mem::take(&mut self.dirty);
            scan(marks, &mut dirty);
            for &granule in &dirty {
                marks[granule as usize] = 0;
            }
            self.dirty = dirty;
        }
    }

    /// The difference between what the memories hold now and the base; `nodes` is 0 before `init`.
    pub(crate) fn capture(&mut self, plugin: u64, nodes: u32) -> Delta {
        if nodes != 0 && self.base == Base::Pristine {
            self.prefer_reference();
        }
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
            entries: self.entries.as_slice().into(),
            lines: self.lines.as_slice().into(),
        }
    }

    fn capture_data(&mut self, index: usize) {
        let (bytes, marks) = open(&self.data[index]);
        let image = &self.image.data[index];
        scan(marks, &mut self.dirty);
        let mut at = 0;
        while let Some(&granule) = self.dirty.get(at) {
            at += 1;
            let differs = keep(&mut self.entries, &mut self.lines, index, granule, bytes, image);
            if !differs {
                marks[granule as usize] = 0;
            }
            let next = granule as usize + 1;
            if self.dirty.get(at).is_none_or(|&g| g as usize != next) && overhang_differs(bytes, image, next) {
                marks[next] = 1;
                keep(&mut self.entries, &mut self.lines, index, next as u32, bytes, image);
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
        let (mut entries, mut lines) = match delta {
            Some(delta) => (&*delta.entries, &*delta.lines),
            None => (&[][..], &[][..]),
        };
        for (index, (data, image)) in self.data.iter().zip(&self.image.data).enumerate() {
            let (bytes, marks) = open(data);
            scan(marks, &mut self.dirty);
            for &granule in &self.dirty {
                // Entries and dirty granules both ascend: write what comes before, so that no overhang undoes it.
                while let Some((entry, rest)) = split_before(entries, index, granule) {
                    marks[entry.granule as usize] = 1;
                    lines = overlay(bytes, entry, lines);
                    entries = rest;
                }
                let start = granule as usize * GRANULE;
                match entries.split_first() {
                    Some((entry, rest)) if usize::from(entry.memory) == index && entry.granule == granule => {
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
    }

    fn restore_cells(&self, entries: &[Entry], mut lines: &[[u8; LINE]]) {
        for (cells, image) in self.cells.iter().zip(&self.image.cells) {
            // SAFETY: see `Memories`; the slice does not outlive the loop's body.
            let bytes = unsafe { cells.bytes.bytes_mut() };
            let range = CELLS_START as usize..cells.end;
            bytes[range.clone()].copy_from_slice(&image[range]);
        }
        for entry in entries {
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
                let same = (0..chunk.len()).all(|i| chunk[i] == image.get(start + i).copied().unwrap_or(0));
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

/// Lists the indices of all marks that are set.
fn scan(marks: &[u8], dirty: &mut Vec<u32>) {
    dirty.clear();
    // A page has 256 granules, so the marks divide evenly. Most chunks are zero; finding out takes a few vector
    // instructions.
    const CHUNK: usize = 64;
    let (chunks, rest) = marks.as_chunks::<CHUNK>();
    debug_assert!(rest.is_empty());
    for (nth, chunk) in chunks.iter().enumerate() {
        if chunk.iter().fold(0, |all, &mark| all | mark) == 0 {
            continue;
        }
        let (words, _) = chunk.as_chunks::<8>();
        for (i, word) in words.iter().enumerate() {
            // Marks are 0 or 1, and the first mark is the lowest byte.
            let mut word = u64::from_le_bytes(*word);
            while word != 0 {
                let mark = word.trailing_zeros() as usize / 8;
                dirty.push((nth * CHUNK + i * 8 + mark) as u32);
                word &= word - 1;
            }
        }
    }
}

/// The first entry, if it belongs to this memory and comes before the granule.
fn split_before(entries: &[Entry], memory: usize, granule: u32) -> Option<(&Entry, &[Entry])> {
    let (entry, rest) = entries.split_first()?;
    (usize::from(entry.memory) == memory && entry.granule < granule).then_some((entry, rest))
}

/// Writes the lines of an entry; returns the lines of the next.
fn overlay<'l>(bytes: &mut [u8], entry: &Entry, lines: &'l [[u8; LINE]]) -> &'l [[u8; LINE]] {
    let (granules, _) = bytes.as_chunks_mut::<GRANULE>();
    let (slots, _) = granules[entry.granule as usize].as_chunks_mut::<LINE>();
    let mut mask = entry.mask;
    let (mine, rest) = lines.split_at(mask.count_ones() as usize);
    for line in mine {
        slots[mask.trailing_zeros() as usize] = *line;
        mask &= mask - 1;
    }
    rest
}

/// Makes a whole granule equal to the image but for the lines of its entry.
fn replace<'l>(bytes: &mut [u8], image: &[u8], entry: &Entry, lines: &'l [[u8; LINE]]) -> &'l [[u8; LINE]] {
    if entry.mask != u8::MAX {
        let start = entry.granule as usize * GRANULE;
        reset(bytes, image, start, start + GRANULE);
    }
    overlay(bytes, entry, lines)
}

/// Makes `bytes[start..end]` equal to the image, which is followed by zeros.
fn reset(bytes: &mut [u8], image: &[u8], start: usize, end: usize) {
    if end <= image.len() {
        // The usual case; a whole granule becomes a few vector instructions.
        if let (Some(to), Some(from)) =
            (bytes[start..end].first_chunk_mut::<GRANULE>(), image[start..end].first_chunk::<GRANULE>())
        {
            *to = *from;
        } else if let (Some(to), Some(from)) =
            (bytes[start..end].first_chunk_mut::<OVERHANG>(), image[start..end].first_chunk::<OVERHANG>())
        {
            *to = *from;
        }
        return;
    }
    let known = image.len().clamp(start, end);
    if start < known {
        bytes[start..known].copy_from_slice(&image[start..known]);
    }
    bytes[known..end].fill(0);
}

/// Whether the bytes that a store into the granule before can have reached differ from the image.
fn overhang_differs(bytes: &[u8], image: &[u8], granule: usize) -> bool {
    let start = granule * GRANULE;
    if start >= bytes.len() {
        return false;
    }
    let now = &bytes[start..start + OVERHANG];
    match image.get(start..start + OVERHANG) {
        Some(before) => now != before,
        None => now.iter().any(|&byte| byte != 0),
    }
}

/// Keeps the lines of a granule that differ from the image; says whether there were any.
fn keep(
    entries: &mut Vec<Entry>,
    lines: &mut Vec<[u8; LINE]>,
    memory: usize,
    granule: u32,
    bytes: &[u8],
    image: &[u8],
) -> bool {
    let start = granule as usize * GRANULE;
    let mut mask = 0_u8;
    let mut compare = |now: &[u8; GRANULE], before: &[u8; GRANULE]| {
        let (now, _) = now.as_chunks::<LINE>();
        let (before, _) = before.as_chunks::<LINE>();
        for nth in 0..LINES {
            if now[nth] != before[nth] {
                mask |= 1 << nth;
                lines.push(now[nth]);
            }
        }
    };
    if let (Some(now), Some(before)) = (whole(bytes, start), whole(image, start)) {
        compare(now, before);
    } else {
        // The end of the cells, or past the end of the image: zeros follow.
        compare(&padded(bytes, start), &padded(image, start));
    }
    if mask != 0 {
        entries.push(Entry { granule, memory: memory as u16, mask });
    }
    mask != 0
}

fn whole(bytes: &[u8], start: usize) -> Option<&[u8; GRANULE]> {
    bytes.get(start..)?.first_chunk()
}

fn padded(bytes: &[u8], start: usize) -> [u8; GRANULE] {
    let mut granule = [0; GRANULE];
    if let Some(rest) = bytes.get(start..) {
        let length = rest.len().min(GRANULE);
        granule[..length].copy_from_slice(&rest[..length]);
    }
    granule
}
