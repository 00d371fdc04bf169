//! The cluster under test: its nodes, how messages travel between them, and what can go wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster` | the scenario: nodes, parameters, networks, budgets of faults |
//! | `route` | where a message or notice travels |
//! | `fault_state` | fault states: resets, connections and budgets of a node, and the rules for them |
//! | `channels` | messages in flight on links with an order: the next delivery of each channel, lost messages |

pub mod channels;
mod cluster;
pub(crate) mod fault_state;
mod route;

pub use cluster::{Faults, Link, Misfit, Network, Scenario};
pub use fault_state::{FaultEvent, Standing};
pub use route::Route;
