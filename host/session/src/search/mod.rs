//! A search, its progress and checkpoints, and the processing of its findings.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | a search from its start states to confirmed findings |
//! | `limits` | the bounds of a search, from its request |
//! | `goals` | the properties that `--goal` and `--avoid` name |
//! | `refusal` | whether other options of an open cluster would be refused |
//! | `promises` | whether a search decides the `eventually` properties |
//! | `monitor` | progress of a search, and its end by a bound |
//! | `identity` | what a search is about, as facts that can be compared |
//! | `checkpoint` | checkpoints in files |
//! | `states` | the graph of the reachable states in words |
//! | `telling` | local states and events in words |
//! | `why_different` | local states that are described in the same way and distinguished |
//! | `witness` | paths to states in which `sometimes` properties hold |
//! | `finding` | from a finding of a search to a confirmed one |
//! | `path` | a path as a trace |
//! | `replay` | how the replay of a trace ends |
//! | `following` | a trace in another build of its plugin |
//! | `continuing` | whether a promise is kept by all that follows a path |
//! | `log` | logs of a running cluster, and the executions that explain them |
//! | `refinement` | two components compared by their sequences of views |
//! | `simulation` | simulated runs, to a confirmed finding |
//! | `simulated_cluster` | the cluster of simulated runs |
//! | `engine` | what these run: the model or nodes, with checkers or without |
//! | `watch` | the tasks of their checkers |
//! | `script` | scripts of simulated runs, from files |
//! | `minimizing` | traces made short and confirmed |

pub mod checkpoint;
mod continuing;
mod engine;
pub mod finding;
pub mod following;
mod goals;
mod identity;
pub mod limits;
pub mod log;
pub mod minimizing;
pub mod monitor;
pub mod path;
pub mod promises;
pub mod refinement;
pub mod refusal;
pub mod replay;
mod run;
pub mod script;
pub mod simulated_cluster;
pub mod simulation;
pub mod states;
mod telling;
mod watch;
pub mod why_different;
pub mod witness;

pub use run::{Outcome, Times, run};
