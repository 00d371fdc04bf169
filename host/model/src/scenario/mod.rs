//! The cluster under test: its nodes, how messages travel between them, and what can go wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster` | the scenario: nodes, parameters, networks, budgets of faults |
//! | `route` | where a message or notice travels |
//! | `fault_state` | fault states: resets, connections and budgets of a node, and the rules for them |
//! | `network` | messages in flight: which can be taken next, what a step takes, loses and sends |

mod cluster;
pub(crate) mod fault_state;
mod network;
mod route;

pub use cluster::{Faults, Link, Network, Scenario, ScenarioError};
pub use fault_state::{FaultEvent, FaultState};
pub use network::{InFlight, Links, heads};
pub use route::Route;
