//! The table of toolchains. Each row has a file of its own, which knows how to find, install and drive one.
//!
//! | module | what it holds |
//! |---|---|
//! | `command` | a command of the plugin's own |
//! | `rust` | Rust, with cargo |
//! | `assemblyscript` | AssemblyScript, with the compiler from npm |
//! | `javascript` | TypeScript and JavaScript, with esbuild and QuickJS |
//! | `python` | Python, with componentize-py |
//! | `c` | C, with clang and generated bindings |
//! | `cpp` | C++, with clang++ and the bindings of C |
//! | `zig` | Zig, with its own compiler |
//! | `go` | Go, with the standard compiler |
//! | `prepared` | an interpreter that is prepared once and given the text of a plugin after each edit |
//! | `text` | finished modules and components, binary or in text |

mod assemblyscript;
mod c;
mod command;
mod cpp;
mod go;
mod javascript;
mod prepared;
mod python;
pub(crate) mod rust;
mod text;
mod zig;

pub(crate) use rust::clear as clear_crates;

use crate::BuildError;
use crate::job::{Job, Made, Say};
use crate::source::Source;

/// The maintenance level of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Every change is tested with it.
    Maintained,
    /// It works, but is tested only from time to time, with the tests that take long.
    Community,
}

impl Tier {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Maintained => "maintained",
            Self::Community => "community",
        }
    }
}

/// A way to build a plugin from sources.
pub struct Toolchain {
    /// The name of the toolchain in `host.toml` and in reports.
    pub name: &'static str,
    /// The language, for people.
    pub language: &'static str,
    /// The files by which this toolchain recognises a folder.
    pub detected_by: &'static str,
    /// The programs needed, and how to install them.
    pub needs: &'static str,
    /// Its maintenance level.
    pub tier: Tier,
    pub(crate) recognises: fn(&Source) -> bool,
    pub(crate) build: fn(&Job<'_>, Say<'_>) -> Result<Made, BuildError>,
}

impl std::fmt::Debug for Toolchain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The rows in the order in which they are tried: toolchains with a file of their own to recognise come first.
pub const TOOLCHAINS: &[Toolchain] = &[
    command::ROW,
    rust::ROW,
    go::ROW,
    assemblyscript::ROW,
    javascript::ROW,
    zig::ROW,
    python::ROW,
    cpp::ROW,
    c::ROW,
    text::ROW,
];

/// The toolchain that the manifest names, or the first that recognises the sources.
pub(crate) fn choose(source: &Source) -> Result<&'static Toolchain, BuildError> {
    let row = recognised(source)?;
    let build = &source.manifest.build;
    if (!build.flags.is_empty() || !build.exclude.is_empty()) && !["c", "cpp"].contains(&row.name) {
        return Err(BuildError::BadManifest {
            path: source.folder.join(crate::manifest::MANIFEST),
            what: format!("`flags` and `exclude` in [build] are for C and C++, and this is built as {}", row.name),
        });
    }
    Ok(row)
}

fn recognised(source: &Source) -> Result<&'static Toolchain, BuildError> {
    if let Some(name) = &source.manifest.build.toolchain {
        let row = TOOLCHAINS.iter().find(|row| row.name == name);
        return row.ok_or_else(|| BuildError::UnknownToolchain {
            name: name.clone(),
            known: TOOLCHAINS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
        });
    }
    TOOLCHAINS.iter().find(|row| (row.recognises)(source)).ok_or_else(|| {
        let path = source.folder.join(source.file.as_deref().unwrap_or(std::path::Path::new("")));
        let rows = TOOLCHAINS.iter().skip(1).map(|row| format!("{} ({})", row.detected_by, row.language));
        BuildError::NotRecognised { path, wanted: rows.collect::<Vec<_>>().join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[(&str, &str)]) -> Result<&'static str, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            std::fs::write(path, content).expect("a new file");
        }
        let source = Source::open(folder.path()).map_err(|error| error.to_string())?;
        choose(&source).map(|row| row.name).map_err(|error| error.to_string())
    }

    #[test]
    fn toolchains_are_detected_by_their_files() {
        let assemblyscript = r#"{"devDependencies": {"assemblyscript": "1"}}"#;
        for (files, expected) in [
            (&[("Cargo.toml", ""), ("src/lib.rs", "")][..], "rust"),
            (&[("register.c", ""), ("json.h", ""), ("README.md", "")], "c"),
            (&[("package.json", assemblyscript), ("assembly/index.ts", "")], "assemblyscript"),
            (&[("package.json", "{}"), ("src/index.ts", "")], "javascript"),
            (&[("app.py", "")], "python"),
            (&[("go.mod", ""), ("main.go", ""), ("tools/check.py", "")], "go"),
            (&[("src/main.zig", ""), ("src/legacy.c", "")], "zig"),
            (&[("register.cpp", ""), ("list.c", ""), ("json.hpp", "")], "cpp"),
            (&[("register.wat", "")], "text"),
            (&[("host.toml", "[build]\ncommand = \"make\"\noutput = \"p.wasm\""), ("p.c", "")], "command"),
            (&[("host.toml", "[build]\ntoolchain = \"text\""), ("p.c", ""), ("p.wat", "")], "text"),
        ] {
            assert_eq!(chosen(files).as_deref(), Ok(expected));
        }
    }

    /// Flags and exclusions are refused for toolchains that would ignore them.
    #[test]
    fn flags_and_exclusions_are_for_c_and_cpp() {
        let said = |what: &str| format!("[build]\n{what}\n");
        for what in ["flags = [\"-Iinclude\"]", "exclude = [\"old\"]"] {
            let host = said(what);
            assert_eq!(chosen(&[("host.toml", &host), ("p.c", "")]).as_deref(), Ok("c"));
            assert_eq!(chosen(&[("host.toml", &host), ("p.cpp", ""), ("q.c", "")]).as_deref(), Ok("cpp"));
            for other in ["app.py", "Cargo.toml", "go.mod", "p.wat", "package.json"] {
                let message = chosen(&[("host.toml", &host), (other, "{}")]).expect_err(other);
                assert!(message.contains("are for C and C++"), "{message}");
            }
        }
        // An excluded file does not affect the choice.
        assert_eq!(
            chosen(&[("host.toml", &said("exclude = [\"old\"]")), ("p.c", ""), ("old/p.cpp", "")]).as_deref(),
            Ok("c")
        );
    }

    #[test]
    fn what_no_toolchain_recognises_is_refused() {
        let message = chosen(&[("notes.txt", "")]).expect_err("nothing to build");
        assert!(message.contains("Cargo.toml (Rust)") && message.contains("*.c (C)"), "{message}");
        let message = chosen(&[("host.toml", "[build]\ntoolchain = \"algol\"")]).expect_err("unknown");
        assert!(message.contains("algol") && message.contains("assemblyscript"), "{message}");
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = TOOLCHAINS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TOOLCHAINS.len());
    }
}
