//! Files from anywhere: read within bounds, and written as a whole or not at all.
//!
//! A path can lead to a device without end, to a named pipe without a writer, or to a sparse file of terabytes. All
//! files of others are opened here: what is no regular file is refused before it is opened, and no more is read than asked
//! for.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;

use crate::base::failure::Failure;

/// Opens a regular file for reading. Never waits for a writer.
///
/// # Errors
///
/// There is no such file, or it is a folder, a device, a pipe or a socket. The error says so in a lower-case phrase.
pub fn open(path: &Path) -> Result<(File, u64)> {
    // A look before the opening, which has effects on some devices; and one after it, for a path that was exchanged.
    check_kind(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    do_not_wait(&mut options);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    check_kind(&metadata)?;
    Ok((file, metadata.len()))
}

/// The content of a regular file.
///
/// # Errors
///
/// As for [`open`]; and [`ErrorKind::FileTooLarge`] if there are more bytes than `bytes_max`.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let (file, bytes) = open(path)?;
    if bytes > bytes_max {
        return Err(too_large(format_args!("{bytes} bytes"), bytes_max));
    }
    let mut content = Vec::with_capacity(bytes as usize);
    // A file can grow meanwhile, and some of the kernel's files do not tell their size.
    file.take(bytes_max + 1).read_to_end(&mut content)?;
    match content.len() as u64 <= bytes_max {
        true => Ok(content),
        false => Err(too_large(format_args!("more bytes than it said"), bytes_max)),
    }
}

/// The same as text.
///
/// # Errors
///
/// As for [`read_bounded`]; and [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_text_bounded(path: &Path, bytes_max: u64) -> Result<String> {
    let content = read_bounded(path, bytes_max)?;
    String::from_utf8(content).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

fn too_large(what: std::fmt::Arguments<'_>, bytes_max: u64) -> Error {
    Error::new(ErrorKind::FileTooLarge, format!("it has {what}, more than the limit of {bytes_max}"))
}

/// Refuses what is no regular file.
fn check_kind(metadata: &Metadata) -> Result<()> {
    match kind(metadata) {
        None => Ok(()),
        Some(kind) => Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a regular file"))),
    }
}

/// The kind of something that is no regular file.
fn kind(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_file() {
        return None;
    }
    if metadata.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some("something else")
}

#[cfg(unix)]
fn do_not_wait(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

#[cfg(not(unix))]
fn do_not_wait(_: &mut OpenOptions) {}

/// Writes a text atomically: it is never seen in part. Makes the folder if it is not there.
///
/// # Errors
///
/// The folder or the file cannot be written, or something stands there that is no regular file; nothing is left behind then.
pub fn write(given: &Path, text: &str, directory: &Path) -> std::result::Result<(), Failure> {
    let path = directory.join(given);
    let folder = path.parent().expect("the path ends in a file name");
    let is_new = !folder.exists();
    let written = write_whole(&path, folder, text.as_bytes());
    if written.is_err() && is_new {
        // Only an empty one goes.
        let _ = fs::remove_dir(folder);
    }
    written.map_err(|error| Failure::system(format_args!("cannot write {}: {error}", given.display())))
}

fn write_whole(path: &Path, folder: &Path, content: &[u8]) -> Result<()> {
    // A device or a pipe would be replaced by a file.
    if let Ok(metadata) = fs::metadata(path) {
        check_kind(&metadata)?;
    }
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    let_others_read(file.as_file())?;
    file.persist(path)?;
    Ok(())
}

/// Temporary files are private; what a command writes is a file like any other.
#[cfg(unix)]
fn let_others_read(file: &File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn let_others_read(_: &File) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_up_to_their_bound() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        fs::write(&path, "12345").expect("writable");
        assert_eq!(read_bounded(&path, 5).expect("five bytes"), b"12345");
        assert_eq!(read_bounded(&path, 4).map_err(|error| error.kind()), Err(ErrorKind::FileTooLarge));
        assert_eq!(read_bounded(folder.path(), 5).map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
        assert_eq!(
            read_bounded(&folder.path().join("none"), 5).map_err(|error| error.kind()),
            Err(ErrorKind::NotFound)
        );
        fs::write(&path, b"\xff").expect("writable");
        assert_eq!(read_text_bounded(&path, 5).map_err(|error| error.kind()), Err(ErrorKind::InvalidData));
    }

    /// The kernel says that it has no bytes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_hides_its_size_is_bounded() {
        let path = Path::new("/proc/self/status");
        assert_eq!(read_bounded(path, 10).map_err(|error| error.kind()), Err(ErrorKind::FileTooLarge));
    }
}
