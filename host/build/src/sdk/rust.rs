//! A Rust package outside of this repository: its manifest, and the SDK next to it.

use toml::{Table, Value};

/// The manifests from which those of a new package are made.
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");
const PACKAGE: &str = include_str!("../../../../plugins/register/Cargo.toml");
const SDK: &str = include_str!("../../../../guest-sdk/Cargo.toml");

macro_rules! sdk {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../guest-sdk/", $path)))),+]
    };
}

/// The sources of the SDK.
const SDK_FILES: &[(&str, &str)] = sdk![
    "src/about.rs",
    "src/arena.rs",
    "src/canonical.rs",
    "src/client.rs",
    "src/clock.rs",
    "src/codec.rs",
    "src/content.rs",
    "src/context.rs",
    "src/encoded_list.rs",
    "src/format.rs",
    "src/layers.rs",
    "src/layers/pair.rs",
    "src/lib.rs",
    "src/linearizability.rs",
    "src/linearizability/objects.rs",
    "src/linearizability/search.rs",
    "src/mistakes.rs",
    "src/opaque.rs",
    "src/opaque/debug_text.rs",
    "src/parameters.rs",
    "src/property.rs",
    "src/protocol.rs",
    "src/randomness.rs",
    "src/ready_made.rs",
    "src/ready_made/budgets.rs",
    "src/ready_made/tests.rs",
    "src/renaming.rs",
    "src/role.rs",
    "src/configured_node.rs",
    "src/specification.rs",
    "src/storage.rs",
    "src/storage/key.rs",
    "src/storage/native.rs",
    "src/tasks.rs",
    "src/tasks/current.rs",
    "src/tasks/executor.rs",
    "src/tasks/fs.rs",
    "src/tasks/net.rs",
    "src/tasks/net/address.rs",
    "src/tasks/net/connection.rs",
    "src/tasks/net/segment.rs",
    "src/tasks/net/streams.rs",
    "src/tasks/net/traits.rs",
    "src/tasks/network.rs",
    "src/tasks/program.rs",
    "src/tasks/ready.rs",
    "src/tasks/timers.rs",
    "src/tasks/waker.rs",
    "src/tasks/zone.rs",
    "src/test.rs",
    "src/test/clients.rs",
    "src/test/explore.rs",
    "src/test/specification.rs",
    "src/timers.rs",
    "src/wasm.rs",
    "src/wasm/bindings.rs",
    "src/wasm/getrandom.rs",
    "src/wasm/spec.rs",
    "src/wasm/spec/bindings.rs",
];

/// The manifest of a Rust package outside of this repository.
pub fn manifest(name: &str, description: &str) -> String {
    package(name, description).to_string()
}

/// The manifest of a wrapper of a library, in exactly this version.
pub fn wrapper_manifest(name: &str, library: &str, version: &str) -> String {
    let mut package = package(name, &format!("The crate {library}, to be checked with `host`."));
    dependencies(&mut package).insert(library.to_owned(), format!("={version}").into());
    package.to_string()
}

/// Adds the dependencies that give libraries randomness in a plugin, by the versions in the lock file; none if nothing is missing.
/// The remedies of the build say the same to authors of handwritten manifests.
pub(super) fn with_randomness(manifest: &str, lock: &str) -> Option<String> {
    let mut package: Table = manifest.parse().ok()?;
    let lock: Table = lock.parse().ok()?;
    let locked = lock.get("package")?.as_array()?;
    let has = |name: &str, version: &str| {
        let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
        let is_it = |package: &&Value| {
            text(package, "name").as_deref() == Some(name)
                && text(package, "version").is_some_and(|it| it.starts_with(version))
        };
        locked.iter().any(|package| is_it(&package))
    };
    let mut is_changed = false;
    for (name, version, feature) in [("getrandom", "0.2", "custom"), ("uuid", "1", "rng-getrandom")] {
        let dependencies = dependencies(&mut package);
        if has(name, &format!("{version}.")) && !dependencies.contains_key(name) {
            let features = Value::from(vec![feature]);
            let wanted = [("version".to_owned(), Value::from(version)), ("features".to_owned(), features)];
            dependencies.insert(name.to_owned(), wanted.into_iter().collect::<Table>().into());
            is_changed = true;
        }
    }
    is_changed.then(|| package.to_string())
}

/// Versions of rand in a lock file that can find no randomness in a plugin: they ask only a system or a browser.
pub(super) fn without_randomness(lock: &str) -> Vec<String> {
    let lock: Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_old = |version: &str| ["0.3.", "0.4.", "0.5.", "0.6."].iter().any(|old| version.starts_with(old));
    let rand = packages.iter().filter(|package| text(package, "name") == "rand");
    let old = rand.map(|package| text(package, "version")).filter(|version| is_old(version));
    old.map(|version| {
        format!(
            "rand {version} is in the graph, which finds no randomness in a plugin: whatever draws from `thread_rng` or `OsRng` panics there, \
             and generators with a seed of their own work; look for a version of the library with rand 0.8 or later"
        )
    })
    .collect()
}

fn dependencies(package: &mut Table) -> &mut Table {
    package["dependencies"].as_table_mut().expect("the manifest that is compiled in has this table")
}

fn package(name: &str, description: &str) -> Table {
    let mut package = standalone(PACKAGE, &workspace());
    let about = package["package"].as_table_mut().expect("the manifest that is compiled in has this table");
    about.insert("name".to_owned(), name.into());
    about.insert("description".to_owned(), description.into());
    about.remove("license");
    let sdk: Table = [("path".to_owned(), Value::from("guest-sdk"))].into_iter().collect();
    dependencies(&mut package).insert("guest-sdk".to_owned(), sdk.into());
    // Its own workspace, also inside another one.
    package.insert("workspace".to_owned(), Table::new().into());
    package
}

