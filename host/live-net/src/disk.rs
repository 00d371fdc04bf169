//! The file of a node: the last record in it is the durable state.
//!
//! Records are appended, each with its length and a hash, and synchronised before they are acknowledged. A record at the end that is
//! not complete was never acknowledged, and is cut off. One that is damaged before the end is an error: something was acknowledged
//! that is not there any more. Where the file is long, a new one takes its place, which is there completely or not at all.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use host_live::checkpoint::Durable;
use host_live::node::Record;

/// Bytes of a file from which on a new one takes its place.
const FILE_MAX: u64 = 1 << 20;
/// Bytes of the longest record.
const RECORD_MAX: usize = 64 << 20;
/// Bytes that are hashed at most to find records behind one that is not complete.
const SEARCHED_MAX: usize = 4 * RECORD_MAX;
/// Length and hash.
const HEAD: usize = 4 + 8;
const MAGIC: [u8; 8] = *b"HLDISK\0\x01";

/// Why a node has no disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the machine says.
        error: io::Error,
    },
    /// Another process has it.
    #[error("`{}` is in use: another process is this node", .0.display())]
    InUse(PathBuf),
    /// Something else is in it.
    #[error("`{}` is no file of a node", .0.display())]
    Foreign(PathBuf),
    /// Something that was acknowledged is gone.
    #[error("`{}` is damaged at byte {at}, before its end: what the node has acknowledged may be lost; restore the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        at: usize,
    },
    /// A record that nobody could read back, so nothing that depends on it may leave.
    #[error("`{}`: what the node has to keep has {bytes} bytes, and a record has at most {RECORD_MAX}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// With what the host itself keeps.
        bytes: usize,
    },
    /// A write has failed before: nothing is known about the end of the file.
    #[error("`{}`: a write has failed before; start the node again", .0.display())]
    Broken(PathBuf),
}

/// The file of a node, which no other process has.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    /// Held as long as the node runs; the file itself is replaced.
    _lock: File,
    file: File,
    bytes: u64,
    file_max: u64,
    is_broken: bool,
    torn: usize,
}

impl Disk {
    /// Opens the file of a node, and makes it if there is none. Also returns the durable state; none at the first start.
    ///
    /// # Errors
    ///
    /// The file is none of ours, damaged, in use, or not to be read and written.
    pub fn open(path: &Path) -> Result<(Self, Option<Record>), DiskError> {
        let failed = |error| DiskError::File { path: path.to_owned(), error };
        let lock_path = path.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DiskError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(failed)?;
        let (record, end) = last_record(path, &content)?;
        let torn = content.len() - end;
        let mut disk = Self {
            path: path.to_owned(),
            _lock: lock,
            file,
            bytes: end as u64,
            file_max: FILE_MAX,
            is_broken: false,
            torn,
        };
        disk.prepare().map_err(failed)?;
        Ok((disk, record))
    }

    /// Cuts off what is behind the last record, and begins an empty file.
    fn prepare(&mut self) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.file.seek(SeekFrom::End(0))?;
        if self.bytes == 0 {
            self.file.write_all(&MAGIC)?;
            self.bytes = MAGIC.len() as u64;
        }
        self.file.sync_all()?;
        sync_folder(&self.path)
    }

    /// Bytes of a record that was not complete when the file was opened.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// Writes a record in place of those before it. When this returns, it is there whatever happens.
    ///
    /// # Errors
    ///
    /// The disk is full, say. Nothing is known of this record then, and nothing more is written: a node must not go on.
    pub fn write(&mut self, record: &Record) -> Result<(), DiskError> {
        if self.is_broken {
            return Err(DiskError::Broken(self.path.clone()));
        }
        let bytes = encoded(record);
        if bytes.len() > HEAD + RECORD_MAX {
            return Err(DiskError::TooLong { path: self.path.clone(), bytes: bytes.len() - HEAD });
        }
        let result = match self.bytes + bytes.len() as u64 > self.file_max {
            true => self.replace(&bytes),
            false => self.append(&bytes),
        };
        result.map_err(|error| {
            self.is_broken = true;
            DiskError::File { path: self.path.clone(), error }
        })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// A new file with this record alone takes the place of the present one.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let next = self.path.with_extension("next");
        let mut file = File::create(&next)?;
        file.write_all(&MAGIC)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&next, &self.path)?;
        sync_folder(&self.path)?;
        self.file = file;
        self.bytes = (MAGIC.len() + bytes.len()) as u64;
        Ok(())
    }

    /// A disk that is full, or a file that is replaced early, for tests.
    #[cfg(test)]
    pub(crate) fn with(mut self, file: Option<File>, file_max: u64) -> Self {
        self.file = file.unwrap_or(self.file);
        self.file_max = file_max;
        self
    }
}

