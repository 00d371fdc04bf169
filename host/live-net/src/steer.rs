//! The gate of a node that its checker steers: the inbox between the two, and the switch that ends steering.
//!
//! The checker puts filters and views into an [`Inbox`]. The gate reads it at each event without waiting: while the checker holds its
//! lock, or after a panic with the lock held, the gate keeps its previous filters and views. Filters expire by themselves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host_live::carried::Fork;
use host_live::filter::{FilterTable, Pattern, Quota};
use host_live::gate::{Event, Gate, Judge, Verdict, Views};
use host_live::kinds::Kinds;
use host_live::steered::Steered;
use host_live::time::Time;
use host_model::contract::NodeId;

use crate::hold::{Hold, HoldCounts};

/// The interval at which the node checks for the file that ends all steering.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The configuration of steering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steer {
    /// The share of its events that the node may filter.
    pub quota: Quota,
    /// The file whose existence ends all steering of the node for good, within 100 ms.
    pub switch: PathBuf,
    /// The maximum time that the effects of an event are held while the node looks ahead from it; none if effects are not held. Only on
    /// links without an order.
    pub hold: Option<Duration>,
    /// Whether the substitute of a message on an ordered link breaks the connection with its sender.
    pub breaks: bool,
}

/// The results of steering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteeringCounts {
    /// Filters in force.
    pub filters: u64,
    /// Rounds with a prediction that no filters of the node prevent without causing another one.
    pub unhelpful: u64,
    /// The number of times that steering suspended itself because it reached its quota.
    pub suspensions: u64,
    /// Whether it is neither switched off nor suspended.
    pub is_active: bool,
    /// Whether the switch has ended it.
    pub is_off: bool,
    /// The results of looking ahead from events, if their effects are held.
    pub hold: Option<HoldCounts>,
}

/// Passes filters and views from the checker to the gate.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<News>);

/// Filters and views that the gate has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The views of each node in the latest snapshot with that node.
    pub(crate) views: Vec<Option<Views>>,
    /// The filters, and the time between two rounds.
    pub(crate) filters: Option<(BTreeSet<Pattern>, Duration)>,
}

impl Inbox {
    /// Puts the views of the nodes in a snapshot; none for absent nodes, which keep their previous views.
    pub(crate) fn put_views(&self, views: Vec<Option<Views>>) {
        let mut news = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if news.views.is_empty() {
            news.views = views;
            return;
        }
        for (latest, view) in news.views.iter_mut().zip(views).filter(|(_, view)| view.is_some()) {
            *latest = view;
        }
    }

    /// Puts the filters of a round in place of all earlier ones. The next round ends after about `interval`.
    pub(crate) fn put_filters(&self, patterns: BTreeSet<Pattern>, interval: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).filters = Some((patterns, interval));
    }

    /// Takes the news for a test, in place of the gate.
    #[cfg(test)]
    pub(crate) fn news(&self) -> News {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the news; none while the checker holds the lock, or after a panic with the lock held.
    fn take(&self) -> Option<News> {
        self.0.try_lock().ok().map(|mut news| std::mem::take(&mut *news))
    }
}

/// The gate of a node that its checker steers.
#[derive(Debug)]
pub(crate) struct Steerer {
    node: NodeId,
    gate: Steered<Views>,
    inbox: Arc<Inbox>,
    hold: Option<Hold>,
    breaks: bool,
}

impl Steerer {
    pub(crate) fn new(node: NodeId, nodes: u32, quota: Quota, inbox: Arc<Inbox>, hold: Option<Hold>) -> Self {
        // Each round sets the interval of its filters.
        let table = FilterTable::new(node, quota, Duration::ZERO);
        Self { node, gate: Steered::new(table, vec![None; nodes as usize]), inbox, hold, breaks: false }
    }

