//! The SDKs that `host new` copies into folders: their files, their version, and the age of a copy.
//!
//! A folder records its copy in [`RECORD`], a file that names the version of the host and the digest of each copied file. So a
//! copy of another version is noticed, and an edited one is not overwritten.
//!
//! | module | what it holds |
//! |---|---|
//! | `renewal` | a copy is replaced by the SDK of this host |
//! | `rust` | the Rust SDK, and manifests outside of this repository |
//! | `corrected` | a library that compiles for browsers alone |
//! | `go` | modules of Go in folders of their paths, such as those of Debian |

mod corrected;
pub mod go;
mod renewal;
mod rust;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::BuildError;
use crate::files::read_text_bounded;
use crate::tool::{finish, tool};

pub use renewal::{Renewal, RenewalError, renew};
pub use rust::{manifest as rust_manifest, wrapper_manifest};

/// The file that identifies the copied SDK in a folder.
pub const RECORD: &str = "host-sdk.toml";

/// The version of every SDK: that of this host.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The modification time of copied files: long before any build from them.
const COPIED_AT: Duration = Duration::from_secs(1_000_000_000);

/// The maximum size in bytes of a lock file.
const LOCK_BYTES_MAX: u64 = 16 << 20;

/// The maximum size in bytes of a record.
const RECORD_BYTES_MAX: u64 = 1 << 20;

const HEAD: &str = "# The copy of the SDK in this folder. `host new --update` replaces it by that of a later host.\n";

/// Files of an SDK, by their folder in `guest-sdk` and their destination in a new folder.
macro_rules! copied {
    ($from:literal => $to:literal: $($file:literal),+ $(,)?) => {
        &[$((concat!($to, $file), include_str!(concat!("../../../guest-sdk/", $from, "/", $file)))),+]
    };
}

/// Paths and contents of a copy.
type Files = &'static [(&'static str, &'static str)];

/// Language and copied files; Rust is handled separately, and the text format has none.
const COPIED: &[(&str, Files)] = &[
    ("c", copied!["c" => "": "json.h", "ready_made.h", "storage.h"]),
    ("cpp", copied!["cpp" => "": "host.hpp", "json.hpp"]),
    ("zig", copied!["zig" => "src/": "host.zig"]),
    (
        "go",
        copied![
            "go/host" => "host/": "abi.go", "clock.go", "export.go", "host.go", "linearizability.go", "objects.go",
            "parameters.go", "reachable.go", "ready_made.go", "running.go", "running_abi.go", "storage.go",
            "storage_abi.go", "timers.go"
        ],
    ),
    ("assemblyscript", copied!["assemblyscript" => "assembly/": "abi.ts", "json.ts"]),
    (
        "typescript",
        copied![
            "typescript/host" => "src/host/": "clock.ts", "json.ts", "linearizability.ts", "parameters.ts", "plugin.d.ts",
            "reachable.ts", "ready_made.ts", "running.ts", "storage.ts", "timers.ts"
        ],
    ),
    (
        "python",
        copied![
            "python/host" => "host/": "__init__.py", "clock.py", "encoding.py", "linearizability.py", "parameters.py",
            "reachable.py", "ready_made.py", "running.py", "storage.py", "timers.py"
        ],
    ),
];

/// The content of [`RECORD`].
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    language: String,
    version: String,
    /// The digest of each file when it was copied.
    files: BTreeMap<String, String>,
}

/// Paths and contents of the copied files of a language; empty without an SDK.
pub fn files(language: &str) -> Vec<(String, String)> {
    if language == "rust" {
        return rust::files();
    }
    let found = COPIED.iter().find(|(name, _)| *name == language).map_or(&[][..], |(_, files)| files);
    found.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

/// Makes cargo choose the versions for a new wrapper, and adds their sources of randomness. Returns the notable changes, a phrase each.
///
/// # Errors
///
/// Cargo does not find the library, or has no network.
pub fn resolve_wrapper(folder: &Path) -> Result<Vec<String>, BuildError> {
    let (manifest, lock) = (folder.join("Cargo.toml"), folder.join("Cargo.lock"));
    let resolve = || {
        let mut cargo = tool("cargo", folder);
        cargo.arg("generate-lockfile");
        match finish(cargo)? {
            output if output.success => Ok(()),
            output => Err(BuildError::Manifest { folder: folder.to_owned(), output: output.stderr }),
        }
    };
    resolve()?;
    let text = |path: &Path| read_text_bounded(path, LOCK_BYTES_MAX).map_err(BuildError::io("read", path));
    if let Some(changed) = rust::with_randomness(&text(&manifest)?, &text(&lock)?) {
        std::fs::write(&manifest, changed).map_err(BuildError::io("write", &manifest))?;
    }
    let mut notes = rust::without_randomness(&text(&lock)?);
    if corrected::add(folder, &text(&lock)?)? {
        resolve()?;
        notes.push("getrandom 0.4 with `wasm_js` compiles for browsers alone: a corrected copy is in `getrandom`, see [patch.crates-io]".into());
    }
    Ok(notes)
}

/// Dates a copied file back: cargo compiles files again that are newer than its results, and folders with the same copy share these.
///
/// # Errors
///
/// The file is missing, or belongs to another user.
pub fn date(path: &Path) -> std::io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + COPIED_AT;
    std::fs::File::options().write(true).open(path)?.set_modified(time)
}

