//! What a toolchain is given and what it makes.

use std::path::PathBuf;

use crate::Options;
use crate::source::Source;

/// Told each step as it begins.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str);

/// What is to be built, and how.
pub(crate) struct Job<'a> {
    pub source: &'a Source,
    pub options: &'a Options,
}

/// A component that is there now.
pub(crate) struct Made {
    pub wasm: PathBuf,
    pub name: String,
    pub rebuilt: bool,
    /// Which tool made it, and where it was found.
    pub tool: String,
}
