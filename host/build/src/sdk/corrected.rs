//! getrandom 0.4 with its feature `wasm_js`, switched on by some library: it compiles only with the backend of a browser, which a plugin
//! lacks. So a new wrapper gets a copy of it without the one line that names an error of that backend.
//!
//! Seen in 0.4.0 to 0.4.3. A version with another line needs no copy, or another one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use crate::BuildError;
use crate::files::read_text_bounded;
use crate::tool::{finish, tool};

/// The folder of the copy.
const FOLDER: &str = "getrandom";

/// The maximum size in bytes of a file of getrandom.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The line of `src/error.rs`, and the condition inserted before it.
const LINE: &str = "            Error::WEB_CRYPTO => ";
const CONDITION: &str = "            #[cfg(not(getrandom_backend = \"custom\"))]\n";

/// Puts a copy into the folder of a wrapper whose graph needs one, and names it in the manifest; returns whether it did.
pub(super) fn add(folder: &Path, lock: &str) -> Result<bool, BuildError> {
    let Some(version) = version(lock) else { return Ok(false) };
    if !wants_browser(folder, &version)? {
        return Ok(false);
    }
    let Some(source) = source(folder, &version)? else { return Ok(false) };
    let text = |path: &Path| read_text_bounded(path, FILE_BYTES_MAX).map_err(BuildError::io("read", path));
    let Some(errors) = without_line(&text(&source.join("src/error.rs"))?) else { return Ok(false) };
    let copy = folder.join(FOLDER);
    copy_sources(&source.join("src"), &copy.join("src"))?;
    let write = |path: PathBuf, content: String| {
        fs::write(&path, content).and_then(|()| super::date(&path)).map_err(BuildError::io("write", &path))
    };
    write(copy.join("src/error.rs"), errors)?;
    for other in ["build.rs", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        // A version may have none of these files, and then its manifest names none.
        let _ = fs::copy(source.join(other), copy.join(other)).map(|_| super::date(&copy.join(other)));
    }
    let manifest = without_browser(&text(&source.join("Cargo.toml"))?);
    write(copy.join("Cargo.toml"), manifest.ok_or_else(|| unknown("the manifest of getrandom"))?)?;
    let own = folder.join("Cargo.toml");
    let named = naming(&text(&own)?).ok_or_else(|| unknown("the manifest of the wrapper"))?;
    write(own, named)?;
    Ok(true)
}

fn unknown(what: &str) -> BuildError {
    BuildError::Protocol(format!("{what} is not as it was"))
}

/// The version of getrandom 0.4 in a lock file, if there is one.
fn version(lock: &str) -> Option<String> {
    let lock: Table = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    let named = packages.iter().filter(|package| text(package, "name").as_deref() == Some("getrandom"));
    named.filter_map(|package| text(package, "version")).find(|version| version.starts_with("0.4."))
}

/// Whether a library of the graph switches the feature on.
fn wants_browser(folder: &Path, version: &str) -> Result<bool, BuildError> {
    let mut cargo = tool("cargo", folder);
    cargo.args(["tree", "--target", "wasm32-unknown-unknown", "--edges=normal,features", "--prefix=none", "--invert"]);
    cargo.arg(format!("getrandom@{version}"));
    let output = finish(cargo)?;
    Ok(output.stdout.lines().any(|line| line.starts_with("getrandom feature \"wasm_js\"")))
}

/// The folder of the sources in cargo's registry.
fn source(folder: &Path, version: &str) -> Result<Option<PathBuf>, BuildError> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        manifest_path: PathBuf,
    }
    let mut cargo = tool("cargo", folder);
    cargo.args(["metadata", "--format-version=1", "--filter-platform", "wasm32-unknown-unknown"]);
    let output = finish(cargo)?;
    let metadata: Metadata =
        serde_json::from_str(&output.stdout).map_err(|error| BuildError::Protocol(error.to_string()))?;
    let is_it = |package: &Package| package.name == "getrandom" && package.version == version;
    let found = metadata.packages.into_iter().find(is_it);
    Ok(found.and_then(|package| package.manifest_path.parent().map(Path::to_owned)))
}

