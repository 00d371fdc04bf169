//! The recording of a node in files: its segments, in a folder that the nodes of a cluster can share.
//!
//! The bytes of an event are written before any of its effects leaves the node. They are not forced to the disk: a kill of the process
//! loses nothing that others have seen of it, a power failure may.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use host_live::disk::Owner;
use host_live::recording::{Head, SEGMENT_LONGEST, Segment};

use crate::make_folder;

/// The extension of a segment.
const EXTENSION: &str = "rec";
/// The share of a recording that one segment takes, and so the share that goes at once.
const SEGMENTS: u64 = 8;
/// The most segments of a recording: a node that starts again and again begins a new one each time.
const SEGMENTS_MAX: usize = 1_000;

/// The place of a recording, and its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The folder.
    pub folder: PathBuf,
    /// The most bytes that the segments of the node take together, about: the oldest ones go.
    pub bytes_max: u64,
    /// Name and digest of the component that runs.
    pub component: (String, String),
    /// The limits of the plugin that were given, by name, for a replay with the same ones.
    pub limits: BTreeMap<String, u64>,
}

/// The reason why a node cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The folder has the recording of another node, cluster or component.
    #[error("`{}` is a recording of {} ({}) with other nodes or parameters, and this is {} ({}): give each cluster and each build a folder of its own", path.display(), other.plugin, other.digest, here.plugin, here.digest)]
    Other {
        /// The latest segment.
        path: PathBuf,
        /// The owner in it.
        other: Box<Owner>,
        /// The node that would be recorded.
        here: Box<Owner>,
    },
    /// The latest segment is no segment, or damaged in its head.
    #[error("`{}` is no segment of a recording, or damaged: record into another folder", .0.display())]
    Damaged(PathBuf),
}

/// The segments in a folder: per node, by their numbers.
///
/// # Errors
///
/// The folder cannot be read.
pub fn segments(folder: &Path) -> io::Result<BTreeMap<u32, BTreeMap<u64, PathBuf>>> {
    let mut found: BTreeMap<u32, BTreeMap<u64, PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some((node, number)) = numbers(&path) {
            found.entry(node).or_default().insert(number, path);
        }
    }
    Ok(found)
}

/// The node and the number in the name of a segment.
pub fn numbers(path: &Path) -> Option<(u32, u64)> {
    let is_segment = path.extension().is_some_and(|extension| extension == EXTENSION);
    let name = path.file_stem().filter(|_| is_segment)?.to_str()?;
    let (node, number) = name.strip_prefix("node-")?.split_once('.')?;
    Some((node.parse().ok()?, number.parse().ok()?))
}

/// The content of a segment.
///
/// # Errors
///
/// It cannot be read, is no regular file, or is longer than any segment.
pub(crate) fn read_segment(path: &Path) -> io::Result<Vec<u8>> {
    // A named pipe would be waited for.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SEGMENT_LONGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > SEGMENT_LONGEST {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than any segment of a recording")),
        false => Ok(bytes),
    }
}

/// The files of a node that is recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    place: Recording,
    node: u32,
    number: u64,
    path: PathBuf,
    file: File,
    written: u64,
}

impl Recorder {
    /// Begins a segment for a start of a node.
    pub(crate) fn open(place: &Recording, owner: Owner) -> Result<(Self, Head), RecordError> {
        let at = |error| RecordError::File { path: place.folder.clone(), error };
        make_folder(&place.folder).map_err(at)?;
        let known = segments(&place.folder).map_err(at)?.remove(&owner.node).unwrap_or_default();
        let last = known.last_key_value();
        if let Some((_, path)) = last {
            let bytes = read_segment(path).map_err(|error| RecordError::File { path: path.clone(), error })?;
            let head = Segment::open(&bytes).map_err(|_| RecordError::Damaged(path.clone()))?;
            if let Some(other) = head.map(|(_, head)| head.owner).filter(|other| *other != owner) {
                return Err(RecordError::Other { path: path.clone(), other: Box::new(other), here: Box::new(owner) });
            }
        }
        let number = last.map_or(1, |(number, _)| number + 1);
        let path = place.folder.join(format!("node-{}.{number:06}.{EXTENSION}", owner.node));
        let file = create(&path).map_err(|error| RecordError::File { path: path.clone(), error })?;
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let head = Head::of_start(owner, place.limits.clone(), u64::try_from(begun).unwrap_or(u64::MAX));
        let recorder = Self { place: place.clone(), node: head.owner.node, number, path, file, written: 0 };
        recorder.make_room().map_err(at)?;
        Ok((recorder, head))
    }

    /// The present segment.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes to the present segment.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Whether the present segment is long enough for a next one.
    pub(crate) fn is_long(&self) -> bool {
        self.written >= (self.place.bytes_max / SEGMENTS).min(SEGMENT_LONGEST / 2)
    }

    /// Begins the next segment.
    pub(crate) fn turn(&mut self) -> io::Result<()> {
        let next = self.place.folder.join(format!("node-{}.{:06}.{EXTENSION}", self.node, self.number + 1));
        (self.file, self.number, self.written, self.path) = (create(&next)?, self.number + 1, 0, next);
        self.make_room()
    }

    /// Removes the oldest segments that are too much, and never the present one.
    fn make_room(&self) -> io::Result<()> {
        let known = segments(&self.place.folder)?.remove(&self.node).unwrap_or_default();
        let (mut bytes, mut count) = (0_u64, 0);
        for (_, path) in known.iter().rev() {
            (bytes, count) = (bytes + path.metadata()?.len(), count + 1);
            if *path != self.path && (bytes > self.place.bytes_max || count > SEGMENTS_MAX) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
