//! Checkpoints: a long search as a file that another process can go on from.
//!
//! A checkpoint is one file: a line that names the format, the length of a JSON header, the header and its hash, the state
//! of the search, and a hash over all of that. It is written beside the old one and takes its place in one step, so there is
//! a whole one at any moment; and nothing of one is used before its hash was found to be right.
//!
//! The header has the options of the run, which say how to set the same search up again, and its [identity](crate::searching::identity),
//! which is compared with what they lead to now.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use host_search::kernel::Keeper;
use host_search::kernel::checkpoint_codec::{Reader, Writer};
use serde::{Deserialize, Serialize};

use crate::base::environment::Environment;
use crate::base::failure::Failure;
use crate::base::files;
use crate::options::Arguments;
use crate::options::run::RunArguments;
use crate::searching::identity::Identity;

/// The first bytes of every checkpoint, of whatever format.
const NAME: &[u8] = b"host checkpoint ";

/// The format of this version, behind them.
const FORMAT: &[u8] = b"5\n";

/// Bytes of a header at most.
const HEADER_MAX: u64 = 1 << 20;

/// Bytes of a hash.
const HASH_BYTES: u64 = 32;

/// The checkpoint in its folder.
const FILE: &str = "checkpoint";

/// Options of `host run` that belong to a process or to what is told at the end, and not to the search. A checkpoint leaves
/// them out; those after `--resume` count.
pub const OF_THE_PROCESS: [&str; 14] = [
    "resume",
    "checkpoint",
    "every",
    "time",
    "memory",
    "workers",
    "out",
    "json",
    "progress",
    "quiet",
    "no_install",
    "no_minimize",
    "require_complete",
    "audit",
];

/// What the state of the search belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    /// The plugin, as the user named it.
    plugin: String,
    /// The options of the search, a word each.
    options: Vec<String>,
    /// Where relative paths begin.
    directory: String,
    /// The search that they led to.
    identity: Identity,
}

/// Where relative paths begin, as an absolute path.
fn absolute(environment: &Environment<'_>) -> PathBuf {
    std::path::absolute(&environment.directory).or_else(|_| std::env::current_dir()).unwrap_or_default()
}

/// The options that were given on a command line for `host run`, a word each, without those of the process.
pub fn options(matches: &ArgMatches) -> Vec<OsString> {
    given(matches).into_iter().filter(|(id, _)| !OF_THE_PROCESS.contains(&id.as_str())).map(|(_, word)| word).collect()
}

/// The options that were given on a command line: the id of each, and a word that says the same.
fn given(matches: &ArgMatches) -> Vec<(String, OsString)> {
    let command = Arguments::command();
    let run = command.find_subcommand("run").expect("the command is there");
    let mut words = Vec::new();
    for argument in run.get_arguments() {
        let id = argument.get_id().as_str();
        // What has no long name is the plugin.
        let Some(name) = argument.get_long() else { continue };
        if !matches!(matches.try_contains_id(id), Ok(true))
            || matches.value_source(id) != Some(ValueSource::CommandLine)
        {
            continue;
        }
        if !argument.get_action().takes_values() {
            words.push((id.to_owned(), format!("--{name}").into()));
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            words.push((id.to_owned(), word));
        }
    }
    words
}

/// The plugin, if it was given on the command line.
pub fn named_plugin(matches: &ArgMatches) -> Option<OsString> {
    let is_given = matches.value_source("plugin") == Some(ValueSource::CommandLine);
    is_given.then(|| matches.get_raw("plugin")?.next().map(OsString::from)).flatten()
}

/// The command line that goes on from a checkpoint: the options of the run that it was made by, and those that stand beside
/// `--resume`, which count more.
///
/// # Errors
///
/// There is no checkpoint, it is damaged, or it was made in another folder.
pub fn command_line(
    folder: &Path,
    program: &OsString,
    matches: &ArgMatches,
    environment: &Environment<'_>,
) -> Result<Vec<OsString>, Failure> {
    let header = open(folder, environment)?.header;
    if Path::new(&header.directory) != absolute(environment) {
        let failure = refused(folder, &format!("was made in {}, where its relative paths begin", header.directory));
        return Err(failure.help("resume it there"));
    }
    let plugin = named_plugin(matches).unwrap_or_else(|| header.plugin.into());
    let beside = given(matches).into_iter().filter(|(id, _)| id != "resume").map(|(_, word)| word);
    let options = header.options.into_iter().map(OsString::from).chain(beside);
    // What begins with a hyphen would be taken for an option.
    Ok([program.clone(), "run".into()].into_iter().chain(options).chain(["--".into(), plugin]).collect())
}

/// Says that the options of a checkpoint are no command line, or none together with those beside `--resume`.
pub fn misfit(folder: &Path, message: &clap::Error) -> Failure {
    let message = message.to_string();
    let why = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let failure = refused(folder, &format!("cannot be gone on from in this way: {why}"));
    failure.help("give fewer options beside `--resume`, or begin the search anew")
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
    refused(folder, "is damaged").help("begin the search anew")
}

