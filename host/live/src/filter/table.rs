//! The filters in force: their end, their quota, the switch that turns them off.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::NodeId;
use host_model::contract::fingerprint::{Fingerprint, of_message};
use serde::{Deserialize, Serialize};

use crate::filter::pattern::Pattern;
use crate::gate::{Cause, Event, Substitute};
use crate::kinds::Kinds;
use crate::time::Time;

/// The maximum number of filters in force.
pub const FILTERS_MAX: usize = 64;

/// The time over which events are counted for the quota.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of dropped messages that are distinguished from new ones.
const MESSAGES_MAX: usize = 1_024;

/// The quota of events that may be filtered. An event that waits, and a message that is sent again, counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Filtered events per hundred events within a minute.
    pub percent: u64,
    /// Filtered events per minute that are always allowed, since one event is many percent at a node with few events.
    pub always: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { percent: 5, always: 10 }
    }
}

/// The decision about an event that can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtered {
    /// The event happens.
    No,
    /// The substitute happens in its place.
    Yes(Substitute),
    /// A filter matches the event, which happens anyway: the quota is used up, and steering suspends itself.
    Suspended,
}

/// The filters of one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FilterTable {
    node: NodeId,
    quota: Quota,
    #[serde(skip)]
    kinds: Arc<Kinds>,
    /// The time for which a filter is in force without a next round: twice the time between two rounds.
    lasting: Duration,
    /// The filters with their ends, and whether a filter of local events has postponed one.
    filters: BTreeMap<Pattern, (Time, bool)>,
    /// Local events that the immediate check has postponed, each in one state, with the time of the last refusal.
    refused: BTreeMap<Pattern, Time>,
    /// Messages that a filter or the immediate check has dropped, with the time of the last drop: repeated messages are dropped without
    /// counting.
    dropped: BTreeMap<Fingerprint, Time>,
    /// Events and filtered events per second, the oldest first.
    counted: VecDeque<(u64, u64, u64)>,
    suspended_until: Option<Time>,
    suspensions: u64,
    is_off: bool,
}

impl FilterTable {
    /// A table without filters. `interval` is the time between two rounds of the checker.
    pub fn new(node: NodeId, quota: Quota, interval: Duration) -> Self {
        Self {
            node,
            quota,
            kinds: Arc::default(),
            lasting: 2 * interval,
            filters: BTreeMap::new(),
            refused: BTreeMap::new(),
            dropped: BTreeMap::new(),
            counted: VecDeque::new(),
            suspended_until: None,
            suspensions: 0,
            is_off: false,
        }
    }

    /// Sets the quota of filtered events.
    #[must_use]
    pub fn within(self, quota: Quota) -> Self {
        Self { quota, ..self }
    }

    /// Sets the kinds of messages.
    #[must_use]
    pub fn with_kinds(self, kinds: Arc<Kinds>) -> Self {
        Self { kinds, ..self }
    }

    /// Replaces all filters by those of the latest round. Filters of another node's checker are refused, and so are more than
    /// [`FILTERS_MAX`]; returns how many were refused. An event postponed by a filter that stays keeps waiting.
    pub fn replace(&mut self, now: Time, origin: NodeId, patterns: impl IntoIterator<Item = Pattern>) -> usize {
        if origin != self.node || self.is_off {
            return patterns.into_iter().count();
        }
        let former = std::mem::take(&mut self.filters);
        let (end, mut refused) = (now.after(self.lasting), 0);
        for pattern in patterns {
            if self.filters.len() < FILTERS_MAX {
                let waits = former.get(&pattern).is_some_and(|(end, waits)| *waits && *end > now);
                self.filters.insert(pattern, (end, waits));
            } else {
                refused += usize::from(!self.filters.contains_key(&pattern));
            }
        }
        refused
    }

    /// Sets the time between two rounds of the checker, from now on.
    pub fn set_interval(&mut self, interval: Duration) {
        self.lasting = 2 * interval;
    }

    /// Keeps the filters in force until another round ends, while the checker `rests`; otherwise as if a round had ended now.
    pub fn rest(&mut self, now: Time, rests: bool) {
        let end = if rests { Time(u64::MAX) } else { now.after(self.lasting) };
        self.filters.values_mut().filter(|(until, _)| *until > now).for_each(|(until, _)| *until = end);
    }

    /// The number of filters in force.
    pub fn len(&self, now: Time) -> usize {
        self.filters.values().filter(|(end, _)| *end > now).count()
    }

    /// Whether no filter is in force.
    pub fn is_empty(&self, now: Time) -> bool {
        self.len(now) == 0
    }

    /// The number of times that steering has suspended itself.
    pub fn suspensions(&self) -> u64 {
        self.suspensions
    }

    /// Switches steering off permanently.
    pub fn kill(&mut self) {
        self.is_off = true;
        self.filters.clear();
    }

    /// Whether steering is switched off.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Whether steering is active: neither switched off nor suspended.
    pub fn is_active(&self, now: Time) -> bool {
        !self.is_off && self.suspended_until.is_none_or(|end| end <= now)
    }

