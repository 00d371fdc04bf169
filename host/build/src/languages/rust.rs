//! Rust: cargo for `wasm32-unknown-unknown`, or `wasm32-wasip1` where a library wants a clock.
//!
//! | module | what it holds |
//! |---|---|
//! | `toolchain` | the compiler: the active one, one that rustup completes, or the distribution's |
//! | `system` | the distribution's compiler |
//! | `sysroot` | the standard library for the distribution's compiler, built once |
//! | `package` | the folder's package, from `cargo metadata` |
//! | `cargo` | compiling, with flags that make the result reproducible |
//! | `shared` | what plugins have in common, compiled once |
//! | `platform` | what stands in for an operating system, and what a report says of it |
//! | `remedies` | what to do about libraries that do not compile |
//! | `flags` | flags of cargo and the compiler, and what their output means |

mod cargo;
mod flags;
mod package;
mod platform;
mod remedies;
mod shared;
mod sysroot;
mod system;
mod toolchain;

pub(crate) use shared::clear;

use self::shared::Shared;
use super::{Tier, Toolchain};
use crate::job::{Job, Made, Say};
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "rust",
    language: "Rust",
    detected_by: "Cargo.toml",
    needs: "rustup target add wasm32-unknown-unknown, or on Debian apt-get install rustc-web cargo-web rust-web-src lld-22",
    tier: Tier::Maintained,
    recognises: |source| source.has("Cargo.toml"),
    build,
};

const HINT: &str = "does it call `guest_sdk::export!`, or `guest_sdk::export_spec!`?";

const BROWSER: &str = "a dependency wants a browser: switch off its feature that brings wasm-bindgen in, mostly with `default-features = false`; \
                       `cargo tree --target wasm32-unknown-unknown -i wasm-bindgen` says which dependency it is";

/// Names the library that needs a browser, if that is the reason of the error.
fn with_remedy(error: BuildError) -> BuildError {
    match error {
        BuildError::NotAPlugin { name, reason, .. } if reason.to_string().contains("__wbindgen_") => {
            BuildError::NotAPlugin { name, reason, hint: BROWSER }
        }
        other => other,
    }
}

/// Cargo knows whether anything changed, so it always runs.
fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let folder = &job.source.folder;
    let asked = &job.source.manifest.build;
    let toolchain = toolchain::find(folder, platform::target(folder, asked)?, job.options, say)?;
    let package = package::read(folder, &toolchain)?;
    let shared = Shared::of(&package, job.options.cache().ok().as_deref());
    let place = shared.as_ref().map(|shared| &*shared.folder);
    let (core, assumed) = cargo::build(&package, place, &toolchain, asked.overflow_checks.unwrap_or(true), say)?;
    let wasm = package.target_directory.join("plugins").join(format!("{}.wasm", package.name));
    let rebuilt = update::from_core(&core, &assumed, &wasm, &package.name, HINT).map_err(with_remedy)?;
    Ok(Made { wasm, name: package.name, rebuilt, tool: toolchain.found() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::componentize;

    #[test]
    fn a_module_for_a_browser_is_distinguished_from_one_without_exports() {
        let hint = |module: &str| {
            let reason = componentize(&wat::parse_str(module).expect("a module")).expect_err("it is no plugin");
            match with_remedy(BuildError::NotAPlugin { name: "mine".to_owned(), reason, hint: HINT }) {
                BuildError::NotAPlugin { hint, .. } => hint,
                other => panic!("{other}"),
            }
        };
        let import = r#"(module (import "__wbindgen_externref_xform__" "__wbindgen_externref_table_grow" (func (param i32) (result i32))))"#;
        assert_eq!(hint(import), BROWSER);
        assert_eq!(hint("(module)"), HINT);
    }
}
