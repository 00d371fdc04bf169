//! Running clusters: nodes, consistent checkpoints, checkers and steering, and simulators of whole runs and of the runtime.
//!
//! Everything is a pure state machine: time and input come in, outputs go out. Knows nothing of Wasm, sockets, clocks, files or
//! terminals: a [`Machine`](host_model::contract::Machine) executes handlers, and the driver passes in the time. A folder imports only
//! folders below it in this table.
//!
//! | module | what it holds |
//! |---|---|
//! | `world` | a cluster of nodes in virtual time, from a seed, with faults of frames, disks, clocks and processes |
//! | `recording` | what a node has handled, recorded and replayed |
//! | `disk` | the file of a node: records, crashes, and recovery at a start |
//! | `watcher` | the checker of a node: when it requests snapshots, and its rounds |
//! | `node` | a node of a running cluster: timers, frames, and the order of disk and network |
//! | `simulator` | whole runs of a cluster in virtual time, from a seed |
//! | `checker` | looks ahead from cluster snapshots: predictions, and filters against them |
//! | `steered` | the gate of a steered node: its filters, and the immediate check |
//! | `filter` | patterns of events that a node withholds for a while |
//! | `neighbourhood` | the nodes from whose states a checker looks ahead |
//! | `seen` | a step of the model as a gate sees it |
//! | `kinds` | kinds of messages, for filters that match more than one message |
//! | `gate` | the decisions of steering about an event, and about its effects |
//! | `carried` | the latest snapshot, updated with the messages of the node since |
//! | `checkpoint` | consistent checkpoints of a running cluster, with the messages in flight |
//! | `chance` | random numbers, one stream per purpose |
//! | `address` | addresses of nodes: numbers or names, with a port |
//! | `agenda` | what is going to happen, in the order of time |
//! | `time` | instants, ranges of durations and shares |
//! | `native` | plain data as the states of a native machine, for tests |
//!
//! # Example
//!
//! A server grants a lock to each client that requests it, whether the lock is free or not. Its checker looks ahead from a cluster
//! snapshot in which node 1 has the lock and the request of node 2 is in flight, and finds an event for the server to filter:
//!
//! ```
//! use std::sync::Arc;
//!
//! use host_live::checker::{Checker, Limits};
//! use host_model::scenario::Scenario;
//! use host_model::toys::{Toy, ToyTrigger};
//! use host_model::trace::{Beginning, Flight, Hex, NodeState};
//!
//! const ASK: u8 = 0;
//! const GRANT: u8 = 1;
//!
//! // Node 0 is the server; a client that has the lock is in state 1, and both must not have it.
//! let lock = Arc::new(
//!     Toy::new(3)
//!         .rule(0, 0, ToyTrigger::Message(1, ASK), 0, &[(1, GRANT)])
//!         .rule(0, 0, ToyTrigger::Message(2, ASK), 0, &[(2, GRANT)])
//!         .rule(1, 0, ToyTrigger::Message(0, GRANT), 1, &[])
//!         .rule(2, 0, ToyTrigger::Message(0, GRANT), 1, &[])
//!         .forbid(&[None, Some(1), Some(1)]),
//! );
//! let state = |node: u8, state| NodeState {
//!     node: node.into(),
//!     exported: Hex(vec![node, state]),
//!     fault_state: Default::default(),
//! };
//! let ask = Flight { from: 2, to: 0, payload: Hex(vec![ASK]), incarnation: 0, notice: false };
//! let snapshot = Arc::new(Beginning { states: vec![state(0, 0), state(1, 1), state(2, 0)], in_flight: vec![ask] });
//!
//! let mut checker = Checker::new(&lock, Scenario::new(3), Limits::default())?;
//! let round = checker.round(&snapshot)?;
//! // The request arrives, then the grant.
//! assert_eq!(round.predictions[0].steps.iter().map(|step| step.node).collect::<Vec<_>>(), [0, 2]);
//!
//! let filters = checker.steer(0, &round)?.patterns;
//! assert_eq!(filters.len(), 1);
//! assert_eq!(checker.check_filters(&snapshot, 0, &filters)?.refused, None);
//! // Without them, the violation is possible.
//! assert!(checker.check_filters(&snapshot, 0, &Default::default())?.refused.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod address;
mod agenda;
pub mod carried;
mod chance;
pub mod checker;
pub mod checkpoint;
pub mod disk;
pub mod filter;
pub mod gate;
pub mod kinds;
#[cfg(test)]
mod native;
pub mod neighbourhood;
pub mod node;
pub mod recording;
mod seen;
pub mod simulator;
pub mod steered;
pub mod time;
pub mod watcher;
pub mod world;
