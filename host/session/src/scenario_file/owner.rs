//! The plugin that a file belongs to because of its folder.

use std::path::{Path, PathBuf};

/// The folder of the plugin that a file in its `scenarios` belongs to.
pub fn owner(path: &Path, directory: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let absolute = directory.join(folder).canonicalize().ok()?;
    if absolute.file_name()? != "scenarios" || !host_build::recognises(absolute.parent()?) {
        return None;
    }
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => Some(parent.to_owned()),
        _ if folder.as_os_str().is_empty() => Some(PathBuf::from("..")),
        _ => Some(PathBuf::from(".")),
    }
}
