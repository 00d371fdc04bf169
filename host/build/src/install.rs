//! Installers of toolchains: the system's package manager, and npm and PyPI into the host's own cache.
//!
//! | module | what it holds |
//! |---|---|
//! | `apt` | apt-get |
//! | `npm` | programs of npm packages |
//! | `pip` | programs of Python packages |

pub(crate) mod apt;
pub(crate) mod npm;
pub(crate) mod pip;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{BuildError, Options, tool};

/// The reason for not installing anything if the user forbids it.
pub(crate) const SWITCHED_OFF: &str = "installing is switched off";

/// A folder of the cache for one version of a tool; `fill` creates it if it is missing. `fill` writes to a temporary folder that
/// is then renamed; its inner error is a phrase.
pub(crate) fn cached(
    name: &str,
    options: &Options,
    fill: impl FnOnce(&Path) -> Result<Result<(), String>, BuildError>,
) -> Result<Result<PathBuf, String>, BuildError> {
    let tools = options.cache()?.join("tools");
    let place = tools.join(name);
    if place.is_dir() {
        return Ok(Ok(place));
    }
    if !options.install {
        return Ok(Err(SWITCHED_OFF.to_owned()));
    }
    fs::create_dir_all(&tools).map_err(BuildError::io("create", &tools))?;
    let _lock = tool::lock(&tools.join("lock"))?;
    // The previous holder of the lock may have installed it.
    if place.is_dir() {
        return Ok(Ok(place));
    }
    let partial = tempfile::Builder::new().prefix("partial-").tempdir_in(&tools);
    let partial = partial.map_err(BuildError::io("write into", &tools))?;
    if let Err(reason) = fill(partial.path())? {
        return Ok(Err(reason));
    }
    fs::rename(partial.keep(), &place).map_err(BuildError::io("create", &place))?;
    Ok(Ok(place))
}

/// The nearest file with this relative path, in the folder or one above it.
pub(crate) fn upward(folder: &Path, relative: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(relative)).find(|file| file.is_file())
}
