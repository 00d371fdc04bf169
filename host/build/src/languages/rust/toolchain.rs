//! Finds a compiler for WebAssembly: the installed one, the one that rustup can complete, or the distribution's.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::flags::{WASI, linker_variable};
use super::sysroot;
use super::system::{System, has_core, wasm_linker};
use crate::install::apt;
use crate::tool::{Output, finish, on_path, tool};
use crate::{BuildError, Options, ToolchainKind};

/// Compiler, cargo, library sources and linker, by the names of Debian's packages.
pub(crate) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// The packages for a target.
fn packages(target: &str) -> Vec<&'static str> {
    PACKAGES.into_iter().chain((target == WASI).then_some("wasi-libc")).collect()
}

/// A compiler that can compile guests.
pub(crate) struct Toolchain {
    /// The target.
    pub target: &'static str,
    /// The compiler, if it is not cargo's default.
    pub rustc: Option<PathBuf>,
    /// The linker, if it is not the compiler's own.
    pub linker: Option<PathBuf>,
    /// The folder of the standard library, if it is not the compiler's own.
    pub sysroot: Option<PathBuf>,
}

impl Toolchain {
    /// The system's compiler with its compiled library.
    fn of_system(target: &'static str, system: System, sysroot: PathBuf) -> Self {
        Self { target, rustc: Some(system.rustc), linker: Some(system.linker), sysroot: Some(sysroot) }
    }

    /// The compiler, and where it was found.
    pub fn found(&self) -> String {
        match &self.rustc {
            None => "the active rustc".to_owned(),
            Some(rustc) => format!("{} with a library of its own", rustc.display()),
        }
    }

    /// Cargo with this compiler, to run in a folder.
    pub fn cargo(&self, folder: &Path) -> Command {
        let mut cargo = tool("cargo", folder);
        cargo.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        if let Some(rustc) = &self.rustc {
            cargo.env("RUSTC", rustc);
        }
        if let Some(linker) = &self.linker {
            cargo.env(linker_variable(self.target), linker);
        }
        cargo
    }
}

/// The first toolchain that works, in this order: the active one has the target; the system's, if its standard library was
/// built before; rustup adds the target; the system's, installed and built now.
///
/// The second comes before the third because its library exists only where rustup could not help.
pub(crate) fn find(
    folder: &Path,
    target: &'static str,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Toolchain, BuildError> {
    let mut tried = Vec::new();
    if options.toolchain != Some(ToolchainKind::System) {
        match active(folder, target) {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => tried.push(reason),
        }
        if options.toolchain.is_none()
            && let Ok(system) = System::detect(target)
            && let Some(sysroot) = sysroot::existing(&system, target, options)?
        {
            return Ok(Toolchain::of_system(target, system, sysroot));
        }
        match rustup(folder, target, options, say)? {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => tried.push(reason),
        }
    }
    if options.toolchain != Some(ToolchainKind::Active) {
        match system(target, options, say)? {
            Ok(system) => {
                let sysroot = sysroot::get(&system, target, options, say)?;
                return Ok(Toolchain::of_system(target, system, sysroot));
            }
            Err(reason) => tried.push(reason),
        }
    }
    Err(BuildError::NoToolchain { target, packages: packages(target).join(" "), tried })
}

/// Cargo's default toolchain in this folder, if it has the target.
fn active(folder: &Path, target: &'static str) -> Result<Toolchain, String> {
    let mut rustc = tool("rustc", folder);
    // One call for everything: starting programs is most of the cost of a build without changes.
    rustc.args(["--print=target-libdir", "--print=sysroot", "--print=host-tuple", "--target", target]);
    let output = match finish(rustc) {
        Ok(output) if output.success => output.stdout,
        Ok(output) => return Err(format!("rustc fails ({})", output.last_line())),
        Err(_) => return Err("there is no rustc on the path".to_owned()),
    };
    let [library, sysroot, host] = output.lines().collect::<Vec<_>>()[..] else {
        return Err("rustc does not say where its libraries are".to_owned());
    };
    if !has_core(Path::new(library)) {
        return Err("the active toolchain has no such target".to_owned());
    }
    // Rustup's toolchains bring their own linker; some distributions leave it out.
    let own_tools = Path::new(sysroot).join("lib/rustlib").join(host).join("bin");
    let linker = if own_tools.join("rust-lld").is_file() { None } else { wasm_linker() };
    Ok(Toolchain { target, rustc: None, linker, sysroot: None })
}

/// The active toolchain after rustup added the target; the inner error is the reason for a failure.
fn rustup(
    folder: &Path,
    target: &'static str,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Result<Toolchain, String>, BuildError> {
    if on_path(&["rustup"]).is_none() {
        return Ok(Err("there is no rustup".to_owned()));
    }
    if !options.install {
        return Ok(Err("rustup was not asked to add it (installing is switched off)".to_owned()));
    }
    say(&format!("adding the target: rustup target add {target}"));
    let mut rustup = tool("rustup", folder);
    rustup.args(["target", "add", target]);
    let output: Output = finish(rustup)?;
    if !output.success {
        return Ok(Err(format!("rustup cannot add it ({})", output.last_line())));
    }
    Ok(active(folder, target))
}

/// The distribution's compiler with its library sources, after installing missing packages; the inner error is the
/// reason for a failure.
fn system(
    target: &'static str,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Result<System, String>, BuildError> {
    let missing = match System::detect(target) {
        Ok(system) => return Ok(Ok(system)),
        Err(missing) => missing,
    };
    if !options.install {
        return Ok(Err(format!("{missing} (installing is switched off)")));
    }
    // An installed cargo is left alone: the distribution's would conflict with it, or hide behind it.
    let packages: Vec<&str> = packages(target)
        .into_iter()
        .filter(|package| *package != "cargo-web" || on_path(&["cargo"]).is_none())
        .collect();
    match apt::install(&packages, "a Rust compiler for WebAssembly (once, about 110 MB)", say)? {
        Ok(()) => Ok(System::detect(target)),
        Err(reason) => Ok(Err(format!("{missing}, and {reason}"))),
    }
}
