//! What runs with a cluster: its nodes, consistent checkpoints of it, and simulators of whole runs and of the runtime.
//!
//! Everything is a pure state machine: time and input come in, outputs go out. Knows nothing of Wasm, sockets, clocks, files or
//! terminals: a [`Machine`](host_model::contract::Machine) executes handlers, and whoever drives the logic tells it the time. A folder
//! imports only folders below it in this table.
//!
//! | module | what it holds |
//! |---|---|
//! | `world` | a cluster of nodes in virtual time, from a seed: what goes wrong with frames, disks, clocks and processes |
//! | `disk` | the file of a node: what is written when, and what a start makes of what is there |
//! | `node` | a node of a running cluster: timers, frames, what has to be on the disk first |
//! | `simulator` | whole runs of a cluster in virtual time, from a seed |
//! | `checker` | looks ahead from snapshots of a cluster: what is about to go wrong, and what to filter |
//! | `steered` | the gate of a node that is steered: its filters, and the immediate check |
//! | `filter` | events of a node that are not to happen for a while |
//! | `neighbourhood` | the nodes from whose states a checker beside a node looks ahead |
//! | `seen` | a step of the model as a gate sees it |
//! | `kinds` | kinds of messages, by which filters are coarse |
//! | `gate` | what steering may do to an event, and to its effects |
//! | `carried` | what a node knows of the cluster between two snapshots |
//! | `checkpoint` | consistent checkpoints of a running cluster, with what is in flight |
//! | `agenda` | what is going to happen, in the order of time |
//! | `time` | instants, ranges of durations and shares |
//! | `mutant` | mistakes in the runtime that tests make on purpose |
//! | `native` | plain data as the states of a native machine, for tests |
#![forbid(unsafe_code)]

mod agenda;
pub mod carried;
pub mod checker;
pub mod checkpoint;
pub mod disk;
pub mod filter;
pub mod gate;
pub mod kinds;
mod mutant;
#[cfg(test)]
mod native;
pub mod neighbourhood;
pub mod node;
mod seen;
pub mod simulator;
pub mod steered;
pub mod time;
pub mod world;
