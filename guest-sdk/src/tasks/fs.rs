//! Files on the disk of a node, in the shape of `tokio::fs`.
//!
//! A reset leaves what was written. A power outage (`host run --outages`) leaves what was written before the last
//! [`sync_data`](File::sync_data) of any file, and a part of the rest: the writes of whole handlers, the latest ones are lost first. That is
//! the contract of the durable map, [`storage`](crate::storage), where the files are kept. A program without a call of it has a disk that
//! is durable after each handler.
//!
//! Names are those of one folder. A file that is removed or replaced must not be used any more. Each operation is done when it returns, and
//! `sync_data` lets the tasks that are ready run first, which a real one does as well.
//!
//! ```
//! # use std::io;
//! use guest_sdk::tasks::fs::{self, File};
//!
//! /// Replaces a file as a whole.
//! async fn replace(content: &[u8]) -> io::Result<()> {
//!     let mut file = File::create("vote.new").await?;
//!     file.write_now(content)?;
//!     file.sync_data().await?;
//!     fs::rename("vote.new", "vote").await
//! }
//! ```
//!
//! With the feature `tokio` of this crate, [`File`] implements `AsyncRead`, `AsyncWrite` and `AsyncSeek` of tokio.
#![expect(clippy::unused_async, reason = "the functions are those of tokio, and a program awaits them")]

use std::io::{self, ErrorKind, SeekFrom};

use super::executor::yield_now;
use crate::storage::{Table, sync_in_task};

/// The number of the file with a name.
const NUMBERS: Table<String, u32> = Table::new("file-numbers");
/// The length of a file.
const LENGTHS: Table<u32, u64> = Table::new("file-lengths");
/// The content of a file, by blocks.
const BLOCKS: Table<(u32, u64), Vec<u8>> = Table::new("file-blocks");

const BLOCK: u64 = 4096;

fn number_of(name: &str) -> io::Result<u32> {
    NUMBERS.get(&name.to_owned()).ok_or_else(|| ErrorKind::NotFound.into())
}

/// An empty file under a name that has none.
fn make(name: &str) -> u32 {
    // The lowest free number, so that the numbers do not tell how many files there were.
    let number = (0..).zip(LENGTHS.range(..)).find(|(number, (taken, _))| number != taken);
    let number = number.map_or_else(|| LENGTHS.last().map_or(0, |(last, _)| last + 1), |(number, _)| number);
    NUMBERS.write(&name.to_owned(), &number);
    LENGTHS.write(&number, &0);
    number
}

fn free(number: u32) {
    LENGTHS.remove(&number);
    BLOCKS.remove_range((number, 0)..=(number, u64::MAX));
}

/// Renames a file, which takes the place of another one of the new name.
///
/// # Errors
///
/// There is no such file.
pub async fn rename(from: &str, to: &str) -> io::Result<()> {
    let number = number_of(from)?;
    if from != to {
        if let Ok(former) = number_of(to) {
            free(former);
        }
        NUMBERS.remove(&from.to_owned());
        NUMBERS.write(&to.to_owned(), &number);
    }
    Ok(())
}

/// Removes a file.
///
/// # Errors
///
/// There is no such file.
pub async fn remove_file(name: &str) -> io::Result<()> {
    free(number_of(name)?);
    NUMBERS.remove(&name.to_owned());
    Ok(())
}

/// Whether there is a file of this name.
///
/// # Errors
///
/// None; the result is that of tokio.
pub async fn try_exists(name: &str) -> io::Result<bool> {
    Ok(number_of(name).is_ok())
}

/// The content of a file.
///
/// # Errors
///
/// There is no such file.
pub async fn read(name: &str) -> io::Result<Vec<u8>> {
    let mut file = File::open(name).await?;
    let mut content = vec![0; file.length()? as usize];
    file.read_now(&mut content)?;
    Ok(content)
}

/// Creates a file with this content, or replaces that of an existing one.
///
/// # Errors
///
/// None; the result is that of tokio.
pub async fn write(name: &str, content: &[u8]) -> io::Result<()> {
    File::create(name).await?.write_now(content).map(drop)
}

/// The ways to open a file.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the options are those of the system")]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
}

impl OpenOptions {
    /// None of them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The file can be read.
    pub fn read(&mut self, is: bool) -> &mut Self {
        self.read = is;
        self
    }

    /// The file can be written.
    pub fn write(&mut self, is: bool) -> &mut Self {
        self.write = is;
        self
    }

    /// Each write is at the end of the file.
    pub fn append(&mut self, is: bool) -> &mut Self {
        self.append = is;
        self
    }

    /// An existing file loses its content.
    pub fn truncate(&mut self, is: bool) -> &mut Self {
        self.truncate = is;
        self
    }