    /// Adds the kinds of messages.
    pub(crate) fn with_kinds(mut self, kinds: Arc<Kinds>) -> Self {
        self.gate.table = self.gate.table.with_kinds(kinds);
        self
    }

    /// Sets whether the substitute of a message on an ordered link breaks the connection.
    pub(crate) fn breaking(self, breaks: bool) -> Self {
        Self { breaks, ..self }
    }

    /// Adds filters from the start, in force for as long as those of a round.
    pub(crate) fn armed(mut self, patterns: BTreeSet<Pattern>, interval: Duration) -> Self {
        self.gate.table.set_interval(interval);
        self.gate.table.replace(Time(0), self.node, patterns);
        self
    }

    /// Ends all steering permanently.
    pub(crate) fn kill(&mut self) {
        self.gate.table.kill();
    }

    /// The results so far, except [`SteeringCounts::unhelpful`], which the checker counts.
    pub(crate) fn counts(&self, now: Time) -> SteeringCounts {
        let table = &self.gate.table;
        SteeringCounts {
            filters: table.len(now) as u64,
            unhelpful: 0,
            suspensions: table.suspensions(),
            is_active: table.is_active(now),
            is_off: table.is_off(),
            hold: self.hold.as_ref().map(Hold::counts),
        }
    }

    fn hear(&mut self, now: Time) {
        let Some(News { views, filters }) = self.inbox.take() else { return };
        self.gate.take_views(views);
        if let Some((patterns, interval)) = filters {
            self.gate.table.set_interval(interval);
            self.gate.table.replace(now, self.node, patterns);
        }
    }
}

impl Gate for Steerer {
    fn breaks(&self) -> bool {
        self.breaks
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.hear(now);
        self.gate.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.hear(now);
        self.gate.after(now, event, judge)
    }

    fn looks_ahead(&self) -> bool {
        self.hold.is_some()
    }

