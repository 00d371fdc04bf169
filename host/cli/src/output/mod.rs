//! The result of a run for people, and the files that it leaves behind.
//!
//! | module | what it holds |
//! |---|---|
//! | `bytes` | the bytes at a place in which two states differ |
//! | `curve` | what random walks have seen, at doublings of their steps |
//! | `levels` | the levels of a search without an answer, and an estimate of the rest |
//! | `text` | the result as text |
//! | `progress` | progress as text |
//! | `run_files` | the files that a run leaves behind |

pub mod bytes;
pub mod curve;
pub mod levels;
pub mod progress;
pub mod run_files;
pub mod text;
