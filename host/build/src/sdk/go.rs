//! Modules of Go in folders of their paths, as Debian installs them: those that a package needs, and a `go.mod` for them.
//!
//! Nothing is downloaded, and no compiler runs: the imports come from the sources that are compiled for WebAssembly.
//!
//! | module | what it holds |
//! |---|---|
//! | `imports` | what one file imports, and whether WebAssembly compiles it |
//! | `versions` | which of two versions is later |

mod imports;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::read_text_bounded;
use crate::tool::{finish, tool};
use imports::imports;
use versions::later;

/// The folder of libraries' sources in Debian.
pub const DEBIAN: &str = "/usr/share/gocode/src";

/// The version of the language that the SDK needs.
const LANGUAGE_MIN: &str = "1.24";

/// The maximum size in bytes of a source file.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// The maximum number of packages in one graph.
const PACKAGES_MAX: usize = 5_000;

/// Folders of copied modules, in that of the wrapper.
const COPIES: &str = "modules";

/// The reason why a package cannot be wrapped.
#[derive(Debug, thiserror::Error)]
pub enum GoError {
    /// It does not exist.
    #[error("there is no package {package} in {}", sources.display())]
    NoPackage {
        /// The path by which it is imported.
        package: String,
        /// The folder that was searched.
        sources: PathBuf,
    },
    /// It cannot be imported.
    #[error("{package} cannot be imported: {why}")]
    NoLibrary {
        /// The path by which it would be imported.
        package: String,
        /// A phrase.
        why: &'static str,
    },
    /// It has more packages than any real library.
    #[error("{package} imports more than {PACKAGES_MAX} packages")]
    TooManyPackages {
        /// The path by which it is imported.
        package: String,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// A package with the modules that its compilation needs.
#[derive(Debug)]
pub struct Library {
    package: String,
    /// By their paths.
    modules: BTreeMap<String, Module>,
    /// Imported packages that were not found.
    pub absent: Vec<String>,
}

/// A module in a folder.
#[derive(Debug)]
struct Module {
    folder: PathBuf,
    /// Its manifest, if it has one.
    manifest: Option<Manifest>,
}

/// The content of a `go.mod`.
#[derive(Debug, Default)]
struct Manifest {
    path: String,
    language: String,
    /// Required modules, with their minimum versions.
    required: Vec<(String, String)>,
}

/// Finds a package and its transitive imports, in folders of these names below `sources`.
///
/// # Errors
///
/// The package does not exist, or cannot be imported.
pub fn library(sources: &Path, package: &str) -> Result<Library, GoError> {
    if package.split('/').any(|part| part == "internal") {
        return Err(GoError::NoLibrary {
            package: package.to_owned(),
            why: "a package below `internal` is private to its module",
        });
    }
    let mut library = Library { package: package.to_owned(), modules: BTreeMap::new(), absent: Vec::new() };
    let mut waiting = vec![package.to_owned()];
    let mut seen = BTreeSet::from([package.to_owned()]);
    while let Some(path) = waiting.pop() {
        let Some((module, folder, rest)) = find(sources, &path)? else {
            library.absent.push(path);
            continue;
        };
        let imported = imports(&folder.join(rest), path == package)?;
        let Some(imported) = imported else {
            library.absent.push(path);
            continue;
        };
        if imported.is_program && path == package {
            return Err(GoError::NoLibrary { package: path, why: "it is a program" });
        }
        library.modules.entry(module).or_insert_with_key(|_| Module { manifest: manifest(&folder), folder });
        waiting.extend(imported.packages.into_iter().filter(|path| seen.insert(path.clone())));
        if seen.len() > PACKAGES_MAX {
            return Err(GoError::TooManyPackages { package: package.to_owned() });
        }
    }
    library.absent.sort();
    if library.absent.iter().any(|absent| absent == package) {
        return Err(GoError::NoPackage { package: package.to_owned(), sources: sources.to_owned() });
    }
    Ok(library)
}

impl Library {
    /// The `go.mod` of a wrapper, which takes each module from its folder.
    pub fn manifest(&self, name: &str) -> String {
        let packages = self.debian_packages();
        let own = self.package_module();
        let mut required = String::new();
        let mut replaced = String::new();
        for (path, module) in &self.modules {
            let indirect = if path == own { "" } else { " // indirect" };
            required += &format!("\t{path} {}{indirect}\n", self.version(path));
            let installed =
                packages.get(path).map(|package| format!(" // apt-get install {package}")).unwrap_or_default();
            let folder = match module.manifest {
                Some(_) => quoted(&module.folder.display().to_string()),
                None => format!("./{COPIES}/{path}"),
            };
            replaced += &format!("\nreplace {path} => {folder}{installed}\n");
        }
        let language = self.manifests().map(|manifest| manifest.language.as_str()).fold(LANGUAGE_MIN, later);
        format!(
            "module {name}\n\ngo {language}\n\n\
             // The versions are those that the modules want of each other; what is compiled is what lies in these folders.\n\
             require (\n{required})\n{replaced}"
        )
    }

    /// Copies modules without a `go.mod` into the folder of a wrapper, and adds one with the module's path: compilers reject modules
    /// without.
    ///
    /// # Errors
    ///
    /// A file cannot be read or written.
    pub fn copy_into(&self, wrapper: &Path) -> Result<(), GoError> {
        for (path, module) in self.modules.iter().filter(|(_, module)| module.manifest.is_none()) {
            let folder = wrapper.join(COPIES).join(path);
            copy(&module.folder, &folder)?;
            let manifest = folder.join("go.mod");
            std::fs::write(&manifest, format!("module {path}\n"))
                .map_err(|error| GoError::Io { path: manifest, error })?;
        }
        Ok(())
    }

    /// The module of the package itself.
    fn package_module(&self) -> &str {
        let holds = |module: &&String| within(&self.package, module).is_some();
        self.modules.keys().rev().find(holds).map_or("", String::as_str)
    }

    fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.modules.values().filter_map(|module| module.manifest.as_ref())
    }

    /// The latest version of a module that another module here requires. The compiler refuses a `go.mod` with an earlier one.
    fn version(&self, path: &str) -> String {
        let wanted = self.manifests().flat_map(|manifest| &manifest.required).filter(|(module, _)| module == path);
        let least = versions::least(path);
        wanted.map(|(_, version)| version.as_str()).fold(&*least, later).to_owned()
    }

    /// The Debian packages that installed the modules, if Debian did.
    fn debian_packages(&self) -> BTreeMap<String, String> {
        let from_debian = self.modules.iter().filter(|(_, module)| module.folder.starts_with(DEBIAN));
        let from_debian: Vec<(&String, &Module)> = from_debian.collect();
        if from_debian.is_empty() {
            return BTreeMap::new();
        }
        let mut dpkg = tool("dpkg", Path::new("/"));
        dpkg.arg("--search").args(from_debian.iter().map(|(_, module)| &module.folder));
        let Ok(found) = finish(dpkg) else { return BTreeMap::new() };
        let owner = |folder: &Path| {
            // `package: folder`, or `package, package: folder` if several packages own it.
            let line = found.stdout.lines().find(|line| line.ends_with(&format!(": {}", folder.display())))?;
            let packages = line.split(": ").next()?;
            (!packages.contains(',')).then(|| packages.to_owned())
        };
        from_debian.into_iter().filter_map(|(path, module)| Some((path.clone(), owner(&module.folder)?))).collect()
    }
}

/// The module of a package: its path, its folder, and the rest of the path.
fn find(sources: &Path, package: &str) -> Result<Option<(String, PathBuf, String)>, GoError> {
    for ancestor in ancestors(package) {
        // Version 2 and later lie in the folder of version 1, or in one of its own.
        for folder in [Some(ancestor), without_major(ancestor)].into_iter().flatten() {
            let folder = sources.join(folder);
            let Some(manifest) = manifest(&folder) else { continue };
            if let Some(rest) = within(package, &manifest.path) {
                return Ok(Some((manifest.path.clone(), folder, rest.to_owned())));
            }
        }
    }
    let module = likely_module(package);
    let folder = sources.join(module);
    let rest = within(package, module).unwrap_or_default().to_owned();
    Ok(folder.is_dir().then(|| (module.to_owned(), folder, rest)))
}

/// The path itself and its ancestors, the longest first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}

/// The path without a last part such as `v2`.
fn without_major(path: &str) -> Option<&str> {
    let (above, last) = path.rsplit_once('/')?;
    versions::is_major(last).then_some(above)
}

/// The rest of a path behind that of a module.
fn within<'a>(package: &'a str, module: &str) -> Option<&'a str> {
    let rest = package.strip_prefix(module)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// The module of a package without a `go.mod`: two or three components, depending on the host of the sources.
