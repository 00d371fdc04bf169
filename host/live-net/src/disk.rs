//! The files of a node on the disk of a machine: its data file, the next one, and the lock, which holds the note.
//!
//! [`host_live::disk`] specifies their content and the order of writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use host_live::disk::{FILE_LONGEST, Files, Owner, RECORD_MAX, Trouble, Ways};
use host_live::node::{DiskId, Record};
use host_model::contract::WrittenKeys;

/// The maximum length of the note in the lock, in bytes.
const SAYING_MAX: u64 = 1 << 10;

/// Why a node has no disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Another process has it.
    #[error("`{}` is in use: another process is this node", .0.display())]
    InUse(PathBuf),
    /// The file is not of a node.
    #[error("`{}` is no file of a node", .0.display())]
    Foreign(PathBuf),
    /// The file is of another node, or of another plugin.
    #[error("`{}` is the file of node {} of {}, and this is node {} of {}: give each node the folder with its own file", path.display(), owner.node, owner.plugin, here.node, here.plugin)]
    Other {
        /// The file.
        path: PathBuf,
        /// The owner of the file.
        owner: Box<Owner>,
        /// The owner that has opened it.
        here: Box<Owner>,
    },
    /// The file was written under another build, or in another cluster.
    #[error("`{}` was written by a node with {what}; a node that takes it over reads states that it has not written: start it with `--take-data` if that is right, or with the cluster and the component as they were", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The differences.
        what: String,
    },
    /// The file is missing, although there was one.
    #[error("`{}` is lost: what the node has acknowledged is not there any more; restore the file, or, to start a node that knows nothing, remove `{}` as well", path.display(), path.with_extension("lock").display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// Other nodes have met a later start of this one.
    #[error("`{}` knows of fewer starts of the node than the other nodes do, who have met start {start}: it was lost, or is an old copy; restore it, or start the node with `--rejoin`, as one that knows what is in the file and nothing more", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// The start that they know of.
        start: u64,
    },
    /// Other nodes know this one by another file.
    #[error("`{}` is not the file by which the other nodes know the node: that was lost, and a new one was made in its place; restore it, or start the node with `--rejoin`, as one that knows what is in the file and nothing more", .0.display())]
    OtherDisk(PathBuf),
    /// A record that was acknowledged is damaged.
    #[error("`{}` is damaged at byte {at}: what the node has acknowledged may be lost; restore the file, or, to start a node that knows nothing, remove it and `{}`", path.display(), path.with_extension("lock").display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the record.
        at: usize,
    },
    /// A record that could not be read back, so nothing that depends on it may leave.
    #[error("`{}`: what the node has to keep has {bytes} bytes, and a record has at most {RECORD_MAX}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length, with the host's own data.
        bytes: usize,
    },
    /// An earlier write has failed: the end of the file is unknown.
    #[error("`{}`: a write has failed before; start the node again", .0.display())]
    Broken(PathBuf),
}

impl DiskError {
    fn of(trouble: Trouble<Failed>, path: &Path, here: &Owner) -> Self {
        let path = path.to_owned();
        match trouble {
            Trouble::Files(Failed { path, error }) => Self::File { path, error },
            Trouble::Foreign => Self::Foreign(path),
            Trouble::Other(owner) => Self::Other { path, owner, here: Box::new(here.clone()) },
            Trouble::Changed(what) => Self::Changed { path, what },
            Trouble::Lost => Self::Lost { path },
            Trouble::Later(start) => Self::Later { path, start },
            Trouble::OtherDisk => Self::OtherDisk(path),
            Trouble::Damaged(at) => Self::Damaged { path, at },
            Trouble::TooLong(bytes) => Self::TooLong { path, bytes },
            Trouble::Broken => Self::Broken(path),
        }
    }
}

/// The file of a node, which no other process has.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    owner: Owner,
    disk: host_live::disk::Disk<Folder>,
}

impl Disk {
    /// Opens the file of a node, or creates it. Also returns the durable state; none at the first start.
    ///
    /// # Errors
    ///
    /// The file is of another node, damaged, lost, in use, or cannot be read and written; or `ways` does not allow that it is from another
    /// build or cluster, or older than what other nodes know.
    pub fn open(path: &Path, owner: &Owner, ways: Ways) -> Result<(Self, Option<Record>), DiskError> {
        let files = Folder { path: path.to_owned(), lock: lock(path)?, file: None };
        let opened = host_live::disk::Disk::open(files, owner, ways);
        let (disk, last) = opened.map_err(|trouble| DiskError::of(trouble, path, owner))?;
        Ok((Self { path: path.to_owned(), owner: owner.clone(), disk }, last))
    }

    /// Notes that other nodes know this start of the node, and by which disk they know it, if the disk is not the default one. A node with
    /// an older file does not start again, unless its [`Ways`] allow it.
    ///
    /// # Errors
    ///
    /// The note cannot be written.
    pub fn note_known(&mut self, start: u64, disk: DiskId) -> Result<(), DiskError> {
        self.disk.note_known(start, disk).map_err(|Failed { path, error }| DiskError::File { path, error })
    }

    /// Bytes of an incomplete record that were cut off when the file was opened.
    pub fn torn(&self) -> usize {
        self.disk.torn()
    }

    /// Writes a record in place of all earlier ones, whose map differs from that of the last one in these keys at most. It is durable when
    /// this returns.
    ///
    /// # Errors
    ///
    /// For example, the disk is full. Whether the record is on the disk is unknown then, and further writes fail: the node must stop.
    pub fn write(&mut self, record: &Record, written: &WrittenKeys) -> Result<(), DiskError> {
        self.disk.write(record, written).map_err(|trouble| DiskError::of(trouble, &self.path, &self.owner))
    }

