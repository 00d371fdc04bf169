//! Turns a folder with a Rust plugin into a WebAssembly component.
//!
//! [`build`] finds or installs a toolchain for `wasm32-unknown-unknown`, runs cargo, and wraps the core module
//! that comes out as a component. No external Wasm tools are needed: the contract is compiled in.
//!
//! The result is `<target directory>/plugins/<package>.wasm`, where the target directory is the one that cargo uses for the
//! folder: all plugins of one workspace share it, and a folder elsewhere has its own. Compilation
//! happens in `<target directory>/guests`, apart from native builds, so neither waits for the other.
//!
//! What is built is reproducible: the same sources and compiler give the same bytes in any folder on any machine.

mod cargo;
mod component;
mod error;
mod install;
mod package;
mod sysroot;
mod tool;
mod toolchain;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use component::{ComponentError, componentize};
pub use error::BuildError;

/// How to build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a missing toolchain may be installed, by rustup or the system's package manager. Default: yes.
    pub install: bool,
    /// Which toolchain to use. Default: the first that works.
    pub toolchain: Option<ToolchainKind>,
    /// Where things are kept that one user builds once: the standard library for the system's compiler.
    /// Default: `host` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { install: true, toolchain: None, cache: None }
    }
}

/// Where the compiler and its standard library come from.
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
    /// What was done, one phrase a step: what `report` was told.
    pub steps: Vec<String>,
}

/// Builds the plugin in a folder; does next to nothing if nothing changed.
///
/// `report` is told each step as it begins. Builds may run at the same time, also of one folder: cargo
/// and a lock file order what must be ordered, and a file appears whole or not at all.
///
/// # Errors
///
/// See [`BuildError`]. What was there before stays as it was.
pub fn build(folder: &Path, options: &Options, report: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
    let mut steps = Vec::new();
    let mut say = |step: &str| {
        report(step);
        steps.push(step.to_owned());
    };
    let folder = package::folder(folder)?;
    let toolchain = toolchain::find(&folder, options, &mut say)?;
    let package = package::read(&folder, &toolchain)?;
    let core = cargo::build(&package, &toolchain, &mut say)?;
    let wasm = package.target_directory.join("plugins").join(format!("{}.wasm", package.name));
    let rebuilt = update(&core, &wasm, &package.name)?;
    if rebuilt {
        let bytes = fs::metadata(&wasm).map_err(BuildError::io("read", &wasm))?.len();
        say(&format!("wrote {}, {} KB", wasm.display(), bytes.div_ceil(1000)));
    } else {
        say(&format!("{} is up to date", package.name));
    }
    Ok(Built { wasm, rebuilt, steps })
}

/// Makes the component of a core module unless it is there; returns whether it was made.
fn update(core: &Path, wasm: &Path, name: &str) -> Result<bool, BuildError> {
    let core = fs::read(core).map_err(BuildError::io("read", core))?;
    // The stamp says what the component was made from, and by which contract and encoder, and that it is unharmed.
    let source = blake3::Hasher::new()
        .update(component::CONTRACT.as_bytes())
        .update(env!("CARGO_PKG_VERSION").as_bytes())
        .update(&core)
        .finalize();
    let stamp_of = |component: &[u8]| format!("{source} {}\n", blake3::hash(component));
    let stamp = wasm.with_extension("stamp");
    if let (Ok(made), Ok(component)) = (fs::read_to_string(&stamp), fs::read(wasm))
        && made == stamp_of(&component)
    {
        return Ok(false);
    }
    let component = componentize(&core).map_err(|reason| BuildError::NotAPlugin { name: name.to_owned(), reason })?;
    write(wasm, &component)?;
    write(&stamp, stamp_of(&component).as_bytes())?;
    Ok(true)
}

/// Writes a file so that nobody ever sees a part of it.
fn write(path: &Path, content: &[u8]) -> Result<(), BuildError> {
    let folder = path.parent().expect("an output file lies in a folder");
    fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
    // A temporary file is private by default; a component is not.
    let file = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder);
    let mut file = file.map_err(BuildError::io("write into", folder))?;
    file.write_all(content).map_err(BuildError::io("write", path))?;
    file.persist(path).map_err(|error| BuildError::io("write", path)(error.error))?;
    Ok(())
}
