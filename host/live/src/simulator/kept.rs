//! The time that promises are kept in a run.

use std::time::Duration;

use host_model::contract::MachineError;
use host_model::lts::{LocalStateId, Lts, Promise, Stepper};
use host_search::outlook::is_owed;

use crate::time::Time;

/// The time that an `eventually` property was kept in a run; for node scope, the sum over all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its index.
    pub property: u32,
    /// The time that it was kept.
    pub kept: Duration,
    /// The maximum: the time of the run times the number of promises.
    pub whole: Duration,
}

/// The promises of a run in progress.
pub(super) struct Keeping {
    promises: Vec<Keeper>,
    /// The time of the last change of the state.
    since: Time,
}

struct Keeper {
    promise: Promise,
    is_kept: bool,
    kept: Duration,
}

impl Keeping {
    /// The promises before the first state.
    pub(super) fn new(lts: &Lts<'_>) -> Self {
        let keeper = |promise| Keeper { promise, is_kept: false, kept: Duration::ZERO };
        Self { promises: lts.promises().into_iter().map(keeper).collect(), since: Time(0) }
    }

    /// Judges the states of the nodes from now on.
    pub(super) fn judge(
        &mut self,
        stepper: &mut Stepper<'_>,
        locals: &[LocalStateId],
        now: Time,
    ) -> Result<(), MachineError> {
        self.pass(now);
        for keeper in &mut self.promises {
            keeper.is_kept = !is_owed(stepper, locals, keeper.promise)?;
        }
        Ok(())
    }

    fn pass(&mut self, now: Time) {
        let passed = Duration::from_nanos(now.0 - self.since.0);
        self.promises.iter_mut().filter(|keeper| keeper.is_kept).for_each(|keeper| keeper.kept += passed);
        self.since = now;
    }

    /// The results of a run that ends at `end`, by property.
    pub(super) fn finish(mut self, end: Time) -> Vec<Kept> {
        self.pass(end);
        let mut all: Vec<Kept> = Vec::new();
        for Keeper { promise: Promise { property, .. }, kept, .. } in self.promises {
            match all.last_mut().filter(|last| last.property == property) {
                Some(last) => (last.kept, last.whole) = (last.kept + kept, last.whole + end.since_start()),
                None => all.push(Kept { property, kept, whole: end.since_start() }),
            }
        }
        all
    }
}
