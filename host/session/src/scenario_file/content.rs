//! The content of a scenario, with places in its file.

use std::path::PathBuf;

use crate::base::Failure;
use crate::spec::RunSpec;
use crate::spec::expectation::Expectation;

/// A scenario.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// The request; without a plugin if the scenario does not name one. Paths are relative to the working directory.
    pub spec: RunSpec,
    /// The expectation.
    pub expect: Expectation,
    /// The options of the file, as failures name them, and their lines.
    lines: Vec<(String, usize)>,
}

impl Scenario {
    /// An empty one.
    pub fn new(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }

    /// Notes the line of an option.
    pub fn note(&mut self, option: String, line: usize) {
        self.lines.push((option, line));
    }

    /// The line of an option, if the scenario gives it.
    pub fn line(&self, option: &str) -> Option<usize> {
        self.lines.iter().find(|(given, _)| given == option).map(|(_, line)| *line)
    }

    /// Names the file in a failure, and the line if it is about an option that the file gives.
    #[must_use]
    pub fn locate(&self, mut failure: Failure) -> Failure {
        let line = failure.about.as_deref().and_then(|option| self.line(option));
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        failure.message = format!("{}{line}: {}", self.path.display(), failure.message);
        failure
    }
}
