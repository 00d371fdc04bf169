//! Errors of histories, with their places.

use std::io;

/// A place in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Why a history cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// An entry is wrong.
    #[error("{problem}")]
    Entry {
        /// The beginning of the entry, or of its wrong part.
        place: Place,
        /// The problem as a lower-case sentence.
        problem: String,
        /// The remedy.
        remedy: String,
    },
    /// The input cannot be read.
    #[error("{0}")]
    Input(io::Error),
    /// There is no operation.
    #[error("it has no operations of clients")]
    Empty,
    /// The object cannot begin with the given value.
    #[error("{0}")]
    Start(&'static str),
}

impl HistoryError {
    pub(crate) fn at(place: Place, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Entry { place, problem: problem.into(), remedy: remedy.into() }
    }
}
