//! The files that a run has written into the folder that the user named, so that the next run there removes them: a folder holds the
//! files of one run.
//!
//! The list is a hidden file of that folder, with a hash for each name. A file that was changed since belongs to the user, and stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::files;

/// The list.
const LIST: &str = ".written";

/// Maximum bytes of the list.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// Maximum bytes of a file that is read; traces and drawings are smaller.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The files of a run, by name, with the hashes of their contents.
#[derive(Debug, Default)]
pub struct Written(BTreeMap<String, String>);

impl Written {
    /// Notes a file, and writes the list of all. Without the list the files stay when the folder is used again.
    pub fn add(&mut self, folder: &Path, name: &str, content: &str, directory: &Path) {
        self.0.insert(name.to_owned(), hash(content.as_bytes()));
        let list: String = self.0.iter().map(|(name, hash)| format!("{hash} {name}\n")).collect();
        let _ = files::write(&folder.join(LIST), &list, directory);
    }
}

/// Removes the files of an earlier run from a folder, except those that were changed since and this one, which is still needed.
pub fn remove(folder: &Path, needed: Option<&Path>) {
    let list = files::read_text_bounded(&folder.join(LIST), LIST_BYTES_MAX).unwrap_or_default();
    let needed: Option<PathBuf> = needed.and_then(|path| path.canonicalize().ok());
    for (expected, name) in list.lines().filter_map(|line| line.split_once(' ')) {
        // Others may write into the folder of the list.
        let is_name = Path::new(name).file_name().is_some_and(|last| last == name);
        let path = folder.join(name);
        if !is_name || needed.is_some() && path.canonicalize().ok() == needed {
            continue;
        }
        if files::read_bounded(&path, FILE_BYTES_MAX).is_ok_and(|content| hash(&content) == expected) {
            // If a file cannot be removed, it is overwritten, or was there before.
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_file(folder.join(LIST));
}

fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
