//! Stopping between two calls of a guest.
//!
//! A guest can take its time: one handler with many choices runs for minutes, an audit for hours. So the owner of the clock
//! hands in a [`Stop`], and every loop over calls of a guest asks it before the next call. The answer travels as
//! `MachineError::Stopped`, an error that every loop passes on: what is half done is dropped, and never taken for
//! the whole.

/// Why work is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Stopped {
    /// The time is up.
    #[error("the time is up")]
    Time,
    /// The memory is used up.
    #[error("the memory is used up")]
    Memory,
    /// The user wants no more, or another program.
    #[error("interrupted")]
    Interrupted,
}

/// Says whether to stop. Keeps clocks and signals out of this crate.
pub trait Stop: Send + Sync {
    /// Why to stop now; none to continue. Asked before every call of a guest, by every worker.
    fn reason(&self) -> Option<Stopped>;
}
