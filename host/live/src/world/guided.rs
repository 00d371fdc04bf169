//! The gate of a node of a world that its checker steers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::carried::Fork;
use crate::filter::{FilterTable, Pattern, Quota};
use crate::gate::{Event, Gate, Judge, Verdict, Views};
use crate::kinds::Kinds;
use crate::steered::Steered;
use crate::time::Time;

/// Something that a checker hands over to its node.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// The views of the nodes in a snapshot.
    Views(Vec<Option<Views>>),
    /// Filters, and the approximate time until the next ones.
    Filters(BTreeSet<Pattern>, Duration),
    /// Nothing has changed since the last snapshot, so that the filters stay; or something has.
    Rest(bool),
}

/// Whether an event leads to what is about to go wrong, and its substitute does not.
type LookAhead<'c> = dyn FnMut(&Pattern, &Fork) -> bool + 'c;

/// The gate of a node that its checker steers.
pub struct Guided<'c> {
    node: NodeId,
    steered: Steered<Views>,
    /// Whether the node is steered; if so, whether connections may be broken instead of messages.
    steers: Option<bool>,
    /// Looks ahead from events whose effects are held.
    hold: Option<Box<LookAhead<'c>>>,
    /// The number of events that looking ahead has prevented.
    pub foreseen: u64,
}

impl<'c> Guided<'c> {
    /// The gate of a node, which is open if the node is not steered; if it is, whether connections may be broken instead of messages.
    pub fn new(node: NodeId, nodes: u32, steers: Option<bool>) -> Self {
        // Each round says how long its filters last.
        let table = FilterTable::new(node, Quota::default(), Duration::ZERO);
        Self { node, steered: Steered::new(table, vec![None; nodes as usize]), steers, hold: None, foreseen: 0 }
    }

    /// The same where effects are held, and this looks ahead from each event: whether that leads to what is about to go wrong, and its
    /// substitute does not.
    #[must_use]
    pub fn holding(self, is_to_blame: impl FnMut(&Pattern, &Fork) -> bool + 'c) -> Self {
        Self { hold: Some(Box::new(is_to_blame)), ..self }
    }

    /// The same with this quota of filtered events.
    #[must_use]
    pub fn within(self, quota: Quota) -> Self {
        let Steered { table, latest } = self.steered;
        Self { steered: Steered::new(table.within(quota), latest), ..self }
    }

    /// The same where filters tell messages of these kinds apart.
    #[must_use]
    pub fn with_kinds(self, kinds: Arc<Kinds>) -> Self {
        let Steered { table, latest } = self.steered;
        Self { steered: Steered::new(table.with_kinds(kinds), latest), ..self }
    }

    /// The number of times that steering has suspended itself.
    pub(super) fn suspensions(&self) -> u64 {
        self.steered.table.suspensions()
    }

    pub(super) fn hear(&mut self, now: Time, news: News) {
        match news {
            News::Views(views) => self.steered.take_views(views),
            News::Rest(rests) => self.steered.table.rest(now, rests),
            News::Filters(patterns, interval) => {
                self.steered.table.set_interval(interval);
                self.steered.table.replace(now, self.node, patterns);
            }
        }
    }
}

impl Gate for Guided<'_> {
    fn judges(&self) -> bool {
        self.steers.is_some()
    }

    fn breaks(&self) -> bool {
        self.steers == Some(true)
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        match self.steers {
            Some(_) => self.steered.before(now, event),
            None => Verdict::Pass,
        }
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.steered.after(now, event, judge)
    }

    fn looks_ahead(&self) -> bool {
        self.hold.is_some()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        let Some(is_to_blame) = self.hold.as_mut().filter(|_| self.steered.table.is_active(now)) else {
            return Verdict::Pass;
        };
        let Some((pattern, fork)) = Pattern::of(event).zip(fork()) else { return Verdict::Pass };
        if is_to_blame(&pattern, &fork) {
            self.foreseen += 1;
            return self.steered.refuse(now, event);
        }
        Verdict::Pass
    }
}
