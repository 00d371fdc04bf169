//! When local events are due.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::LocalEvent;

use crate::mutant::{Mutant, is_present};
use crate::time::Time;

/// The local events of a node that are going to happen.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<LocalEvent, Time>,
    /// Those of them that requests have become: they wait, listed or not.
    requested: BTreeSet<LocalEvent>,
}

impl Timers {
    /// Calls off what cannot happen any more.
    pub(super) fn retain(&mut self, events: &[LocalEvent]) {
        if is_present(Mutant::CallsNothingOff) {
            return;
        }
        self.due.retain(|event, _| events.contains(event) || self.requested.contains(event));
    }

    pub(super) fn has(&self, event: &LocalEvent) -> bool {
        self.due.contains_key(event)
    }

    /// Whether a request has become it, and it waits.
    pub(super) fn is_requested(&self, event: &LocalEvent) -> bool {
        self.requested.contains(event)
    }

    /// The events among these that begin to wait, where a handler has restarted those of these names.
    pub(super) fn new_of<'e>(&self, events: &'e [LocalEvent], restarted: &[String]) -> Vec<&'e LocalEvent> {
        let waits = |event: &LocalEvent| {
            self.has(event) && (self.requested.contains(event) || !restarted.contains(&event.name))
        };
        events.iter().filter(|event| !waits(event)).collect()
    }

    /// An event happens at this instant, whatever was said of it before; also if it is not `listed`, because a request has become it.
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

    /// Forgets the events of these names, which begin to wait again.
    pub(super) fn restart(&mut self, names: &[String]) {
        self.due.retain(|event, _| self.requested.contains(event) || !names.contains(&event.name));
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.values().min().copied()
    }

    /// Takes the one that is due first, if it is by now.
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
