//! The file of a node: the last record in it is the durable state.
//!
//! Records are appended, and synchronised before they are acknowledged. One at the end that is not complete was never acknowledged, and is
//! cut off; what is [damaged](crate::records) is an error. Where the file is long, a new one takes its place, which is there completely or not
//! at all. The file says whose it is, and the lock beside it that there is a file: one that is lost is not taken for that of a new node.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use host_live::checkpoint::Durable;
use host_live::node::Record;

use crate::records::{Content, Owner, RECORD_MAX, Wrong, beginning, encoded, kept, read};

/// Bytes of a file from which on a new one takes its place.
const FILE_MAX: u64 = 1 << 20;
/// Bytes of the longest file: one of the longest records, or what is below the length from which on a new one takes its place.
const LONGEST: u64 = RECORD_MAX as u64 + FILE_MAX;
/// What the lock says once there is a file.
const THERE: &str = "There is a data file beside this lock. To start the node without it, remove both.\n";
/// What stands behind that, before the number, once others know of a later start than the file.
const LATER: &str = "Others know of a later start of the node: ";
/// Bytes of what a lock says at most.
const SAYING_MAX: u64 = 1 << 10;

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
    /// It is of another node, or of another plugin.
    #[error("`{}` is the file of node {} of {}, and this is node {} of {}: give each node the folder with its own file", path.display(), owner.node, owner.plugin, here.node, here.plugin)]
    Other {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: Box<Owner>,
        /// Who has opened it.
        here: Box<Owner>,
    },
    /// It was written under another build, or in another cluster.
    #[error("`{}` was written by a node with {what}; a node that takes it over reads states that it has not written: start it with `--take-data` if that is right, or with the cluster and the component as they were", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// There was a file.
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
    /// Something that was acknowledged is gone.
    #[error("`{}` is damaged at byte {at}: what the node has acknowledged may be lost; restore the file, or, to start a node that knows nothing, remove it and `{}`", path.display(), path.with_extension("lock").display())]
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

/// What is taken at a start that is refused otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// A file that was written under another build or in another cluster.
    pub takes_over: bool,
    /// A file that knows of fewer starts of the node than others do: the next start is one that they have yet to meet.
    pub rejoins: bool,
}