fn likely_module(package: &str) -> &str {
    let host = package.split('/').next().unwrap_or_default();
    let parts = if ["github.com", "gitlab.com", "bitbucket.org", "golang.org"].contains(&host) { 3 } else { 2 };
    let end = package.match_indices('/').nth(parts - 1).map_or(package.len(), |(place, _)| place);
    &package[..end]
}

/// The `go.mod` in a folder; none without one.
fn manifest(folder: &Path) -> Option<Manifest> {
    let text = read_text_bounded(&folder.join("go.mod"), SOURCE_BYTES_MAX).ok()?;
    let mut manifest = Manifest::default();
    let mut block = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().replace('"', "");
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words == [")"] {
            block.clear();
            continue;
        }
        if let [verb, "("] = words[..] {
            block = verb.to_owned();
            continue;
        }
        if !block.is_empty() {
            words.insert(0, &block);
        }
        match words[..] {
            ["module", path] => manifest.path = path.to_owned(),
            ["go", version] => manifest.language = version.to_owned(),
            ["require", path, version] => manifest.required.push((path.to_owned(), version.to_owned())),
            _ => {}
        }
    }
    (!manifest.path.is_empty()).then_some(manifest)
}

/// A path in a `go.mod`.
fn quoted(path: &str) -> String {
    if path.contains([' ', '"', '\'', '(', ')', ',']) { format!("{path:?}") } else { path.to_owned() }
}

