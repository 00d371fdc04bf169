//! `host.toml`: the settings of a build that cannot be detected in its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{BuildError, files};

/// The file's name.
pub(crate) const MANIFEST: &str = "host.toml";

/// The maximum size in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Destinations in the folder, and relative to it the folders whose files are copied.
pub(crate) type Copies = BTreeMap<PathBuf, PathBuf>;

/// The manifest of a folder; empty without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The settings of the build.
    #[serde(default)]
    pub build: Build,
}

/// The table `[build]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// The toolchain of the table to use.
    pub toolchain: Option<String>,
    /// The main file, for the toolchains that need it.
    pub main: Option<PathBuf>,
    /// A command that makes the module or component; run by `sh` in the folder.
    pub command: Option<String>,
    /// The file that the command makes, relative to the folder.
    pub output: Option<PathBuf>,
    /// Further flags of the compiler of C or C++, such as `-Iinclude`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Files and folders of C or C++ that are not part of the plugin.
    #[serde(default)]
    pub exclude: Vec<PathBuf>,
    /// The folders to copy into this one before each build.
    #[serde(default)]
    pub copies: Copies,
    /// The target of a compilation of Rust.
    pub target: Option<String>,
    /// Whether overflowing arithmetic of Rust traps; it does by default.
    #[serde(rename = "overflow-checks")]
    pub overflow_checks: Option<bool>,
}

impl Build {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Manifest {
    /// Reads the manifest of a folder.
    pub fn read(folder: &Path) -> Result<Self, BuildError> {
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = files::read_text_bounded(&path, BYTES_MAX).map_err(BuildError::io("read", &path))?;
        let wrong = |what: String| BuildError::BadManifest { path: path.clone(), what };
        let manifest: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        let build = &manifest.build;
        if build.command.is_some() != build.output.is_some() {
            return Err(wrong("`command` and `output` in [build] belong together".to_owned()));
        }
        if build.command.is_some() && (build.toolchain.is_some() || build.main.is_some()) {
            return Err(wrong("[build] has a `command`, and then neither `toolchain` nor `main`".to_owned()));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Manifest, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(MANIFEST), text).expect("a new file");
        Manifest::read(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_must_fit_together() {
        assert!(read("").is_ok_and(|manifest| manifest.build.is_empty()));
        assert!(read("[build]\ncommand = \"make\"\noutput = \"p.wasm\"\n").is_ok());
        let wrong = ["[build]\ncommand = \"make\"\n", "[build]\ntool = \"c\"\n", "build = 3\n"];
        for (text, word) in wrong.iter().zip(["belong together", "unknown field `tool`", "build = 3"]) {
            let message = read(text).expect_err("refused");
            assert!(message.contains(word) && message.contains(MANIFEST), "{message}");
        }
    }
}
