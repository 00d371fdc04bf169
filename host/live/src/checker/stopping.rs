//! Searches of a checker that somebody else may stop.

use host_model::contract::{Stop, Stopped};
use host_search::kernel::{EndCondition, Monitor, Progress};

/// Stops nothing.
pub(super) struct Never;

impl Stop for Never {
    fn reason(&self) -> Option<Stopped> {
        None
    }
}

/// Ends a search where this says so.
pub(super) struct Asking<'s>(pub(super) &'s dyn Stop);

impl Monitor for Asking<'_> {
    fn check(&self, _progress: &Progress) -> Option<EndCondition> {
        self.0.reason().map(EndCondition::from)
    }
}
