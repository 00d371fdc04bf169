//! The cluster under test: its nodes, how messages travel between them, and what can go wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster` | the scenario: nodes, parameters, networks, budgets of faults |
//! | `faults` | the faults: a description of each, and the table of them |
//! | `names` | the names of nodes for people |
//! | `link` | how messages travel |
//! | `length` | how long a message may be on a link |
//! | `route` | where a message or notice travels |
//! | `fault_state` | fault states: faults and connections of a node so far, and the rules for them |
//! | `network` | messages in flight: which can be taken next, what a step takes, loses and sends |

mod cluster;
pub(crate) mod fault_state;
pub mod faults;
mod length;
mod link;
mod names;
mod network;
mod route;

pub use cluster::{Scenario, ScenarioError};
pub use fault_state::FaultState;
pub use faults::{FaultEvent, Faults};
pub use link::{Link, Network};
pub use names::NodeNames;
pub use network::{InFlight, Links, heads};
pub use route::Route;
