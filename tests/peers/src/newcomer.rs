//! The waiting time of a newcomer: from no protocol to the first verdict on one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::measure;
use crate::table::markdown;

/// Makes a protocol from the template outside the repository, and prints a table of the time of each step.
///
/// # Errors
///
/// A step ends with another exit code than 0, or the folder for it cannot be made or removed.
pub fn run(host: &Path) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("host-newcomer-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir(&folder).map_err(failed)?;
    let rows = steps(host, &folder);
    fs::remove_dir_all(&folder).map_err(failed)?;
    println!("{}", markdown(&["step", "seconds", "CPU seconds"], &rows?));
    Ok(())
}

fn steps(host: &Path, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    let protocol = folder.join("mine");
    let mut rows = Vec::new();
    let mut step = |what: &str, within: &Path, arguments: &[&str]| -> Result<(), String> {
        let done = measure::run(Command::new(host).args(arguments).current_dir(within))?;
        if done.exit_code != 0 {
            return Err(format!("`host {}` ends with {}", arguments.join(" "), done.exit_code));
        }
        rows.push(vec![what.to_owned(), format!("{:.2}", done.wall_seconds), format!("{:.2}", done.cpu_seconds)]);
        Ok(())
    };
    step("`host new rust mine`", folder, &["new", "rust", "mine"])?;
    step("`host run .`: compiles the protocol and all that it needs", &protocol, &["run", "."])?;
    step("`host run .` again", &protocol, &["run", "."])?;
    change(&protocol.join("src/lib.rs"))?;
    step("`host run .` after a change", &protocol, &["run", "."])?;
    Ok(rows)
}

/// Adds a comment to a source file, so that it is compiled again.
fn change(file: &Path) -> Result<(), String> {
    let appended = OpenOptions::new().append(true).open(file).and_then(|mut opened| opened.write_all(b"// Changed.\n"));
    appended.map_err(|error| format!("{}: {error}", file.display()))
}
