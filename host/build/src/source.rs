//! The source of a build: a folder, or one file of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::manifest::Manifest;
use crate::{BuildError, copies, files, tool};

/// The maximum number of files of one plugin; a larger folder is probably a home directory by mistake.
const FILES_MAX: usize = 5_000;

/// Flags that name a folder of headers, or a header. No flag is a prefix of another.
const INCLUDES: [&str; 5] = ["-I", "-isystem", "-iquote", "-idirafter", "-include"];

/// The maximum size in bytes of one file, source or made by a toolchain.
const BYTES_MAX: u64 = 256 << 20;

/// Folders that hold what tools make or fetch, and no sources.
const SKIPPED: [&str; 7] = ["target", "node_modules", "out", "dist", "zig-out", "__pycache__", "venv"];

/// The sources of a plugin.
pub(crate) struct Source {
    /// Absolute.
    pub folder: PathBuf,
    /// The file that the user named, if it was one; relative to the folder.
    pub file: Option<PathBuf>,
    /// The name of the component: the folder, or the file without its extension.
    pub name: String,
    /// `host.toml`, if it exists and the folder was named. For a file, only its copies are made.
    pub manifest: Manifest,
    /// All files that can matter, relative to the folder.
    files: BTreeSet<PathBuf>,
    /// The copies next to a file that was named, relative to the folder: it can include or import them.
    copies: BTreeSet<PathBuf>,
}

impl Source {
    /// Reads the source at a path.
    ///
    /// # Errors
    ///
    /// The path does not exist, is neither a folder nor a regular file, or is no folder of a plugin.
    pub fn open(path: &Path) -> Result<Self, BuildError> {
        let missing = || BuildError::NoFolder { folder: path.to_owned() };
        let absolute = path.canonicalize().map_err(|_| missing())?;
        if absolute.is_dir() {
            let name = absolute.file_name().map_or("plugin".to_owned(), |name| name.to_string_lossy().into_owned());
            let manifest = Manifest::read(&absolute)?;
            copies::bring(&absolute, &manifest.build.copies)?;
            // Cargo knows the files of a package better than this list, and a crate can be large.
            let files = if absolute.join("Cargo.toml").is_file() && manifest.build.is_empty() {
                BTreeSet::from([PathBuf::from("Cargo.toml")])
            } else {
                let mut files = BTreeSet::new();
                walk(&absolute, Path::new(""), &mut files)?;
                // The file that the command makes is no source of it.
                if let Some(output) = &manifest.build.output {
                    files.remove(output);
                }
                files
            };
            return Ok(Self { folder: absolute, file: None, name, manifest, files, copies: BTreeSet::new() });
        }
        // Checked before a toolchain is searched, and installed.
        files::open_bounded(&absolute, BYTES_MAX).map_err(BuildError::io("read", &absolute))?;
        let folder = absolute.parent().ok_or_else(missing)?.to_owned();
        let file = PathBuf::from(absolute.file_name().ok_or_else(missing)?);
        let name = file.file_stem().map_or("plugin".to_owned(), |stem| stem.to_string_lossy().into_owned());
        let files = BTreeSet::from([file.clone()]);
        let copied = Manifest::read(&folder)?.build.copies;
        copies::bring(&folder, &copied)?;
        let copies = copies::all(&folder, &copied).into_iter().map(|copy| copy.to).collect();
        Ok(Self { folder, file: Some(file), name, manifest: Manifest::default(), files, copies })
    }

    /// Whether a file exists; the path is relative to the folder.
    pub fn has(&self, file: &str) -> bool {
        self.files.contains(Path::new(file))
    }

    /// The files with one of these extensions, sorted, relative to the folder.
    pub fn with_extension(&self, extensions: &[&str]) -> Vec<&Path> {
        let fits = |file: &&PathBuf| {
            file.extension().and_then(|extension| extension.to_str()).is_some_and(|e| extensions.contains(&e))
        };
        self.files.iter().filter(fits).map(PathBuf::as_path).collect()
    }

    /// The same without files in folders for tests, and without those that `host.toml` excludes.
    pub fn sources(&self, extensions: &[&str]) -> Vec<&Path> {
        let is_test = |file: &Path| {
            file.components().any(|part| matches!(part.as_os_str().to_str(), Some("test" | "tests" | "__tests__")))
        };
        let is_excluded = |file: &Path| self.manifest.build.exclude.iter().any(|path| file.starts_with(path));
        self.with_extension(extensions).into_iter().filter(|file| !is_test(file) && !is_excluded(file)).collect()
    }

