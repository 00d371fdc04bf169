//! The result of a run as values.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | a run that is over |
//! | `assumed` | the assumptions of a verdict |
//! | `counts` | the counts |
//! | `decided` | why a search has not decided what it did not find |
//! | `ending` | how a run ends: statuses, and the exit code that follows from the verdict on them |
//! | `headline` | one phrase that says more than the verdict |
//! | `not_covered` | what a run did not look for, and the options that would |
//! | `properties` | the properties of a plugin and their results |
//! | `unreached` | parts of a protocol that a run never reached |
//! | `audit` | the result of an audit |
//! | `violation` | one violation |
//! | `scopes` | the scopes of a run with `--grow` |
//! | `sketches` | what a search has seen, for reports on many searches |
//! | `result` | all of it |

pub mod assumed;
pub mod audit;
mod counts;
mod decided;
mod ending;
mod headline;
pub mod not_covered;
pub mod properties;
pub mod result;
mod run;
mod scopes;
mod sketches;
pub mod unreached;
pub mod violation;

pub use result::RunReport;
pub use run::{FinishedRun, Saved};
pub use scopes::ScopeReport;
pub use sketches::sketches;
