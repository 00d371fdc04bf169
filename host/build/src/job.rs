//! Input and output of a toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::source::{self, Source};
use crate::tool::{Output, finish};
use crate::{BuildError, Options};

/// Receives each step as it begins.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str);

/// The sources to build, and the way to do it.
pub(crate) struct Job<'a> {
    pub source: &'a Source,
    pub options: &'a Options,
}

impl Job<'_> {
    /// Runs a tool to its end. Its output is the error if it fails.
    pub fn run(&self, command: Command) -> Result<Output, BuildError> {
        let output = finish(command)?;
        match output.success {
            true => Ok(output),
            false => Err(BuildError::Compile { name: self.source.name.clone(), output: output.both() }),
        }
    }

    /// Runs a compiler, reports its warnings, and reads the file that it has written.
    pub fn compile(&self, command: Command, made: &Path, say: Say<'_>) -> Result<Vec<u8>, BuildError> {
        self.run(command)?.stderr.lines().for_each(say);
        source::read(made)
    }
}

/// A component that exists.
pub(crate) struct Made {
    pub wasm: PathBuf,
    pub name: String,
    pub rebuilt: bool,
    /// The tool that made it, and where it was found.
    pub tool: String,
}
