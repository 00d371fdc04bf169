//! The result of a test.

use std::time::Duration;

/// The result of a test.
pub struct Outcome {
    /// The file.
    pub name: String,
    /// Reasons for failure, a phrase each; none if the test passed.
    pub wrong: Vec<String>,
    /// Whether it could not run at all.
    pub is_error: bool,
    /// The events of the violation that it found and did not expect, in words.
    pub events: Vec<String>,
    /// Its duration.
    pub time: Duration,
}
