//! The imports in the sources of one package.

use std::path::Path;

use super::{GoError, SOURCE_BYTES_MAX};
use crate::files::read_text_bounded;

/// Systems and processors at the end of the name of a file that is compiled only for them: `go tool dist list`.
const OTHERS: &str = "aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris windows \
    386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x";

/// The tags that hold in the compilation of a plugin.
const TAGS: [&str; 4] = ["wasip1", "wasm", "gc", "purego"];

/// The properties of a package.
#[derive(Debug, Default)]
pub struct Imports {
    /// Whether it is a program.
    pub is_program: bool,
    /// Paths of imported packages outside of the standard library.
    pub packages: Vec<String>,
}

/// The imports of the files of a folder that are compiled for a plugin; none without such a file if it is the requested package,
/// else without any file.
pub fn imports(folder: &Path, is_asked_for: bool) -> Result<Option<Imports>, GoError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(None) };
    let mut found = Imports::default();
    let (mut sources, mut compiled) = (0, 0);
    for entry in entries {
        let path = entry.map_err(|error| GoError::Io { path: folder.to_owned(), error })?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".go") || name.ends_with("_test.go") || name.starts_with(['_', '.']) {
            continue;
        }
        sources += 1;
        let text = read_text_bounded(&path, SOURCE_BYTES_MAX);
        let text = text.map_err(|error| GoError::Io { path: path.clone(), error })?;
        if is_of_another_system(&name) || !is_compiled(&text) {
            continue;
        }
        compiled += 1;
        read(&text, &mut found);
    }
    found.packages.sort();
    found.packages.dedup();
    let is_there = if is_asked_for { compiled > 0 } else { sources > 0 };
    Ok(is_there.then_some(found))
}

/// Adds the imports that a file declares before its first declaration.
fn read(text: &str, found: &mut Imports) {
    let mut is_in_block = false;
    let mut is_comment = false;
    for line in text.lines() {
        let line = line.trim();
        if is_comment || line.starts_with("/*") {
            is_comment = !line.contains("*/");
            continue;
        }
        let word = line.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        match word {
            "package" if !is_in_block => found.is_program |= line.split_whitespace().nth(1) == Some("main"),
            "func" | "var" | "const" | "type" if !is_in_block => return,
            "import" if line.ends_with('(') => is_in_block = true,
            _ if is_in_block && line.starts_with(')') => is_in_block = false,
            _ if line.starts_with("//") => {}
            _ if is_in_block || word == "import" => found.packages.extend(imported(line)),
            _ => {}
        }
    }
}

/// The path between quotes, unless it belongs to the standard library: then its first component has no dot.
fn imported(line: &str) -> Option<String> {
    let path = line.split(['"', '`']).nth(1)?;
    path.split('/').next().is_some_and(|host| host.contains('.')).then(|| path.to_owned())
}

fn is_of_another_system(name: &str) -> bool {
    let stem = name.trim_end_matches(".go");
    stem.split('_').skip(1).any(|part| OTHERS.split_whitespace().any(|other| other == part))
}

/// Whether the build constraint in front of the package clause, if any, holds for a plugin.
fn is_compiled(text: &str) -> bool {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("package ")).collect();
    match head.iter().find_map(|line| line.strip_prefix("//go:build ")) {
        Some(constraint) => holds(&words(constraint), &mut 0),
        None => head.iter().filter_map(|line| line.strip_prefix("// +build ")).all(old_holds),
    }
}

/// Whether a constraint in the notation before Go 1.17 holds: one of its words must, and all parts of that word between commas.
fn old_holds(constraint: &str) -> bool {
    let new: Vec<String> = constraint.split_whitespace().map(|word| format!("({})", word.replace(',', "&&"))).collect();
    holds(&words(&new.join("||")), &mut 0)
}

/// Names, operators and parentheses of a constraint.
fn words(constraint: &str) -> Vec<String> {
    let mut spaced = constraint.to_owned();
    for operator in ["&&", "||", "!", "(", ")"] {
        spaced = spaced.replace(operator, &format!(" {operator} "));
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Parses a disjunction from this place on.
fn holds(words: &[String], place: &mut usize) -> bool {
    let mut result = all_hold(words, place);
    while next_is(words, place, "||") {
        result |= all_hold(words, place);
    }
    result
}

/// Parses a conjunction.
fn all_hold(words: &[String], place: &mut usize) -> bool {
    let mut result = one_holds(words, place);
    while next_is(words, place, "&&") {
        result &= one_holds(words, place);
    }
    result
}

fn one_holds(words: &[String], place: &mut usize) -> bool {
    if next_is(words, place, "!") {
        return !one_holds(words, place);
    }
    if next_is(words, place, "(") {
        let result = holds(words, place);
        next_is(words, place, ")");
        return result;
    }
    let word = words.get(*place).map_or("", String::as_str);
    *place += 1;
    // Every language version that a library can require is older than the compiler.
    TAGS.contains(&word) || word.starts_with("go1.")
}

/// Takes the next word if it is this one.
fn next_is(words: &[String], place: &mut usize, word: &str) -> bool {
    let is_it = words.get(*place).is_some_and(|next| next == word);
    *place += usize::from(is_it);
    is_it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_as_they_are_written() {
        let text = "/*\nimport \"a.org/comment\"\n*/\n// Package x.\npackage x // import \"a.org/x\"\n\nimport \"fmt\"\nimport . \"a.org/dot\"\n\
            import (\n\t\"net/http\"\n\t// \"a.org/none\"\n\t_ \"a.org/blank\" // why\n\tname `a.org/named`\n)\n\nvar x = \"a.org/text\"\n";
        let mut found = Imports::default();
        read(text, &mut found);
        assert_eq!(found.packages, ["a.org/dot", "a.org/blank", "a.org/named"]);
        assert!(!found.is_program);
    }

    #[test]
    fn what_is_compiled_for_other_systems_is_left_out() {
        for (name, expected) in
            [("a_linux.go", true), ("a_amd64.go", true), ("a_wasm.go", false), ("linux.go", false), ("a.go", false)]
        {
            assert_eq!(is_of_another_system(name), expected, "{name}");
        }
        for (constraint, expected) in [
            ("wasip1", true),
            ("linux", false),
            ("!linux", true),
            ("ignore", false),
            ("linux || wasm", true),
            ("wasm && !wasip1", false),
            ("!(linux || windows) && go1.18", true),
            ("unix || (js && wasm)", false),
        ] {
            assert_eq!(
                is_compiled(&format!("// Words.\n\n//go:build {constraint}\n\npackage x\n")),
                expected,
                "{constraint}"
            );
        }
        assert!(is_compiled("package x\n"));
        for (constraint, expected) in [
            ("// +build ignore\n", false),
            ("// +build linux wasm\n", true),
            ("// +build linux,wasm !wasip1\n", false),
            ("// +build wasm\n// +build linux\n", false),
            ("//go:build wasm\n// +build linux\n", true),
        ] {
            assert_eq!(is_compiled(&format!("{constraint}\npackage x\n")), expected, "{constraint}");
        }
    }
}