/// The text of [`RECORD`] in a new folder; none for a language without an SDK.
pub fn record(language: &str) -> Option<String> {
    let files: BTreeMap<String, String> =
        files(language).into_iter().map(|(path, content)| (path, digest(content.as_bytes()))).collect();
    let record = Record { language: language.to_owned(), version: VERSION.to_owned(), files };
    let text = toml::to_string(&record).expect("a record is TOML");
    (!record.files.is_empty()).then(|| format!("{HEAD}{text}"))
}

/// A notice about the copy in a folder: one line, with a remedy; none if it is that of this host, or without a record.
pub fn notice(folder: &Path) -> Option<String> {
    let text = match read_text_bounded(&folder.join(RECORD), RECORD_BYTES_MAX) {
        Ok(text) => text,
        // A plugin in a single file has no folder.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        Err(_) => String::new(),
    };
    let Ok(record) = parse(&text) else {
        return Some(format!("{RECORD} cannot be read, so it is unknown whether the SDK next to it is old"));
    };
    let remedy = "`host new --update` in this folder replaces it";
    match age(&record) {
        Age::Same => None,
        Age::Older => {
            Some(format!("the SDK here is that of host {}, and this is host {VERSION}; {remedy}", record.version))
        }
        Age::Other => Some(format!("the SDK here is that of another build of host {VERSION}; {remedy}")),
        Age::Newer => {
            Some(format!("the SDK here is that of host {}, which is later than this one, {VERSION}", record.version))
        }
    }
}

/// A copy, compared with the SDK of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Same,
    Older,
    Newer,
    /// The same version with other files.
    Other,
}

fn age(record: &Record) -> Age {
    let (theirs, ours) = (numbers(&record.version), numbers(VERSION));
    match theirs.cmp(&ours) {
        std::cmp::Ordering::Less => return Age::Older,
        std::cmp::Ordering::Greater => return Age::Newer,
        std::cmp::Ordering::Equal => {}
    }
    let files = files(&record.language);
    let same = |(path, content): &(String, String)| record.files.get(path) == Some(&digest(content.as_bytes()));
    if files.len() == record.files.len() && files.iter().all(same) { Age::Same } else { Age::Other }
}

/// The numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

fn parse(text: &str) -> Result<Record, String> {
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

fn digest(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn noticed(record: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(RECORD), record).expect("a new file");
        notice(folder.path())
    }

    #[test]
    fn a_copy_of_another_version_is_noticed() {
        let python = record("python").expect("there is an SDK");
        assert_eq!(noticed(&python), None);
        let version = format!("version = \"{VERSION}\"");
        assert!(python.contains(&version), "{python}");
        for (other, words) in [
            ("0.0.9", "that of host 0.0.9, and this is host"),
            ("0.0.9-rc.1", "`host new --update` in this folder"),
            ("999.0.0", "which is later than this one"),
        ] {
            let said = noticed(&python.replace(&version, &format!("version = \"{other}\""))).expect("it is noticed");
            assert!(said.contains(words), "{said}");
        }
        let digest = digest(COPIED[0].1[0].1.as_bytes());
        let other = record("c").expect("there is an SDK").replace(&digest, &digest.replace('0', "1"));
        assert!(noticed(&other).is_some_and(|said| said.contains("another build of host")));
        assert!(noticed("version = 3").is_some_and(|said| said.contains("cannot be read")));
    }

    /// A register of this repository and a new folder have the same files of the SDK at the same paths.
    #[test]
    fn registers_have_what_new_folders_get() {
        for (language, files) in COPIED {
            let folder =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(format!("register-{language}"));
            let manifest = crate::manifest::Manifest::read(&folder).expect("it has one");
            let copies = crate::copies::all(&folder, &manifest.build.copies);
            // Tests in Go lie next to the tested files.
            let copies = copies.iter().filter(|copy| !copy.to.to_string_lossy().ends_with("_test.go"));
            let here: BTreeMap<_, _> = copies
                .map(|copy| (copy.to.display().to_string(), fs::read_to_string(&copy.from).expect("text")))
                .collect();
            let new = files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
            assert_eq!(here, new, "{language}");
        }
    }

    #[test]
    fn what_has_no_copy_has_no_record() {
        assert_eq!((record("text"), record("cobol")), (None, None));
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(notice(folder.path()), None);
    }
}