/// Makes a folder for disks, and those around it, so that they are there whatever happens.
///
/// # Errors
///
/// A folder cannot be made or synchronised.
pub fn make_folder(path: &Path) -> io::Result<()> {
    make_folder_with(path, &mut sync_folder)
}

/// The same with something else in place of what has a name be on the disk, for tests.
///
/// From the outermost folder inwards, each is on the disk before the next one is made. So of a folder that is there, made by another node
/// at this moment or by one that was killed, the name of that folder alone may not be on the disk yet.
pub(crate) fn make_folder_with(path: &Path, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    if path.is_dir() {
        return match sync(path) {
            Err(error) if is_foreign(&error) => Ok(()),
            result => result,
        };
    }
    make_folder_with(around(path), sync)?;
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        result => result?,
    }
    sync(path)
}

/// Whether a folder cannot be synchronised since no node makes anything there: it may not be read, or is of a system of files that are
/// never written.
fn is_foreign(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// A name is on the disk once its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(around(path))?.sync_all()
}

/// The folder that a name is in.
fn around(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn encoded(record: &Record) -> Vec<u8> {
    let body = postcard::to_allocvec(record).expect("records have an encoding");
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(hash(&body));
    bytes.extend(body);
    bytes
}

fn hash(body: &[u8]) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&blake3::hash(body).as_bytes()[..8]);
    short
}

/// The last complete record, and where it ends.
fn last_record(path: &Path, content: &[u8]) -> Result<(Option<Record>, usize), DiskError> {
    if content.len() < MAGIC.len() {
        return match MAGIC.starts_with(content) {
            true => Ok((None, 0)),
            false => Err(DiskError::Foreign(path.to_owned())),
        };
    }
    if content[..MAGIC.len()] != MAGIC {
        return Err(DiskError::Foreign(path.to_owned()));
    }
    let (mut last, mut at) = (None, MAGIC.len());
    while at < content.len() {
        match record_at(&content[at..]) {
            Some((record, length)) => {
                last = Some(record);
                at += length;
            }
            // Nothing was written behind a record that was not acknowledged.
            None if is_followed(&content[at..]) => {
                return Err(DiskError::Damaged { path: path.to_owned(), at });
            }
            None => break,
        }
    }
    Ok((last, at))
}

/// Whether there may be a record somewhere behind the one that these bytes begin with, whose length may be wrong.
///
/// It may begin at any byte, and to hash at each what it gives as the length of a record would take a time that grows with the square of
/// the bytes. So only what has the shape of a record is hashed, which every record has and hardly anything else. Where that is too much
/// nevertheless, somebody has had the node keep such bytes. The file is refused then, since one of them may be a record; whoever has a
/// node keep all bytes of a record gets as much.
fn is_followed(bytes: &[u8]) -> bool {
    let mut hashed = 0;
    (1..bytes.len()).filter_map(|at| Framed::at(&bytes[at..])).any(|framed| {
        hashed += framed.body.len();
        hashed > SEARCHED_MAX || framed.is_whole()
    })
}

/// The record that these bytes begin with, and its length.
fn record_at(bytes: &[u8]) -> Option<(Record, usize)> {
    let framed = Framed::at(bytes).filter(Framed::is_whole)?;
    postcard::from_bytes(framed.body).ok().map(|record| (record, HEAD + framed.body.len()))
}

/// What has the shape of a record: a length, a hash, and so many bytes that say of themselves that they are as many.
struct Framed<'a> {
    hash: &'a [u8],
    body: &'a [u8],
}

impl<'a> Framed<'a> {
    /// What these bytes begin with. This takes the same time however many there are.
    fn at(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (length, hash) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("there are four")) as usize;
        if length > RECORD_MAX {
            return None;
        }
        let body = rest.get(..length)?;
        // The fields of a record, without a copy of what the protocol keeps.
        let (_, end) = postcard::take_from_bytes::<(Durable, Option<&[u8]>)>(body).ok()?;
        end.is_empty().then_some(Self { hash, body })
    }

    fn is_whole(&self) -> bool {
        hash(self.body) == self.hash
    }
}