    /// The text of a file, if it exists and is text.
    pub fn text(&self, file: &str) -> Option<String> {
        if self.has(file) { read_text(&self.folder.join(file)).ok() } else { None }
    }

    /// The main file, relative to the folder: the file that was named, the one
    /// in `host.toml`, or the first of the usual ones.
    pub fn main(&self, usual: &[&str]) -> Result<PathBuf, BuildError> {
        if let Some(main) = self.file.as_ref().or(self.manifest.build.main.as_ref()) {
            return Ok(main.clone());
        }
        let found = usual.iter().find(|file| self.has(file)).map(PathBuf::from);
        found.ok_or_else(|| BuildError::NoMain {
            folder: self.folder.clone(),
            what: format!("there is none of {}", usual.join(", ")),
        })
    }

    /// The path of the component.
    pub fn output(&self) -> PathBuf {
        self.folder.join("target/plugins").join(format!("{}.wasm", self.name))
    }

    /// A folder for intermediate files of a toolchain.
    pub fn work(&self, toolchain: &str) -> Result<PathBuf, BuildError> {
        let work = self.folder.join("target/guests").join(toolchain).join(&self.name);
        fs::create_dir_all(&work).map_err(BuildError::io("create", &work))?;
        Ok(work)
    }

    /// A digest of names and contents of all files except tests of the plugin: saving a trace changes no program. It includes
    /// headers in other folders that flags in `host.toml` name.
    ///
    /// # Errors
    ///
    /// One of them cannot be read or is too large, or the build is stopped.
    pub fn digest(&self) -> Result<blake3::Hash, BuildError> {
        let mut hasher = blake3::Hasher::new();
        for file in self.files.iter().filter(|file| !is_scenario(file)).chain(&self.copies) {
            let path = self.folder.join(file);
            let content = read(&path)?;
            tool::check()?;
            hasher.update(file.as_os_str().as_encoded_bytes()).update(&[0]);
            hasher.update(blake3::hash(&content).as_bytes());
        }
        for path in headers(&self.folder, &self.manifest.build.flags) {
            tool::check()?;
            hasher.update(path.as_os_str().as_encoded_bytes()).update(&[0]);
            hasher.update(blake3::hash(&read(&path)?).as_bytes());
        }
        Ok(hasher.finalize())
    }
}

/// Whether a file is a scenario or a trace that is saved next to the scenarios.
fn is_scenario(file: &Path) -> bool {
    let in_scenarios = file.parent().and_then(Path::file_name).is_some_and(|folder| folder == "scenarios");
    in_scenarios && file.extension().is_some_and(|extension| extension == "toml" || extension == "json")
}

/// The content of a file that is part of a source, or that a toolchain has made.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    files::read_bounded(path, BYTES_MAX).map_err(BuildError::io("read", path))
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Result<String, BuildError> {
    files::read_text_bounded(path, BYTES_MAX).map_err(BuildError::io("read", path))
}

/// Names, sizes and times of the sources at a path, to notice changes: files, and the headers and the originals of copies elsewhere that
/// they are compiled with, without those that are hidden or made by tools. A missing path has an empty state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceState(BTreeMap<PathBuf, (u64, Option<SystemTime>)>);

impl SourceState {
    /// Looks at a folder or a file. Unreadable files count as missing; in a folder with too many files, some are left out.
    pub fn of(path: &Path) -> Self {
        let mut files = BTreeSet::new();
        if path.is_dir() {
            // The next look notices a file that was created or removed meanwhile.
            let _ = walk(path, Path::new(""), &mut files);
            let manifest = Manifest::read(path).unwrap_or_default();
            files.extend(headers(path, &manifest.build.flags));
            // Edits are made in the original; a build that renews the copy changes nothing.
            for copy in copies::all(path, &manifest.build.copies) {
                files.remove(&copy.to);
                files.insert(copy.from);
            }
        } else {
            files.insert(PathBuf::new());
            let absolute = path.canonicalize().ok();
            if let Some(folder) = absolute.as_deref().and_then(Path::parent) {
                let copied = Manifest::read(folder).unwrap_or_default().build.copies;
                files.extend(copies::all(folder, &copied).into_iter().map(|copy| copy.from));
            }
        }
        let state = |file: PathBuf| {
            let whole = if file.as_os_str().is_empty() { path.to_owned() } else { path.join(&file) };
            let metadata = fs::metadata(whole).ok()?;
            Some((file, (metadata.len(), metadata.modified().ok())))
        };
        Self(files.into_iter().filter_map(state).collect())
    }
}

