//! The waiting local events, by their time.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::LocalEvent;

use crate::time::Time;

/// The scheduled local events of a node.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<LocalEvent, Time>,
    /// The events of requests: they stay scheduled even if the protocol does not list them.
    requested: BTreeSet<LocalEvent>,
}

impl Timers {
    /// Cancels the events that are no longer possible.
    pub(super) fn retain(&mut self, events: &[LocalEvent]) {
        self.due.retain(|event, _| events.contains(event) || self.requested.contains(event));
    }

    pub(super) fn has(&self, event: &LocalEvent) -> bool {
        self.due.contains_key(event)
    }

    /// Whether this event comes from a request, and waits.
    pub(super) fn is_requested(&self, event: &LocalEvent) -> bool {
        self.requested.contains(event)
    }

    /// The events among these that need a time, if a handler has restarted the events of these names.
    pub(super) fn new_of<'e>(&self, events: &'e [LocalEvent], restarted: &[String]) -> Vec<&'e LocalEvent> {
        let waits = |event: &LocalEvent| {
            self.has(event) && (self.requested.contains(event) || !restarted.contains(&event.name))
        };
        events.iter().filter(|event| !waits(event)).collect()
    }

    /// Schedules an event, in place of an earlier time. An event that is not listed comes from a request.
    pub(super) fn set(&mut self, event: LocalEvent, at: Time, is_listed: bool) {
        if !is_listed {
            self.requested.insert(event.clone());
        }
        self.due.insert(event, at);
    }

    pub(super) fn forget(&mut self, event: &LocalEvent) {
        self.due.remove(event);
        self.requested.remove(event);
    }

    /// Cancels the events of these names, so that they get new times.
    pub(super) fn restart(&mut self, names: &[String]) {
        self.due.retain(|event, _| self.requested.contains(event) || !names.contains(&event.name));
    }

    /// The time of the next event.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.values().min().copied()
    }

    /// Takes the first event, if it is due.
    pub(super) fn due(&mut self, now: Time) -> Option<LocalEvent> {
        let (event, at) = self.due.iter().min_by_key(|(event, at)| (**at, *event))?;
        if *at > now {
            return None;
        }
        let event = event.clone();
        self.forget(&event);
        Some(event)
    }
}
