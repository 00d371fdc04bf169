//! Pieces of memory that differ from an image: finding, keeping and writing them. Safe code on slices.

use crate::rewrite::{GRANULE, OVERHANG};

/// Shorter lines make smaller snapshots; eight of them fit the mask of an entry.
pub(crate) const LINE: usize = 32;
const LINES: usize = GRANULE / LINE;
/// The place of the lines of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub granule: u32,
    /// The index of the memory: data memories first, then cells memories.
    pub memory: u16,
    /// The lines of the granule that are kept.
    pub mask: u8,
}
/// Lists the indices of all marks that are set.
pub(crate) fn scan(marks: &[u8], dirty: &mut Vec<u32>) {
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

/// The first entry of a snapshot's body with its lines, and the rest, if the entry belongs to this memory and comes
/// before the granule.
pub(crate) fn split_before(body: &[u64], memory: usize, granule: u32) -> Option<(Entry, &[Line], &[u64])> {
    let (entry, lines, rest) = split_first(body)?;
    (usize::from(entry.memory) == memory && entry.granule < granule).then_some((entry, lines, rest))
}

/// The first entry of a snapshot's body with its lines, and the rest.
pub(crate) fn split_first(body: &[u64]) -> Option<(Entry, &[Line], &[u64])> {
    let (&entry, rest) = body.split_first()?;
    let entry = Entry::unpack(entry);
    let (lines, rest) = rest.split_at(entry.mask.count_ones() as usize * (LINE / 8));
    Some((entry, lines.as_chunks().0, rest))
}

impl Entry {
    /// As one word, for a snapshot.
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.memory) << 48 | u64::from(self.granule) << 16 | u64::from(self.mask)
    }

    pub(crate) fn unpack(word: u64) -> Self {
        Self { memory: (word >> 48) as u16, granule: (word >> 16) as u32, mask: word as u8 }
    }
}

/// The bytes of a line, as a snapshot keeps them.
pub(crate) type Line = [u64; LINE / 8];

fn line_of(bytes: &[u8; LINE]) -> Line {
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
}

fn write_line(slot: &mut [u8; LINE], line: &Line) {
    let (words, _) = slot.as_chunks_mut::<8>();
    for (to, from) in words.iter_mut().zip(line) {
        *to = from.to_ne_bytes();
    }
}

/// Writes the lines of an entry.
pub(crate) fn overlay(bytes: &mut [u8], entry: Entry, lines: &[Line]) {
    let (granules, _) = bytes.as_chunks_mut::<GRANULE>();
    let (slots, _) = granules[entry.granule as usize].as_chunks_mut::<LINE>();
    let mut mask = entry.mask;
    for line in lines {
        write_line(&mut slots[mask.trailing_zeros() as usize], line);
        mask &= mask - 1;
    }
}

/// Makes a whole granule equal to the image except for the lines of its entry.
pub(crate) fn replace(bytes: &mut [u8], image: &[u8], entry: Entry, lines: &[Line]) {
    if entry.mask != u8::MAX {
        let start = entry.granule as usize * GRANULE;
        reset(bytes, image, start, start + GRANULE);
    }
    overlay(bytes, entry, lines);
}

/// Makes `bytes[start..end]` equal to the image, which is followed by zeros.
pub(crate) fn reset(bytes: &mut [u8], image: &[u8], start: usize, end: usize) {
    if end <= image.len() {
        // The usual case: a whole granule takes a few vector instructions.
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

/// Whether the bytes that a store into the previous granule can have reached differ from the image.
pub(crate) fn overhang_differs(bytes: &[u8], image: &[u8], granule: usize) -> bool {
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

/// Appends an entry with the lines of a granule that differ from the image to a snapshot's body, if there are any.
pub(crate) fn keep(body: &mut Vec<u64>, memory: usize, granule: u32, bytes: &[u8], image: &[u8]) {
    let start = granule as usize * GRANULE;
    let entry = body.len();
    let mut mask = 0_u8;
    let mut compare = |now: &[u8; GRANULE], before: &[u8; GRANULE]| {
        let (now, _) = now.as_chunks::<LINE>();
        let (before, _) = before.as_chunks::<LINE>();
        for nth in 0..LINES {
            if now[nth] != before[nth] {
                if mask == 0 {
                    body.push(0);
                }
                mask |= 1 << nth;
                body.extend_from_slice(&line_of(&now[nth]));
            }
        }
    };
    if let (Some(now), Some(before)) = (whole(bytes, start), whole(image, start)) {
        compare(now, before);
    } else {
        // Past the end of the image: zeros follow.
        compare(&padded(bytes, start), &padded(image, start));
    }
    if mask != 0 {
        body[entry] = Entry { granule, memory: memory as u16, mask }.pack();
    }
}

fn whole(bytes: &[u8], start: usize) -> Option<&[u8; GRANULE]> {
    bytes.get(start..)?.first_chunk()
}

pub(crate) fn padded(bytes: &[u8], start: usize) -> [u8; GRANULE] {
    let mut granule = [0; GRANULE];
    if let Some(rest) = bytes.get(start..) {
        let length = rest.len().min(GRANULE);
        granule[..length].copy_from_slice(&rest[..length]);
    }
    granule
}
