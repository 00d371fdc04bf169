//! The result of a run: one structure, shown as text or as JSON, and the files that it leaves behind.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | a run that is over |
//! | `assumed` | the assumptions of a verdict |
//! | `counts` | the counts |
//! | `decided` | whether a search has decided what it did not find |
//! | `never` | parts of a protocol that a run never reached |
//! | `audit` | the result of an audit |
//! | `violation` | one violation |
//! | `result` | all of it |
//! | `text` | the result for people |
//! | `artefacts` | the files that a run leaves behind |

pub mod artefacts;
mod assumed;
mod audit;
mod counts;
mod decided;
mod never;
pub mod result;
pub mod run;
mod text;
mod violation;
