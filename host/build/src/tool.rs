//! Other programs, without what an outer cargo told us.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::BuildError;

/// What a program that ended said.
pub(crate) struct Output {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// All that it said.
    pub fn both(&self) -> String {
        format!("{}{}", self.stdout, self.stderr).trim_end().to_owned()
    }

    /// The last words of a program that failed; most say there what is wrong.
    pub fn last_line(&self) -> &str {
        let line = self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason given");
        ["error: ", "E: "].iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line)
    }
}

/// A program that was found, and how to run it.
pub(crate) struct Tool {
    /// The program and the words before its own arguments.
    words: Vec<OsString>,
    /// Variables that it needs.
    variables: Vec<(&'static str, OsString)>,
    /// What it is and where it was found, for people.
    pub found: String,
}

impl Tool {
    /// A program.
    pub fn program(program: &Path, found: &str) -> Self {
        Self { words: vec![program.into()], variables: Vec::new(), found: found.to_owned() }
    }

    /// No program at all.
    pub fn none(found: &str) -> Self {
        Self { words: Vec::new(), variables: Vec::new(), found: found.to_owned() }
    }

    /// With words before the arguments.
    pub fn with_words(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(OsString::from));
        self
    }

    /// With a variable.
    pub fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The command, without arguments, to run in a folder.
    pub fn command(&self, folder: &Path) -> Command {
        let mut words = self.words.iter();
        let mut command = tool(words.next().expect("a tool that is run is a program"), folder);
        command.args(words).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Changes when the program is another one; cheaper than to ask for its version.
    pub fn identity(&self) -> String {
        let mut identity = self.found.clone();
        for word in &self.words {
            identity.push_str(&format!(" {}", word.display()));
        }
        if let Some(metadata) = self.words.first().and_then(|program| std::fs::metadata(program).ok()) {
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            identity.push_str(&format!(" {} {:?}", metadata.len(), modified));
        }
        identity
    }
}

/// A program to run in a folder, in a clean environment.
pub(crate) fn tool(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    let inside_cargo = env::var_os("CARGO_MANIFEST_DIR").is_some();
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| is_in_the_way(name, inside_cargo)) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a variable would make a build of a guest depend on how the host was started.
///
/// `cargo run` and `cargo test` describe the package that they run, and set the toolchain that they came from;
/// flags meant for native code do not fit guests. What says where cargo's files and registries are stays.
fn is_in_the_way(name: &str, inside_cargo: bool) -> bool {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TARGET_DIR",
        "CARGO_UNSTABLE_GITOXIDE",
    ];
    match name {
        "RUSTFLAGS" | "RUSTDOCFLAGS" | "RUST_RECURSION_COUNT" | "RUSTC_BOOTSTRAP" | "CARGO" => true,
        "RUSTUP_TOOLCHAIN" | "LD_LIBRARY_PATH" | "DYLD_LIBRARY_PATH" | "DYLD_FALLBACK_LIBRARY_PATH" => inside_cargo,
        _ if name == "RUSTC" || name.starts_with("RUSTC_") || name.starts_with("RUSTDOC") => true,
        _ => name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept)),
    }
}

/// Runs a program to its end.
pub(crate) fn finish(mut command: Command) -> Result<Output, BuildError> {
    let output = command.output().map_err(|source| BuildError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    Ok(Output {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The first program of these names on the path.
pub(crate) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names.iter().find_map(|name| env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()))
}

#[cfg(test)]
mod tests {
    use super::is_in_the_way;

    #[test]
    fn an_outer_cargo_does_not_show() {
        for name in ["RUSTC", "RUSTFLAGS", "CARGO", "CARGO_PKG_NAME", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
            assert!(is_in_the_way(name, false), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "RUSTUP_HOME"] {
            assert!(!is_in_the_way(name, true), "{name}");
        }
    }

    #[test]
    fn a_toolchain_chosen_by_the_user_is_respected() {
        assert!(!is_in_the_way("RUSTUP_TOOLCHAIN", false));
        assert!(is_in_the_way("RUSTUP_TOOLCHAIN", true));
    }
}
