//! Scenarios in files: what to explore and what is expected to come out, in TOML.
//!
//! A scenario is a set of options of `host run` that is kept in a file. Each key stands for an option, and what is said
//! on the command line counts more. So a new option needs one row in `KEYS` of the reader.
//!
//! | module | what it holds |
//! |---|---|
//! | `content` | a scenario as words of a command line |
//! | `reader` | a scenario from its text |
//! | `expected` | the section `[expect]` |
//! | `owner` | the plugin that a file belongs to because of where it lies |
//! | `trust` | what a scenario from elsewhere cannot do, or not silently |
//! | `merge` | scenarios below the options of a command line |

mod content;
mod expected;
mod merge;
mod owner;
mod reader;
mod trust;

pub use merge::{is_scenario, merge};
pub use owner::owner;