/// The files in other folders that flags of a compiler such as `-I../include` name, sorted. A folder with too many files, such as one of
/// the system, is skipped: edits there are not noticed.
fn headers(folder: &Path, flags: &[String]) -> BTreeSet<PathBuf> {
    let mut headers = BTreeSet::new();
    for named in included(flags) {
        let Ok(named) = folder.join(named).canonicalize() else { continue };
        let is_here = folder.canonicalize().is_ok_and(|folder| named.starts_with(folder));
        let mut below = BTreeSet::new();
        if named.is_file() {
            headers.insert(named);
        } else if !is_here && walk(&named, Path::new(""), &mut below).is_ok() {
            headers.extend(below.iter().map(|file| named.join(file)));
        }
    }
    headers
}

/// The paths that flags of a compiler of C or C++ name for `#include`: `-Ipath`, or `-I path`.
fn included(flags: &[String]) -> Vec<&str> {
    let mut named = Vec::new();
    for (at, flag) in flags.iter().enumerate() {
        let rest = INCLUDES.iter().find_map(|option| flag.strip_prefix(option));
        named.extend(match rest {
            Some("") => flags.get(at + 1).map(String::as_str),
            rest => rest,
        });
    }
    named
}

/// Adds the files below a folder, except hidden ones and those made by tools.
fn walk(root: &Path, below: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), BuildError> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).map_err(BuildError::io("read", &folder))? {
        let entry = entry.map_err(BuildError::io("read", &folder))?;
        let name = entry.file_name();
        let kind = entry.path();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() {
            // Links are not followed: they can form cycles.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !name.to_str().is_some_and(|name| SKIPPED.contains(&name)) {
                walk(root, &below.join(&name), files)?;
            }
        } else if kind.is_file() {
            files.insert(below.join(&name));
        }
        if files.len() > FILES_MAX {
            return Err(BuildError::TooManyFiles { folder: root.to_owned(), limit: FILES_MAX });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_elsewhere_are_those_of_the_flags() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| place.path().join(name);
        for folder in ["plugin/own", "one", "two/below", "three", "four"] {
            fs::create_dir_all(path(folder)).expect("writable");
        }
        for file in ["plugin/own/o.h", "one/a.h", "two/below/b.h", "three/c.h", "four/d.h"] {
            fs::write(path(file), "").expect("writable");
        }
        let flags = ["-Iown", "-I../one", "-isystem", "../two", "-DNDEBUG", "-include../three/c.h", "-Imissing"];
        let found = headers(&path("plugin"), &flags.map(str::to_owned));
        let expected = ["one/a.h", "two/below/b.h", "three/c.h"];
        assert_eq!(found, expected.map(|file| path(file).canonicalize().expect("it is there")).into());

        // An edited header makes the component again, and causes another run of `--watch`.
        fs::write(path("plugin/host.toml"), format!("[build]\nflags = {flags:?}\n")).expect("writable");
        let look = || {
            (SourceState::of(&path("plugin")), Source::open(&path("plugin")).expect("a folder").digest().expect("read"))
        };
        let before = look();
        assert_eq!(look(), before);
        fs::write(path("two/below/b.h"), "#define B").expect("writable");
        let after = look();
        assert!(after.0 != before.0 && after.1 != before.1);
        // So does another flag.
        fs::write(path("plugin/host.toml"), "[build]\nflags = [\"-DNDEBUG\"]\n").expect("writable");
        let flagged = look();
        assert!(flagged.0 != after.0 && flagged.1 != after.1);
    }

    #[test]
    fn scenarios_and_saved_traces_are_no_part_of_the_program() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        };
        let digest = || Source::open(folder.path()).and_then(|source| source.digest()).expect("files that can be read");
        write("app.py", "x = 1");
        write("scenarios/three-nodes.toml", "nodes = 3");
        let before = digest();
        write("scenarios/three-nodes.toml", "nodes = 4");
        write("scenarios/stored.json", "{}");
        assert_eq!(digest(), before);
        for (name, text) in [("app.py", "x = 2"), ("data.json", "{}"), ("scenarios/shared.py", "")] {
            let before = digest();
            write(name, text);
            assert_ne!(digest(), before, "{name}");
        }
    }
}
