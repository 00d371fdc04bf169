//! Clusters that run, from their files, and their nodes.
//!
//! | module | what it holds |
//! |---|---|
//! | `drawn` | the name of a cluster whose file gives it none |
//! | `file` | a cluster in a file: addresses, plugin, parameters, data |
//! | `open` | the nodes of a cluster, ready to run |
//! | `predictions` | the predictions of a node's checker, as lines and traces |

mod drawn;
mod file;
mod open;
mod predictions;

pub use file::{NodeSpec, OperationsSpec, RunningSpec};
pub use open::{Running, Seat};
pub use predictions::Predictions;
