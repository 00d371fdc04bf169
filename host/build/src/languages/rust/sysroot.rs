//! The standard library for the distribution's compiler, built once from its sources and kept in a private sysroot.
//!
//! Building it with every guest would need unstable cargo options and half a minute each time; with its own sysroot a
//! guest is an ordinary build.

use std::fs;
use std::path::{Path, PathBuf};

use super::flags::{self, TARGET, WASI, linker_variable};
use super::system::{System, has_core, wasi_libc};
use crate::tool::{self, finish, tool};
use crate::{BuildError, Options};

/// Raised when the recipe below changes, so that old libraries are ignored.
const RECIPE: u32 = 3;

/// The sysroot, if it was built before.
pub(crate) fn existing(system: &System, target: &str, options: &Options) -> Result<Option<PathBuf>, BuildError> {
    let sysroot = place(system, target, options)?;
    Ok(has_core(&library(&sysroot, target)).then_some(sysroot))
}

/// The sysroot, built now if it is missing.
pub(crate) fn get(
    system: &System,
    target: &str,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, BuildError> {
    let sysroot = place(system, target, options)?;
    if has_core(&library(&sysroot, target)) {
        return Ok(sysroot);
    }
    let cache = sysroot.parent().expect("a folder in the cache has a parent");
    fs::create_dir_all(cache).map_err(BuildError::io("create", cache))?;
    let _lock = tool::lock(&cache.join("sysroot.lock"))?;
    // The previous holder of the lock may have built it.
    if !has_core(&library(&sysroot, target)) {
        let release = system.version_line("release").unwrap_or("?");
        say(&format!("building the standard library of rustc {release} for {target} (once, about 40 s)"));
        let partial = tempfile::Builder::new().prefix("partial-").tempdir_in(cache);
        let partial = partial.map_err(BuildError::io("write into", cache))?;
        let built = compile(system, target, partial.path())?;
        fs::rename(&built, &sysroot).map_err(BuildError::io("create", &sysroot))?;
    }
    Ok(sysroot)
}

/// The path of the sysroot for this compiler, existing or not.
fn place(system: &System, target: &str, options: &Options) -> Result<PathBuf, BuildError> {
    let cache = options.cache()?;
    let release = system.version_line("release").unwrap_or("unknown");
    let digest = blake3::hash(system.version.as_bytes()).to_hex();
    let which = if target == TARGET { String::new() } else { format!("-{target}") };
    Ok(cache.join(format!("sysroot-{release}-{}-{RECIPE}{which}", &digest[..12])))
}

fn library(sysroot: &Path, target: &str) -> PathBuf {
    sysroot.join("lib/rustlib").join(target).join("lib")
}

/// Compiles the library in a temporary folder; returns the sysroot inside.
fn compile(system: &System, target: &str, folder: &Path) -> Result<PathBuf, BuildError> {
    let source = folder.join("empty");
    let manifest = source.join("Cargo.toml");
    let put = |path: &Path, content: &str| {
        let parent = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(parent).and_then(|()| fs::write(path, content)).map_err(BuildError::io("write", path))
    };
    put(&manifest, "[package]\nname = \"empty\"\nedition = \"2024\"\n[workspace]\n")?;
    put(&source.join("src/lib.rs"), "")?;
    let made = folder.join("target");
    let flags = flags::remap_registry();
    let mut command = tool("cargo", &source);
    command
        .args(["build", "--release", "--target", target, "-Zbuild-std=std,panic_abort", "-Zbuild-std-features="])
        .arg("--target-dir")
        .arg(&made)
        .env("RUSTC", &system.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(linker_variable(target), &system.linker)
        .env("CARGO_ENCODED_RUSTFLAGS", flags::encode_flags(&flags))
        .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    let output = finish(command)?;
    if !output.success {
        return Err(match flags::is_offline(&output.stderr) {
            true => BuildError::Offline { what: "the standard library".to_owned(), output: output.stderr },
            false => BuildError::StandardLibrary { output: output.stderr },
        });
    }
    let sysroot = folder.join("sysroot");
    let library = library(&sysroot, target);
    fs::create_dir_all(&library).map_err(BuildError::io("create", &library))?;
    let compiled = made.join(target).join("release/deps");
    for entry in fs::read_dir(&compiled).map_err(BuildError::io("read", &compiled))? {
        let file = entry.map_err(BuildError::io("read", &compiled))?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            fs::copy(&file, library.join(name)).map_err(BuildError::io("copy", &file))?;
        }
    }
    if target == WASI {
        copy_libc(&library.join("self-contained"))?;
    }
    link_host_target(system, &sysroot)?;
    Ok(sysroot)
}

/// Copies the C library and the start files to the paths that the compiler of another distribution uses.
fn copy_libc(folder: &Path) -> Result<(), BuildError> {
    let libc = wasi_libc().expect("the system was accepted because it has this library");
    fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
    for name in ["libc.a", "crt1-command.o", "crt1-reactor.o"] {
        let file = libc.join(name);
        fs::copy(&file, folder.join(name)).map_err(BuildError::io("copy", &file))?;
    }
    Ok(())
}

/// Procedural macros and build scripts are compiled for the machine itself, with its installed library.
fn link_host_target(system: &System, sysroot: &Path) -> Result<(), BuildError> {
    let Some(host) = system.version_line("host") else { return Ok(()) };
    let link = sysroot.join("lib/rustlib").join(host);
    let own = system.sysroot.join("lib/rustlib").join(host);
    std::os::unix::fs::symlink(own, &link).map_err(BuildError::io("create", &link))
}
