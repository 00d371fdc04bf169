//! The distribution's compiler, which builds its own standard library for WebAssembly.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::flags::WASI;
use crate::tool::{finish, on_path, tool};

/// A compiler outside of rustup that can build its own standard library.
pub(crate) struct System {
    pub rustc: PathBuf,
    pub linker: PathBuf,
    /// The compiler's own folder, with the sources of the library and the host's own target.
    pub sysroot: PathBuf,
    /// The output of `rustc -vV`.
    pub version: String,
}

impl System {
    /// Looks for compiler, library sources, linker, and a C library if the target needs one; the error names the missing part.
    pub fn detect(target: &str) -> Result<Self, String> {
        let rustc = PathBuf::from("/usr/bin/rustc");
        let ask = |argument: &str| {
            let mut command = tool(&rustc, Path::new("/"));
            command.arg(argument);
            match finish(command) {
                Ok(output) if output.success => Ok(output.stdout.trim().to_owned()),
                _ => Err("the system has no rustc of its own".to_owned()),
            }
        };
        let version = ask("-vV")?;
        let sysroot = PathBuf::from(ask("--print=sysroot")?);
        if !sysroot.join("lib/rustlib/src/rust/library/Cargo.toml").is_file() {
            return Err("the system's rustc lacks the sources of its library".to_owned());
        }
        if on_path(&["cargo"]).is_none() {
            return Err("there is no cargo".to_owned());
        }
        let linker = wasm_linker().ok_or("the system has no linker for WebAssembly")?;
        if target == WASI && wasi_libc().is_none() {
            return Err("the system has no library of C for WASI".to_owned());
        }
        Ok(Self { rustc, linker, sysroot, version })
    }

    /// The line of `rustc -vV` with this label.
    pub fn version_line(&self, label: &str) -> Option<&str> {
        self.version.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "))
    }
}

/// The folder of the system's C library for WASI, with the start files.
pub(crate) fn wasi_libc() -> Option<PathBuf> {
    let folders = ["wasm32-wasip1", "wasm32-wasi"].map(|name| Path::new("/usr/lib").join(name));
    folders.into_iter().find(|folder| folder.join("libc.a").is_file())
}

/// LLVM's linker for WebAssembly, under any of its names in distributions; newest first.
pub(crate) fn wasm_linker() -> Option<PathBuf> {
    let versioned: Vec<String> = (16..=40).rev().map(|version| format!("wasm-ld-{version}")).collect();
    let names: Vec<&str> = versioned.iter().map(String::as_str).chain(["wasm-ld", "rust-lld"]).collect();
    on_path(&names)
}

/// Whether a folder holds a compiled core library.
pub(crate) fn has_core(library: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(library) else { return false };
    entries.flatten().any(|entry| {
        let name: OsString = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with("libcore-") && name.ends_with(".rlib"))
    })
}
