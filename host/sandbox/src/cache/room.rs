//! The room that compiled code takes on disk, and the files to remove when it is too much.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::modules::MODULE;
use super::{CODE, private};

/// The extension of a collection of functions.
pub(super) const FUNCTIONS: &str = "functions";

/// Maximum bytes of compiled code and facts about modules: some fifteen versions of a plugin in Python with their interpreter.
pub const CACHE_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of collections of functions: each is a file that every compilation opens.
pub(crate) const COLLECTIONS_MAX: usize = 128;

/// The age of an unfinished file that its writer will never finish.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// The content of a folder of compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Components and libraries.
    pub entries: u64,
    /// Collections of single functions.
    pub collections: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl CacheUse {
    /// Counts the files of a folder; nothing if it does not exist. Files of other kinds do not count.
    pub fn of(dir: &Path) -> Self {
        let mut found = Self::default();
        for file in files(dir) {
            found.entries += u64::from(file.has_extension(CODE));
            found.collections += u64::from(file.has_extension(FUNCTIONS));
            found.bytes += file.bytes;
        }
        found
    }

    /// Removes all compiled code of a folder, and nothing else; returns the files removed. A process that uses it compiles again.
    ///
    /// # Errors
    ///
    /// A file cannot be removed; others are gone by then.
    pub fn clear(dir: &Path) -> std::io::Result<Self> {
        let found = Self::of(dir);
        for file in files(dir) {
            match fs::remove_file(&file.path) {
                // Another process was faster.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(found)
    }
}

/// A file of compiled code.
#[derive(Clone, Debug)]
pub(crate) struct CodeFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// The time of its last use.
    pub used: SystemTime,
}

impl CodeFile {
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }
}

/// The files of compiled code in a folder, in no order; none if there is no such folder. Other files are left alone.
pub(crate) fn files(dir: &Path) -> impl Iterator<Item = CodeFile> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let files = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(CodeFile { path: entry.path(), bytes: metadata.len(), used: metadata.modified().ok()? })
    });
    files.filter(|file| [CODE, FUNCTIONS, MODULE, private::TEMPORARY].iter().any(|known| file.has_extension(known)))
}

/// Makes room: removes the least recently used files.
pub(super) fn make(dir: &Path) {
    let now = SystemTime::now();
    for path in too_many(files(dir).collect(), now, CACHE_BYTES_MAX, COLLECTIONS_MAX) {
        // Another process may have been faster.
        let _ = fs::remove_file(path);
    }
}

/// The files to remove, so that the rest is within the bounds.
fn too_many(mut files: Vec<CodeFile>, now: SystemTime, bytes_max: u64, collections_max: usize) -> Vec<PathBuf> {
    files.sort_by(|a, b| (b.used, &b.path).cmp(&(a.used, &a.path)));
    let (mut bytes, mut collections) = (0_u64, 0);
    let mut removed = Vec::new();
    for file in files {
        let is_gone = if file.has_extension(private::TEMPORARY) {
            now.duration_since(file.used).is_ok_and(|age| age > ABANDONED)
        } else {
            collections += usize::from(file.has_extension(FUNCTIONS));
            bytes = bytes.saturating_add(file.bytes);
            bytes > bytes_max || file.has_extension(FUNCTIONS) && collections > collections_max
        };
        if is_gone {
            removed.push(file.path);
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let now = SystemTime::now();
        let file = |name: &str, bytes, seconds| CodeFile {
            path: name.into(),
            bytes,
            used: now - Duration::from_secs(seconds),
        };
        let names = |files: Vec<CodeFile>, bytes_max, collections_max| -> Vec<String> {
            let removed = too_many(files, now, bytes_max, collections_max);
            removed.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let files = || {
            vec![file("a.cwasm", 40, 3), file("b.functions", 30, 1), file("c.cwasm", 30, 2), file("d.functions", 5, 9)]
        };
        assert!(names(files(), 105, 2).is_empty());
        // By last use: 30, 60, 100, 105.
        assert_eq!(names(files(), 104, 2), ["d.functions"]);
        assert_eq!(names(files(), 99, 2), ["a.cwasm", "d.functions"]);
        assert_eq!(names(files(), 105, 1), ["d.functions"]);
        // A writer may take long, but not for ever.
        let day = 24 * 3600;
        assert_eq!(names(vec![file("e.tmp", 500, day - 1), file("f.tmp", 1, day + 1)], 105, 1), ["f.tmp"]);
    }
}