/// Copies the files of a module, without its tests.
fn copy(from: &Path, to: &Path) -> Result<(), GoError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| GoError::Io { path, error }
    };
    std::fs::create_dir_all(to).map_err(failed(to))?;
    for entry in std::fs::read_dir(from).map_err(failed(from))? {
        let path = entry.map_err(failed(from))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "testdata" || name.ends_with("_test.go") {
            continue;
        }
        match path.is_dir() {
            true => copy(&path, &to.join(&name))?,
            false => drop(std::fs::copy(&path, to.join(&name)).map_err(failed(&path))?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modules that import each other, as Debian would install them.
    fn sources() -> tempfile::TempDir {
        let sources = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in [
            (
                "example.org/lib/go.mod",
                "module example.org/lib\n\ngo 1.12\n\nrequire example.org/dep/v2 v2.0.1 // later\n",
            ),
            (
                "example.org/lib/sub/sub.go",
                "package sub\n\nimport (\n\t\"fmt\"\n\tdep \"example.org/dep/v2/deep\"\n)\n",
            ),
            ("example.org/lib/sub/sub_test.go", "package sub\n\nimport \"example.org/for-tests\"\n"),
            ("example.org/lib/sub/sub_windows.go", "package sub\n\nimport \"example.org/for-windows\"\n"),
            (
                "example.org/lib/sub/tagged.go",
                "//go:build !wasip1\n\npackage sub\n\nimport \"example.org/for-others\"\n",
            ),
            ("example.org/lib/internal/x.go", "package internal\n"),
            ("example.org/lib/cmd/main.go", "package main\n"),
            (
                "example.org/dep/go.mod",
                "module example.org/dep/v2\n\nrequire (\n\tgithub.com/a/old v0.0.0-20190430140413-ec5e00d3c878\n)\n",
            ),
            ("example.org/dep/deep/deep.go", "package deep\n\nimport _ \"github.com/a/old/part\"\n"),
            ("github.com/a/old/part/part.go", "package part\n\nimport _ \"github.com/a/absent\"\n"),
            ("github.com/a/old/part/part_test.go", "package part\n"),
        ] {
            let path = sources.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        sources
    }

    #[test]
    fn a_manifest_takes_each_module_from_its_folder() {
        let sources = sources();
        let found = library(sources.path(), "example.org/lib/sub").expect("it is there");
        assert_eq!(found.absent, ["github.com/a/absent"]);
        let root = sources.path().display();
        let manifest = found.manifest("mine");
        let expected = format!(
            "module mine\n\ngo 1.24\n\n// The versions are those that the modules want of each other; what is compiled is what lies in \
             these folders.\nrequire (\n\texample.org/dep/v2 v2.0.1 // indirect\n\texample.org/lib v0.0.0\n\t\
             github.com/a/old v0.0.0 // indirect\n)\n\n\
             replace example.org/dep/v2 => {root}/example.org/dep\n\nreplace example.org/lib => {root}/example.org/lib\n\n\
             replace github.com/a/old => ./modules/github.com/a/old\n"
        );
        assert_eq!(manifest, expected);
        // Modules without a manifest are copied and get one.
        let wrapper = tempfile::tempdir().expect("a temporary folder");
        found.copy_into(wrapper.path()).expect("it can be read");
        let copied = wrapper.path().join("modules/github.com/a/old");
        assert_eq!(std::fs::read_to_string(copied.join("go.mod")).expect("a manifest"), "module github.com/a/old\n");
        assert!(copied.join("part/part.go").is_file() && !copied.join("part/part_test.go").exists());
    }

    #[test]
    fn what_cannot_be_imported_is_refused() {
        let sources = sources();
        let refused = |package| library(sources.path(), package).expect_err("it is refused").to_string();
        assert!(refused("example.org/none").starts_with("there is no package example.org/none in /"));
        assert!(refused("example.org/lib").starts_with("there is no package"), "a folder without sources");
        assert!(refused("example.org/lib/cmd").ends_with("it is a program"));
        assert!(refused("example.org/lib/internal").contains("private to its module"));
    }

    #[test]
    fn modules_without_a_manifest_are_known_by_their_place() {
        assert_eq!(likely_module("github.com/a/b/c/d"), "github.com/a/b");
        assert_eq!(likely_module("gopkg.in/yaml.v2"), "gopkg.in/yaml.v2");
        assert_eq!(likely_module("go.uber.org/zap/zapcore"), "go.uber.org/zap");
        assert_eq!(likely_module("github.com/a"), "github.com/a");
    }
}