    fn ahead(&mut self, now: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        let Some(hold) = self.hold.as_mut().filter(|_| self.gate.table.is_active(now)) else { return Verdict::Pass };
        let Some(pattern) = Pattern::of(event) else { return Verdict::Pass };
        match fork().is_some_and(|fork| hold.is_to_blame(pattern, fork)) {
            true => self.gate.refuse(now, event),
            false => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use host_live::filter::What;
    use host_live::gate::{Cause, Side, Substitute};
    use host_model::scenario::Network;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn event(payload: &[u8]) -> Event<'_> {
        let cause = Cause::Message { from: 1, network: Network::Unordered, payload };
        Event { state: 1, cause, may_break: false }
    }

    fn filter(payload: u8) -> BTreeSet<Pattern> {
        [Pattern { state: None, what: What::Message { from: 1, payload: vec![payload] } }].into()
    }

    fn steerer() -> Steerer {
        Steerer::new(0, 2, Quota::default(), Arc::default(), None)
    }

    fn is_filtered(steerer: &mut Steerer, second: u64, payload: u8) -> bool {
        let verdict = steerer.before(Time(0).after(SECOND * second as u32), &event(&[payload]));
        verdict == Verdict::Instead(Substitute::Drop)
    }

    /// Whether the immediate check refuses a new state of the node. The property is that node 1 is in another state.
    fn is_refused(steerer: &mut Steerer, state: u8) -> bool {
        let own = |side| vec![Some(vec![if side == Side::Before { 0 } else { state }])];
        let verdict = steerer.after(Time(0), &event(&[9]), &mut |side, views| Some(own(side)) == views[1]);
        verdict == Verdict::Instead(Substitute::Drop)
    }

    #[test]
    fn filters_of_a_round_replace_others_and_end_after_two_rounds() {
        let mut steerer = steerer();
        assert!(!is_filtered(&mut steerer, 0, 7));
        steerer.inbox.put_filters(filter(7), SECOND);
        assert!(is_filtered(&mut steerer, 0, 7) && is_filtered(&mut steerer, 1, 7) && !is_filtered(&mut steerer, 2, 7));
        // Filters that the gate never took are replaced as well.
        steerer.inbox.put_filters(filter(7), SECOND);
        steerer.inbox.put_filters(filter(8), SECOND * 3);
        assert!(!is_filtered(&mut steerer, 3, 7) && is_filtered(&mut steerer, 3, 8) && is_filtered(&mut steerer, 8, 8));
        assert_eq!(steerer.counts(Time(8_000_000_000)).filters, 1);
        steerer.inbox.put_filters(BTreeSet::new(), SECOND);
        assert!(!is_filtered(&mut steerer, 8, 8));
    }

    #[test]
    fn what_snapshots_say_of_a_node_is_kept_until_another_one_does() {
        let mut steerer = steerer();
        assert!(!is_refused(&mut steerer, 5), "nothing is known of node 1");
        let of_other = |state: u8| vec![None, Some(vec![Some(vec![state])])];
        steerer.inbox.put_views(of_other(5));
        assert!(is_refused(&mut steerer, 5) && !is_refused(&mut steerer, 6));
        steerer.inbox.put_views(vec![None, None]);
        assert!(is_refused(&mut steerer, 5));
        steerer.inbox.put_views(of_other(6));
        steerer.inbox.put_views(vec![None, None]);
        assert!(is_refused(&mut steerer, 6) && !is_refused(&mut steerer, 5));
    }

    #[test]
    fn the_switch_ends_filters_and_the_immediate_check_for_good() {
        let mut steerer = steerer();
        steerer.inbox.put_views(vec![None, Some(vec![Some(vec![5])])]);
        steerer.inbox.put_filters(filter(7), SECOND);
        assert!(is_filtered(&mut steerer, 0, 7) && is_refused(&mut steerer, 5));
        steerer.kill();
        steerer.inbox.put_filters(filter(7), SECOND);
        assert!(!is_filtered(&mut steerer, 0, 7) && !is_refused(&mut steerer, 5));
        let SteeringCounts { filters, is_active, is_off, .. } = steerer.counts(Time(0));
        assert_eq!((filters, is_active, is_off), (0, false, true));
    }

    /// The gate does not wait for a checker that holds the lock, and keeps its filters when the checker panics with the lock held.
    #[test]
    fn the_gate_does_not_wait_for_a_checker_that_holds_the_lock() {
        let mut steerer = steerer();
        steerer.inbox.put_filters(filter(7), SECOND);
        assert!(is_filtered(&mut steerer, 0, 7));
        let inbox = Arc::clone(&steerer.inbox);
        let held = inbox.0.lock().expect("no holder has panicked");
        assert!(is_filtered(&mut steerer, 1, 7) && !is_filtered(&mut steerer, 2, 7));
        drop(held);
        let ended = std::thread::spawn(move || {
            let _held = inbox.0.lock().expect("no holder has panicked");
            panic!("the checker panics with the lock held");
        });
        ended.join().expect_err("it panics");
        steerer.inbox.put_filters(filter(7), SECOND);
        assert!(!is_filtered(&mut steerer, 3, 7), "a poisoned inbox has no news");
    }

    #[test]
    fn beyond_its_quota_the_gate_lets_everything_pass() {
        let mut steerer = Steerer::new(0, 2, Quota { percent: 0, always: 1 }, Arc::default(), None);
        steerer.inbox.put_filters(filter(7).into_iter().chain(filter(8)).collect(), SECOND);
        // The same message again does not count against the quota.
        assert!(is_filtered(&mut steerer, 0, 7) && is_filtered(&mut steerer, 0, 7) && !is_filtered(&mut steerer, 0, 8));
        let SteeringCounts { suspensions, is_active, is_off, .. } = steerer.counts(Time(0));
        assert_eq!((suspensions, is_active, is_off), (1, false, false));
        assert!(!is_refused(&mut steerer, 0));
    }
}
