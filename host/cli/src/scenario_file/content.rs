//! A scenario as words of a command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::options::expectation::Expectation;

/// A scenario as words of a command line.
#[derive(Debug, Default)]
pub struct ScenarioFile {
    /// The plugin's path, from where the program runs.
    pub plugin: Option<PathBuf>,
    /// The name of an option, a key for those that have one, and its value.
    pub options: Vec<Given>,
    /// What should come out.
    pub expect: Expectation,
}

/// One option of a scenario.
#[derive(Debug)]
pub struct Given {
    /// The option, without hyphens.
    pub option: &'static str,
    /// The key of `--set` and `--limit`.
    pub key: Option<String>,
    /// Its value; empty for a flag.
    pub value: OsString,
    /// Where it stands.
    pub line: usize,
}

impl Given {
    /// The option as one word of a command line; one without a value is a flag.
    pub fn word(&self) -> OsString {
        if self.value.is_empty() && self.key.is_none() {
            return format!("--{}", self.option).into();
        }
        let mut word = OsString::from(format!("--{}=", self.option));
        if let Some(key) = &self.key {
            word.push(format!("{key}="));
        }
        word.push(&self.value);
        word
    }
}
