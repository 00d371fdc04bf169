//! Checkpoints: a long search as a file that another process can go on from.
//!
//! A checkpoint is one file: a line that names the format, the length of a JSON header and the header, the state of the
//! search, and a hash over all of that. It is written beside the old one and takes its place in one step, so there is a
//! whole one at any moment; and nothing of one is used before its hash was found to be right.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_search::codec::{Reader, Writer};
use host_search::kernel::Keeper;
use serde::{Deserialize, Serialize};

use crate::args::RunArguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::files;
use crate::plugin_source::Loaded;

/// The first bytes of every checkpoint.
const MAGIC: &[u8] = b"host checkpoint 4\n";

/// Bytes of a header at most.
const HEADER_MAX: u64 = 1 << 20;

/// Bytes of the hash at the end.
const HASH_BYTES: u64 = 32;

/// The checkpoint in its folder.
const FILE: &str = "checkpoint";

/// Options that belong to a process and not to the search; those after `--resume` count.
const OF_THE_PROCESS: [(&str, bool); 10] = [
    ("--checkpoint", true),
    ("--every", true),
    ("--time", true),
    ("--memory", true),
    ("--workers", true),
    ("--out", true),
    ("--json", false),
    ("--progress", false),
    ("--quiet", false),
    ("-q", false),
];

/// What the state of the search belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The words of the command line after `run`, without those of the process.
    words: Vec<String>,
    /// Where relative paths begin.
    directory: String,
    /// The digest of the plugin, and those of the components that other nodes run.
    plugin: String,
    /// The digest of the prefix, if there is one.
    prefix: Option<String>,
}

impl Header {
    /// The header of a run; the words are those of its command line after `run`.
    pub fn new(arguments: &RunArguments, loaded: &Loaded, environment: &Environment<'_>) -> Self {
        let prefix = arguments.prefix.as_deref().and_then(|path| fs::read(environment.path(path)).ok());
        Self {
            words: of_the_search(&arguments.words),
            directory: absolute(environment).display().to_string(),
            plugin: digests(loaded),
            prefix: prefix.map(|content| blake3::hash(&content).to_hex().to_string()),
        }
    }
}

/// The digests of all components.
fn digests(loaded: &Loaded) -> String {
    let all = std::iter::once(loaded).chain(loaded.others.loaded());
    all.map(|loaded| loaded.reference.digest.clone().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

/// Where relative paths begin, as an absolute path.
fn absolute(environment: &Environment<'_>) -> PathBuf {
    std::path::absolute(&environment.directory).or_else(|_| std::env::current_dir()).unwrap_or_default()
}

/// The words that say what is searched.
fn of_the_search(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let option = OF_THE_PROCESS.iter().find(|(name, _)| word == name || word.starts_with(&format!("{name}=")));
        match option {
            None => kept.push(word.clone()),
            Some((name, true)) if word == name => {
                words.next();
            }
            Some(_) => {}
        }
    }
    kept
}

/// The command line that goes on from a checkpoint: the words of the run that it was made by, and those that follow
/// `--resume`.
///
/// # Errors
///
/// There is no checkpoint, it is damaged, or it was made in another folder.
pub fn command_line(
    folder: &Path,
    program: &OsString,
    words: &[String],
    environment: &Environment<'_>,
) -> Result<Vec<OsString>, Failure> {
    let header = open(folder, environment)?.header;
    if Path::new(&header.directory) != absolute(environment) {
        let failure = refused(folder, &format!("was made in {}, where its relative paths begin", header.directory));
        return Err(failure.help("resume it there"));
    }
    let mut resumed = vec![program.clone(), "run".into()];
    resumed.extend(header.words.iter().map(Into::into));
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--resume" {
            words.next();
        } else if !word.starts_with("--resume=") {
            resumed.push(word.into());
        }
    }
    Ok(resumed)
}

/// Says that the words of a checkpoint are no command line, or none together with those that follow `--resume`.
pub fn misfit(folder: &Path, message: &clap::Error) -> Failure {
    let message = message.to_string();
    let why = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let failure = refused(folder, &format!("cannot be gone on from in this way: {why}"));
    failure.help("give fewer options after `--resume`, or begin the search anew")
}

/// A checkpoint whose hash is right, read up to the state of the search.
struct Opened {
    header: Header,
    body: BufReader<File>,
    /// Bytes of the state of the search.
    left: u64,
}

fn refused(folder: &Path, why: &str) -> Failure {
    Failure::configuration(format_args!("the checkpoint in {} {why}", folder.display()))
}

