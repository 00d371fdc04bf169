//! The gate of a node of a world that its checker steers.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::NodeId;

use crate::carried::Fork;
use crate::checker::Checker;
use crate::filter::{FilterTable, Pattern, Quota};
use crate::gate::{Event, Gate, Judge, Verdict, Views};
use crate::steered::Steered;
use crate::time::Time;

/// Something that a checker hands over to its node.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// What a snapshot says of the nodes.
    Views(Vec<Option<Views>>),
    /// Filters, and in about which time the next ones come.
    Filters(BTreeSet<Pattern>, Duration),
}

/// The gate of a node that its checker steers.
pub struct Guided<'c> {
    node: NodeId,
    steered: Steered<Views>,
    breaks: bool,
    /// Looks ahead from events whose effects are held.
    hold: Option<Checker<'c>>,
    /// Events that were kept from happening because of what looking ahead has shown.
    pub foreseen: u64,
}

impl<'c> Guided<'c> {
    /// The gate of a node; whether connections may be broken in place of messages has to be said.
    pub fn new(node: NodeId, nodes: u32, breaks: bool) -> Self {
        // Each round says how long its filters last.
        let table = FilterTable::new(node, Quota::default(), Duration::ZERO);
        Self { node, steered: Steered::new(table, vec![None; nodes as usize]), breaks, hold: None, foreseen: 0 }
    }

    /// The same where effects are held, and this checker looks ahead from each event.
    #[must_use]
    pub fn holding(self, checker: Checker<'c>) -> Self {
        Self { hold: Some(checker), ..self }
    }

    pub(super) fn hear(&mut self, now: Time, news: News) {
        match news {
            News::Views(views) => self.steered.take_views(views),
            News::Filters(patterns, interval) => {
                self.steered.table.set_interval(interval);
                self.steered.table.replace(now, self.node, patterns);
            }
        }
    }
}

impl Gate for Guided<'_> {
    fn breaks(&self) -> bool {
        self.breaks
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.steered.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.steered.after(now, event, judge)
    }

    fn looks_ahead(&self) -> bool {
        self.hold.is_some()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        let Some(checker) = self.hold.as_mut().filter(|_| self.steered.table.is_active(now)) else {
            return Verdict::Pass;
        };
        let Some((pattern, fork)) = Pattern::of(event).zip(fork()) else { return Verdict::Pass };
        // One that cannot go on says nothing, as the thread of a running node that has ended.
        let foreseen = checker.foresee(&pattern, &fork, &|| ());
        if foreseen.is_ok_and(|foreseen| foreseen.prediction.is_some()) {
            self.foreseen += 1;
            return self.steered.refuse(now, event);
        }
        Verdict::Pass
    }
}
