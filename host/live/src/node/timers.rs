//! When local events are due.

use std::collections::BTreeMap;

use host_model::contract::LocalEvent;

use crate::time::Time;

/// The local events of a node that are going to happen.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeMap<LocalEvent, Time>);

impl Timers {
    /// Calls off what cannot happen any more, and has `draw` say when each other event happens that is new; never if it says so.
    pub(super) fn arm(&mut self, events: &[LocalEvent], mut draw: impl FnMut(&LocalEvent) -> Option<Time>) {
        self.0.retain(|event, _| events.contains(event));
        for event in events {
            if !self.0.contains_key(event)
                && let Some(at) = draw(event)
            {
                self.0.insert(event.clone(), at);
            }
        }
    }

    /// An event happens at this instant, whatever was said of it before.
    pub(super) fn set(&mut self, event: LocalEvent, at: Time) {
        self.0.insert(event, at);
    }

    pub(super) fn forget(&mut self, event: &LocalEvent) {
        self.0.remove(event);
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.values().min().copied()
    }

    /// Takes the one that is due first, if it is by now.
    pub(super) fn due(&mut self, now: Time) -> Option<LocalEvent> {
        let (event, at) = self.0.iter().min_by_key(|(event, at)| (**at, *event))?;
        if *at > now {
            return None;
        }
        let event = event.clone();
        self.0.remove(&event);
        Some(event)
    }
}
