//! Checkpoints: a long search as a file that another process can continue from.
//!
//! A checkpoint is one file: a line that names the format, the length of a JSON header, the header and its hash, the state
//! of the search, and a hash over all of that. It is written to a new file and replaces the old one in one step, so there is
//! a whole one at any moment; and no part of it is used before its hash was verified. It can have gigabytes: writing,
//! hashing and reading it poll every few megabytes whether to continue. A checkpoint during the search is then given up; the
//! one at its end is given up on an interrupt that comes while it is written.
//!
//! The header has the request, from which the same search can be set up again, and its [identity](crate::search::identity), which
//! is compared with that of the new search.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host_model::contract::{MachineError, Stop, Stopped};
use host_search::kernel::Keeper;
use host_search::kernel::checkpoint_codec::{Reader, Writer};
use serde::{Deserialize, Serialize};

use crate::base::text::on_one_line;
use crate::base::{Context, Failure, files};
use crate::search::identity::Identity;
use crate::spec::{Keep, RunSpec};

/// The first bytes of every checkpoint, whatever its format.
const NAME: &[u8] = b"host checkpoint ";

/// The format of this version, after these bytes.
const FORMAT: &[u8] = b"7\n";

/// The maximum size of a header in bytes.
const HEADER_MAX: u64 = 1 << 20;

/// Bytes of a hash.
const HASH_BYTES: u64 = 32;

/// Bytes between two polls whether to continue. A slow disk writes them in a fraction of a second.
const PIECE: u64 = 8 << 20;

/// The checkpoint in its folder.
const FILE: &str = "checkpoint";

/// The search that the state belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    /// The request, with the scenario in place of the plugin where there was one.
    spec: RunSpec,
    /// The folder in which relative paths begin.
    directory: String,
    /// The identity of the resulting search.
    identity: Identity,
}

/// The folder in which relative paths begin, as an absolute path.
fn absolute(context: &Context<'_>) -> PathBuf {
    std::path::absolute(context.directory).or_else(|_| std::env::current_dir()).unwrap_or_default()
}

/// The request of the run that made a checkpoint, with the request given for its continuation, `upper`, laid over it.
///
/// # Errors
///
/// There is no checkpoint, it is damaged, it was made in another folder, or the two requests contradict each other.
pub fn resumed(folder: &Path, upper: RunSpec, context: &Context<'_>) -> Result<RunSpec, Failure> {
    let header = open(folder, context)?.header;
    if Path::new(&header.directory) != absolute(context) {
        let failure = refused(folder, &format!("was made in {}, where its relative paths begin", header.directory));
        return Err(failure.help("resume it there"));
    }
    let spec = upper.over(header.spec);
    match spec.check() {
        Ok(()) => Ok(spec),
        Err((_, why)) => Err(misfit(folder, &why)),
    }
}

/// Says that the request of a checkpoint cannot be run, or not together with the options given with `--resume`.
fn misfit(folder: &Path, why: &str) -> Failure {
    let failure = refused(folder, &format!("cannot be gone on from in this way: {why}"));
    failure.help("give fewer options with `--resume`, or start a new search")
}

/// A checkpoint whose header is whole, read up to the state of the search.
struct Opened {
    header: Header,
    body: BufReader<File>,
    /// Bytes of the state of the search.
    left: u64,
}

fn refused(folder: &Path, why: &str) -> Failure {
    Failure::configuration(format_args!("the checkpoint in {} {why}", folder.display()))
}

fn damaged(folder: &Path) -> Failure {
    refused(folder, "is damaged").help("start a new search")
}

fn missing(folder: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::configuration(format_args!("there is no checkpoint in {}: {error}", folder.display()));
    failure.help("name a folder that was given to `--checkpoint`")
}

