//! The folder of a swarm.
//!
//! `swarm.json` is the plan, `components` has the components of its targets, and `jobs/000017` is the result of job 17: what `host run
//! --out` writes, and `done.json` once it is whole. A lock is held by this process and its jobs, so no second process works in the folder,
//! not even while the jobs of a killed one end.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::SwarmError;
use crate::plan::{FORMAT, Plan};

/// Maximum bytes of a file that is read; a plan or a result is far smaller.
const BYTES_MAX: u64 = 256 << 20;

/// The folder of a swarm.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// The end of a job: written last, so a job without one runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The exit code of `host run`.
    pub exit: i32,
    /// The machine that executed it.
    pub place: String,
    /// The hash of its result and its sketches.
    pub hash: String,
}

impl Folder {
    /// The folder of a swarm with this plan, and the lock on it. The plan is written if there is none.
    ///
    /// # Errors
    ///
    /// It holds another plan, another process works in it, or it cannot be written.
    pub fn open(path: &Path, plan: &Plan) -> Result<(Self, File), SwarmError> {
        let folder = Self { path: path.to_owned() };
        let cannot_write = |error: std::io::Error| cannot("write into", path, &error);
        fs::create_dir_all(path.join("jobs")).map_err(cannot_write)?;
        let lock = File::create(path.join("lock")).map_err(cannot_write)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(SwarmError::system(
                    format_args!("another swarm works in {}, or jobs that it left", path.display()),
                    "wait until they end, or end them; or name another folder",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(cannot("lock", path, &error)),
        }
        match folder.plan() {
            Ok(None) => write(&path.join("swarm.json"), plan).map_err(cannot_write)?,
            Ok(Some(there)) if there == *plan => {}
            Ok(Some(_)) => {
                return Err(SwarmError::configuration(
                    format_args!("{} holds the jobs of another swarm", path.display()),
                    "repeat the command that began it, or name another folder",
                ));
            }
            Err(error) => return Err(error),
        }
        Ok((folder, lock))
    }

    /// The folder of a swarm that has begun, and its plan.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn existing(path: &Path) -> Result<(Self, Plan), SwarmError> {
        let folder = Self { path: path.to_owned() };
        let plan = folder.plan()?.ok_or_else(|| {
            SwarmError::configuration(
                format_args!("{} is not the folder of a swarm: it has no swarm.json", path.display()),
                "name the folder that was given to `host swarm --out`",
            )
        })?;
        Ok((folder, plan))
    }

    fn plan(&self) -> Result<Option<Plan>, SwarmError> {
        let path = self.path.join("swarm.json");
        let wrong = |what: String| {
            SwarmError::configuration(
                format_args!("{} is no plan of a swarm: {what}", path.display()),
                "name another folder, or remove this one",
            )
        };
        let plan: Plan = match read(&path) {
            Ok(plan) => plan,
            Err(Unread::Missing) => return Ok(None),
            Err(Unread::Wrong(what)) => return Err(wrong(what)),
        };
        if plan.format != FORMAT {
            return Err(wrong(format!("it has format {}, and this program reads format {FORMAT}", plan.format)));
        }
        if plan.is_empty() {
            return Err(wrong("it has no jobs".to_owned()));
        }
        Ok(Some(plan))
    }

    /// The path, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a job.
    pub fn job(&self, number: usize) -> PathBuf {
        self.path.join("jobs").join(format!("{number:06}"))
    }

    /// The end of a job; none if it has not ended here, or its files were changed since.
    pub fn record(&self, number: usize) -> Option<Record> {
        let folder = self.job(number);
        let record: Record = read(&folder.join("done.json")).ok()?;
        (hash(&folder).ok()? == record.hash).then_some(record)
    }

    /// Writes the end of a job, after its result.
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written.
    pub fn end(&self, number: usize, exit: i32, place: &str) -> std::io::Result<Record> {
        let folder = self.job(number);
        let record = Record { exit, place: place.to_owned(), hash: hash(&folder)? };
        write(&folder.join("done.json"), &record)?;
        Ok(record)
    }
}