    /// Replaces the open file and sets the length from which the file is replaced, for tests.
    #[cfg(test)]
    pub(crate) fn with(self, file: Option<File>, file_max: u64) -> Self {
        let mut disk = self.disk.with_file_max(file_max);
        let files = disk.files_mut();
        files.file = file.or(files.file.take());
        Self { disk, ..self }
    }
}

/// An operation on a file that has failed.
#[derive(Debug)]
struct Failed {
    path: PathBuf,
    error: io::Error,
}

/// The files of a node on the disk of a machine.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Held as long as the node runs; the file itself is replaced.
    lock: File,
    /// Open from the first [`open`](Files::open) or [`rename_next`](Files::rename_next) on.
    file: Option<File>,
}

impl Folder {
    fn failed(&self, error: io::Error) -> Failed {
        Failed { path: self.path.clone(), error }
    }

    fn lock_failed(&self, error: io::Error) -> Failed {
        Failed { path: self.path.with_extension("lock"), error }
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn try_open(&mut self, length: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        file.sync_all()?;
        self.file = Some(file);
        sync_folder(&self.path)
    }

    fn try_write_next(&self, bytes: &[u8]) -> io::Result<()> {
        let next = self.path.with_extension("next");
        match std::fs::remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).open(&next)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn try_rename_next(&mut self) -> io::Result<()> {
        std::fs::rename(self.path.with_extension("next"), &self.path)?;
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        file.seek(SeekFrom::End(0))?;
        self.file = Some(file);
        sync_folder(&self.path)
    }
}

impl Files for Folder {
    type Error = Failed;

    fn read(&mut self) -> Result<Option<Vec<u8>>, Failed> {
        bytes(&self.path).map_err(|error| self.failed(error))
    }

    fn open(&mut self, length: u64) -> Result<(), Failed> {
        self.try_open(length).map_err(|error| self.failed(error))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        self.file().and_then(|mut file| file.write_all(bytes)).map_err(|error| self.failed(error))
    }

    fn sync(&mut self) -> Result<(), Failed> {
        self.file().and_then(File::sync_data).map_err(|error| self.failed(error))
    }

    fn write_next(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        self.try_write_next(bytes).map_err(|error| self.failed(error))
    }

    fn rename_next(&mut self) -> Result<(), Failed> {
        self.try_rename_next().map_err(|error| self.failed(error))
    }

    fn note(&mut self) -> Result<String, Failed> {
        said(&mut self.lock).map_err(|error| self.lock_failed(error))
    }

    fn set_note(&mut self, text: &str) -> Result<(), Failed> {
        say(&mut self.lock, text).map_err(|error| self.lock_failed(error))
    }
}

/// Opens the lock of a data file, and takes it: no other process can take it then.
fn lock(path: &Path) -> Result<File, DiskError> {
    let lock_path = path.with_extension("lock");
    let failed = |error| DiskError::File { path: lock_path.clone(), error };
    check_kind(&lock_path).map_err(failed)?;
    let lock = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&lock_path);
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(DiskError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Reads the note in the lock.
fn said(lock: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    lock.rewind()?;
    lock.take(SAYING_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the note in the lock. The lock is never empty meanwhile: a node killed then would be taken for one that never had a file.
fn say(lock: &mut File, text: &str) -> io::Result<()> {
    lock.rewind()?;
    lock.write_all(text.as_bytes())?;
    lock.set_len(text.len() as u64)?;
    lock.sync_all()
}

/// Refuses anything but a regular file: opening a pipe waits for its other end, and reading a device may never end.
fn check_kind(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The content of a file, if it exists.
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    check_kind(path)?;
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let length = file.metadata()?.len();
    if length > FILE_LONGEST {
        let what = format!("it has {length} bytes, and a file of a node at most {FILE_LONGEST}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let mut bytes = Vec::new();
    file.take(FILE_LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The content of a data file or of a backup, if it exists. The node may be running: then the last record can be incomplete.
///
/// # Errors
///
/// It cannot be read.
pub fn data_of(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    bytes(path).map_err(|error| DiskError::File { path: path.to_owned(), error })
}

/// Makes the file of a node that begins with this record, durably. The node must have none.
///
/// # Errors
///
/// The file cannot be made.
pub fn restore(path: &Path, owner: &Owner, record: &Record) -> Result<(), DiskError> {
    let (mut disk, there) = Disk::open(path, owner, Ways::default())?;
    match there {
        None => disk.write(record, &WrittenKeys::default()),
        Some(_) => Err(DiskError::InUse(path.to_owned())),
    }
}

/// Makes a folder for data files, and those around it, durably.
///
/// # Errors
///
/// A folder cannot be made or synchronised.
pub fn make_folder(path: &Path) -> io::Result<()> {
    make_folder_with(path, &mut sync_folder)
}

/// The same, with another function in place of [`sync_folder`], for tests.
///
/// From the outermost folder inwards, each folder is durable before the next one is made. So if a folder exists, because another node makes
/// it at the same time or was killed, only its own name may not be durable yet.
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

/// Whether a folder cannot be synchronised because no node creates files there: it is not readable, or its file system is read-only.
fn is_foreign(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Synchronises the folder of a path, which makes its name durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(around(path))?.sync_all()
}

/// The folder that a name is in.
fn around(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
