//! The times of local events that become possible.

use host_model::contract::LocalEvent;

use crate::gate::Gate;
use crate::node::moment::Moment;
use crate::node::refusal::Failure;
use crate::node::runtime::Node;
use crate::time::{Range, Time};

impl<G: Gate> Node<'_, G> {
    /// Draws times for the local events that become possible in the next moment, or in the present one if there is none, and for those that
    /// a handler has restarted, by name. An event without a time happens only on the call of a client.
    pub(super) fn draws(
        &mut self,
        next: Option<&Moment>,
        restarted: &[String],
    ) -> Result<Vec<(LocalEvent, Time)>, Failure> {
        let Moment { snapshot, local_events, .. } = next.unwrap_or(&self.moment);
        let new = self.timers.new_of(local_events, restarted);
        if new.is_empty() {
            return Ok(Vec::new());
        }
        self.machine.restore(Some(snapshot))?;
        let mut draws = Vec::new();
        for event in new {
            let said = match self.machine.duration(event) {
                Ok(said) => said,
                Err(fault) => return Err(self.confirm(fault)),
            };
            let range = said.map(|(from, to)| Range { from, to }).or_else(|| self.settings.delays.of(event.kind));
            draws.extend(range.map(|range| (event.clone(), self.now.after(range.draw(&mut self.dice)))));
        }
        Ok(draws)
    }

    /// Cancels the local events that are no longer possible, and schedules the drawn ones.
    pub(super) fn arm(&mut self, draws: Vec<(LocalEvent, Time)>) {
        self.timers.retain(&self.moment.local_events);
        draws.into_iter().for_each(|(event, at)| self.timers.set(event, at, true));
    }
}
