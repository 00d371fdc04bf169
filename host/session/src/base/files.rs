//! Files from anywhere: read within bounds, and written as a whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Result, Write};
use std::path::Path;

use host_build::files::check_kind;
pub use host_build::files::{open, read_bounded, read_text_bounded};
use tempfile::NamedTempFile;

use crate::base::failure::Failure;

/// Writes a text atomically: it is never seen in part. Makes the folder if it is not there.
///
/// # Errors
///
/// The folder or the file cannot be written, or something stands there that is no regular file; nothing is left behind then.
pub fn write(given: &Path, text: &str, directory: &Path) -> std::result::Result<(), Failure> {
    let path = directory.join(given);
    let folder = path.parent().expect("the path ends in a file name");
    let new = missing(folder);
    let written = write_whole(&path, folder, text.as_bytes());
    if written.is_err() {
        remove_empty(&new);
    }
    written.map_err(|error| cannot_write(given, &error))
}

/// The end of a write.
type Written = std::result::Result<(), Failure>;

/// Writes the next bytes of a file.
type WriteNext<'w> = dyn FnMut(&[u8]) -> Written + 'w;

/// Writes a file piece by piece, atomically: it is never seen in part. Makes the folder if it is not there.
///
/// # Errors
///
/// As for [`write`], and those of `fill`; nothing is left behind then.
pub fn write_with(given: &Path, directory: &Path, fill: &mut dyn FnMut(&mut WriteNext<'_>) -> Written) -> Written {
    let path = directory.join(given);
    let folder = path.parent().unwrap_or(directory);
    let new = missing(folder);
    let cannot = |error| cannot_write(given, &error);
    let written = begin(&path, folder).map_err(cannot).and_then(|file| {
        let mut file = BufWriter::new(file);
        fill(&mut |bytes| file.write_all(bytes).map_err(cannot))?;
        let file = file.into_inner().map_err(|error| cannot(error.into_error()))?;
        end(file, &path).map_err(cannot)
    });
    if written.is_err() {
        remove_empty(&new);
    }
    written
}

/// The failure to write a file, with the remedy of a full disk.
fn cannot_write(given: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::system(format_args!("cannot write {}: {error}", given.display()));
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.help(
            "free some space on the disk and try again, or choose another folder; existing files are as they were",
        ),
        ErrorKind::FileTooLarge => failure.help(
            "raise the limit on the size of files, such as with `ulimit -f unlimited`; existing files are as they were",
        ),
        _ => failure,
    }
}

/// Finds out whether files can be written into a folder, which need not be there; nothing is left behind.
///
/// # Errors
///
/// They cannot.
pub fn check_folder(given: &Path, directory: &Path) -> std::result::Result<(), Failure> {
    let folder = directory.join(given);
    let new = missing(&folder);
    let tried = fs::create_dir_all(&folder).and_then(|()| NamedTempFile::new_in(&folder)).map(drop);
    remove_empty(&new);
    tried.map_err(|error| Failure::system(format_args!("cannot write into {}: {error}", given.display())))
}

/// The folders on the way to a folder that are not there, and the folder itself; the deepest first.
fn missing(folder: &Path) -> Vec<&Path> {
    folder.ancestors().take_while(|folder| !folder.exists()).collect()
}

/// Removes folders that turned out to be of no use.
fn remove_empty(folders: &[&Path]) {
    for folder in folders {
        // One that is not empty belongs to another process by now.
        let _ = fs::remove_dir(folder);
    }
}

fn write_whole(path: &Path, folder: &Path, content: &[u8]) -> Result<()> {
    let mut file = begin(path, folder)?;
    file.write_all(content)?;
    end(file, path)
}

/// A file in the folder of another one that it will replace.
fn begin(path: &Path, folder: &Path) -> Result<NamedTempFile> {
    // A device or a pipe would be replaced by a file.
    if let Ok(metadata) = fs::metadata(path) {
        check_kind(&metadata)?;
    }
    fs::create_dir_all(folder)?;
    NamedTempFile::new_in(folder)
}

/// Replaces another file.
fn end(file: NamedTempFile, path: &Path) -> Result<()> {
    let_others_read(file.as_file())?;
    file.persist(path)?;
    Ok(())
}

/// Temporary files are private; a command's output is a file like any other.
#[cfg(unix)]
fn let_others_read(file: &File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn let_others_read(_: &File) -> Result<()> {
    Ok(())
}
