//! Runs cargo for a guest.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::flags::{encode_flags, is_offline, remap, remap_registry};
use super::package::{Package, Target};
use super::platform;
use super::remedies::with_remedies;
use super::shared;
use super::toolchain::Toolchain;
use crate::BuildError;
use crate::languages::c;
use crate::tool::{follow, on_path};

/// Bytes of a guest's stack. Snapshots and dirty maps cover the stack, and the default of 1 MB would be most of a guest's memory.
const STACK_BYTES: u32 = 65_536;

/// Compiles the package, in a shared build folder if there is one, unless nothing changed; returns the core module and the assumptions
/// for reports.
pub(crate) fn build(
    package: &Package,
    shared: Option<&Path>,
    toolchain: &Toolchain,
    has_overflow_checks: bool,
    say: &mut dyn FnMut(&str),
) -> Result<(PathBuf, Vec<String>), BuildError> {
    let mut cargo = toolchain.cargo(&package.folder);
    cargo
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--release", "--target", toolchain.target])
        .arg("--message-format=json-render-diagnostics")
        .arg("--manifest-path")
        .arg(&package.manifest)
        .arg("--target-dir")
        .arg(package.target_directory.join("guests"))
        .envs(shared.map(|folder| (shared::VARIABLE, folder)))
        .env("CARGO_ENCODED_RUSTFLAGS", encode_flags(&flags(package, shared, toolchain, say)?))
        .envs(PROFILE)
        .envs(c_compiler(toolchain.target, |name| std::env::var_os(name).is_some(), || on_path(&["clang"]).is_some()))
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", has_overflow_checks.to_string())
        .arg("--")
        .arg(remap(&package.workspace_root, "."));
    if shared.is_some() {
        cargo.arg(shared::mark(package)?);
    }
    let (success, messages, diagnostics) = run(cargo, &package.name, toolchain.target, say)?;
    if !success {
        return Err(match is_offline(&diagnostics) {
            true => BuildError::Offline { what: package.name.clone(), output: diagnostics },
            false => BuildError::Compile {
                name: package.name.clone(),
                output: with_remedies(diagnostics, package, toolchain),
            },
        });
    }
    Ok((module(&messages, &package.manifest)?, platform::assumed(toolchain.target, has_overflow_checks, &messages)))
}

/// The variable that names a C compiler to libraries with C code: they look for `clang`, and Debian's has its version in its name. None
/// if the user sets the variable, or `clang` exists.
fn c_compiler(
    target: &str,
    is_set: impl Fn(&str) -> bool,
    has_clang: impl FnOnce() -> bool,
) -> Option<(String, PathBuf)> {
    let name = format!("CC_{}", target.replace('-', "_"));
    let is_given = [name.as_str(), &format!("CC_{target}"), "TARGET_CC", "CC"].into_iter().any(is_set);
    if is_given || has_clang() {
        return None;
    }
    Some((name, c::of_debian()?))
}

/// All plugins are built alike, whatever the profile of their workspace: small, and with one memory layout. Overflowing arithmetic
/// traps, since a checker should find a wrong ballot number, unless `host.toml` asks for the behaviour of a release.
const PROFILE: [(&str, &str); 6] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "none"),
    ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo"),
];

/// The compiler's flags for code that runs in the sandbox.
fn flags(
    package: &Package,
    shared: Option<&Path>,
    toolchain: &Toolchain,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<String>, BuildError> {
    let mut flags = vec![format!("-Clink-arg=-zstack-size={STACK_BYTES}")];
    if let Some(sysroot) = &toolchain.sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    // Panic messages hold paths. Without machine-specific paths, equal sources have equal digests everywhere. The path of the workspace
    // is for the plugin alone: cargo names dependencies by paths within the workspace, and would compile them again for each one.
    flags.push(remap(shared.unwrap_or(&package.build_directory), "target"));
    flags.extend(remap_registry());
    let own = platform::own_flags(&package.folder, &package.workspace_root, toolchain.target, say)?;
    flags.extend(platform::randomness(toolchain.target, &own));
    flags.extend(own);
    Ok(flags)
}

/// Runs cargo: whether it succeeded, its messages, and the output of cargo and the compiler for people.
fn run(
    cargo: Command,
    name: &str,
    target: &str,
    say: &mut dyn FnMut(&str),
) -> Result<(bool, String, String), BuildError> {
    let mut diagnostics = String::new();
    let mut compiling = false;
    let output = follow(cargo, &mut |line| match line.trim_start().split_once(' ') {
        Some(("Compiling", _)) if line.starts_with(' ') => {
            if !std::mem::replace(&mut compiling, true) {
                say(&format!("compiling {name} for {target}"));
            }
        }
        Some(("Downloading" | "Blocking", _)) if line.starts_with(' ') => say(line.trim()),
        Some(("Finished" | "Downloaded" | "Updating" | "Locking" | "Adding", _)) if line.starts_with(' ') => {}
        _ => diagnostics.extend([line, "\n"]),
    })?;
    if output.success {
        diagnostics.lines().filter(|line| !line.is_empty()).for_each(say);
        diagnostics.clear();
    }
    Ok((output.success, output.stdout, diagnostics.trim_end().to_owned()))
}

/// The path of the module in cargo's messages.
fn module(messages: &str, manifest: &Path) -> Result<PathBuf, BuildError> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|artifact| artifact.manifest_path == manifest)
        .filter(|artifact| artifact.target.crate_types.iter().any(|kind| kind == "cdylib"))
        .flat_map(|artifact| artifact.filenames)
        .find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
        .ok_or_else(|| BuildError::Protocol("it names no module".to_owned()))
}

/// The fields of the message `compiler-artifact` that are used here.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    filenames: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_get_a_c_compiler_unless_they_have_one() {
        let target = "wasm32-unknown-unknown";
        for set in ["CC_wasm32_unknown_unknown", "CC_wasm32-unknown-unknown", "TARGET_CC", "CC"] {
            assert_eq!(c_compiler(target, |name| name == set, || false), None);
        }
        assert_eq!(c_compiler(target, |_| false, || true), None);
        let given = c_compiler(target, |name| name == "CC_wasm32_wasip1", || false);
        assert_eq!(given, c::of_debian().map(|program| ("CC_wasm32_unknown_unknown".to_owned(), program)));
    }
}
