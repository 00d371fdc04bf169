//! Looks ahead from cluster snapshots: predictions, and the filters with which one node can prevent them.
//!
//! A [`Checker`] works in rounds. Each begins in a given global state and explores ahead within a budget: first along earlier paths to
//! violations, then by the causal unfolding, then by consequence prediction for depth. Its cache of handlers is kept from round to round,
//! and cleared when it exceeds its limit.
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009. Differs in the order of searches, in the messages in flight, which are part of a snapshot here, and in
//! [steering](crate::filter).
//!
//! | module | what it holds |
//! |---|---|
//! | `round` | one round: from a global state to predictions |
//! | `explorer` | what the rounds of a node explore with |
//! | `steering` | the filters of one node against all predictions |
//! | `foresee` | looking ahead from an event whose effects are held |
//! | `safety` | the check that filters cause no new violation or dead state |
//! | `candidates` | the events of a node on a path that it can filter |
//! | `promises` | predictions of dead states |
//! | `stopping` | searches of a checker that can be stopped from outside |
//! | `armed` | the filters of a node at its start, from earlier predictions |
//! | `past` | earlier paths to violations |
//! | `tests` | predictions, filters and their safety, against naive references |

mod armed;
mod candidates;
mod explorer;
mod foresee;
mod past;
mod promises;
mod round;
mod safety;
mod steering;
mod stopping;
#[cfg(test)]
mod tests;

pub use armed::armed;
pub use explorer::Explorer;
pub use foresee::Foreseen;
pub use round::{CheckError, Checker, Limits, Prediction, Reach, Round};
pub use safety::{Checked, Unsafe};
pub use steering::Steering;
