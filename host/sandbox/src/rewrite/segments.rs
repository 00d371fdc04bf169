//! Fewer data segments, for compilers that make one for every few bytes.
//!
//! Wasmtime compiles the start of a module, and the time for that grows faster than the number of segments. Go leaves out
//! every run of zeros: its 43,000 segments take half a minute, the 57 that remain of them no time at all.

use wasmparser::{BinaryReaderError, Data, DataKind, DataSectionReader, Operator};

use super::analysis::ModuleFacts;

/// The longest run of zeros between two segments that is written instead of left out.
const GAP_MAX: u32 = 64;

/// Initial bytes of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub memory: u32,
    pub offset: u32,
    pub bytes: Vec<u8>,
}

impl Segment {
    /// The end of the segment; past the address space if the segment cannot be copied at all.
    fn end(&self) -> u64 {
        u64::from(self.offset) + self.bytes.len() as u64
    }
}

/// The segments of a module as fewer ones that leave the same memory; `None` if they must stay as they are: some are
/// passive, their offset is no constant, code names them, or the memory is another module's and may not be empty.
pub(super) fn merged(
    section: DataSectionReader<'_>,
    facts: &ModuleFacts,
) -> Result<Option<Vec<Segment>>, BinaryReaderError> {
    if facts.code.names_segments {
        return Ok(None);
    }
    let mut segments = Vec::new();
    for data in section {
        match plain(&data?, facts)? {
            Some(segment) => segments.push(segment),
            None => return Ok(None),
        }
    }
    Ok(Some(merge(segments)))
}

fn plain(data: &Data<'_>, facts: &ModuleFacts) -> Result<Option<Segment>, BinaryReaderError> {
    let DataKind::Active { memory_index: memory, offset_expr } = &data.kind else { return Ok(None) };
    if (*memory as usize) < facts.imported_memories() {
        return Ok(None);
    }
    let mut operators = offset_expr.get_operators_reader();
    let Operator::I32Const { value } = operators.read()? else { return Ok(None) };
    let is_constant = matches!(operators.read()?, Operator::End);
    Ok(is_constant.then(|| Segment { memory: *memory, offset: value as u32, bytes: data.data.to_vec() }))
}

/// Joins each segment to the one before it if they are close. The bytes between them are zero: the memory is new, and no earlier
/// segment reaches there.
fn merge(segments: Vec<Segment>) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::new();
    for segment in segments {
        let Some((last, earlier)) = merged.split_last_mut() else {
            merged.push(segment);
            continue;
        };
        let gap = u64::from(segment.offset).checked_sub(last.end());
        let is_untouched = || {
            let (from, to) = (last.end(), u64::from(segment.offset));
            earlier.iter().all(|one| one.memory != last.memory || one.end() <= from || u64::from(one.offset) >= to)
        };
        match gap {
            Some(gap) if gap <= u64::from(GAP_MAX) && segment.memory == last.memory && is_untouched() => {
                last.bytes.resize(last.bytes.len() + gap as usize, 0);
                last.bytes.extend(segment.bytes);
            }
            _ => merged.push(segment),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(offset: u32, bytes: &[u8]) -> Segment {
        Segment { memory: 0, offset, bytes: bytes.to_vec() }
    }

    /// The content of a memory of 512 bytes after the segments were copied in order.
    fn memory(segments: &[Segment]) -> Vec<u8> {
        let mut memory = vec![0; 512];
        for segment in segments {
            memory[segment.offset as usize..segment.end() as usize].copy_from_slice(&segment.bytes);
        }
        memory
    }

    #[test]
    fn close_segments_become_one() {
        let near = vec![segment(8, &[1]), segment(9, &[2]), segment(12, &[3])];
        assert_eq!(merge(near), [segment(8, &[1, 2, 0, 0, 3])]);
        let far = vec![segment(8, &[1]), segment(9 + GAP_MAX + 1, &[2])];
        assert_eq!(merge(far.clone()), far);
        let other = vec![segment(8, &[1]), Segment { memory: 1, ..segment(9, &[2]) }];
        assert_eq!(merge(other.clone()), other);
    }

    /// Zeros must not erase what an earlier segment has put between the two.
    #[test]
    fn what_lies_between_is_kept() {
        let segments = vec![segment(20, &[7]), segment(8, &[1]), segment(30, &[2])];
        assert_eq!(merge(segments.clone()), segments);
    }

    /// Every arrangement of three segments of up to four bytes at four places, overlapping ones included.
    #[test]
    fn the_memory_is_the_same() {
        let mut tried = 0;
        let places = [0, 3, 5, 90];
        for (a, b, c) in (0..64).map(|n| (places[n % 4], places[n / 4 % 4], places[n / 16])) {
            for length in 0..4 {
                let segments = vec![segment(a, &[1; 4][..length]), segment(b, &[2; 4]), segment(c, &[3; 2])];
                assert_eq!(memory(&merge(segments.clone())), memory(&segments), "{segments:?}");
                tried += 1;
            }
        }
        assert_eq!(tried, 256);
    }
}
