//! The format of a segment: first bytes, the head, then entries, each in a frame.
//!
//! A frame has the length of its content, a check of that, a hash of the content and of the frame before, and ends with a mark that is not
//! zero. It is *torn* if the file ends before the frame does, or has only zeros from some byte on, as an unwritten block has. Any other
//! malformed frame is *damaged*. Since each hash covers the frame before, a frame that is missing, repeated or of another segment is
//! damaged as well.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::disk::records::bytes_of;
use crate::disk::{Owner, RECORD_MAX};
use crate::recording::entry::{Begins, Chain, Entry, HASH, Head};

/// The first bytes of a segment.
const MAGIC: [u8; 8] = *b"HLTAPE\0\x01";
/// The length of a frame before its content: the length, its check, and the hash.
const FRAME: usize = 4 + 4 + HASH;
/// The last byte of a frame.
const MARK: u8 = 0xa5;
/// The length of the longest content: a start with the longest durable state, or the messages of one handler.
const CONTENT_MAX: usize = 2 * RECORD_MAX;
/// The length of the longest segment in bytes: its last entry may exceed the length from which a next one begins.
pub const SEGMENT_LONGEST: u64 = 4 * RECORD_MAX as u64;

impl Chain {
    /// Appends a value as the next frame.
    fn add(&mut self, value: &impl Serialize, to: &mut Vec<u8>) {
        let content = bytes_of(value);
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes();
        *self = self.behind(&content);
        for part in [&length[..], &check(length), &self.0, &content, &[MARK]] {
            to.extend_from_slice(part);
        }
    }

    /// Appends an entry.
    pub(super) fn add_entry(&mut self, entry: &Entry, to: &mut Vec<u8>) {
        self.add(entry, to);
    }

    /// Begins a segment.
    pub(super) fn begin(head: &Head, to: &mut Vec<u8>) -> Self {
        let mut chain = Self::default();
        to.extend_from_slice(&MAGIC);
        chain.add(head, to);
        chain
    }

    fn behind(self, content: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(content);
        let mut hash = [0; HASH];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..HASH]);
        Self(hash)
    }
}

fn check(length: [u8; 4]) -> [u8; 4] {
    let mut check = [0; 4];
    check.copy_from_slice(&blake3::hash(&length).as_bytes()[..4]);
    check
}

/// The reason why a segment cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is no segment of a recording.
    Foreign,
    /// It is damaged at this byte.
    Damaged(usize),
}

/// The next frame of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// An entry.
    Entry(Entry),
    /// The end.
    End,
    /// The end, behind a frame that was not written whole: its place, and its bytes so far.
    Torn {
        /// The offset of the frame.
        at: usize,
        /// The bytes from there to the end.
        bytes: usize,
    },
}

/// A segment that is read entry by entry, from its bytes.
#[derive(Clone, Debug)]
pub struct Segment<B> {
    bytes: B,
    at: usize,
    chain: Chain,
}

impl<B: AsRef<[u8]>> Segment<B> {
    /// Reads the head of a segment; none if the segment was torn within the head, so that it has nothing.
    ///
    /// # Errors
    ///
    /// The bytes are no segment, or are damaged.
    pub fn open(bytes: B) -> Result<Option<(Self, Head)>, Wrong> {
        let all = bytes.as_ref();
        let same = all.iter().zip(MAGIC).take_while(|(byte, magic)| **byte == *magic).count();
        if same < MAGIC.len() && all[same..].iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if !all.starts_with(&MAGIC) {
            return Err(Wrong::Foreign);
        }
        let mut segment = Self { bytes, at: MAGIC.len(), chain: Chain::default() };
        match segment.frame::<Head>()? {
            Frame::Whole(head) => Ok(Some((segment, head))),
            Frame::End | Frame::Torn => Ok(None),
        }
    }

    /// Reads the next entry.
    ///
    /// # Errors
    ///
    /// It is damaged. The entries before it are intact.
    pub fn read(&mut self) -> Result<Next, Wrong> {
        Ok(match self.frame::<Entry>()? {
            Frame::Whole(entry) => Next::Entry(entry),
            Frame::End => Next::End,
            Frame::Torn => Next::Torn { at: self.at, bytes: self.bytes.as_ref().len() - self.at },
        })
    }

    /// The hash of the segment up to here.
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// The offset of the next entry.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn frame<T: DeserializeOwned>(&mut self) -> Result<Frame<T>, Wrong> {
        let (rest, damaged) = (&self.bytes.as_ref()[self.at..], Wrong::Damaged(self.at));
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        if rest.is_empty() {
            return Ok(Frame::End);
        }
        let Some((head, behind)) = rest.split_at_checked(FRAME) else { return Ok(Frame::Torn) };
        let (mut length, mut hash) = ([0; 4], [0; HASH]);
        length.copy_from_slice(&head[..4]);
        hash.copy_from_slice(&head[FRAME - HASH..]);
        if check(length) != head[4..8] {
            return if is_zero(behind) { Ok(Frame::Torn) } else { Err(damaged) };
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > CONTENT_MAX {
            return Err(damaged);
        }
        let Some((content, behind)) = behind.split_at_checked(length) else { return Ok(Frame::Torn) };
        let Some((mark, behind)) = behind.split_first() else { return Ok(Frame::Torn) };
        let chain = self.chain.behind(content);
        if *mark == 0 && is_zero(behind) {
            return Ok(Frame::Torn);
        }
        if *mark != MARK || chain.0 != hash {
            return Err(damaged);
        }
        let (value, left) = postcard::take_from_bytes(content).map_err(|_| damaged)?;
        if !left.is_empty() {
            return Err(damaged);
        }
        (self.at, self.chain) = (self.at + FRAME + length + 1, chain);
        Ok(Frame::Whole(value))
    }
}

enum Frame<T> {
    Whole(T),
    End,
    Torn,
}

impl Head {
    /// The head of a segment that begins with a start of its node.
    pub fn of_start(owner: Owner, limits: BTreeMap<String, u64>, begun: u64) -> Self {
        Self { owner, limits, begun, begins: Begins::Start }
    }
}