/// Opens the checkpoint in a folder.
fn open(folder: &Path, environment: &Environment<'_>) -> Result<Opened, Failure> {
    let path = environment.path(folder).join(FILE);
    let missing = |error: std::io::Error| {
        let failure = Failure::configuration(format_args!("there is no checkpoint in {}: {error}", folder.display()));
        failure.help("name a folder that was given to `--checkpoint`")
    };
    let damaged =
        || refused(folder, "is damaged, or was not made by this version of the program").help("begin the search anew");
    let (file, len) = files::open(&path).map_err(missing)?;
    let mut body = BufReader::new(file);
    let hashed = len.checked_sub(HASH_BYTES).ok_or_else(damaged)?;
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut (&mut body).take(hashed), &mut hasher).map_err(missing)?;
    let mut hash = [0; HASH_BYTES as usize];
    body.read_exact(&mut hash).map_err(|_| damaged())?;
    if *hasher.finalize().as_bytes() != hash {
        return Err(damaged());
    }
    let mut body = BufReader::with_capacity(1 << 20, files::open(&path).map_err(missing)?.0);
    let mut magic = vec![0; MAGIC.len()];
    body.read_exact(&mut magic).map_err(|_| damaged())?;
    let mut header_len = [0; 8];
    body.read_exact(&mut header_len).map_err(|_| damaged())?;
    let header_len = u64::from_le_bytes(header_len);
    if magic != MAGIC || header_len > HEADER_MAX {
        return Err(damaged());
    }
    let mut header = vec![0; header_len as usize];
    body.read_exact(&mut header).map_err(|_| damaged())?;
    let header = serde_json::from_slice(&header).map_err(|_| damaged())?;
    let left = hashed.checked_sub(MAGIC.len() as u64 + 8 + header_len).ok_or_else(damaged)?;
    Ok(Opened { header, body, left })
}

/// Keeps the checkpoints of one run in a folder.
pub struct Folder {
    folder: PathBuf,
    header: Vec<u8>,
    every: Duration,
    state: Mutex<State>,
}

struct State {
    saved: Instant,
    resumed: Option<Opened>,
    /// Why the last checkpoint could not be written.
    failed: Option<String>,
}

impl Folder {
    /// The checkpoints that the arguments ask for, if they do. With `--resume` the search goes on from the one that is
    /// there.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or what is in it belongs to another plugin or prefix.
    pub fn new(
        arguments: &RunArguments,
        loaded: &Loaded,
        environment: &Environment<'_>,
    ) -> Result<Option<Self>, Failure> {
        let Some(folder) = arguments.resume.as_ref().or(arguments.checkpoint.as_ref()) else { return Ok(None) };
        let header = Header::new(arguments, loaded, environment);
        let resumed = arguments.resume.as_deref().map(|folder| open(folder, environment)).transpose()?;
        if let Some(resumed) = &resumed
            && resumed.header != header
        {
            let changed = if resumed.header.plugin == header.plugin { "prefix" } else { "plugin" };
            let failure = refused(folder, &format!("does not fit: the {changed} has changed since it was made"));
            return Err(failure.help("begin the search anew"));
        }
        let path = environment.path(folder);
        fs::create_dir_all(&path).map_err(|error| {
            Failure::configuration(format_args!("cannot make the folder {}: {error}", folder.display()))
        })?;
        Ok(Some(Self {
            folder: path,
            header: serde_json::to_vec(&header).expect("a header is plain data"),
            every: arguments.every,
            state: Mutex::new(State { saved: Instant::now(), resumed, failed: None }),
        }))
    }

    /// Why the last checkpoint could not be written, if it could not.
    pub fn failed(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("a worker panicked while it kept a checkpoint")
    }

    fn write(&self, write: &dyn Fn(&mut Writer<'_>)) -> std::io::Result<()> {
        let unfinished = self.folder.join(format!("{FILE}.tmp"));
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
        let mut hasher = blake3::Hasher::new();
        let mut result = Ok(());
        let mut put = |bytes: &[u8]| {
            if result.is_ok() {
                hasher.update(bytes);
                result = file.write_all(bytes);
            }
        };
        put(MAGIC);
        put(&(self.header.len() as u64).to_le_bytes());
        put(&self.header);
        write(&mut Writer(&mut put));
        result?;
        file.write_all(hasher.finalize().as_bytes())?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&unfinished, self.folder.join(FILE))?;
        // The new name is on disk once the folder is.
        File::open(&self.folder)?.sync_all()
    }
}

impl Keeper for Folder {
    fn is_due(&self) -> bool {
        self.lock().saved.elapsed() >= self.every
    }

    fn save(&self, write: &dyn Fn(&mut Writer<'_>)) {
        let failed = self.write(write).err().map(|error| error.to_string());
        let mut state = self.lock();
        // Measured from the end, so that a slow disk does not leave the search without time.
        state.saved = Instant::now();
        state.failed = failed;
    }

    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let Some(Opened { mut body, mut left, .. }) = self.lock().resumed.take() else { return };
        let mut take = |buffer: &mut [u8]| {
            let Some(rest) = left.checked_sub(buffer.len() as u64) else { return false };
            left = rest;
            body.read_exact(buffer).is_ok()
        };
        read(&mut Reader(&mut take));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_process_are_left_out() {
        let words = "plugins/paxos --algo bdfs --time 5s --set a=b --json --checkpoint=c --every 3s -q --workers 2";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(of_the_search(&words), ["plugins/paxos", "--algo", "bdfs", "--set", "a=b"]);
    }
}
