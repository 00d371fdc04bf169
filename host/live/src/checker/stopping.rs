//! Searches of a checker that can be stopped from outside.

use host_model::contract::{Stop, Stopped};
use host_model::lts::Lts;
use host_search::kernel::{EndCondition, Monitor, Progress};

/// Stops nothing.
pub(super) struct Never;

impl Stop for Never {
    fn reason(&self) -> Option<Stopped> {
        None
    }
}

/// Ends a search on request, or if it exceeds its limits of effort or memory.
pub(super) struct Asking<'s> {
    stop: &'s dyn Stop,
    effort: Option<Effort<'s>>,
    bytes_max: u64,
}

/// The effort of a search that its own counts do not include.
struct Effort<'s> {
    lts: &'s Lts<'s>,
    /// The number of evaluations of properties before the search.
    evaluations: u64,
    steps_max: u64,
}

/// The number of small steps of the unfolding that take about as long as one evaluation of a property.
const STEPS_OF_EVALUATION: u64 = 500;

impl<'s> Asking<'s> {
    pub(super) fn new(stop: &'s dyn Stop) -> Self {
        Self { stop, effort: None, bytes_max: u64::MAX }
    }

    /// Adds a limit in bytes: a search that exceeds it is cut short, as one that takes too long.
    pub(super) fn holding(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Adds a limit in steps, for a search in this local transition system.
    pub(super) fn within(self, lts: &'s Lts<'s>, steps_max: u64) -> Self {
        Self { effort: Some(Effort { lts, evaluations: lts.evaluations(), steps_max }), ..self }
    }
}

impl Monitor for Asking<'_> {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        let is_too_much = |effort: &Effort<'_>| {
            let evaluations = effort.lts.evaluations() - effort.evaluations;
            progress.steps + evaluations * STEPS_OF_EVALUATION > effort.steps_max
        };
        match self.stop.reason() {
            Some(stopped) => Some(stopped.into()),
            None if progress.bytes > self.bytes_max => Some(EndCondition::MemoryBound),
            None => self.effort.as_ref().is_some_and(is_too_much).then_some(EndCondition::StateBound),
        }
    }
}
