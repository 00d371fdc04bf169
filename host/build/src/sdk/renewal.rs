//! Replacing a copy of an SDK.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Age, RECORD, RECORD_BYTES_MAX, Record, VERSION, age, digest, files, parse, record};
use crate::files::write;
use crate::files::{read_bounded, read_text_bounded};

/// The maximum size in bytes of a file of an SDK; a larger one was edited.
const FILE_BYTES_MAX: u64 = 1 << 24;

/// The result of [`renew`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The copy is that of this host already.
    Current,
    /// The copy was replaced.
    Renewed {
        /// Its previous version.
        from: String,
        /// The number of files written or removed.
        files: usize,
    },
}

/// The reason why a copy stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RenewalError {
    /// Nothing was copied into this folder, or its record is gone.
    #[error("there is no {RECORD}, so no SDK was copied into this folder by `host new`")]
    NoRecord,
    /// The record is malformed.
    #[error("{RECORD}: {0}")]
    BadRecord(String),
    /// The copy is that of a later host.
    #[error("the SDK is that of host {0}, which is later than this one, {VERSION}")]
    Later(String),
    /// Files of the copy were changed, or other files have the paths of its new files.
    #[error("these files were edited, or are not of the SDK, and are not overwritten: {}", .0.join(", "))]
    Edited(Vec<String>),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Replaces the copy in a folder by the SDK of this host. If any file was edited, nothing is replaced.
///
/// # Errors
///
/// See [`RenewalError`]. After [`RenewalError::Io`], some files may be replaced; the next attempt continues.
pub fn renew(folder: &Path) -> Result<Renewal, RenewalError> {
    let path = folder.join(RECORD);
    let text = read_text_bounded(&path, RECORD_BYTES_MAX).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RenewalError::NoRecord,
        _ => RenewalError::Io { path, source },
    })?;
    let old = parse(&text).map_err(RenewalError::BadRecord)?;
    match age(&old) {
        Age::Newer => return Err(RenewalError::Later(old.version)),
        Age::Same => return Ok(Renewal::Current),
        Age::Older | Age::Other => {}
    }
    let new = record(&old.language)
        .ok_or_else(|| RenewalError::BadRecord(format!("there is no SDK for {:?}", old.language)))?;
    let files = files(&old.language);
    let written: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let gone: Vec<&String> = old.files.keys().filter(|path| !written.contains(path.as_str())).collect();
    if let Some(path) = gone.iter().find(|path| !is_below(Path::new(path))) {
        return Err(RenewalError::BadRecord(format!("{path:?} is no file of this folder")));
    }
    let replaced = files.iter().map(|(path, content)| (path, Some(content)));
    let edited: Vec<String> = replaced
        .chain(gone.iter().map(|path| (*path, None)))
        .filter(|(path, content)| !is_as_copied(folder, path, content.map(String::as_str), &old))
        .map(|(path, _)| path.clone())
        .collect();
    if !edited.is_empty() {
        return Err(RenewalError::Edited(edited));
    }
    for (path, content) in &files {
        write_file(&folder.join(path), content)?;
    }
    for path in &gone {
        let path = folder.join(path);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(RenewalError::Io { path, source }),
            _ => {}
        }
    }
    // Written last: until then, the old record lists the remaining work.
    write_file(&folder.join(RECORD), &new)?;
    Ok(Renewal::Renewed { from: old.version, files: files.len() + gone.len() })
}

/// Whether a file is missing, or has the content that was copied, or the new content.
fn is_as_copied(folder: &Path, path: &str, content: Option<&str>, old: &Record) -> bool {
    match read_bounded(&folder.join(path), FILE_BYTES_MAX) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(found) => {
            content.is_some_and(|content| content.as_bytes() == found) || old.files.get(path) == Some(&digest(&found))
        }
    }
}

/// Whether a path stays below its folder.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn write_file(path: &Path, content: &str) -> Result<(), RenewalError> {
    write(path, content.as_bytes())
        .map_err(|error| RenewalError::Io { path: path.to_owned(), source: io::Error::other(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with an old copy: an unchanged file, a file with other content, and a file that no longer exists.
    fn old_copy() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |path: &str, content: &str| write_file(&folder.path().join(path), content).expect("a new file");
        let all = files("python");
        all.iter().for_each(|(path, content)| put(path, content));
        put("host/clock.py", "old");
        put("host/gone.py", "old");
        let now = digest(all.iter().find(|(path, _)| path == "host/clock.py").expect("it is there").1.as_bytes());
        let version = |version: &str| format!("version = \"{version}\"");
        let text = record("python").expect("there is an SDK").replace(&version(VERSION), &version("0.0.9"));
        let text = text.replace(&now, &digest(b"old"));
        put(RECORD, &format!("{text}\"host/gone.py\" = \"{}\"\n", digest(b"old")));
        folder
    }

    fn text(folder: &tempfile::TempDir, path: &str) -> Option<String> {
        fs::read_to_string(folder.path().join(path)).ok()
    }

    #[test]
    fn an_old_copy_is_replaced() {
        let folder = old_copy();
        let count = files("python").len() + 1;
        assert_eq!(renew(folder.path()).ok(), Some(Renewal::Renewed { from: "0.0.9".to_owned(), files: count }));
        for (path, content) in files("python") {
            assert_eq!(text(&folder, &path), Some(content), "{path}");
        }
        assert_eq!((text(&folder, "host/gone.py"), text(&folder, RECORD)), (None, record("python")));
        assert_eq!(renew(folder.path()).ok(), Some(Renewal::Current));
    }

    #[test]
    fn what_was_edited_stays() {
        for edited in ["host/clock.py", "host/gone.py", "host/timers.py"] {
            let folder = old_copy();
            let path = folder.path().join(edited);
            fs::write(&path, "mine").expect("a file that is there");
            let before: Vec<_> = files("python").iter().map(|(path, _)| text(&folder, path)).collect();
            let Err(RenewalError::Edited(found)) = renew(folder.path()) else { panic!("{edited} is overwritten") };
            assert_eq!(found, [edited]);
            let after: Vec<_> = files("python").iter().map(|(path, _)| text(&folder, path)).collect();
            assert_eq!(before, after, "nothing is replaced");
            // A missing file was not edited.
            fs::remove_file(&path).expect("a file that is there");
            assert!(matches!(renew(folder.path()), Ok(Renewal::Renewed { .. })), "{edited}");
        }
    }

    #[test]
    fn what_is_no_old_copy_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(matches!(renew(folder.path()), Err(RenewalError::NoRecord)));
        for (record, words) in [
            ("x", "host-sdk.toml: "),
            ("language = \"cobol\"\nversion = \"0.0.1\"\n[files]\n", "no SDK for \"cobol\""),
            ("language = \"c\"\nversion = \"999.0.0\"\n[files]\n", "later than this one"),
            ("language = \"c\"\nversion = \"0.0.1\"\n[files]\n\"../a\" = \"0\"\n", "is no file of this folder"),
        ] {
            fs::write(folder.path().join(RECORD), record).expect("a new file");
            let message = renew(folder.path()).expect_err("refused").to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
