//! The result of a run for people, and the files that it leaves behind.
//!
//! | module | what it holds |
//! |---|---|
//! | `text` | the result as text |
//! | `progress` | progress as text |
//! | `artefacts` | the files that a run leaves behind |

pub mod artefacts;
pub mod progress;
pub mod text;
