//! Build folders that plugins share, so that crates of the registry and the SDK are compiled once.
//!
//! Cargo keeps its intermediate results in a *build folder*. A plugin outside of any other workspace has one in the cache, unless the
//! user has set another one. There, cargo distinguishes packages in the plugin's folder by their names and paths within it, and by the
//! times of files. So a build folder is for one content of all these packages except the plugin, such as the SDK, and its results
//! equal those of a separate build. The plugin itself has the path of its folder among its flags, and a name that its folder received
//! at the first build: another folder at the same path, with older files, is another plugin.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use toml::{Table, Value};

use super::flags::remap;
use super::package::Package;
use crate::files::{read_bounded, read_text_bounded, write};
use crate::tool::lock_shared;
use crate::{BuildError, CRATES_BYTES_MAX, CRATES_FOLDER};

/// The variable that names the build folder to cargo; versions without it keep their results to themselves.
pub(super) const VARIABLE: &str = "CARGO_BUILD_BUILD_DIR";

/// Variables with which users set the folders of cargo.
const SAID: [&str; 3] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", VARIABLE];

/// Bounds on the files, and on the bytes of each, of the packages in the folder of a plugin; a plugin beyond them has its own build
/// folder.
const FILES_MAX: usize = 500;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file that each build in the folder locks shared, and the removal of the folder locks exclusively.
const LOCK: &str = "use.lock";

/// A build folder shared by several plugins, while it is in use.
pub(super) struct Shared {
    pub folder: PathBuf,
    _lock: File,
}

impl Shared {
    /// The shared build folder of a package; none if it has its own.
    pub(super) fn of(package: &Package, cache: Option<&Path>) -> Option<Self> {
        let is_set = SAID.iter().any(|name| env::var_os(name).is_some());
        let is_moved = package.build_directory != package.target_directory
            || package.target_directory != package.folder.join("target");
        if is_set || is_moved || package.workspace_root != package.folder {
            return None;
        }
        // The digest does not cover packages that replace others from there.
        let config = read_text_bounded(&package.folder.join(".cargo/config.toml"), FILE_BYTES_MAX).unwrap_or_default();
        if config.contains("patch") || config.contains("paths") {
            return None;
        }
        let content = content(&package.folder)?;
        let all = cache?.join(CRATES_FOLDER);
        fs::create_dir_all(&all).ok()?;
        // The check takes a while, and only a new build folder adds much.
        if !mark_of(package).exists() && bytes_below(&all) > CRATES_BYTES_MAX {
            clear(&all);
        }
        let lock = lock_shared(&all.join(LOCK)).ok()?;
        Some(Self { folder: all.join(&content.to_hex()[..16]), _lock: lock })
    }
}

fn mark_of(package: &Package) -> PathBuf {
    package.target_directory.join("guests/host-folder")
}

/// A flag without effect on the code that distinguishes the plugin in this folder from all others: by a name in its `target`, which is
/// created if it is missing.
pub(super) fn mark(package: &Package) -> Result<String, BuildError> {
    let path = mark_of(package);
    let name = match read_text_bounded(&path, FILE_BYTES_MAX) {
        Ok(name) if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_hexdigit()) => name,
        _ => {
            let mut hasher = blake3::Hasher::new();
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            hasher.update(&now.as_nanos().to_le_bytes()).update(&std::process::id().to_le_bytes());
            let name = hasher.update(path.as_os_str().as_encoded_bytes()).finalize().to_hex()[..32].to_owned();
            write(&path, name.as_bytes())?;
            name
        }
    };
    Ok(remap(&Path::new("/host-folder").join(name), "."))
}

