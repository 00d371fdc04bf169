//! Flags of cargo and the compiler, and the interpretation of their output, for guests and for the standard library alike.

use std::path::{Path, PathBuf};

/// The target of guests: no operating system, no imports.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// The target of guests with libraries that need a clock or an environment: the adapter provides them, see `adapter.wat`.
pub(crate) const WASI: &str = "wasm32-wasip1";

/// The variable that names the linker for a target to cargo.
pub(crate) fn linker_variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"))
}

/// The flag that replaces the prefix of a path in compiled code.
pub(crate) fn remap(prefix: &Path, instead: &str) -> String {
    format!("--remap-path-prefix={}={instead}", prefix.display())
}

/// Flags that keep the path of cargo's registry out of compiled code.
pub(crate) fn remap_registry() -> Vec<String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    home.map(|home| remap(&home, "/cargo")).into_iter().collect()
}

/// Flags in the form of `CARGO_ENCODED_RUSTFLAGS`, in which a path may have spaces.
pub(crate) fn encode_flags(flags: &[String]) -> String {
    flags.join("\u{1f}")
}

/// Whether cargo failed because a download failed.
pub(crate) fn is_offline(output: &str) -> bool {
    const SIGNS: [&str; 5] = [
        "failed to download",
        "Could not resolve host",
        "download of config.json failed",
        "you may be missing network connectivity",
        "attempting to make an HTTP request, but --offline was specified",
    ];
    SIGNS.iter().any(|sign| output.contains(sign))
}