/// Paths and contents of the SDK next to it.
pub(super) fn files() -> Vec<(String, String)> {
    let manifest = ("guest-sdk/Cargo.toml".to_owned(), standalone(SDK, &workspace()).to_string());
    let sources = SDK_FILES.iter().map(|(path, content)| (format!("guest-sdk/{path}"), (*content).to_owned()));
    std::iter::once(manifest).chain(sources).collect()
}

fn workspace() -> Table {
    WORKSPACE.parse().expect("the manifest that is compiled in is TOML")
}

/// A manifest with values of its workspace written out; without lints, and without dependencies of its tests.
fn standalone(manifest: &str, workspace: &Table) -> Table {
    let mut manifest: Table = manifest.parse().expect("the manifest that is compiled in is TOML");
    let shared = workspace["workspace"].as_table().expect("the manifest that is compiled in has this table");
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    write_out(
        &mut manifest,
        "package",
        shared["package"].as_table().expect("the manifest that is compiled in has this table"),
    );
    let dependencies = shared["dependencies"].as_table().expect("the manifest that is compiled in has this table");
    write_out(&mut manifest, "dependencies", dependencies);
    if let Some(targets) = manifest.get_mut("target").and_then(Value::as_table_mut) {
        for (_, target) in targets.iter_mut() {
            let target = target.as_table_mut().expect("each target of a manifest is a table");
            target.remove("dev-dependencies");
            write_out(target, "dependencies", dependencies);
        }
        targets.retain(|_, target| target.as_table().is_some_and(|target| !target.is_empty()));
    }
    manifest
}

/// Replaces every `workspace = true` in a section by the value of the workspace.
fn write_out(manifest: &mut Table, section: &str, shared: &Table) {
    let Some(section) = manifest.get_mut(section).and_then(Value::as_table_mut) else { return };
    for (key, value) in section.iter_mut() {
        let Some(own) = value.as_table_mut().filter(|own| own.contains_key("workspace")) else { continue };
        own.remove("workspace");
        let own = std::mem::take(own);
        *value = match (shared[key].clone(), own.is_empty()) {
            (said, true) => said,
            (Value::Table(mut said), false) => {
                said.extend(own);
                said.into()
            }
            (version, false) => {
                let version = std::iter::once(("version".to_owned(), version));
                version.chain(own).collect::<Table>().into()
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_is_complete() {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/src");
        let mut found: Vec<String> = Vec::new();
        for folder in [
            "",
            "layers",
            "opaque",
            "linearizability",
            "ready_made",
            "storage",
            "tasks",
            "tasks/net",
            "test",
            "wasm",
            "wasm/spec",
        ] {
            for entry in std::fs::read_dir(source.join(folder)).expect("the SDK is there") {
                let path = entry.expect("readable").path();
                if path.is_file() {
                    let path = path.strip_prefix(&source).expect("below it").display().to_string();
                    found.push(format!("src/{path}"));
                }
            }
        }
        found.sort_unstable();
        let mut expected: Vec<&str> = SDK_FILES.iter().map(|(path, _)| *path).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    /// Dependencies written by hand stay as they are.
    #[test]
    fn wrappers_get_the_randomness_that_their_libraries_need() {
        let manifest = wrapper_manifest("raft-checked", "raft", "0.7.0");
        let lock = |packages: &[(&str, &str)]| {
            let package =
                |(name, version): &(&str, &str)| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            packages.iter().map(package).collect::<String>()
        };
        assert_eq!(with_randomness(&manifest, &lock(&[("getrandom", "0.3.4"), ("uuid", "0.8.2")])), None);
        let added =
            with_randomness(&manifest, &lock(&[("getrandom", "0.3.4"), ("getrandom", "0.2.17"), ("uuid", "1.9.0")]));
        let added = added.expect("two are needed");
        let table: Table = added.parse().expect("TOML");
        assert_eq!(table["dependencies"]["getrandom"]["features"][0].as_str(), Some("custom"));
        assert_eq!(table["dependencies"]["uuid"]["features"][0].as_str(), Some("rng-getrandom"));
        assert_eq!(table["dependencies"]["raft"].as_str(), Some("=0.7.0"));
        assert_eq!(with_randomness(&added, &lock(&[("getrandom", "0.2.17"), ("uuid", "1.9.0")])), None);
    }

    #[test]
    fn versions_of_rand_without_a_source_are_named() {
        let lock = |version: &str| format!("[[package]]\nname = \"rand\"\nversion = \"{version}\"\n");
        for version in ["0.4.6", "0.5.6", "0.6.5"] {
            assert!(without_randomness(&lock(version))[0].starts_with(&format!("rand {version} is")), "{version}");
        }
        for version in ["0.7.3", "0.8.5", "0.9.2", "0.10.0"] {
            assert!(without_randomness(&lock(version)).is_empty(), "{version}");
        }
    }

    #[test]
    fn manifests_stand_on_their_own() {
        let sdk = files().into_iter().find(|(path, _)| path.ends_with("Cargo.toml")).expect("the SDK has one").1;
        for manifest in [manifest("my-protocol", "Mine."), sdk] {
            assert!(!manifest.contains("workspace = true"), "{manifest}");
            let parsed: Table = manifest.parse().expect("TOML");
            assert_eq!(parsed["package"]["edition"].as_str(), Some("2024"), "{manifest}");
        }
    }
}