    /// A file that does not exist is created.
    pub fn create(&mut self, is: bool) -> &mut Self {
        self.create = is;
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// There is no such file, and none is to be created.
    pub async fn open(&self, name: &str) -> io::Result<File> {
        let number = match number_of(name) {
            Ok(number) => number,
            Err(error) if !self.create => return Err(error),
            Err(_) => make(name),
        };
        let file = File {
            number,
            position: 0,
            can_read: self.read,
            can_write: self.write || self.append,
            is_append: self.append,
        };
        if self.truncate {
            file.set_len(0).await?;
        }
        Ok(file)
    }
}

/// An open file. Dropping it does not make its content durable.
#[derive(Debug)]
pub struct File {
    number: u32,
    position: u64,
    can_read: bool,
    can_write: bool,
    is_append: bool,
}

impl File {
    /// Opens a file to read it.
    ///
    /// # Errors
    ///
    /// There is no such file.
    pub async fn open(name: &str) -> io::Result<Self> {
        OpenOptions::new().read(true).open(name).await
    }

    /// Creates an empty file to write it, or empties an existing one.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub async fn create(name: &str) -> io::Result<Self> {
        OpenOptions::new().write(true).truncate(true).create(true).open(name).await
    }

    /// The ways to open a file.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// The number of bytes.
    ///
    /// # Errors
    ///
    /// The file was removed.
    pub fn length(&self) -> io::Result<u64> {
        LENGTHS.get(&self.number).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Cuts the file, or fills it up with zeros.
    ///
    /// # Errors
    ///
    /// The file was removed, or cannot be written.
    pub async fn set_len(&self, length: u64) -> io::Result<()> {
        self.check(self.can_write)?;
        if length < self.length()? {
            let [block, kept] = [length / BLOCK, length % BLOCK];
            let first = (self.number, block);
            let rest = BLOCKS.get(&first).filter(|_| kept > 0);
            BLOCKS.remove_range(first..=(self.number, u64::MAX));
            if let Some(mut rest) = rest {
                rest.truncate(kept as usize);
                BLOCKS.write(&first, &rest);
            }
        }
        LENGTHS.write(&self.number, &length);
        Ok(())
    }

    /// Makes all that was written durable, here and in other files, before the messages of this handler leave.
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub async fn sync_data(&self) -> io::Result<()> {
        yield_now().await;
        sync_in_task();
        Ok(())
    }

    /// As [`sync_data`](Self::sync_data).
    ///
    /// # Errors
    ///
    /// None; the result is that of tokio.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.sync_data().await
    }

    /// Goes to a place of the file, and returns it.
    ///
    /// # Errors
    ///
    /// The place is before the beginning, or the file was removed.
    pub fn seek_now(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.length()?.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = place.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }

    /// Reads bytes, as many as the buffer takes or are left; 0 at the end. For implementations of traits other than those of tokio.
    ///
    /// # Errors
    ///
    /// The file was removed, or cannot be read.
    pub fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check(self.can_read)?;
        let left = self.length()?.saturating_sub(self.position);
        let length = (buffer.len() as u64).min(left) as usize;
        let mut done = 0;
        while done < length {
            let [block, from] = [self.position / BLOCK, self.position % BLOCK];
            let part = (length - done).min((BLOCK - from) as usize);
            let content = BLOCKS.get(&(self.number, block)).unwrap_or_default();
            // Bytes that were never written are zeros.
            let written = content.get(from as usize..).unwrap_or_default();
            for (index, byte) in buffer[done..done + part].iter_mut().enumerate() {
                *byte = written.get(index).copied().unwrap_or(0);
            }
            done += part;
            self.position += part as u64;
        }
        Ok(length)
    }

    /// Writes bytes, always all of them. For implementations of traits other than those of tokio.
    ///
    /// # Errors
    ///
    /// The file was removed, or cannot be written.
    pub fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check(self.can_write)?;
        let length = self.length()?;
        if self.is_append {
            self.position = length;
        }
        let mut left = bytes;
        while !left.is_empty() {
            let [block, from] = [self.position / BLOCK, self.position % BLOCK];
            let (part, behind) = left.split_at(left.len().min((BLOCK - from) as usize));
            let mut content = BLOCKS.get(&(self.number, block)).unwrap_or_default();
            let [from, end] = [from as usize, from as usize + part.len()];
            content.resize(content.len().max(end), 0);
            content[from..end].copy_from_slice(part);
            BLOCKS.write(&(self.number, block), &content);
            left = behind;
            self.position += part.len() as u64;
        }
        if self.position > length && !bytes.is_empty() {
            LENGTHS.write(&self.number, &self.position);
        }
        Ok(bytes.len())
    }

    fn check(&self, can: bool) -> io::Result<()> {
        if can { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
    }
}

#[cfg(feature = "tokio")]
mod traits {
    use std::io::{self, SeekFrom};
    use std::pin::Pin;
    use std::task::{Context as Polling, Poll};

    use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

    use super::File;

    impl AsyncRead for File {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Polling<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let length = self.read_now(buffer.initialize_unfilled())?;
            buffer.advance(length);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for File {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Polling<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(self.write_now(bytes))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Polling<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Polling<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncSeek for File {
        fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
            self.seek_now(to).map(drop)
        }

        fn poll_complete(self: Pin<&mut Self>, _: &mut Polling<'_>) -> Poll<io::Result<u64>> {
            Poll::Ready(Ok(self.position))
        }
    }
}
