//! Why a world runs no nodes of a cluster.

use crate::simulator::SimulatorError;

/// Why the nodes of a running cluster cannot be simulated in a scenario, or would have runs that the model does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// The model cannot be simulated either.
    #[error(transparent)]
    Simulator(#[from] SimulatorError),
    /// Links are not all alike.
    #[error("links differ, and a running node has one kind of links")]
    Links,
    /// Links deliver a message twice.
    #[error("links duplicate, and a running node takes each message once")]
    Duplicates,
}