/// A digest of the packages in a folder except the folder's own package; none if some are unknown, or they exceed the bounds.
fn content(folder: &Path) -> Option<blake3::Hash> {
    let (mut left, mut known) = (vec![PathBuf::new()], BTreeSet::new());
    while let Some(package) = left.pop() {
        let manifest: Table =
            read_text_bounded(&folder.join(&package).join("Cargo.toml"), FILE_BYTES_MAX).ok()?.parse().ok()?;
        if package.as_os_str().is_empty() && manifest.get("workspace")?.as_table()?.contains_key("members") {
            return None;
        }
        for path in paths(&Value::Table(manifest)) {
            let inside = package.join(path);
            // A path elsewhere, or the plugin itself.
            if inside.components().any(|part| !matches!(part, Component::Normal(_))) {
                return None;
            }
            if folder.join(&inside).join("Cargo.toml").is_file() && known.insert(inside.clone()) {
                left.push(inside);
            }
        }
    }
    let mut files = Vec::new();
    known.iter().try_for_each(|package| files_below(&folder.join(package), &mut files))?;
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let content = read_bounded(&file, FILE_BYTES_MAX).ok()?;
        let name = file.strip_prefix(folder).ok()?.to_str()?.to_owned();
        for part in [name.as_bytes(), &content] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    Some(hasher.finalize())
}

/// Every `path` in a manifest, of dependencies and of targets.
fn paths(value: &Value) -> Vec<String> {
    match value {
        Value::Table(table) => table
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value) {
                ("path", Value::String(path)) => vec![path.clone()],
                (_, value) => paths(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(paths).collect(),
        _ => Vec::new(),
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Option<()> {
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        if kind.is_dir() && entry.file_name() != "target" {
            files_below(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
        if kind.is_symlink() || files.len() > FILES_MAX {
            return None;
        }
    }
    Some(())
}

/// Removes all build folders if no other process uses them; returns whether it did.
pub fn clear(all: &Path) -> bool {
    if !all.exists() {
        return true;
    }
    let lock = File::options().create(true).append(true).open(all.join(LOCK));
    let is_alone = lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok());
    if is_alone {
        for entry in fs::read_dir(all).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
            // Remaining files are compiled again if they are damaged.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    is_alone
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() { bytes_below(&entry.path()) } else { metadata.len() })
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plugin with an SDK in its folder.
    fn plugin(manifest: &str, sdk: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |path: &str, content: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, content).expect("writable");
        };
        put("Cargo.toml", manifest);
        put("src/lib.rs", "// mine");
        put("guest-sdk/Cargo.toml", "[package]\nname = \"guest-sdk\"\n");
        put("guest-sdk/src/lib.rs", sdk);
        folder
    }

    const MANIFEST: &str =
        "[package]\nname = \"a\"\n[workspace]\n[dependencies]\nguest-sdk = { path = \"guest-sdk\" }\n";

    #[test]
    fn a_build_folder_is_for_one_content_of_the_packages_in_a_folder() {
        let of = |manifest: &str, sdk: &str| content(plugin(manifest, sdk).path());
        let one = of(MANIFEST, "// 1").expect("all is known");
        assert_eq!(
            of(&MANIFEST.replace("\"a\"", "\"b\""), "// 1"),
            Some(one),
            "the plugin itself is another one each time"
        );
        assert_ne!(of(MANIFEST, "// 2"), Some(one));
        // Without its own workspace, with members, and with packages elsewhere.
        assert_eq!(of(&MANIFEST.replace("[workspace]", ""), "// 1"), None);
        assert_eq!(of(&MANIFEST.replace("[workspace]", "[workspace]\nmembers = [\"b\"]"), "// 1"), None);
        for elsewhere in ["../b", "/b", "guest-sdk/../../b", "."] {
            let manifest = format!("{MANIFEST}b = {{ path = \"{elsewhere}\" }}\n");
            assert_eq!(of(&manifest, "// 1"), None, "{elsewhere}");
        }
        // The path of a target is not the path of a package.
        assert!(of(&format!("{MANIFEST}[lib]\npath = \"src/lib.rs\"\n"), "// 1").is_some());
        let copied = format!("{MANIFEST}[patch.crates-io]\nc = {{ path = \"c\" }}\n");
        let folder = plugin(&copied, "// 1");
        fs::create_dir_all(folder.path().join("c")).expect("writable");
        fs::write(folder.path().join("c/Cargo.toml"), "[package]\nname = \"c\"\n").expect("writable");
        let two = content(folder.path()).expect("all is known");
        fs::write(folder.path().join("c/lib.rs"), "// more").expect("writable");
        assert!(two != one && content(folder.path()) != Some(two));
    }
}
