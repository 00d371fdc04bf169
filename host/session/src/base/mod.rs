//! The foundations of a session.
//!
//! | module | what it holds |
//! |---|---|
//! | `context` | what a session touches outside of itself, as values |
//! | `bounds` | time, memory and the first interrupt, for all phases of a run |
//! | `files` | files from anywhere, read within bounds; files written as a whole or not at all |
//! | `written` | the files of the last run in a folder, for the next one to remove |
//! | `exit` | the table of exit codes |
//! | `failure` | what cannot be done: sentence, help, exit code |
//! | `names` | names and digests of plugins, as they are shown and as parts of paths |
//! | `plugins` | plugins that a command has loaded, for the clusters that it opens next |
//! | `text` | numbers, tables, quoting |
//! | `units` | times and sizes with units |

pub mod bounds;
pub mod context;
pub mod exit;
pub mod failure;
pub mod files;
pub mod names;
pub mod plugins;
pub mod text;
pub mod units;
pub mod written;

pub use context::Context;
pub use exit::Exit;
pub use failure::Failure;
