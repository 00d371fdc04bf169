//! The loop over inputs, and which inputs count as events.

use crate::gate::Gate;
use crate::time::Time;
use crate::world::driver::{Broken, World};
use crate::world::input::Input;

impl<G: Gate> World<'_, G> {
    /// Processes the next input. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// An invariant of the runtime is broken.
    pub(crate) fn advance(&mut self) -> Result<bool, Broken> {
        let end = Time(0).after(self.plan.time).after(self.plan.calm);
        let Some((at, input)) = self.agenda.next_until(end) else { return Ok(false) };
        self.now = at;
        let (before, steps) = (self.changed(), self.steps());
        // A timer that was cancelled is no event, and neither is the work of checkers.
        let is_something = match input {
            Input::Calm => false,
            Input::Wake(_) => !self.is_path,
            _ => !input.is_of_checker(),
        };
        self.changes += u64::from(input.changes_reach());
        let result = self.happen(input).map_err(|what| Broken { at: self.now.since_start(), what });
        if is_something || self.steps() > steps {
            self.latest = at;
        }
        result?;
        if self.changed() > before {
            self.wake_checkers();
        }
        Ok(true)
    }

    /// The time of the last event.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }

    /// Whether no event is scheduled.
    pub(crate) fn is_quiet(&self) -> bool {
        let running = || self.places.iter().filter_map(|place| place.running.as_ref());
        let is_due = running().any(|running| running.node.has_timers() || !running.own.is_empty());
        !is_due && self.agenda.has_nothing_but(|input| input.is_of_checker() || matches!(input, Input::Wake(_)))
    }
}
