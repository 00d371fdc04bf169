//! The errors that end a swarm.

use std::fmt::Display;

/// A sentence that names the thing and the cause, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SwarmError {
    /// The request does not fit.
    #[error("{message}")]
    Configuration {
        /// A lower-case sentence without a full stop.
        message: String,
        /// The remedy.
        help: String,
    },
    /// This machine, another one or its files got in the way.
    #[error("{message}")]
    System {
        /// A lower-case sentence without a full stop.
        message: String,
        /// The remedy.
        help: String,
    },
}

impl SwarmError {
    /// A request that does not fit.
    pub fn configuration(message: impl Display, help: impl Display) -> Self {
        Self::Configuration { message: message.to_string(), help: help.to_string() }
    }

    /// A machine or its files got in the way.
    pub fn system(message: impl Display, help: impl Display) -> Self {
        Self::System { message: message.to_string(), help: help.to_string() }
    }
}