/// Opens the checkpoint in a folder and reads its header, not the state of the search: a file that only begins like a
/// checkpoint is not read to its end.
fn open(folder: &Path, context: &Context<'_>) -> Result<Opened, Failure> {
    let damaged = || damaged(folder);
    let path = context.path(folder).join(FILE);
    let (file, len) = files::open(&path).map_err(|error| missing(folder, &error))?;
    let mut body = BufReader::with_capacity(1 << 20, file);
    let mut name = vec![0; NAME.len() + FORMAT.len()];
    body.read_exact(&mut name).map_err(|_| damaged())?;
    match name.strip_prefix(NAME) {
        Some(FORMAT) => {}
        Some(_) => {
            let failure =
                refused(folder, "was made by another version of the program, in a format that this one does not read");
            return Err(failure.help("continue with that version, or start a new search"));
        }
        None => return Err(damaged()),
    }
    let mut header_len = [0; 8];
    body.read_exact(&mut header_len).map_err(|_| damaged())?;
    let bytes = u64::from_le_bytes(header_len);
    if bytes > HEADER_MAX {
        return Err(damaged());
    }
    let mut header = vec![0; bytes as usize];
    let mut hash = [0; HASH_BYTES as usize];
    body.read_exact(&mut header).and_then(|()| body.read_exact(&mut hash)).map_err(|_| damaged())?;
    let before = name.len() as u64 + 8 + bytes + HASH_BYTES;
    let left = len.checked_sub(before + HASH_BYTES).ok_or_else(damaged)?;
    if blake3::hash(&header) != hash {
        return Err(damaged());
    }
    let header = serde_json::from_slice(&header).map_err(|error| misfit(folder, &on_one_line(&error.to_string())))?;
    Ok(Opened { header, body, left })
}

/// Compares the hash at the end of a checkpoint with its content.
fn check_hash(folder: &Path, path: &Path, stop: &dyn Stop) -> Result<(), Failure> {
    let (file, len) = files::open(path).map_err(|error| missing(folder, &error))?;
    let hashed = len.checked_sub(HASH_BYTES).ok_or_else(|| damaged(folder))?;
    let mut content = BufReader::with_capacity(1 << 20, file);
    let mut hasher = blake3::Hasher::new();
    let mut left = hashed;
    while left > 0 {
        if let Some(why) = stop.reason() {
            return Err(MachineError::Stopped(why).into());
        }
        let piece = (&mut content).take(left.min(PIECE));
        hasher.update_reader(piece).map_err(|error| missing(folder, &error))?;
        left = left.saturating_sub(PIECE);
    }
    let mut hash = [0; HASH_BYTES as usize];
    content.read_exact(&mut hash).map_err(|_| damaged(folder))?;
    match *hasher.finalize().as_bytes() == hash {
        true => Ok(()),
        false => Err(damaged(folder)),
    }
}

/// Keeps the checkpoints of one run in a folder.
pub struct Folder {
    folder: PathBuf,
    header: Vec<u8>,
    every: Duration,
    stop: Arc<dyn Stop>,
    state: Mutex<State>,
}

struct State {
    saved: Instant,
    resumed: Option<Opened>,
    /// The reason why the last checkpoint could not be written.
    failed: Option<String>,
    /// The reason why the reading of the checkpoint was stopped, if it was.
    stopped: Option<Stopped>,
}

impl Folder {
    /// The folder of a search's checkpoints, if the request has one. A resumed search continues from the checkpoint in it.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, its content belongs to another search, or
    /// the check of its content was stopped.
    pub fn new(
        keep: Option<&Keep>,
        identity: Identity,
        stop: Arc<dyn Stop>,
        context: &Context<'_>,
    ) -> Result<Option<Self>, Failure> {
        let Some(Keep { folder, every, resumes, asked }) = keep else { return Ok(None) };
        let resumed = resumes.then(|| open(folder, context)).transpose()?;
        if let Some(resumed) = &resumed {
            if let Some(difference) = resumed.header.identity.difference(&identity) {
                let failure = refused(folder, &format!("was made with {difference}"));
                return Err(failure.help("set it as it was, or start a new search"));
            }
            check_hash(folder, &context.path(folder).join(FILE), &*stop)?;
        }
        let path = context.path(folder);
        fs::create_dir_all(&path).map_err(|error| {
            Failure::configuration(format_args!("cannot make the folder {}: {error}", folder.display()))
        })?;
        let header =
            Header { spec: asked.of_the_search(), directory: absolute(context).display().to_string(), identity };
        Ok(Some(Self {
            folder: path,
            header: serde_json::to_vec(&header).expect("a header is plain data"),
            every: *every,
            stop,
            state: Mutex::new(State { saved: Instant::now(), resumed, failed: None, stopped: None }),
        }))
    }

