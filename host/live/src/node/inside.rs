//! Observations of a node for a simulation, beyond its outputs.

use host_model::contract::LocalEvent;

use crate::gate::Gate;
use crate::node::runtime::Node;

impl<G: Gate> Node<'_, G> {
    /// The number of its latest checkpoint.
    pub(crate) fn number(&self) -> u64 {
        self.manager.number()
    }

    /// A local event that is possible and should have a time, but has none.
    pub(crate) fn unarmed(&self) -> Option<&LocalEvent> {
        let delays = &self.settings.delays;
        self.moment.local_events.iter().find(|event| !self.timers.has(event) && delays.of(event.kind).is_some())
    }

    /// The number of records requested since the start.
    pub(crate) fn tickets(&self) -> u64 {
        self.outbox.tickets()
    }
}
