//! The length of the protocols in the tree: lines of implementation, of specification and of tests.

use std::fs;
use std::path::Path;

use crate::checkers::here;
use crate::table::{count, markdown};

/// Prints a table of the plugins in Rust.
///
/// # Errors
///
/// A file cannot be read.
pub fn run() -> Result<(), String> {
    let plugins = here().join("../../plugins");
    let mut rows = Vec::new();
    for plugin in listed(&plugins)? {
        let folder = plugins.join(&plugin);
        if !folder.join("src/lib.rs").is_file() {
            continue;
        }
        let sources = listed(&folder.join("src"))?;
        let (specification, implementation): (Vec<_>, Vec<_>) =
            sources.into_iter().partition(|source| source == "spec.rs");
        let tests = if folder.join("tests").is_dir() { listed(&folder.join("tests"))? } else { Vec::new() };
        let total = |names: &[String], within: &str| -> Result<u64, String> {
            names.iter().map(|name| lines_of(&folder.join(within).join(name))).sum()
        };
        rows.push(vec![
            plugin,
            count(total(&implementation, "src")?),
            count(total(&specification, "src")?),
            count(total(&tests, "tests")?),
        ]);
    }
    println!("{}", markdown(&["plugin", "implementation", "specification", "native tests"], &rows));
    Ok(())
}

/// The names in a folder, sorted.
fn listed(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    names.sort();
    Ok(names)
}

fn lines_of(path: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(code_lines(&text))
}

/// Lines that are neither empty nor only a comment.
fn code_lines(text: &str) -> u64 {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(is_code).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_do_not_count() {
        assert_eq!(code_lines("//! What.\n\nfn f() {\n    // Why.\n    g(); // how\n}\n"), 3);
    }
}
