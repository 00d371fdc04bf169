//! Files that belong to this user alone: no other user can have written their content.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Maximum bytes of a file: far more than the code of a component within the largest limit of its size.
const FILE_BYTES_MAX: u64 = 16 << 30;

/// The extension of a file that is being written.
pub(super) const TEMPORARY: &str = "tmp";

/// Makes the folder if it is not there. Returns its owner: this user, found by making a file; none if others can write to it.
pub(super) fn folder(dir: &Path) -> io::Result<Option<u32>> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    own::only_folder(&mut builder);
    builder.create(dir)?;
    let probe = temporary(&dir.join("owner"));
    let made = new_file(&probe).and_then(|file| file.metadata());
    let removed = fs::remove_file(&probe);
    let user = own::user(&made?);
    removed?;
    Ok(own::is_private(&fs::metadata(dir)?, user).then_some(user))
}

/// Opens a file, if it is a regular one of this user alone and no larger than compiled code can be. Never waits.
pub(super) fn open(path: &Path, user: u32) -> Option<(File, u64)> {
    // Checked before the opening, which has effects on some devices; and after it, in case the path was replaced.
    let is_fine = |metadata: &fs::Metadata| {
        metadata.is_file() && own::is_private(metadata, user) && metadata.len() <= FILE_BYTES_MAX
    };
    if !is_fine(&fs::symlink_metadata(path).ok()?) {
        return None;
    }
    let mut options = fs::OpenOptions::new();
    options.read(true);
    own::do_not_wait(&mut options);
    let file = options.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    is_fine(&metadata).then_some((file, metadata.len()))
}

/// Reads a file that [`open`] opens, and notes that it was used.
pub(super) fn read(path: &Path, user: u32) -> Option<Vec<u8>> {
    let (file, length) = open(path, user)?;
    let mut content = Vec::new();
    content.try_reserve_exact(length as usize).ok()?;
    (&file).take(length).read_to_end(&mut content).ok()?;
    touch(&file);
    Some(content)
}

/// Notes that a file was used: the least recently used file is removed first.
pub(super) fn touch(file: &File) {
    // Without the note it is removed earlier.
    let _ = file.set_modified(SystemTime::now());
}

/// Writes to a temporary file and renames it, so that no reader ever sees a partial file.
pub(super) fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let temporary = temporary(path);
    let mut file = new_file(&temporary)?;
    let mut fill = || {
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    let written = fill();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes a content after the magic bytes of its kind and its hash.
pub(super) fn write_sealed(path: &Path, magic: &[u8; 8], content: &[u8]) -> io::Result<()> {
    write(path, &[magic, blake3::hash(content).as_bytes(), content])
}

/// The content of a file that [`write_sealed`] has written; none if it is of another kind, or damaged.
pub(super) fn unsealed<'f>(file: &'f [u8], magic: &[u8; 8]) -> Option<&'f [u8]> {
    let (hash, content) = file.strip_prefix(magic)?.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    (blake3::hash(content) == *hash).then_some(content)
}

/// A name in the same folder that no other writer has.
fn temporary(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{nth}.{TEMPORARY}", std::process::id()))
}

/// A file that was not there before, for this user alone.
fn new_file(path: &Path) -> io::Result<File> {
    for_this_user(path, fs::OpenOptions::new().create_new(true))
}

/// A file that may have been there before.
pub(super) fn file(path: &Path) -> io::Result<File> {
    for_this_user(path, fs::OpenOptions::new().create(true))
}

fn for_this_user(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    options.write(true);
    own::only_file(options);
    options.open(path)
}

/// Facts that only some systems know: owners, modes, and files that make their reader wait.
#[cfg(unix)]
mod own {
    use std::fs::{DirBuilder, Metadata, OpenOptions};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    use rustix::fs::OFlags;

    /// Whether a file or folder belongs to a user, and only that user can write to it.
    pub(super) fn is_private(metadata: &Metadata, user: u32) -> bool {
        metadata.uid() == user && metadata.mode() & 0o022 == 0
    }

    pub(super) fn user(metadata: &Metadata) -> u32 {
        metadata.uid()
    }

    pub(super) fn only_folder(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    pub(super) fn only_file(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn do_not_wait(options: &mut OpenOptions) {
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    }
}

#[cfg(not(unix))]
mod own {
    use std::fs::{DirBuilder, Metadata, OpenOptions};

    pub(super) fn is_private(_: &Metadata, _: u32) -> bool {
        true
    }

    pub(super) fn user(_: &Metadata) -> u32 {
        0
    }

    pub(super) fn only_folder(_: &mut DirBuilder) {}

    pub(super) fn only_file(_: &mut OpenOptions) {}

    pub(super) fn do_not_wait(_: &mut OpenOptions) {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The test cannot make files of other users, but can check in the name of another user.
    #[test]
    fn files_of_other_users_are_not_opened() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let dir = place.path().join("cache");
        let user = folder(&dir).expect("writable").expect("this user's alone");
        let path = dir.join("entry");
        write(&path, &[b"code"]).expect("writable");
        assert!(open(&path, user).is_some_and(|(_, length)| length == 4) && read(&path, user).is_some());
        assert!(own::is_private(&fs::metadata(&dir).expect("it is there"), user));
        for other in [user.wrapping_add(1), user.wrapping_sub(1)] {
            assert!(open(&path, other).is_none() && read(&path, other).is_none(), "user {other}");
            assert!(!own::is_private(&fs::metadata(&dir).expect("it is there"), other), "user {other}");
        }
        for mode in [0o620, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is this user's");
            assert!(open(&path, user).is_none(), "{mode:o}");
        }
    }
}
