//! The packages and files of this repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A package of the workspace, as far as the checks need it.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// As in `Cargo.toml`.
    pub name: String,
    /// As in `Cargo.toml`.
    pub description: String,
    /// From the root of the repository, such as `plugins/paxos`.
    pub folder: String,
    /// Names of what it depends on, for whatever purpose.
    pub dependencies: Vec<String>,
}

impl Package {
    /// Whether it is one of the bundled protocols.
    pub fn is_plugin(&self) -> bool {
        self.folder.starts_with("plugins/")
    }
}

/// The folder of the repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tests lie in the repository");
    root.canonicalize().expect("the repository is there")
}

/// All packages, in the order of their folders.
pub fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let mut packages: Vec<Package> = list(&metadata["packages"]).iter().map(package).collect();
    packages.sort_by(|one, other| one.folder.cmp(&other.folder));
    assert!(packages.len() > 5, "the workspace has packages");
    packages
}

fn package(value: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = PathBuf::from(text(&value["manifest_path"]));
    let folder = manifest.parent().expect("a manifest lies in a folder").canonicalize().expect("the folder is there");
    let folder = folder.strip_prefix(root()).expect("members lie in the repository");
    Package {
        name: text(&value["name"]),
        description: text(&value["description"]),
        folder: folder.display().to_string(),
        dependencies: list(&value["dependencies"]).iter().map(|dependency| text(&dependency["name"])).collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The files of the repository, those that are ignored left out; from the root, sorted.
///
/// Without git, as in an unpacked archive, all files outside of the folders that builds and runs make.
pub fn files() -> Vec<String> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let mut files: Vec<String> = match output {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8(output.stdout).expect("names of files are text");
            names.split_terminator('\0').map(str::to_owned).collect()
        }
        _ => walk(&root()),
    };
    // Git still lists a file that was deleted and not committed.
    files.retain(|path| root().join(path).is_file());
    files.sort();
    assert!(files.len() > 50, "the repository has files");
    files
}

/// The folders of plugins that are no packages of the workspace, and so in other languages than Rust; sorted.
pub fn foreign_plugins() -> Vec<String> {
    let files = files();
    let folders = files.iter().filter_map(|path| path.strip_prefix("plugins/")?.split_once('/'));
    let folders: std::collections::BTreeSet<&str> = folders.map(|(folder, _)| folder).collect();
    let foreign = folders.into_iter().map(|folder| format!("plugins/{folder}"));
    foreign.filter(|folder| !files.contains(&format!("{folder}/Cargo.toml"))).collect()
}

fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let from_root = path.strip_prefix(root()).expect("below the root").display().to_string();
        match path.is_dir() {
            true if [".git", "target", "out", "node_modules"].iter().any(|made| path.ends_with(made)) => {}
            true => found.extend(walk(&path)),
            false => found.push(from_root),
        }
    }
    found
}

/// The text of a file.
#[track_caller]
pub fn read(path: &str) -> String {
    read_optional(path).unwrap_or_else(|| panic!("{path} is not there, or is no text"))
}

/// The text of a file, if it is there.
pub fn read_optional(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// The first bytes of a file.
pub fn head(path: &str) -> Vec<u8> {
    let bytes = std::fs::read(root().join(path)).expect("a file of the repository can be read");
    bytes.into_iter().take(8).collect()
}

/// Whether a file is written by a program.
pub fn is_generated(path: &str) -> bool {
    ["guest-sdk/src/wasm/bindings.rs", "guest-sdk/src/wasm/spec/bindings.rs"].contains(&path)
}