    /// Decides about an event. Must be called for each event of the node that can be filtered.
    pub fn judge(&mut self, now: Time, event: &Event<'_>) -> Filtered {
        self.filters.retain(|_, (end, _)| *end > now);
        let filter = self.filters.iter().find(|(pattern, _)| pattern.matches(event, &self.kinds));
        let (Some((pattern, (_, has_waited))), Some(substitute)) = (filter, event.substitute()) else {
            return self.count(now, None);
        };
        // An event that waits is due many times, and counts once.
        if *has_waited && self.is_active(now) {
            return Filtered::Yes(substitute);
        }
        let pattern = pattern.clone();
        if self.is_sent_again(now, event) {
            return Filtered::Yes(substitute);
        }
        let filtered = self.count(now, Some(substitute));
        if let (Cause::Local(_), Filtered::Yes(_), Some((_, waits))) =
            (event.cause, filtered, self.filters.get_mut(&pattern))
        {
            *waits = true;
        }
        self.remember_message(now, event, filtered);
        filtered
    }

    /// Decides about an event that the immediate check refuses: it counts like a filtered one.
    pub fn judge_immediate(&mut self, now: Time, event: &Event<'_>) -> Filtered {
        let substitute = event.substitute();
        // It was counted as an event before its handler ran.
        if let Some((_, events, _)) = self.counted.back_mut() {
            *events = events.saturating_sub(1);
        }
        self.refused.retain(|_, last| last.after(WINDOW) > now);
        if let Some(substitute) = substitute
            && self.is_sent_again(now, event)
        {
            return Filtered::Yes(substitute);
        }
        let is_active = self.is_active(now);
        let waiting = Pattern::of(event).filter(|_| matches!(event.cause, Cause::Local(_)));
        if let (Some(substitute), Some(last)) = (substitute, waiting.as_ref().and_then(|it| self.refused.get_mut(it)))
            && is_active
        {
            *last = now;
            return Filtered::Yes(substitute);
        }
        let filtered = self.count(now, substitute);
        if let (Filtered::Yes(_), Some(waiting)) = (filtered, waiting)
            && self.refused.len() < FILTERS_MAX
        {
            self.refused.insert(waiting, now);
        }
        self.remember_message(now, event, filtered);
        filtered
    }

    /// Whether this is a message that was dropped within the last minute, while steering is active: dropping it again does not count.
    fn is_sent_again(&mut self, now: Time, event: &Event<'_>) -> bool {
        self.dropped.retain(|_, last| last.after(WINDOW) > now);
        let is_active = self.is_active(now);
        let Some(last) = self.message(event).and_then(|it| self.dropped.get_mut(&it)).filter(|_| is_active) else {
            return false;
        };
        *last = now;
        true
    }

    fn remember_message(&mut self, now: Time, event: &Event<'_>, filtered: Filtered) {
        if let (Filtered::Yes(_), Some(message)) = (filtered, self.message(event))
            && self.dropped.len() < MESSAGES_MAX
        {
            self.dropped.insert(message, now);
        }
    }

    /// The fingerprint of an event's message and sender, if it has one.
    fn message(&self, event: &Event<'_>) -> Option<Fingerprint> {
        match event.cause {
            Cause::Message { from, payload, .. } => Some(of_message(from, self.node, payload)),
            Cause::Local(_) => None,
        }
    }

    fn count(&mut self, now: Time, substitute: Option<Substitute>) -> Filtered {
        let second = now.0 / 1_000_000_000;
        while self.counted.front().is_some_and(|(first, ..)| first + WINDOW.as_secs() <= second) {
            self.counted.pop_front();
        }
        match self.counted.back_mut() {
            Some((last, events, _)) if *last >= second => *events += 1,
            _ => self.counted.push_back((second, 1, 0)),
        }
        let Some(substitute) = substitute.filter(|_| !self.is_off) else { return Filtered::No };
        if !self.is_active(now) {
            return Filtered::Suspended;
        }
        let sum = |(all, filtered): (u64, u64), (_, events, some): &(u64, u64, u64)| (all + events, filtered + some);
        let (events, filtered) = self.counted.iter().fold((0, 0), sum);
        let is_within = (filtered + 1) * 100 <= self.quota.percent * events || filtered < self.quota.always;
        if !is_within {
            self.suspended_until = Some(now.after(WINDOW));
            self.suspensions += 1;
            return Filtered::Suspended;
        }
        self.counted.back_mut().expect("the event was counted").2 += 1;
        Filtered::Yes(substitute)
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::{LocalEvent, LocalKind};
    use host_model::scenario::Network;

    use super::*;
    use crate::filter::pattern::What;
    use crate::kinds::Kind;

    fn event(content: &[u8]) -> Event<'_> {
        let cause = Cause::Message { from: 0, network: Network::Unordered, payload: content };
        Event { state: 1, cause, may_break: false }
    }

    fn pattern(content: &[u8]) -> Pattern {
        Pattern::of(&event(content)).expect("messages can be dropped")
    }

