//! The edges of a large graph: for each state its successors, in as few bytes as possible.
//!
//! A row is a list of pairs of target and label, sorted, as integers of a variable length: the first target as its distance from the
//! state, each other one as its distance from the one before. States are numbered in the order of discovery, so most distances are
//! short. Rows lie in blocks, so that no growing block is ever copied, and a position in most of them has 16 bits.

/// States of a block.
const BLOCK: u32 = 1 << 10;

/// The number of a label of edges.
pub type LabelId = u32;

/// Successors of states, row by row, in the order of the states.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    blocks: Vec<Block>,
    len: u32,
    edges: u64,
    /// Bytes of all blocks but the last one.
    full_bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    ends: Ends,
}

impl Block {
    fn bytes(&self) -> u64 {
        let ends = match &self.ends {
            Ends::Short(ends) => ends.capacity() * size_of::<u16>(),
            Ends::Long(ends) => ends.capacity() * size_of::<u32>(),
        };
        (self.bytes.capacity() + ends) as u64
    }

    /// Packs the block: it takes no more rows.
    fn finish(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.finish();
    }
}

/// The end of each row of a block.
#[derive(Clone, Debug)]
enum Ends {
    /// For a full block of less than 64 KiB.
    Short(Vec<u16>),
    /// For any other block.
    Long(Vec<u32>),
}

impl Default for Ends {
    fn default() -> Self {
        Self::Long(Vec::new())
    }
}

impl Ends {
    fn finish(&mut self) {
        let Self::Long(ends) = self else { return };
        match ends.iter().map(|end| u16::try_from(*end)).collect() {
            Ok(short) => *self = Self::Short(short),
            Err(_) => ends.shrink_to_fit(),
        }
    }

    fn push(&mut self, end: u32) {
        match self {
            Self::Short(_) => unreachable!("a row is added to the last block, which is not full"),
            Self::Long(ends) => ends.push(end),
        }
    }

    #[inline]
    fn get(&self, place: usize) -> Option<usize> {
        match self {
            Self::Short(ends) => ends.get(place).map(|end| usize::from(*end)),
            Self::Long(ends) => ends.get(place).map(|end| *end as usize),
        }
    }
}

impl Rows {
    /// Number of states with a row; they have the first numbers.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Number of entries.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let blocks = self.blocks.capacity() * size_of::<Block>();
        self.full_bytes + self.blocks.last().map_or(0, Block::bytes) + blocks as u64
    }

    /// Adds the row of the next state: sorts the entries, and leaves out repetitions.
    ///
    /// # Panics
    ///
    /// A few thousand states have a billion edges.
    pub fn push(&mut self, row: &mut Vec<(u32, LabelId)>) {
        row.sort_unstable();
        row.dedup();
        if self.len.is_multiple_of(BLOCK) {
            if let Some(full) = self.blocks.last_mut() {
                full.finish();
                self.full_bytes += full.bytes();
            }
            self.blocks.push(Block::default());
        }
        let block = self.blocks.last_mut().expect("a block was pushed above if none was there");
        let mut before = None;
        for (target, label) in &*row {
            match before {
                None => write(&mut block.bytes, zigzag(target.wrapping_sub(self.len))),
                Some(before) => write(&mut block.bytes, u64::from(target - before)),
            }
            write(&mut block.bytes, u64::from(*label));
            before = Some(*target);
        }
        block.ends.push(u32::try_from(block.bytes.len()).expect("a block has less than four billion bytes"));
        self.len += 1;
        self.edges += row.len() as u64;
    }

    /// The entries of a state: target and label; none for a state without a row.
    #[inline]
    pub fn row(&self, state: u32) -> Row<'_> {
        self.row_from(state, Position::default())
    }

    /// The entries of a state, from a position on that an earlier iteration returned.
    #[inline]
    pub fn row_from(&self, state: u32, position: Position) -> Row<'_> {
        let Some(block) = self.blocks.get((state / BLOCK) as usize) else { return Row::empty() };
        let place = (state % BLOCK) as usize;
        let Some(end) = block.ends.get(place) else { return Row::empty() };
        let before = place.checked_sub(1).and_then(|before| block.ends.get(before));
        let bytes = &block.bytes[before.unwrap_or(0)..end];
        Row { bytes, state, position }
    }
}

/// The position of an iteration over a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Bytes read.
    pub at: u32,
    /// The target before; any at the beginning.
    pub target: u32,
}

/// An iteration over the entries of a state.
#[derive(Clone, Debug)]
pub struct Row<'r> {
    bytes: &'r [u8],
    state: u32,
    position: Position,
}

impl Row<'_> {
    fn empty() -> Self {
        Self { bytes: &[], state: 0, position: Position::default() }
    }

    /// The current position, to continue [from there](Rows::row_from).
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }

    #[inline]
    fn read(&mut self) -> u64 {
        let first = self.bytes[self.position.at as usize];
        if first < 0x80 {
            self.position.at += 1;
            return u64::from(first);
        }
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.position.at as usize];
            self.position.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }
}

impl Iterator for Row<'_> {
    type Item = (u32, LabelId);

    #[inline]
    fn next(&mut self) -> Option<(u32, LabelId)> {
        if self.position.at as usize >= self.bytes.len() {
            return None;
        }
        let is_first = self.position.at == 0;
        let distance = self.read();
        let target = match is_first {
            true => self.state.wrapping_add(unzigzag(distance)),
            false => self.position.target + distance as u32,
        };
        self.position.target = target;
        let label = self.read() as LabelId;
        Some((target, label))
    }
}

fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A difference modulo 2^32 such that those close to 0, on either side, are small.
fn zigzag(difference: u32) -> u64 {
    let signed = difference.cast_signed();
    u64::from((signed << 1 ^ signed >> 31).cast_unsigned())
}

#[inline]
fn unzigzag(value: u64) -> u32 {
    let value = value as u32;
    value >> 1 ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, 1 << 21, 1 << 28, u32::MAX - 1, u32::MAX];
        let mut rows = Rows::default();
        let mut expected = Vec::new();
        for state in 0..3 * BLOCK as usize + 7 {
            let entry = |index: usize| (numbers[(state + index * 3) % 10], numbers[(state * 7 + index) % 10]);
            let mut row: Vec<_> = (0..state % 5).map(entry).collect();
            rows.push(&mut row.clone());
            row.sort_unstable();
            row.dedup();
            expected.push(row);
        }
        for (state, row) in (0..).zip(&expected) {
            assert_eq!(&rows.row(state).collect::<Vec<_>>(), row, "{state}");
            let mut first = rows.row(state);
            first.next();
            let rest: Vec<_> = rows.row_from(state, first.position()).collect();
            assert_eq!(rest, row[row.len().min(1)..], "{state}");
        }
        assert_eq!(rows.row(expected.len() as u32).next(), None);
        assert_eq!(rows.edges(), expected.iter().map(|row| row.len() as u64).sum::<u64>());
    }
}
