//! What can go wrong, and what helps.

use std::io;
use std::path::{Path, PathBuf};

use crate::component::ComponentError;

/// Why there is no plugin.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The path leads nowhere, or to a file.
    #[error("there is no folder {}", folder.display())]
    NoFolder {
        /// The path.
        folder: PathBuf,
    },
    /// The folder holds no package.
    #[error("{} has no Cargo.toml; a new plugin starts as a copy of plugins/template", folder.display())]
    NoManifest {
        /// The folder.
        folder: PathBuf,
    },
    /// Cargo does not understand the manifest.
    #[error("cargo cannot read {}:\n{output}", folder.display())]
    Manifest {
        /// The folder.
        folder: PathBuf,
        /// What cargo says.
        output: String,
    },
    /// The manifest is one of a workspace only.
    #[error("{} is a workspace and no package; give the folder of one plugin", folder.display())]
    NoPackage {
        /// The folder.
        folder: PathBuf,
    },
    /// The package makes no module.
    #[error("package {name} is no plugin: its Cargo.toml needs `crate-type = [\"cdylib\", \"rlib\"]` in `[lib]`")]
    NotCdylib {
        /// The package.
        name: String,
    },
    /// The compiler, or cargo, refused the sources.
    #[error("{name} does not compile:\n{output}")]
    Compile {
        /// The package.
        name: String,
        /// What cargo and the compiler say.
        output: String,
    },
    /// Something must be downloaded and cannot.
    #[error("{what} needs a download and there is no network (or no registry):\n{output}")]
    Offline {
        /// What wanted to download.
        what: String,
        /// What cargo says.
        output: String,
    },
    /// The module has not the exports of a plugin.
    #[error("{name} compiles but is no plugin: {reason}; does it call `guest_sdk::export!`?")]
    NotAPlugin {
        /// The package.
        name: String,
        /// What is missing.
        reason: ComponentError,
    },
    /// No compiler for WebAssembly was found, and none could be installed.
    #[error("no Rust toolchain for wasm32-unknown-unknown: {}; run `rustup target add wasm32-unknown-unknown`, or on Debian `apt-get install {}`", tried.join("; "), crate::install::PACKAGES.join(" "))]
    NoToolchain {
        /// What was tried, and why it did not help; phrases.
        tried: Vec<String>,
    },
    /// The standard library for the system's compiler cannot be built.
    #[error("the standard library for wasm32-unknown-unknown cannot be built:\n{output}")]
    StandardLibrary {
        /// What cargo says.
        output: String,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("there is no place for a cache: set XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A program cannot be started.
    #[error("cannot start {program}: {source}; is it installed?")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Cargo says something that this version does not understand.
    #[error("cargo answers in an unknown form: {0}; a newer `host` may help")]
    Protocol(String),
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl BuildError {
    /// For `map_err`: the error of doing something to a path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}
