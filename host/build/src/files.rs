//! Files from anywhere, read within bounds.
//!
//! A path can lead to a device without end, to a named pipe without a writer, or to a sparse file of terabytes. All files
//! of others are opened here: everything but a regular file is refused before it is opened, and reads are bounded. Sources
//! are such files, and so are all files that a session reads.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use crate::BuildError;

/// Opens a regular file for reading, and returns its size in bytes. Never waits for a writer.
///
/// # Errors
///
/// There is no such file, or it is a folder, a device, a pipe or a socket. The error says so in a lower-case phrase.
pub fn open(path: &Path) -> Result<(File, u64)> {
    // Checked before the opening, which has effects on some devices; and after it, in case the path was exchanged.
    check_kind(&fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let metadata = file.metadata()?;
    check_kind(&metadata)?;
    Ok((file, metadata.len()))
}

/// The same for a file that will be read as a whole.
///
/// # Errors
///
/// As for [`open`]; and [`ErrorKind::FileTooLarge`] if its size exceeds `bytes_max`.
pub fn open_bounded(path: &Path, bytes_max: u64) -> Result<(File, u64)> {
    let (file, bytes) = open(path)?;
    if bytes > bytes_max {
        return Err(too_large(format_args!("{bytes} bytes"), bytes_max));
    }
    Ok((file, bytes))
}

/// The content of a regular file.
///
/// # Errors
///
/// As for [`open`]; and [`ErrorKind::FileTooLarge`] if the content exceeds `bytes_max`.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let (file, bytes) = open_bounded(path, bytes_max)?;
    let mut content = Vec::with_capacity(bytes as usize);
    // A file can grow meanwhile, and some of the kernel's files report no size.
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

/// Writes a file atomically: readers never see a part of it.
pub(crate) fn write(path: &Path, content: &[u8]) -> std::result::Result<(), BuildError> {
    let folder = path.parent().expect("an output file lies in a folder");
    fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
    // A temporary file is private by default; a component is not.
    let file = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder);
    let mut file = file.map_err(BuildError::io("write into", folder))?;
    file.write_all(content).map_err(BuildError::io("write", path))?;
    file.persist(path).map_err(|error| BuildError::io("write", path)(error.error))?;
    Ok(())
}

/// Refuses everything but a regular file.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`], which names the kind of the file.
pub fn check_kind(metadata: &Metadata) -> Result<()> {
    match kind(metadata) {
        None => Ok(()),
        Some(kind) => Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a regular file"))),
    }
}

/// The kind of a file that is not regular.
fn kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else {
        Some("something else")
    }
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

    /// The kernel reports a size of 0.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_hides_its_size_is_bounded() {
        let path = Path::new("/proc/self/status");
        assert_eq!(read_bounded(path, 10).map_err(|error| error.kind()), Err(ErrorKind::FileTooLarge));
    }
}
