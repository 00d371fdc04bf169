//! Looks ahead from snapshots of a cluster: what is about to go wrong, and what one node can filter so that it does not.
//!
//! A [`Checker`] has rounds. Each begins in a global state from elsewhere and explores ahead within a budget: first along the paths
//! that led to a violation before, then by the causal unfolding, then by consequence prediction for depth. What it has learned of
//! handlers lives on from round to round, until it takes too much room: then the next generation begins empty.
//!
//! Source: Yabandeh, Knezevic, Kostic, Kuncak, "CrystalBall: predicting and preventing inconsistencies in deployed distributed
//! systems", NSDI 2009. Differs in what explores first, in the messages in flight, which a snapshot has here, and in
//! [steering](crate::filter).
//!
//! | module | what it holds |
//! |---|---|
//! | `round` | one round: from a global state to predictions |
//! | `steering` | what one node can filter so that none of the predictions comes true |
//! | `foresee` | whether an event whose effects are held leads to what goes wrong |
//! | `safety` | whether filters make anything worse |
//! | `candidates` | the events of a node on a path that it can filter |
//! | `promises` | promises of progress that a state ahead cannot keep any more |
//! | `stopping` | searches of a checker that can be stopped from outside |
//! | `armed` | what a node does not do at a start, by paths that it has kept |
//! | `past` | paths that led to a violation before |
//! | `tests` | predictions, filters and their safety, against naive references |

mod armed;
mod candidates;
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
pub use foresee::Foreseen;
pub use round::{CheckError, Checker, Limits, Prediction, Round};
pub use safety::{Checked, Unsafe};
pub use steering::Steering;