fn missing(folder: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::configuration(format_args!("there is no checkpoint in {}: {error}", folder.display()));
    failure.help("name a folder that was given to `--checkpoint`")
}

/// Opens the checkpoint in a folder and reads its header. The state of the search is not looked at: a file that only begins
/// like a checkpoint is not read to its end.
fn open(folder: &Path, environment: &Environment<'_>) -> Result<Opened, Failure> {
    let damaged = || damaged(folder);
    let path = environment.path(folder).join(FILE);
    let (file, len) = files::open(&path).map_err(|error| missing(folder, &error))?;
    let mut body = BufReader::with_capacity(1 << 20, file);
    let mut name = vec![0; NAME.len() + FORMAT.len()];
    body.read_exact(&mut name).map_err(|_| damaged())?;
    match name.strip_prefix(NAME) {
        Some(FORMAT) => {}
        Some(_) => {
            let failure =
                refused(folder, "was made by another version of the program, in a format that this one does not read");
            return Err(failure.help("go on with that version, or begin the search anew"));
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
    let header = serde_json::from_slice(&header).map_err(|_| damaged())?;
    Ok(Opened { header, body, left })
}

/// Compares the hash at the end of a checkpoint with its content.
fn check_hash(folder: &Path, environment: &Environment<'_>) -> Result<(), Failure> {
    let path = environment.path(folder).join(FILE);
    let (file, len) = files::open(&path).map_err(|error| missing(folder, &error))?;
    let hashed = len.checked_sub(HASH_BYTES).ok_or_else(|| damaged(folder))?;
    let mut content = BufReader::with_capacity(1 << 20, file);
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut (&mut content).take(hashed), &mut hasher).map_err(|error| missing(folder, &error))?;
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
    /// The folder cannot be made, or what is in it belongs to another search.
    pub fn new(
        arguments: &RunArguments,
        identity: Identity,
        environment: &Environment<'_>,
    ) -> Result<Option<Self>, Failure> {
        let Some(folder) = arguments.resume.as_ref().or(arguments.checkpoint.as_ref()) else { return Ok(None) };
        let resumed = arguments.resume.as_deref().map(|folder| open(folder, environment)).transpose()?;
        if let Some(resumed) = &resumed {
            if let Some(difference) = resumed.header.identity.difference(&identity) {
                let failure = refused(folder, &format!("was made with {difference}"));
                return Err(failure.help("set it as it was, or begin the search anew"));
            }
            check_hash(folder, environment)?;
        }
        let path = environment.path(folder);
        fs::create_dir_all(&path).map_err(|error| {
            Failure::configuration(format_args!("cannot make the folder {}: {error}", folder.display()))
        })?;
        let header = Header {
            plugin: arguments.file.as_ref().unwrap_or(&arguments.plugin).display().to_string(),
            options: arguments.options.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            directory: absolute(environment).display().to_string(),
            identity,
        };
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
        // Whatever a process that was killed has left, or somebody else has put there.
        let _ = fs::remove_file(&unfinished);
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
        let written = self.fill(file, write).and_then(|()| fs::rename(&unfinished, self.folder.join(FILE)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        // The new name is on disk once the folder is.
        File::open(&self.folder)?.sync_all()
    }

    fn fill(&self, file: File, write: &dyn Fn(&mut Writer<'_>)) -> std::io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let mut hasher = blake3::Hasher::new();
        let mut result = Ok(());
        let mut put = |bytes: &[u8]| {
            if result.is_ok() {
                hasher.update(bytes);
                result = file.write_all(bytes);
            }
        };
        put(NAME);
        put(FORMAT);
        put(&(self.header.len() as u64).to_le_bytes());
        put(&self.header);
        put(blake3::hash(&self.header).as_bytes());
        write(&mut Writer(&mut put));
        if let Err(error) = result {
            // What is still buffered would be written, and fail, again.
            drop(file.into_parts());
            return Err(error);
        }
        file.write_all(hasher.finalize().as_bytes())?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
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

    fn matches(words: &str) -> ArgMatches {
        let words = ["host", "run"].into_iter().chain(words.split(' '));
        let matches = Arguments::command().get_matches_from(words);
        matches.subcommand_matches("run").expect("the command is `run`").clone()
    }

    #[test]
    fn options_of_the_process_are_left_out() {
        let matches = matches(
            "plugins/paxos --algo bdfs --time 5s --set a=b --set=c=d --json --checkpoint=c --every 3s -q --workers 2 --deadlock",
        );
        let mut options = options(&matches);
        options.sort();
        assert_eq!(options, ["--algo=bdfs", "--deadlock", "--set=a=b", "--set=c=d"]);
        assert_eq!(named_plugin(&matches), Some("plugins/paxos".into()));
        assert_eq!(named_plugin(&self::matches("--resume kept")), None);
    }

    #[test]
    fn the_options_of_the_process_are_options() {
        let command = Arguments::command();
        let run = command.find_subcommand("run").expect("the command is there");
        for id in OF_THE_PROCESS {
            assert!(run.get_arguments().any(|argument| argument.get_id() == id), "{id}");
        }
    }
}
