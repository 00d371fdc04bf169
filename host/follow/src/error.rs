//! Errors of logs, with their places.

use std::io;

/// A place in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, from 0.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Why a log cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A line is wrong.
    #[error("{problem}")]
    Line {
        /// The beginning of the line, or of its wrong part.
        place: Place,
        /// The problem as a lower-case phrase.
        problem: String,
        /// The remedy.
        remedy: String,
    },
    /// The input cannot be read.
    #[error("{0}")]
    Input(io::Error),
    /// There is no line.
    #[error("it has no lines")]
    Empty,
}

impl LogError {
    pub(crate) fn at(place: Place, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Line { place, problem: problem.into(), remedy: remedy.into() }
    }
}