    /// The reason why the reading of the checkpoint was stopped, if it was.
    pub fn stopped(&self) -> Option<Stopped> {
        self.lock().stopped
    }

    /// The reason why the last checkpoint could not be written, if it could not.
    pub fn failed(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("a worker panicked while it kept a checkpoint")
    }

    fn write(&self, is_last: bool, write: &dyn Fn(&mut Writer<'_>)) -> std::io::Result<()> {
        let unfinished = self.folder.join(format!("{FILE}.tmp"));
        // The file of a process that was killed, or of another origin.
        let _ = fs::remove_file(&unfinished);
        let without_name = without_name(&self.folder);
        let file = match &without_name {
            Some(file) => file.try_clone()?,
            None => OpenOptions::new().write(true).create_new(true).open(&unfinished)?,
        };
        let written = self.fill(file, is_last, write);
        let named = written.and_then(|()| without_name.as_ref().map_or(Ok(()), |file| name(file, &unfinished)));
        let written = named.and_then(|()| fs::rename(&unfinished, self.folder.join(FILE)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        // The new name is on disk once the folder is.
        File::open(&self.folder)?.sync_all()
    }

    fn fill(&self, file: File, is_last: bool, write: &dyn Fn(&mut Writer<'_>)) -> std::io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let mut hasher = blake3::Hasher::new();
        let (before, mut left) = (self.stop.reason(), PIECE);
        let mut put_or_stop = |bytes: &[u8]| {
            hasher.update(bytes);
            file.write_all(bytes)?;
            left = left.saturating_sub(bytes.len() as u64);
            if left > 0 {
                return Ok(());
            }
            left = PIECE;
            // Piece by piece, so that no wait is long.
            file.get_ref().sync_data()?;
            match self.stop.reason().filter(|why| !is_last || (before != Some(*why) && *why == Stopped::Interrupted)) {
                Some(why) => Err(std::io::Error::other(why)),
                None => Ok(()),
            }
        };
        let mut result = Ok(());
        let mut put = |bytes: &[u8]| {
            if result.is_ok() {
                result = put_or_stop(bytes);
            }
        };
        put(NAME);
        put(FORMAT);
        put(&(self.header.len() as u64).to_le_bytes());
        put(&self.header);
        put(blake3::hash(&self.header).as_bytes());
        write(&mut Writer(&mut put));
        if let Err(error) = result {
            // Flushing the buffer would write, and fail, again.
            drop(file.into_parts());
            return Err(error);
        }
        file.write_all(hasher.finalize().as_bytes())?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    }
}

/// A file without a name in a folder: it disappears when the process ends. None where that is not possible.
#[cfg(target_os = "linux")]
fn without_name(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(flags).open(folder).ok()
}

#[cfg(not(target_os = "linux"))]
fn without_name(_: &Path) -> Option<File> {
    None
}

/// Gives such a file a name.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Keeper for Folder {
    fn is_due(&self) -> bool {
        self.lock().saved.elapsed() >= self.every
    }

    fn save(&self, is_last: bool, write: &dyn Fn(&mut Writer<'_>)) {
        let failed = self.write(is_last, write).err().map(|error| error.to_string());
        let mut state = self.lock();
        // Measured from the end, so that a slow disk does not leave the search without time.
        state.saved = Instant::now();
        state.failed = failed;
    }

    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let Some(Opened { mut body, mut left, .. }) = self.lock().resumed.take() else { return };
        let (mut stopped, mut asked) = (None, left);
        let mut take = |buffer: &mut [u8]| {
            let Some(rest) = left.checked_sub(buffer.len() as u64).filter(|_| stopped.is_none()) else { return false };
            left = rest;
            if asked - left >= PIECE {
                (asked, stopped) = (left, self.stop.reason());
            }
            body.read_exact(buffer).is_ok()
        };
        read(&mut Reader(&mut take));
        self.lock().stopped = stopped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stops once a test sets it.
    #[derive(Default)]
    struct Told(Mutex<Option<Stopped>>);

    impl Stop for Told {
        fn reason(&self) -> Option<Stopped> {
            *self.0.lock().expect("one thread")
        }
    }

    fn folder(path: &Path, stop: &Arc<Told>) -> Folder {
        let state = State { saved: Instant::now(), resumed: None, failed: None, stopped: None };
        let stop = Arc::clone(stop) as _;
        Folder { folder: path.to_owned(), header: Vec::new(), every: Duration::ZERO, stop, state: Mutex::new(state) }
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).expect("it is there");
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
    }

    /// Ten pieces, with a stop in the third: a checkpoint during the search is given up, the last one only on a new
    /// interrupt. Giving one up leaves the one before, and nothing else.
    #[test]
    fn a_checkpoint_is_given_up_piece_by_piece() {
        let cases = [
            (false, None, Stopped::Time, false),
            (false, None, Stopped::Interrupted, false),
            (false, None, Stopped::Memory, false),
            (true, None, Stopped::Interrupted, false),
            (true, Some(Stopped::Time), Stopped::Interrupted, false),
            (true, None, Stopped::Time, true),
            (true, Some(Stopped::Interrupted), Stopped::Interrupted, true),
            (true, Some(Stopped::Memory), Stopped::Time, true),
        ];
        for (is_last, before, then, is_whole) in cases {
            let (place, stop) = (tempfile::tempdir().expect("a temporary folder"), Arc::new(Told::default()));
            let kept = folder(place.path(), &stop);
            kept.save(false, &|out| out.number(7));
            let old = fs::read(place.path().join(FILE)).expect("it was written");
            *stop.0.lock().expect("one thread") = before;
            kept.save(is_last, &|out| {
                for piece in 0..10 {
                    if piece == 2 {
                        *stop.0.lock().expect("one thread") = Some(then);
                    }
                    (out.0)(&vec![piece; PIECE as usize]);
                    // The unfinished file has no name where that is possible.
                    let is_alone = without_name(place.path()).is_none() || names(place.path()) == [FILE];
                    assert!(is_alone, "{:?}", names(place.path()));
                }
            });
            assert_eq!(names(place.path()), [FILE]);
            let new = fs::read(place.path().join(FILE)).expect("it was written");
            assert_eq!((new != old, kept.failed().is_none()), (is_whole, is_whole), "{is_last} {before:?} {then}");
            assert!(!is_whole || new.len() as u64 > 10 * PIECE);
        }
    }

    /// Hashing and reading are given up as well.
    #[test]
    fn a_checkpoint_is_read_piece_by_piece() {
        let (place, stop) = (tempfile::tempdir().expect("a temporary folder"), Arc::new(Told::default()));
        let kept = folder(place.path(), &stop);
        kept.save(true, &|out| (0..4).for_each(|piece| (out.0)(&vec![piece; PIECE as usize])));
        let path = place.path().join(FILE);
        assert_eq!(check_hash(place.path(), &path, &*stop), Ok(()));
        *stop.0.lock().expect("one thread") = Some(Stopped::Time);
        let stopped = check_hash(place.path(), &path, &*stop).expect_err("a stop is requested").stopped;
        assert_eq!(stopped, Some(Stopped::Time));
        let (body, left) = files::open(&path).expect("it was written");
        let header = Header { spec: RunSpec::default(), directory: String::new(), identity: Identity::default() };
        kept.lock().resumed = Some(Opened { header, body: BufReader::new(body), left });
        let mut bytes = 0_u64;
        kept.resume(&mut |saved| {
            while (saved.0)(&mut [0; 1024]) {
                bytes += 1024;
            }
        });
        assert_eq!((kept.stopped(), bytes <= PIECE), (Some(Stopped::Time), true), "{bytes}");
    }
}
