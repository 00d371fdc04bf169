//! Files on a disk that crashes.
//!
//! Bytes are in memory until they are synchronised, and so is each new name. A crash between any two operations loses the contents of
//! memory, in whole or in part: a name is the old one or the new one, and the bytes that were appended end anywhere, or are zeros from
//! some byte on, or miss blocks in their middle. It is assumed that a file system brings the first bytes of what is appended before later
//! ones: a file whose end is there and whose middle begins with nothing looks like a damaged one.

use host_search::kernel::dice::below;
use rand_chacha::ChaCha8Rng;

use crate::disk::Files;

/// Bytes that are written together.
const BLOCK: usize = 64;
/// Bytes of what is appended that come before any later ones: the head of a record.
const FIRST: usize = 16;

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileError {
    /// The process was killed before it, or in it.
    Crashed,
    /// There is no room.
    Full,
    /// There is no such file.
    Missing,
}

/// A file: as it is, and as it is on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    bytes: Vec<u8>,
    synced: Vec<u8>,
}

/// The names of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    file: Option<Content>,
    next: Option<Content>,
}

/// The files of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskOfWorld {
    names: Names,
    /// The content of `file` that a crash may bring back: that before the name was given to another one.
    former: Option<Option<Content>>,
    note: Content,
    /// Operations until a crash, if there is to be one.
    left: Option<u32>,
    /// Bytes that there is room for, if there is a limit.
    room: Option<usize>,
}

impl DiskOfWorld {
    /// Has the process crash before its operation with this number from now on.
    pub(crate) fn crash_after(&mut self, operations: u32) {
        self.left = Some(operations);
    }

    /// Limits the room to this number of further bytes, or not.
    pub(crate) fn set_room(&mut self, room: Option<usize>) {
        self.room = room;
    }

    /// The machine goes down: a part of the unsynchronised content may survive.
    pub(crate) fn crash(&mut self, dice: &mut ChaCha8Rng) {
        (self.left, self.room) = (None, None);
        if let Some(former) = self.former.take()
            && below(dice, 2) > 0
        {
            self.names.next = self.names.file.take();
            self.names.file = former;
        }
        for content in [&mut self.names.file, &mut self.names.next].into_iter().flatten().chain([&mut self.note]) {
            content.tear(dice);
        }
    }

    /// One operation.
    fn operate(&mut self) -> Result<(), FileError> {
        match &mut self.left {
            Some(0) => Err(FileError::Crashed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The bytes of these for which there is room, and whether these are all.
    fn fitting<'b>(&mut self, bytes: &'b [u8]) -> (&'b [u8], Result<(), FileError>) {
        let Some(room) = &mut self.room else { return (bytes, Ok(())) };
        let fits = bytes.len().min(*room);
        *room -= fits;
        (&bytes[..fits], if fits == bytes.len() { Ok(()) } else { Err(FileError::Full) })
    }

    fn file(&mut self) -> Result<&mut Content, FileError> {
        self.names.file.as_mut().ok_or(FileError::Missing)
    }
}

impl Content {
    fn sync(&mut self) {
        self.synced.clone_from(&self.bytes);
    }

    /// Tears the content as in a crash.
    fn tear(&mut self, dice: &mut ChaCha8Rng) {
        let common = self.bytes.iter().zip(&self.synced).take_while(|(one, other)| one == other).count();
        if common < self.synced.len() {
            // It was cut down or rewritten: a crash leaves the old or the new content.
            if below(dice, 2) > 0 {
                self.bytes.clone_from(&self.synced);
            }
        } else if common < self.bytes.len() {
            let added = self.bytes.len() - common;
            let whole = common + below(dice, added as u64 + 1) as usize;
            match below(dice, 3) {
                0 => self.bytes.truncate(whole),
                1 => self.bytes[whole..].fill(0),
                _ if whole < common + FIRST => self.bytes.truncate(whole),
                _ => {
                    let end = self.bytes.len() - 1;
                    self.bytes[end] = 0;
                    for start in (whole..end).step_by(BLOCK).filter(|_| below(dice, 2) > 0).collect::<Vec<_>>() {
                        self.bytes[start..end.min(start + BLOCK)].fill(0);
                    }
                }
            }
        }
        self.sync();
    }
}

impl Files for DiskOfWorld {
    type Error = FileError;

    fn read(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        Ok(self.names.file.as_ref().map(|content| content.bytes.clone()))
    }

    fn open(&mut self, length: u64) -> Result<(), FileError> {
        self.operate()?;
        let file = self.file()?;
        file.bytes.truncate(length as usize);
        self.operate()?;
        self.file()?.sync();
        self.operate()?;
        self.former = None;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.operate()?;
        let (fitting, result) = self.fitting(bytes);
        self.file()?.bytes.extend(fitting);
        result
    }

    fn sync(&mut self) -> Result<(), FileError> {
        self.operate()?;
        self.file()?.sync();
        Ok(())
    }

    fn write_next(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.operate()?;
        let (fitting, result) = self.fitting(bytes);
        self.names.next = Some(Content { bytes: fitting.to_vec(), synced: Vec::new() });
        result?;
        self.operate()?;
        self.names.next.iter_mut().for_each(Content::sync);
        Ok(())
    }

    fn rename_next(&mut self) -> Result<(), FileError> {
        self.operate()?;
        let next = self.names.next.take().ok_or(FileError::Missing)?;
        self.former = Some(self.names.file.replace(next));
        self.operate()?;
        self.former = None;
        Ok(())
    }

    fn note(&mut self) -> Result<String, FileError> {
        Ok(String::from_utf8_lossy(&self.note.bytes).into_owned())
    }

    fn set_note(&mut self, text: &str) -> Result<(), FileError> {
        self.operate()?;
        self.note.bytes.clear();
        self.operate()?;
        self.note.bytes.extend(text.as_bytes());
        self.operate()?;
        self.note.sync();
        Ok(())
    }
}