/// The file of a node, which no other process has.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    owner: Owner,
    /// Held as long as the node runs; the file itself is replaced.
    lock: File,
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
    /// The file is of another node, damaged, lost, in use, or not to be read and written; or it was written under another build or in another
    /// cluster, or is one of which others know more, unless that is to be taken.
    pub fn open(path: &Path, owner: &Owner, ways: Ways) -> Result<(Self, Option<Record>), DiskError> {
        let failed = |error| DiskError::File { path: path.to_owned(), error };
        let mut lock = lock(path)?;
        let said = said(&mut lock).map_err(failed)?;
        let there = bytes(path).map_err(failed)?;
        if there.is_none() && !said.is_empty() {
            return Err(DiskError::Lost { path: path.to_owned() });
        }
        let later = said.lines().filter_map(|line| line.strip_prefix(LATER)?.parse::<u64>().ok()).max();
        if let Some(start) = later.filter(|_| !ways.rejoins) {
            return Err(DiskError::Later { path: path.to_owned(), start });
        }
        let content = read(there.as_deref().unwrap_or(&beginning(owner))).map_err(|wrong| match wrong {
            Wrong::Foreign => DiskError::Foreign(path.to_owned()),
            Wrong::Damaged(at) => DiskError::Damaged { path: path.to_owned(), at },
        })?;
        if let Some(other) = &content.owner {
            check(path, other, owner, ways.takes_over)?;
        }
        let Content { owner: found, mut last, end } = content;
        let torn = there.as_ref().map_or(0, |bytes| bytes.len() - end);
        let (file, bytes) = if there.is_some() && found.as_ref() == Some(owner) {
            (OpenOptions::new().read(true).write(true).open(path).map_err(failed)?, end as u64)
        } else {
            // One of an earlier version, or one that is taken over, is replaced by one with the right owner.
            let file = replaced(path, owner, &last.as_ref().map(encoded).unwrap_or_default()).map_err(failed)?;
            let bytes = file.metadata().map_err(failed)?.len();
            (file, bytes)
        };
        let (path, owner) = (path.to_owned(), owner.clone());
        let mut disk = Self { path, owner, lock, file, bytes, file_max: FILE_MAX, is_broken: false, torn };
        disk.prepare().map_err(|error| DiskError::File { path: disk.path.clone(), error })?;
        if let Some(start) = later {
            let mut record =
                last.unwrap_or(Record { numbers: Durable { incarnation: 0, reserved: 0 }, protocol: None });
            record.numbers.incarnation = record.numbers.incarnation.max(start);
            // From then on the file knows of that start.
            disk.write(&record)?;
            last = Some(record);
        }
        disk.say(THERE).map_err(|error| DiskError::File { path: disk.path.clone(), error })?;
        Ok((disk, last))
    }

    /// Cuts off what is behind the last record.
    fn prepare(&mut self) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.file.seek(SeekFrom::End(0))?;
        self.file.sync_all()?;
        sync_folder(&self.path)
    }

    /// Has the lock say this and nothing else.
    fn say(&mut self, words: &str) -> io::Result<()> {
        if said(&mut self.lock)? != words {
            self.lock.set_len(0)?;
            self.lock.rewind()?;
            self.lock.write_all(words.as_bytes())?;
            self.lock.sync_all()?;
        }
        Ok(())
    }

    /// Others know of a later start of the node: it does not start again with this file, unless that is asked for.
    ///
    /// # Errors
    ///
    /// That cannot be written.
    pub fn note_later_start(&mut self, start: u64) -> Result<(), DiskError> {
        let said = self.say(&format!("{THERE}{LATER}{start}\n"));
        said.map_err(|error| DiskError::File { path: self.path.with_extension("lock"), error })
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
        if kept(bytes.len()) > RECORD_MAX {
            return Err(DiskError::TooLong { path: self.path.clone(), bytes: kept(bytes.len()) });
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
        self.file = replaced(&self.path, &self.owner, bytes)?;
        self.bytes = self.file.stream_position()?;
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

/// The lock of a file, which no other process has from then on.
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

/// What a lock says.
fn said(lock: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    lock.rewind()?;
    lock.take(SAYING_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Refuses what is no regular file: to open a pipe waits for its other end, and to read a device may never end.
fn check_kind(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is in a file, if there is one.
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    check_kind(path)?;
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let length = file.metadata()?.len();
    if length > LONGEST {
        let what = format!("it has {length} bytes, and a file of a node at most {LONGEST}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Whether a node may have a file of this owner.
fn check(path: &Path, owner: &Owner, here: &Owner, takes_over: bool) -> Result<(), DiskError> {
    if (owner.node, &owner.plugin) != (here.node, &here.plugin) {
        let (owner, here) = (Box::new(owner.clone()), Box::new(here.clone()));
        return Err(DiskError::Other { path: path.to_owned(), owner, here });
    }
    if takes_over || owner == here {
        return Ok(());
    }
    let digests = (format!("component {}", owner.digest), format!("component {}", here.digest));
    let sizes = (format!("{} nodes in its cluster", owner.nodes), format!("{}", here.nodes));
    let configs = (format!("parameters {:?}", owner.config), format!("{:?}", here.config));
    let networks = (format!("network {}", owner.network), here.network.clone());
    let all = [
        (owner.digest != here.digest, digests),
        (owner.nodes != here.nodes, sizes),
        (owner.config != here.config, configs),
        (owner.network != here.network, networks),
    ];
    let differing = all.into_iter().filter(|(differs, _)| *differs);
    let what: Vec<String> = differing.map(|(_, (then, now))| format!("{then}, not {now}")).collect();
    Err(DiskError::Changed { path: path.to_owned(), what: what.join("; ") })
}

/// A new file of an owner, with these records, in the place of the present one.
fn replaced(path: &Path, owner: &Owner, records: &[u8]) -> io::Result<File> {
    let next = path.with_extension("next");
    match std::fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).read(true).write(true).open(&next)?;
    file.write_all(&beginning(owner))?;
    file.write_all(records)?;
    file.sync_all()?;
    std::fs::rename(&next, path)?;
    sync_folder(path)?;
    Ok(file)
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