    fn seconds(number: u64) -> Time {
        Time(number * 1_000_000_000)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn filters_end_after_twice_the_time_of_a_round_or_with_the_next() {
        let mut table = FilterTable::new(3, Quota::default(), SECOND);
        assert_eq!(table.replace(seconds(0), 3, [pattern(&[1])]), 0);
        assert_eq!(table.judge(seconds(1), &event(&[1])), Filtered::Yes(Substitute::Drop));
        assert_eq!(table.judge(seconds(1), &event(&[2])), Filtered::No);
        assert_eq!(table.judge(seconds(2), &event(&[1])), Filtered::No);
        assert_eq!(table.replace(seconds(3), 3, [pattern(&[1])]), 0);
        assert_eq!(table.replace(seconds(3), 3, [pattern(&[2])]), 0);
        assert_eq!(table.judge(seconds(3), &event(&[1])), Filtered::No);
        assert_eq!(table.judge(seconds(3), &event(&[2])), Filtered::Yes(Substitute::Drop));
        // With a longer interval, filters last longer.
        table.set_interval(3 * SECOND);
        assert_eq!(table.replace(seconds(4), 3, [pattern(&[1])]), 0);
        assert_eq!(table.judge(seconds(9), &event(&[1])), Filtered::Yes(Substitute::Drop));
        assert_eq!(table.judge(seconds(10), &event(&[1])), Filtered::No);
    }

    /// Only the node's own checker sets filters, and no more than the cap.
    #[test]
    fn filters_of_others_are_refused_and_there_is_a_cap() {
        let mut table = FilterTable::new(3, Quota::default(), SECOND);
        assert_eq!(table.replace(seconds(0), 2, [pattern(&[1])]), 1);
        assert!(table.is_empty(seconds(0)));
        let many: Vec<Pattern> = (0..100).map(|content| pattern(&[content])).collect();
        assert_eq!(table.replace(seconds(0), 3, many), 100 - FILTERS_MAX);
        assert_eq!(table.len(seconds(0)), FILTERS_MAX);
        table.kill();
        assert_eq!(table.judge(seconds(0), &event(&[1])), Filtered::No);
        assert_eq!(table.replace(seconds(0), 3, [pattern(&[1])]), 1);
        assert!(table.is_empty(seconds(0)) && !table.is_active(seconds(0)));
    }

    /// A leader sends the same message every 50 ms for a minute, and each is dropped: that counts once, where 1,180 of 2,360 events would
    /// exceed any quota. The same content from another sender counts separately.
    #[test]
    fn a_message_that_is_sent_again_counts_once() {
        let mut table = FilterTable::new(3, Quota { percent: 0, always: 2 }, Duration::from_secs(1_000));
        table.replace(seconds(0), 3, [pattern(&[1])]);
        for number in 0..1_180 {
            let now = Time(number * 50_000_000);
            assert_eq!(table.judge(now, &event(&[1])), Filtered::Yes(Substitute::Drop));
            assert_eq!(table.judge(now, &event(&[2])), Filtered::No);
        }
        assert_eq!(table.judge_immediate(seconds(59), &event(&[3])), Filtered::Yes(Substitute::Drop));
        assert_eq!(table.judge_immediate(seconds(59), &event(&[3])), Filtered::Yes(Substitute::Drop));
        assert_eq!(table.judge_immediate(seconds(59), &event(&[4])), Filtered::Suspended);
        assert_eq!(table.suspensions(), 1);
    }

    /// 1,000 events within one minute; a different one of each ten matches a filter. The quota of 5 % is 50 events, and steering suspends
    /// itself at the first event beyond it. A minute later it continues.
    #[test]
    fn steering_suspends_itself_beyond_its_quota() {
        let mut table = FilterTable::new(0, Quota { percent: 5, always: 10 }, Duration::from_secs(1_000));
        let what = What::Kind { from: 0, kind: Kind::First(Some(1)) };
        table.replace(seconds(0), 0, [Pattern { state: None, what }]);
        let mut filtered = 0;
        for number in 0..1_000_u64 {
            let content = [u8::from(number % 10 == 0), number.to_le_bytes()[0], number.to_le_bytes()[1]];
            let answer = table.judge(Time(number * 50_000_000), &event(&content));
            filtered += u64::from(answer == Filtered::Yes(Substitute::Drop));
        }
        // Of the first 101 events 11 match; 10 are always allowed, and 11 of 101 are more than 5 %.
        assert_eq!((filtered, table.suspensions()), (10, 1));
        assert!(!table.is_active(seconds(50)));
        // A call of the application that waits is one event, however often it is due.
        let local = LocalEvent { name: "call".to_owned(), kind: LocalKind::Application, payload: Vec::new() };
        let call = Event { state: 1, cause: Cause::Local(&local), may_break: false };
        let mut waiting = FilterTable::new(0, Quota { percent: 5, always: 1 }, Duration::from_secs(1_000));
        waiting.replace(seconds(0), 0, Pattern::of(&call));
        let is_delayed = |_: &u32| waiting.judge(seconds(1), &call) == Filtered::Yes(Substitute::Delay);
        assert_eq!((0..100_u32).filter(is_delayed).count(), 100);
        assert_eq!(table.judge(seconds(120), &event(&[1, 7])), Filtered::Yes(Substitute::Drop));
    }
}
