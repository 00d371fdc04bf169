//! The state of a search as bytes, for checkpoints: integers in little-endian order, lists after their lengths.
//!
//! Neither the writer nor the reader holds all bytes at once: they can be as many as the memory of the search.

/// The destination of the bytes.
pub struct Writer<'w>(pub &'w mut dyn FnMut(&[u8]));

impl Writer<'_> {
    /// Writes an integer.
    pub fn number(&mut self, number: u64) {
        (self.0)(&number.to_le_bytes());
    }

    /// Writes a list.
    pub fn words(&mut self, words: &[u32]) {
        self.number(words.len() as u64);
        for part in words.chunks(CHUNK) {
            let bytes: Vec<u8> = part.iter().flat_map(|word| word.to_le_bytes()).collect();
            (self.0)(&bytes);
        }
    }

    /// Writes a list of `len` items.
    pub fn wide(&mut self, len: u64, items: impl Iterator<Item = u128>) {
        self.number(len);
        let mut bytes = Vec::with_capacity(CHUNK * size_of::<u128>());
        for item in items {
            bytes.extend(item.to_le_bytes());
            if bytes.len() >= CHUNK * size_of::<u128>() {
                (self.0)(&bytes);
                bytes.clear();
            }
        }
        (self.0)(&bytes);
    }
}

/// Number of items that are turned into bytes together.
const CHUNK: usize = 4096;

/// The source of the bytes: fills a buffer, or returns false if there are not enough.
pub struct Reader<'r>(pub &'r mut dyn FnMut(&mut [u8]) -> bool);

impl Reader<'_> {
    /// Reads an integer; none at the end.
    pub fn number(&mut self) -> Option<u64> {
        let mut bytes = [0; size_of::<u64>()];
        (self.0)(&mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Reads an integer of 32 bits.
    pub fn word(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// Reads a list.
    pub fn words(&mut self) -> Option<Vec<u32>> {
        let len = self.number()?;
        let mut words = Vec::new();
        let mut bytes = [0; size_of::<u32>()];
        for _ in 0..len {
            if !(self.0)(&mut bytes) {
                return None;
            }
            words.push(u32::from_le_bytes(bytes));
        }
        Some(words)
    }

    /// Reads a list, item by item.
    pub fn wide(&mut self, mut take: impl FnMut(u128)) -> Option<()> {
        let mut bytes = [0; size_of::<u128>()];
        for _ in 0..self.number()? {
            if !(self.0)(&mut bytes) {
                return None;
            }
            take(u128::from_le_bytes(bytes));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_missing_byte_is_noticed() {
        let (words, wide): (Vec<u32>, Vec<u128>) = ((0..10_000).collect(), (0..9_000).map(|item| item << 90).collect());
        let mut bytes = Vec::new();
        let mut sink = |part: &[u8]| bytes.extend_from_slice(part);
        let mut writer = Writer(&mut sink);
        writer.number(7);
        writer.words(&words);
        writer.wide(wide.len() as u64, wide.iter().copied());
        for missing in 0..2 {
            let mut rest = &bytes[..bytes.len() - missing];
            let mut source = |buffer: &mut [u8]| match rest.split_at_checked(buffer.len()) {
                Some((first, others)) => {
                    buffer.copy_from_slice(first);
                    rest = others;
                    true
                }
                None => false,
            };
            let mut reader = Reader(&mut source);
            assert_eq!(reader.number(), Some(7));
            assert_eq!(reader.words().as_ref(), Some(&words));
            let mut read = Vec::new();
            assert_eq!(reader.wide(|item| read.push(item)).is_some(), missing == 0);
            assert_eq!(read == wide, missing == 0);
        }
    }
}