/// A file that was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is not there.
    Missing,
    /// It cannot be read, or is not what it should be.
    Wrong(String),
}

/// A JSON file of bounded size.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Unread> {
    let bytes = match bytes(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Unread::Missing),
        Err(error) => return Err(Unread::Wrong(error.to_string())),
    };
    serde_json::from_slice(&bytes).map_err(|error| Unread::Wrong(error.to_string()))
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    // A pipe or a device would never end.
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    let size = File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match size as u64 > BYTES_MAX {
        true => Err(std::io::Error::other(format!("it has more than {} MiB", BYTES_MAX >> 20))),
        false => Ok(bytes),
    }
}

/// Writes a JSON file as a whole or not at all.
fn write(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The hash of the files of a job on which a report depends.
fn hash(folder: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for name in ["stats.json", "sketch.json"] {
        let bytes = bytes(&folder.join(name))?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// A file or folder that is in the way.
pub(crate) fn cannot(does: &str, path: &Path, error: &std::io::Error) -> SwarmError {
    let help = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space and repeat the command; it continues",
        _ => "name a folder that can be written",
    };
    SwarmError::system(format_args!("cannot {does} {}: {error}", path.display()), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Target;

    fn plan(seeds: u64) -> Plan {
        let target = Target {
            name: "a".to_owned(),
            path: "components/a.wasm".to_owned(),
            is_component: true,
            digest: "0".to_owned(),
            scenario: serde_json::Value::Null,
            options: Vec::new(),
        };
        Plan { format: FORMAT, host: "host 0.1.0".to_owned(), targets: vec![target], first_seed: 0, seeds }
    }

    #[test]
    fn a_folder_belongs_to_one_plan_and_one_process() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let path = place.path().join("swarm");
        let (_, lock) = Folder::open(&path, &plan(3)).expect("a new folder");
        let refused = Folder::open(&path, &plan(3)).expect_err("it is in use").to_string();
        assert!(refused.starts_with("another swarm works in "), "{refused}");
        drop(lock);
        drop(Folder::open(&path, &plan(3)).expect("the same plan"));
        let refused = Folder::open(&path, &plan(4)).expect_err("another plan").to_string();
        assert!(refused.ends_with("holds the jobs of another swarm"), "{refused}");
        assert_eq!(Folder::existing(&path).expect("a swarm").1, plan(3));
        assert!(Folder::existing(place.path()).is_err());
        for wrong in ["{", "{\"format\": 2}", &serde_json::to_string(&plan(0)).expect("plain data")] {
            fs::write(path.join("swarm.json"), wrong).expect("writable");
            let refused = Folder::open(&path, &plan(3)).expect_err("no plan").to_string();
            assert!(refused.contains("is no plan of a swarm: "), "{refused}");
        }
    }

    /// A changed byte of what a report depends on makes the job one that has not ended.
    #[test]
    fn a_changed_result_is_none() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (folder, _lock) = Folder::open(place.path(), &plan(1)).expect("a new folder");
        assert_eq!(folder.record(0), None);
        fs::create_dir(folder.job(0)).expect("writable");
        assert!(folder.end(0, 12, "here").is_err(), "there is no result");
        for (name, content) in [("stats.json", "{\"a\": 1}"), ("sketch.json", "{}"), ("trace.json", "{}")] {
            fs::write(folder.job(0).join(name), content).expect("writable");
        }
        let record = folder.end(0, 12, "here").expect("a result");
        assert_eq!((record.exit, folder.record(0)), (12, Some(record.clone())));
        for (name, changed) in [("stats.json", "{\"a\": 2}"), ("sketch.json", "{ }"), ("done.json", "{")] {
            let before = fs::read(folder.job(0).join(name)).expect("a file");
            fs::write(folder.job(0).join(name), changed).expect("writable");
            assert_eq!(folder.record(0), None, "{name}");
            fs::write(folder.job(0).join(name), before).expect("writable");
            assert_eq!(folder.record(0), Some(record.clone()));
        }
    }
}
