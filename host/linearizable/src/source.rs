//! Bytes of a history with their places, read in pieces of bounded size.

use std::io::{self, BufRead, ErrorKind};

use crate::error::{HistoryError, Place};

/// The longest entry of a history, in bytes: a line, or a form of EDN.
pub(crate) const ENTRY_BYTES_MAX: usize = 16 << 20;

/// An input with the place of its next byte.
pub(crate) struct Source<'a> {
    input: &'a mut dyn BufRead,
    /// The bytes that have been read and not taken, from `start`.
    buffer: Vec<u8>,
    start: usize,
    /// The place of the next byte.
    pub(crate) place: Place,
    /// The number of bytes taken since the entry began.
    taken: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, buffer: Vec::new(), start: 0, place: Place { line: 1, column: 1 }, taken: 0 }
    }

    /// A new entry begins at the next byte.
    pub(crate) fn begin(&mut self) {
        self.taken = 0;
    }

    /// The next byte, which stays; none at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, HistoryError> {
        self.peek_at(0)
    }

    /// The byte at a distance from the next one; all of them stay, and are kept in memory.
    pub(crate) fn peek_at(&mut self, ahead: usize) -> Result<Option<u8>, HistoryError> {
        while self.start + ahead >= self.buffer.len() {
            self.buffer.drain(..self.start);
            self.start = 0;
            if !self.refill()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.start + ahead]))
    }

    /// Reads more; false at the end of the input.
    fn refill(&mut self) -> Result<bool, HistoryError> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => {
                    let count = bytes.len();
                    self.buffer.extend_from_slice(bytes);
                    self.input.consume(count);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(HistoryError::Input(error)),
            }
        }
    }

    /// Takes the next byte.
    ///
    /// # Errors
    ///
    /// The input cannot be read, or the entry is too long.
    pub(crate) fn next(&mut self) -> Result<Option<u8>, HistoryError> {
        let Some(byte) = self.peek()? else { return Ok(None) };
        self.start += 1;
        self.taken += 1;
        if self.taken > ENTRY_BYTES_MAX {
            let problem = format!("an entry has more than {} MiB", ENTRY_BYTES_MAX >> 20);
            return Err(self.wrong(problem, "each operation needs a line or a map of its own"));
        }
        if byte == b'\n' {
            self.place.line = self
                .place
                .line
                .checked_add(1)
                .ok_or_else(|| HistoryError::Input(io::Error::other("it has more than 4,294,967,295 lines")))?;
            self.place.column = 1;
        } else if byte & 0xC0 != 0x80 {
            self.place.column += 1;
        }
        Ok(Some(byte))
    }

    /// Takes the rest of the line without its end; none at the end of the input.
    pub(crate) fn line(&mut self) -> Result<Option<Vec<u8>>, HistoryError> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        self.begin();
        let mut line = Vec::new();
        while let Some(byte) = self.next()? {
            if byte == b'\n' {
                break;
            }
            line.push(byte);
        }
        Ok(Some(line))
    }

    /// An error at the next byte.
    pub(crate) fn wrong(&self, problem: impl Into<String>, remedy: impl Into<String>) -> HistoryError {
        HistoryError::at(self.place, problem, remedy)
    }
}
