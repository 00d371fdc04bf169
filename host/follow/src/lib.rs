//! Follows logs of a running cluster: is there an execution of the protocol that explains them?
//!
//! A log has lines of nodes, each about one event as far as it is known: events, fields and lines can be missing. It is explained by an
//! execution in which every node has the events of its lines, in their order; other events are *hidden*. The order of lines of different
//! nodes counts only where messages, or `after` in a line, say so: no clocks are merged.
//!
//! Knows of plugins only what a [`MachineFactory`](host_model::contract::MachineFactory) shows, and nothing of files and clocks.
//!
//! | module | what it holds |
//! |---|---|
//! | `search` | the search: depth first, with memory of what was refused, in rounds with more hidden events |
//! | `explain` | the reason of a refusal: what was enabled, and the first field in which each event differs |
//! | `moves` | the events that lead from one candidate to others, and the lines that they explain |
//! | `candidate` | a global state, and how far each node is in its lines |
//! | `facts` | descriptions of states, messages and events, compared with lines |
//! | `verdict` | the verdict, an explanation, a refusal |
//! | `read` | reads JSON lines |
//! | `fields` | the fields of a line |
//! | `log` | a log, and the order of its lines per node |
//! | `line` | a line |
//! | `fits` | whether a description has the fields of a line, and the first one that differs |
//! | `error` | errors of logs, with their places |
//! | `tests` | wrong lines, and refusals |
#![forbid(unsafe_code)]

mod candidate;
mod error;
mod explain;
mod facts;
mod fields;
mod fits;
mod line;
mod log;
mod moves;
mod read;
mod search;
#[cfg(test)]
mod tests;
mod verdict;

pub use error::{LogError, Place};
pub use facts::Facts;
pub use fields::Nodes;
pub use fits::{Closeness, Difference};
pub use line::{Content, Event, Line, LineId, Sending};
pub use log::Log;
pub use read::{Input, Read, read};
pub use search::{Monitor, follow};
pub use verdict::{
    Alternative, Blocked, Bound, Bounds, Explanation, FURTHEST_MAX, Furthest, Judgement, Refusal, Verdict,
};
