//! Errors of machines, as opposed to faults of guests.

use crate::contract::stop::Stopped;

/// Why a machine does not continue although the guest did nothing wrong.
///
/// Every function that executes a handler can end with it, so functions without other errors do not repeat it. Nothing is half
/// done afterwards: what was interned before the error stays valid, and what was asked for can be asked for again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The host itself cannot continue: out of memory for another instance, say.
    #[error("{0}")]
    Host(String),
    /// A request to [stop](crate::contract::stop::Stop). The operation was abandoned, and nothing of it was kept.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

/// Why a local state does not move from one machine to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The state cannot be exported, or the bytes are no state of this machine: a lower-case phrase that says why.
    #[error("{0}")]
    Refused(String),
    /// The host itself cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl TransferError {
    /// That of machines that keep their states to themselves.
    pub(crate) fn unsupported() -> Self {
        Self::Refused("this machine's states cannot leave it".to_owned())
    }
}
