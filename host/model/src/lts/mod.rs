//! The local transition system: every local state, message and handler execution, once.
//!
//! | module | what it holds |
//! |---|---|
//! | `ids` | ids of what is interned; triggers of handlers as integers |
//! | `protocol_step` | handler executions by what the protocol knows, whatever has gone wrong at the node |
//! | `tables` | interned contents and outcomes, behind one lock |
//! | `derive` | the steps of local states where things can go wrong, derived without a machine |
//! | `handler` | executes one handler for every resolution of its choices |
//! | `cache` | a lock-free copy of the tables per stepper |
//! | `stepper` | executes missing handlers in batches on many machines, and judges tuples of views |
//! | `quorum` | messages that are received together: roles, sets, events |
//! | `deadlock` | terminal states, and the nodes that are not done there |

mod cache;
pub mod deadlock;
mod derive;
pub(crate) mod handler;
mod ids;
mod protocol_step;
pub mod quorum;
mod stepper;
mod tables;

pub use cache::{Brief, Edge, Known, OutcomesRef};
pub use handler::OUTCOMES_MAX;
pub use ids::{KindId, LocalEventId, LocalStateId, MessageId, QuorumId, Trigger};
pub use stepper::Stepper;
pub use tables::{Coverage, LocalState, Lts, LtsCounts, Message, Outcome, Step};
