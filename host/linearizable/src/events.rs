//! Calls and returns of the operations on one object.

use crate::model::Action;

/// The number of an operation within a timeline.
pub(crate) type OpId = u32;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) action: Action,
    /// Its place among the operations of the history.
    pub(crate) source: u32,
    /// The positions of its events; [`NEVER`] for the return of an open call.
    pub(crate) call: u32,
    pub(crate) returned: u32,
    /// Its place among the operations that run at the same time; of operations that return only.
    pub(crate) slot: u32,
    /// Operations of one class have the same function, argument and result.
    pub(crate) class: u32,
}

/// The position of what never happens.
pub(crate) const NEVER: u32 = u32::MAX;

/// The call or the return of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) op: OpId,
    pub(crate) is_return: bool,
}
