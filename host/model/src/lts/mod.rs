//! The local transition system: every local state, message and handler execution, once.
//!
//! A handler depends only on the local state of its node and on the event, so its outcomes are computed once for
//! each pair and kept. [`Lts`] keeps them, behind one lock, shared by all workers; [`Stepper`] computes them.
//!
//! Ids are dense and given in the order of first arrival, which does not depend on the number of workers (see
//! [`Stepper::prepare`]), so they may break ties. They depend on the strategy, so no id may reach an output: reports
//! are sorted by content, and fingerprints are made of contents.
//!
//! | module | what it holds |
//! |---|---|
//! | `idle` | machines that no stepper uses at the moment |
//! | `ids` | ids of interned items; triggers of handlers as integers |
//! | `own_faults` | the faults that can happen in a local state |
//! | `state` | protocol states, local states, messages, outcomes of handlers |
//! | `protocol_step` | handler executions by protocol state, whatever the fault state of the node |
//! | `tables` | tables of all interned items |
//! | `system` | the tables behind one lock, with scenario and properties; sizes, coverage |
//! | `handler` | executes one handler for every resolution of its choices |
//! | `pool` | executes handlers in batches on many machines |
//! | `jobs` | steps of local states, and the handlers to execute for them |
//! | `adopt` | local states from elsewhere, and the one of an absent node |
//! | `intern` | interns the outcomes of handlers |
//! | `snapshots` | large snapshots, kept once for all siblings |
//! | `derive` | the steps of local states, derived from handler executions without a machine |
//! | `mover` | moves global states from one local transition system to its sibling |
//! | `cache` | a lock-free copy of the tables per stepper |
//! | `links` | the links between nodes in given local states |
//! | `stepper` | access to the outcomes of handlers, executed where they are missing |
//! | `enabled` | the enabled events of a global state, node by node |
//! | `questions` | questions to a protocol other than the execution of its handlers: properties, ends, renamings |
//! | `quorum` | messages that are received together: roles, sets, events |
//! | `deadlock` | terminal states, and the nodes that are not done there |

mod adopt;
mod cache;
pub mod deadlock;
mod derive;
mod enabled;
pub(crate) mod handler;
mod idle;
mod ids;
mod intern;
mod jobs;
mod links;
mod mover;
mod own_faults;
mod pool;
mod protocol_step;
mod questions;
pub mod quorum;
mod snapshots;
mod state;
mod stepper;
mod system;
mod tables;

pub use cache::{Brief, Edge, LtsCache, OutcomesRef};
pub use enabled::{enabled, is_in_order};
pub use handler::OUTCOMES_MAX;
pub use ids::{KindId, LocalEventId, LocalStateId, MessageId, QuorumId, Trigger};
pub use links::{AsMessage, NodeLinks};
pub use mover::Mover;
pub use own_faults::OwnFaults;
pub use state::{LocalState, Message, Outcome, ProtocolState, Step};
pub use stepper::Stepper;
pub use system::{Coverage, Lts, LtsCounts, Promise};