/// The errors without the one that only a browser has; none if the file has changed.
fn without_line(errors: &str) -> Option<String> {
    let (before, after) = errors.split_once(LINE)?;
    let is_defined = errors.contains("const WEB_CRYPTO");
    (!is_defined && !after.contains(LINE)).then(|| format!("{before}{CONDITION}{LINE}{after}"))
}

/// The manifest of the copy: the feature exists without dependencies, and the dependencies of getrandom's tests are removed.
fn without_browser(manifest: &str) -> Option<String> {
    let mut table: Table = manifest.parse().ok()?;
    table.retain(|key, _| !["test", "bench", "dev-dependencies"].contains(&key));
    table.get_mut("features")?.as_table_mut()?.insert("wasm_js".to_owned(), Value::Array(Vec::new()));
    if let Some(targets) = table.get_mut("target").and_then(Value::as_table_mut) {
        for (_, target) in targets.iter_mut() {
            let target = target.as_table_mut()?;
            target.remove("dev-dependencies");
            if let Some(dependencies) = target.get_mut("dependencies").and_then(Value::as_table_mut) {
                dependencies.retain(|name, _| !["wasm-bindgen", "js-sys"].contains(&name));
            }
        }
    }
    Some(table.to_string())
}

/// The manifest of the wrapper, with the copy in place of the registry's version.
fn naming(manifest: &str) -> Option<String> {
    let mut table: Table = manifest.parse().ok()?;
    let copy: Table = [("path".to_owned(), Value::from(FOLDER))].into_iter().collect();
    let patched: Table = [("getrandom".to_owned(), copy.into())].into_iter().collect();
    let patch: Table = [("crates-io".to_owned(), patched.into())].into_iter().collect();
    table.insert("patch".to_owned(), patch.into());
    Some(table.to_string())
}

/// Copies sources: files and folders, no links.
fn copy_sources(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(to).map_err(BuildError::io("create", to))?;
    for entry in fs::read_dir(from).map_err(BuildError::io("read", from))? {
        let entry = entry.map_err(BuildError::io("read", from))?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().map_err(BuildError::io("read", &path))? {
            kind if kind.is_dir() => copy_sources(&path, &copy)?,
            kind if kind.is_file() => {
                let content = read_text_bounded(&path, FILE_BYTES_MAX).map_err(BuildError::io("read", &path))?;
                fs::write(&copy, content).and_then(|()| super::date(&copy)).map_err(BuildError::io("write", &copy))?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_leaves_out_what_only_a_browser_has() {
        let errors = "    match *self {\n            #[cfg(feature = \"wasm_js\")]\n            Error::WEB_CRYPTO => \"none\",\n    }\n";
        let corrected = without_line(errors).expect("it is as it was");
        assert!(corrected.contains("\"custom\"))]\n            Error::WEB_CRYPTO => \"none\""), "{corrected}");
        assert_eq!(without_line("    match *self {}\n"), None);
        assert_eq!(without_line(&format!("const WEB_CRYPTO: u8 = 1;\n{errors}")), None, "it compiles");
        let manifest = "[package]\nname = \"getrandom\"\n[features]\nwasm_js = [\"dep:js-sys\"]\n[[test]]\nname = \"a\"\n\
                        [target.'cfg(a)'.dependencies]\njs-sys = \"1\"\nlibc = \"1\"\n";
        let table: Table = without_browser(manifest).expect("TOML").parse().expect("TOML");
        assert!(!table.contains_key("test") && table["features"]["wasm_js"].as_array().is_some_and(Vec::is_empty));
        let left = table["target"]["cfg(a)"]["dependencies"].as_table().expect("a table");
        assert_eq!(left.keys().collect::<Vec<_>>(), ["libc"]);
        let own: Table = naming("[package]\nname = \"mine\"\n").expect("TOML").parse().expect("TOML");
        assert_eq!(own["patch"]["crates-io"]["getrandom"]["path"].as_str(), Some(FOLDER));
    }

    #[test]
    fn only_one_version_needs_a_copy() {
        let lock = |version: &str| format!("[[package]]\nname = \"getrandom\"\nversion = \"{version}\"\n");
        assert_eq!(version(&lock("0.4.3")).as_deref(), Some("0.4.3"));
        assert_eq!((version(&lock("0.3.4")), version("")), (None, None));
    }
}
