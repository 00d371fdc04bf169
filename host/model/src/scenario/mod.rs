//! The cluster under test: its nodes, networks and faults.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster` | the scenario: nodes, parameters, networks, budgets of faults |
//! | `faults` | the faults: a description of each, and the table of them |
//! | `fault_event` | faults that are events of nodes |
//! | `names` | the names of nodes for people |
//! | `link` | the networks of links |
//! | `length` | the maximum length of a message on a link |
//! | `route` | the route of a message or notice |
//! | `fault_state` | fault states: faults and connections of a node so far, and the rules for them |
//! | `unsynced` | the writes of a node that are not on its disk for certain |
//! | `map_list` | a persistent list of different durable maps |
//! | `loose_entries` | the entries of a durable map that a power outage can leave with another value, each by itself |
//! | `outage_writes` | the unsynced writes that a power outage can lose |
//! | `network` | messages in flight: those that can be taken next, and those that a step takes, loses and sends |

mod cluster;
mod fault_event;
pub(crate) mod fault_state;
pub mod faults;
mod length;
mod link;
mod loose_entries;
mod map_list;
mod names;
mod network;
mod outage_writes;
mod route;
mod unsynced;

pub use cluster::{Scenario, ScenarioError};
pub use fault_event::FaultEvent;
pub use fault_state::FaultState;
pub use faults::Faults;
pub use link::{Link, Network};
pub use loose_entries::DISKS_MAX;
pub(crate) use loose_entries::Writes;
pub use names::NodeNames;
pub use network::{InFlight, Links, heads};
pub use outage_writes::OutageWrites;
pub use route::Route;
