//! Errors of a build, with remedies.

use std::io;
use std::path::{Path, PathBuf};

use crate::component::ComponentError;

/// The error of a build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The path does not exist.
    #[error("there is no folder or file {}", folder.display())]
    NoFolder {
        /// The path.
        folder: PathBuf,
    },
    /// No toolchain of the table recognises the path.
    #[error("nothing to build in {}: looked for {wanted}; a `host.toml` can name a `toolchain`, or a `command` and its `output`, in [build]", path.display())]
    NotRecognised {
        /// The folder or file.
        path: PathBuf,
        /// Files that would have been recognised.
        wanted: String,
    },
    /// The folder's `host.toml` cannot be used.
    #[error("{}: {what}", path.display())]
    BadManifest {
        /// The file.
        path: PathBuf,
        /// The mistake.
        what: String,
    },
    /// The manifest names an unknown toolchain.
    #[error("host.toml names the toolchain `{name}`; known are {known}")]
    UnknownToolchain {
        /// The name.
        name: String,
        /// The known toolchains.
        known: String,
    },
    /// The folder has too many files for a plugin.
    #[error("{} holds more than {limit} files; give the folder of one plugin", folder.display())]
    TooManyFiles {
        /// The folder.
        folder: PathBuf,
        /// The maximum number of files.
        limit: usize,
    },
    /// The sources do not say where the program begins.
    #[error("{}: cannot tell where the program begins: {what}; `main` in [build] of host.toml names the file", folder.display())]
    NoMain {
        /// The folder.
        folder: PathBuf,
        /// The expected files.
        what: String,
    },
    /// A program that drives a toolchain was neither found nor installed.
    #[error("no {what}: {reason}; install it with `{remedy}`")]
    NoTool {
        /// The program.
        what: String,
        /// The reason why it was not installed; a phrase.
        reason: String,
        /// The line that installs it.
        remedy: String,
    },
    /// The manifest takes a library from a missing folder.
    #[error("{name} takes a library from {}, and there is no such folder; go.mod says:\n  {line}", folder.display())]
    NoLibraryFolder {
        /// The plugin.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// The line of the manifest; its comment can say what to install.
        line: String,
    },
    /// Cargo rejects the manifest.
    #[error("cargo cannot read {}:\n{output}", folder.display())]
    Manifest {
        /// The folder.
        folder: PathBuf,
        /// The output of cargo.
        output: String,
    },
    /// The manifest describes a workspace and no package.
    #[error("{} is a workspace and no package; give the folder of one plugin", folder.display())]
    NoPackage {
        /// The folder.
        folder: PathBuf,
    },
    /// The package has no library to make a module of.
    #[error("package {name} is no plugin: it has no library; a protocol is written in `src/lib.rs`")]
    NoLibrary {
        /// The package.
        name: String,
    },
    /// The compiler, or cargo, rejected the sources.
    #[error("{name} does not compile:\n{output}")]
    Compile {
        /// The package.
        name: String,
        /// The output of cargo and the compiler, with remedies for known errors in it.
        output: String,
    },
    /// A download is needed and fails.
    #[error("{what} needs a download and there is no network (or no registry):\n{output}")]
    Offline {
        /// The program that tried to download.
        what: String,
        /// The output of cargo.
        output: String,
    },
    /// The module lacks exports of a plugin.
    #[error("{name} compiles but is no plugin: {reason}; {hint}")]
    NotAPlugin {
        /// The package.
        name: String,
        /// The missing part.
        reason: ComponentError,
        /// The remedy in this language.
        hint: &'static str,
    },
    /// No compiler for WebAssembly was found or could be installed.
    #[error("no Rust toolchain for {target}: {}; run `rustup target add {target}`, or on Debian `apt-get install {packages}`", tried.join("; "))]
    NoToolchain {
        /// The target.
        target: &'static str,
        /// The packages that provide a compiler in Debian.
        packages: String,
        /// The attempts, and the reasons why they failed; phrases.
        tried: Vec<String>,
    },
    /// The standard library for the system's compiler cannot be built.
    #[error("the standard library for wasm32-unknown-unknown cannot be built:\n{output}")]
    StandardLibrary {
        /// The output of cargo.
        output: String,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("there is no place for a cache: set XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A request to stop killed the running program.
    #[error("interrupted")]
    Stopped,
    /// A program cannot be started.
    #[error("cannot start {program}: {source}; is it installed?")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// Cargo prints a message that this version does not understand.
    #[error("cargo answers in an unknown form: {0}; a newer `host` may help")]
    Protocol(String),
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl BuildError {
    /// For `map_err`: the error of an operation on a path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}
