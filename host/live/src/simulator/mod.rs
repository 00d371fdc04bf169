//! Whole runs of a cluster in virtual time, from a seed.
//!
//! A search explores what can happen; a simulation goes through one long execution after the other as they may be in operation, where
//! messages take their time, some are lost, nodes restart and partitions come and go. It proves nothing. Each execution is one
//! that the [scenario](host_model::scenario) allows, so a violation is an ordinary trace, which replays.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | one run: from the start to its end |
//! | `verdicts` | what a run has led to so far |
//! | `finished` | a run that is over |
//! | `network` | its network: how long messages are on their way, which are lost, who reaches whom |
//! | `script` | phases of a run that are the same each time: who is cut off, called, reset |
//! | `kept` | how long promises of progress are kept in a run |
//! | `input` | what is going to happen in a run |
//! | `chance` | what is drawn in a simulated run |
//! | `conditions` | the conditions of a run: latency, loss, churn, partitions, delays |
//! | `tests` | seeds, conditions and violations, on toys |

mod chance;
mod conditions;
mod finished;
mod input;
mod kept;
mod network;
mod run;
pub(crate) mod script;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod verdicts;

pub use conditions::{Conditions, ConditionsError, Delays, Partitions};
pub use finished::{Counts, End, Finished};
pub use kept::Kept;
pub use run::{Simulator, SimulatorError};
pub use script::{Lost, Phase, ScriptError};
